"""The routes under /v1: read, call, answer."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec
from flask import Blueprint, Response, request

from service.api import auth, present, read
from service.api.present import Json
from service.api.problems import MEDIA_TYPE, ProblemError
from service.engine.record import to_json, to_text
from service.engine.rules import PRESETS
from service.games import Games, GameView

JSON: Final = "application/json"
NOTATION: Final = "text/plain"
VARIANTS_MAX_AGE_SECONDS: Final = 3_600
MOST_EVENTS: Final = 500
MOST_GAMES: Final = 100


def routes(games: Games, api_keys: frozenset[str]) -> Blueprint:
    """Every operation on variants and games."""
    api = Blueprint("v1", __name__, url_prefix="/v1")

    @api.before_request
    def _() -> None:
        offered = [JSON, MEDIA_TYPE]
        if request.endpoint == f"{api.name}.get_record":
            offered.append(NOTATION)
        if request.accept_mimetypes and request.accept_mimetypes.best_match(offered) is None:
            raise ProblemError("not_acceptable", f"this operation answers {', '.join(offered)}")

    @api.after_request
    def _(response: Response) -> Response:
        response.headers.setdefault("Cache-Control", "private, no-cache")
        response.headers.setdefault("Vary", "Authorization")
        return response

    @api.get("/variants")
    def list_variants() -> Response:
        return _constant({"variants": [present.present_variant(preset) for preset in PRESETS.values()]})

    @api.get("/variants/<name>")
    def get_variant(name: str) -> Response:
        if name not in PRESETS:
            raise ProblemError("not_found", f"the variants are {', '.join(PRESETS)}")
        return _constant(present.present_variant(PRESETS[name]))

    @api.post("/games")
    def create_game() -> Response:
        auth.require_api_key(api_keys)
        created = games.create(read.new_game())
        response = _answer(present.present_created(created), 201, of=created.game)
        response.headers["Location"] = f"/v1/games/{created.game.id}"
        return response

    @api.get("/games")
    def list_games() -> Response:
        listed, position = games.list_public(
            read.status(),
            read.variant(),
            read.number("limit", 20, 1, MOST_GAMES),
            read.cursor(),
        )
        return _answer(
            {
                "games": [present.present_listed(game) for game in listed],
                "next_cursor": read.write_cursor(position),
            }
        )

    @api.get("/games/<game_id>")
    def get_game(game_id: str) -> Response:
        read.refuse_unsupported_query()
        view = games.look(games.enter(game_id, auth.token()))
        if not request.if_none_match.contains_weak(_etag(view)):
            return _answer(present.present_view(view), of=view)
        response = Response(status=304)
        response.set_etag(_etag(view), weak=True)
        return response

    @api.delete("/games/<game_id>")
    def cancel_game(game_id: str) -> Response:
        entry = games.enter(game_id, auth.token())
        read.no_body()
        games.cancel(entry)
        return Response(status=204)

    @api.post("/games/<game_id>/seats")
    def join_game(game_id: str) -> Response:
        entry = games.enter(game_id, auth.token())
        wish = read.seating()
        joined = games.join(entry, wish.name, wish.seat, wish.join_code)
        return _answer(present.present_joined(joined), 201, of=joined.game)

    @api.delete("/games/<game_id>/seats/<seat_text>")
    def leave_seat(game_id: str, seat_text: str) -> Response:
        seat = read.seat_in_path(seat_text)
        entry = games.enter(game_id, auth.token(), leaving=seat)
        read.no_body()
        games.leave(entry, seat)
        return Response(status=204)

    @api.post("/games/<game_id>/actions")
    def apply_action(game_id: str) -> Response:
        entry = games.enter_seat(game_id, auth.token())
        action, expected_version = read.action()
        acted = games.act(entry, expected_version, action)
        return _answer(
            {
                "game": present.present_view(acted.game),
                "events": [present.present_event(event) for event in acted.events],
            },
            of=acted.game,
        )

    @api.get("/games/<game_id>/events")
    def list_events(game_id: str) -> Response:
        read.refuse_unsupported_query()
        entry = games.enter(game_id, auth.token())
        after = read.number("after", 0, 0, read.GREATEST_VERSION)
        page = games.events(entry, after, read.number("limit", 100, 1, MOST_EVENTS))
        return _answer(present.present_events(page, after))

    @api.get("/games/<game_id>/record")
    def get_record(game_id: str) -> Response:
        record = games.record(games.enter(game_id, auth.token()))
        if request.accept_mimetypes.best_match([JSON, NOTATION]) == NOTATION:
            response = Response(to_text(record), mimetype=NOTATION)
        else:
            response = _answer(to_json(record))
        response.headers["Vary"] = "Authorization, Accept"
        return response

    return api


def _answer(body: Json, status: int = 200, of: GameView | None = None) -> Response:
    """*of*: the view in the body, whose ETag it gets."""
    response = Response(msgspec.json.encode(body), status, mimetype=JSON)
    if of is not None:
        response.set_etag(_etag(of), weak=True)
    return response


def _etag(view: GameView) -> str:
    """Never a hash of the content: that could be searched for hidden cards."""
    return f"v{view.version}-{view.viewer.tag}"


def _constant(body: Json) -> Response:
    """An answer that only a new release changes, the same for everybody."""
    response = _answer(body)
    response.set_etag(hashlib.sha256(response.get_data()).hexdigest()[:16])
    response.headers["Cache-Control"] = f"public, max-age={VARIANTS_MAX_AGE_SECONDS}"
    response.headers["Vary"] = "Accept"
    response.make_conditional(request)
    return response
