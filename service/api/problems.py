"""Errors as data: `application/problem+json` with a stable code (api.md section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from service.api.exchange import exchange
from service.api.present import Json, present_view
from service.engine.actions import IllegalActionError, MalformedActionError
from service.logs import told
from service.refusals import MemberProblem, RefusedError
from service.store.base import StoreUnavailableError
from service.views import GameView

RETRY_AFTER_SECONDS: Final = 1
MEDIA_TYPE: Final = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
    status: int
    title: str


KINDS: Final = {
    "malformed_json": Kind(400, "The body is not JSON"),
    "invalid_parameter": Kind(400, "A query parameter is wrong"),
    "invalid_header": Kind(400, "A header is wrong"),
    "missing_token": Kind(401, "A token is needed"),
    "invalid_token": Kind(401, "The token is wrong"),
    "wrong_seat": Kind(403, "The token is of another seat"),
    "invalid_join_code": Kind(403, "The join code is wrong"),
    "game_not_found": Kind(404, "There is no such game"),
    "not_found": Kind(404, "There is nothing here"),
    "method_not_allowed": Kind(405, "The method is not allowed here"),
    "not_acceptable": Kind(406, "No acceptable media type"),
    "version_conflict": Kind(409, "The game has moved on"),
    "not_your_turn": Kind(409, "It is not your turn"),
    "answer_pending": Kind(409, "An answer is due first"),
    "nothing_to_answer": Kind(409, "There is nothing to answer"),
    "not_your_team_to_answer": Kind(409, "The other team answers"),
    "same_team_raise": Kind(409, "Your team made the last raise"),
    "ladder_exhausted": Kind(409, "There is no higher step"),
    "wrong_step": Kind(409, "That is not the next step"),
    "raise_forbidden": Kind(409, "No raise in this hand"),
    "covered_forbidden": Kind(409, "No covered card here"),
    "card_not_held": Kind(409, "You do not hold that card"),
    "show_forbidden": Kind(409, "Nothing can be shown here"),
    "show_not_proven": Kind(409, "The win is not certain"),
    "game_not_started": Kind(409, "The game has not started"),
    "game_started": Kind(409, "The game has started"),
    "game_finished": Kind(409, "The game is over"),
    "game_not_finished": Kind(409, "The game is not over"),
    "game_full": Kind(409, "Every seat is taken"),
    "seat_taken": Kind(409, "The seat is taken"),
    "request_in_progress": Kind(409, "The same request is being carried out"),
    "length_required": Kind(411, "A Content-Length is needed"),
    "body_too_large": Kind(413, "The body is too large"),
    "unsupported_media_type": Kind(415, "The body must be application/json"),
    "validation_failed": Kind(422, "The request can never be right"),
    "unplayable_rules": Kind(422, "No game can be played by these rules"),
    "idempotency_key_reused": Kind(422, "The key was used for another request"),
    "rate_limited": Kind(429, "Too many requests"),
    "internal": Kind(500, "Something broke on our side"),
    "storage_unavailable": Kind(503, "The storage does not answer"),
    "draining": Kind(503, "This process is shutting down"),
}

_CODE_OF_STATUS: Final = {
    400: "malformed_json",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
}
"""Of what Flask and Werkzeug refuse by themselves."""


class ProblemError(Exception):
    """A request refused by the HTTP layer itself."""

    def __init__(
        self,
        code: str,
        detail: str,
        problems: tuple[MemberProblem, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.problems = problems
        self.headers = headers


def problem(
    code: str,
    detail: str,
    problems: tuple[MemberProblem, ...] = (),
    game: GameView | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer for a problem; *detail* must say nothing that this reader may not see."""
    kind = KINDS[code]
    exchange().code = code
    body: dict[str, Json] = {
        "type": f"/problems/{code}",
        "title": kind.title,
        "status": kind.status,
        "code": code,
        "detail": detail,
        "instance": request.path,
    }
    if problems:
        body["errors"] = [{"pointer": each.pointer, "code": each.code, "detail": each.detail} for each in problems]
    if game is not None:
        body["game"] = present_view(game)
        exchange().showed(game)
    response = Response(msgspec.json.encode(body), kind.status, mimetype=MEDIA_TYPE)
    if kind.status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="truco"'
    response.headers.update(headers or {})
    return response


def register(app: Flask) -> None:
    """Every way a request of *app* can fail gets its problem."""

    @app.errorhandler(ProblemError)
    def _(error: ProblemError) -> Response:
        return problem(error.code, error.detail, error.problems, headers=error.headers)

    @app.errorhandler(RefusedError)
    def _(error: RefusedError) -> Response:
        return problem(error.code, error.detail, error.problems, error.game)

    @app.errorhandler(IllegalActionError)
    def _(error: IllegalActionError) -> Response:
        return problem(error.reason, error.detail)

    @app.errorhandler(MalformedActionError)
    def _(error: MalformedActionError) -> Response:
        wrong = MemberProblem(f"/{error.member}", "invalid", error.detail)
        return problem("validation_failed", str(error), (wrong,))

    @app.errorhandler(StoreUnavailableError)
    def _(error: StoreUnavailableError) -> Response:
        exchange().failure = str(error)
        return problem(
            "storage_unavailable",
            "nothing was changed unless it was acknowledged; send the same request again",
            headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
        )

    @app.errorhandler(HTTPException)
    def _(error: HTTPException) -> Response:
        code = _CODE_OF_STATUS.get(error.code or 500, "internal")
        allow = dict(error.get_headers()).get("Allow")
        return problem(code, KINDS[code].title, headers={"Allow": allow} if allow else None)

    @app.errorhandler(Exception)
    def _(error: Exception) -> Response:
        exchange().failure = told(error)
        return problem("internal", "the request was not carried out; it can be sent again")
