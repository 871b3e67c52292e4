"""What may be told of a request and its answer: one line of the log, and what is counted.

Nothing here is secret: of what a client sends only what has been recognized is kept, never a path, a query, a body, a
name or a token.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, ParamSpec

import msgspec
from flask import Flask, Response, request

from service.engine.state import Seat
from service.games import Entry
from service.logs import write
from service.tokens import is_game_id
from service.views import GameView

_log = logging.getLogger(__name__)

HEADER: Final = "X-Request-Id"
UNKNOWN: Final = "unknown"
"""The route of a path that there is not, or not with that method; and a method that HTTP does not know."""
_METHODS: Final = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}
_SANE_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_TRACE: Final = re.compile(
    "(?!ff|00.{54})[0-9a-f]{2}-(?P<id>(?!0{32})[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?"
)
"""https://www.w3.org/TR/trace-context/#traceparent-header, of later versions too."""
_ENTERED = ParamSpec("_ENTERED")


@dataclass(slots=True)
class Exchange:
    """One request and its answer, as far as anybody may know them. `seconds`: until the answer, or a stream, begins."""

    request_id: str
    trace_id: str | None
    method: str
    route: str
    endpoint: str | None
    began: float
    game_id: str | None
    version: int | None = None
    seat: Seat | None = None
    action: str | None = None
    is_replayed: bool = False
    status: int = 0
    code: str = ""
    """Of the problem; empty if there is none."""
    seconds: float = 0.0
    failure: object = None
    """What broke on our side."""

    @property
    def operation(self) -> str:
        """By the contract's name for it; empty if it is none of its operations."""
        first, *others = (self.endpoint or "").rpartition(".")[2].split("_")
        return first + "".join(map(str.capitalize, others))

    def saw(self, game_id: str, version: int, seat: Seat | None) -> None:
        """The game that it is about, as last seen, and who asks."""
        self.game_id, self.version, self.seat = game_id, version, seat

    def showed(self, view: GameView) -> None:
        self.saw(view.id, view.version, view.viewer.seat)

    def line(self) -> _Line:
        """For the log; what is not known is left out."""
        return _Line(
            ts=datetime.now(UTC),
            level="info" if self.failure is None else "error",
            request_id=self.request_id,
            trace_id=self.trace_id,
            method=self.method,
            route=self.route,
            status=self.status,
            code=self.code,
            ms=round(self.seconds * 1000, 2),
            game=self.game_id,
            version=self.version,
            seat=self.seat,
            action=self.action,
            error=self.failure,
        )


class _Line(msgspec.Struct, omit_defaults=True):
    ts: datetime
    level: str
    request_id: str
    method: str
    route: str
    status: int
    ms: float
    trace_id: str | None = None
    code: str = ""
    game: str | None = None
    version: int | None = None
    seat: Seat | None = None
    action: str | None = None
    error: object = None


_CURRENT: Final[ContextVar[Exchange]] = ContextVar("exchange")


def exchange() -> Exchange:
    """That of the request which is being answered."""
    return _CURRENT.get()


def noting(enter: Callable[_ENTERED, Entry]) -> Callable[_ENTERED, Entry]:
    """*enter*, after which the exchange tells which game was entered, and by which seat."""

    def entered(*args: _ENTERED.args, **kwargs: _ENTERED.kwargs) -> Entry:
        entry = enter(*args, **kwargs)
        exchange().saw(entry.game_id, entry.version, entry.viewer.seat)
        return entry

    return entered


def register(app: Flask, answered: Callable[[Exchange], None] | None) -> None:
    """Every request of *app* is logged, answered with its id, and shown to *answered*.

    To be called first: what is registered first sees an answer last.
    """

    @app.before_request
    def _() -> None:
        began = time.perf_counter()
        asked, rule = request.environ, request.url_rule
        method, game_id = asked["REQUEST_METHOD"], (request.view_args or {}).get("game_id")
        _CURRENT.set(
            Exchange(
                request_id=_request_id(asked),
                trace_id=_trace_id(asked),
                method=method if method in _METHODS else UNKNOWN,
                route=UNKNOWN if rule is None else rule.rule,
                endpoint=None if rule is None else rule.endpoint,
                began=began,
                game_id=game_id if game_id is not None and is_game_id(game_id) else None,
            )
        )

    @app.after_request
    def _(response: Response) -> Response:
        done = exchange()
        done.status, done.seconds = response.status_code, time.perf_counter() - done.began
        response.headers.add(HEADER, done.request_id)
        if _log.isEnabledFor(logging.INFO if done.failure is None else logging.ERROR):
            write(done.line())
        if answered is not None:
            answered(done)
        return response


def _request_id(asked: Mapping[str, str]) -> str:
    """The one that was sent, if it is sane and no secret that the client has used twice; else a new one."""
    sent = asked.get("HTTP_X_REQUEST_ID")
    if sent is not None and _SANE_ID.fullmatch(sent):
        token = asked.get("HTTP_AUTHORIZATION", "").rpartition(" ")[2]
        if sent not in (token, asked.get("HTTP_IDEMPOTENCY_KEY"), asked.get("HTTP_X_API_KEY")):
            return sent
    return secrets.token_hex(16)


def _trace_id(asked: Mapping[str, str]) -> str | None:
    """That of the caller's trace. Nothing of it is answered: the recommendation has `traceparent` in requests only."""
    sent = asked.get("HTTP_TRACEPARENT")
    match = None if sent is None else _TRACE.fullmatch(sent)
    return None if match is None else match["id"]
