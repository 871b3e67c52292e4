"""The routes under /v1: read, call, answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import msgspec
from flask import Blueprint, Response, request

from service.api import auth, present, read, stream
from service.api.exchange import exchange, noting
from service.api.limits import RateLimits, address
from service.api.present import Json
from service.api.problems import MEDIA_TYPE, RETRY_AFTER_SECONDS, ProblemError
from service.bots import BOTS
from service.engine.actions import MalformedActionError
from service.engine.record import to_json, to_text
from service.engine.rules import PRESETS
from service.games import BotPlayer, Entry, Games
from service.views import GameView
from service.waiting import Waiter, Waiting, WaitKind

JSON: Final = "application/json"
ANYTHING: Final = "*/*"
NOTATION: Final = "text/plain"
OFFERED: Final = {"get_record": (JSON, NOTATION), "stream_events": (stream.MEDIA_TYPE,)}
"""The media types of operations that answer something else than JSON."""
VARIANTS_MAX_AGE_SECONDS: Final = 3_600
MOST_EVENTS: Final = 500
MOST_GAMES: Final = 100


def routes(games: Games, waiting: Waiting, limits: RateLimits, api_keys: Mapping[str, str]) -> Blueprint:
    """Every operation on variants and games."""
    api = Blueprint("v1", __name__, url_prefix="/v1")
    enter, enter_seat = noting(games.enter), noting(games.enter_seat)
    enter_to_act, enter_as_platform = noting(games.enter_to_act), noting(games.enter_as_platform)

    @api.before_request
    def _() -> None:
        if request.headers.get("Accept", ANYTHING) in (ANYTHING, JSON) and request.endpoint != "v1.stream_events":
            return  # what nearly every client sends, without weighing it against what there is
        offered = [*OFFERED.get((request.endpoint or "").removeprefix("v1."), (JSON,)), MEDIA_TYPE]
        if request.accept_mimetypes and request.accept_mimetypes.best_match(offered) is None:
            raise ProblemError("not_acceptable", f"this operation answers {', '.join(offered)}")

    @api.after_request
    def _(response: Response) -> Response:
        headers = response.headers
        caching = headers.get("Cache-Control")
        if caching is None:
            headers.add("Cache-Control", "private, no-cache")
        elif "public" in caching:
            return response
        if "Vary" in headers:
            response.vary.add("Authorization")
        else:
            headers.add("Vary", "Authorization")
        return response

    @api.get("/variants")
    def list_variants() -> Response:
        return _constant({"variants": [present.present_variant(preset) for preset in PRESETS.values()]})

    @api.get("/variants/<name>")
    def get_variant(name: str) -> Response:
        if name not in PRESETS:
            raise ProblemError("not_found", f"the variants are {', '.join(PRESETS)}")
        return _constant(present.present_variant(PRESETS[name]))

    @api.get("/bots")
    def list_bots() -> Response:
        return _constant({"bots": [present.present_bot(kind, bot) for kind, bot in BOTS.items()]})

    @api.post("/games")
    def create_game() -> Response:
        limits.creating()
        platform = auth.platform(api_keys) if api_keys else None
        retry = read.retry(None if platform is None else platform.hex(), gives_token=True)
        order = replace(read.new_game(), platform=platform)
        created = games.create(order, retry, read.body_hash())
        return _answer_made(present.present_created(created), created.game, created.is_replayed)

    @api.get("/games")
    def list_games() -> Response:
        limits.reading(None)
        listed, position = games.list_games(
            read.status(),
            read.variant(),
            read.number("limit", 20, 1, MOST_GAMES),
            read.cursor(),
            auth.platform(api_keys) if read.flag("mine") else None,
        )
        body: dict[str, Json] = {
            "games": [present.present_listed(game) for game in listed],
            "next_cursor": read.write_cursor(position),
        }
        response = _answer(body)
        response.vary.add("X-API-Key")
        return response

    @api.get("/games/<game_id>")
    def get_game(game_id: str) -> Response:
        entry = _enter_to_read(game_id)
        games.refuse_strangers(entry)
        after, seconds = read.after_version(), read.wait_seconds()
        if seconds and after is not None and entry.version <= after:
            news = _wait_for_news(entry, seconds, lambda now: now if now.version > after else None)
            entry = news or games.look_again(entry)
        if request.if_none_match.contains_weak(_etag(entry)):
            response = Response(status=304)
            response.set_etag(_etag(entry), weak=True)
            return response
        view = games.look(entry)
        return _answer(present.present_view(view), of=view)

    @api.delete("/games/<game_id>")
    def cancel_game(game_id: str) -> Response:
        token = auth.token()
        if token is None and auth.has_api_key():
            entry = enter_as_platform(game_id, auth.platform(api_keys))
        else:
            entry = enter(game_id, token)
        read.no_body()
        games.cancel(entry)
        return Response(status=204)

    @api.post("/games/<game_id>/seats")
    def join_game(game_id: str) -> Response:
        limits.joining()
        token = auth.token()
        entry = enter(game_id, token, retry=read.retry(token, gives_token=True))
        wish = read.seating()
        if isinstance(wish.player, BotPlayer):
            joined = games.seat_bot(entry, wish.player.kind, wish.seat, read.body_hash())
        else:
            joined = games.join(entry, wish.player, wish.seat, wish.join_code, read.body_hash())
        return _answer_made(present.present_joined(joined), joined.game, joined.is_replayed)

    @api.delete("/games/<game_id>/seats/<seat_text>")
    def leave_seat(game_id: str, seat_text: str) -> Response:
        seat = read.seat_in_path(seat_text)
        entry = enter(game_id, auth.token(), leaving=seat)
        read.no_body()
        games.leave(entry, seat)
        return Response(status=204)

    @api.post("/games/<game_id>/seats/<seat_text>/return")
    def return_to_seat(game_id: str, seat_text: str) -> Response:
        seat, token = read.seat_in_path(seat_text), auth.token()
        entry = enter_seat(game_id, token, read.retry(token))
        read.no_body()
        back = games.come_back(entry, seat, read.body_hash())
        return _answer(present.present_view(back.game), of=back.game, is_replayed=back.is_replayed)

    @api.post("/games/<game_id>/seats/<seat_text>/token")
    def reissue_token(game_id: str, seat_text: str) -> Response:
        limits.joining()
        platform = auth.platform(api_keys)
        retry = read.retry(platform.hex(), gives_token=True)
        seat = read.seat_in_path(seat_text)
        entry = enter_as_platform(game_id, platform, retry)
        read.no_body()
        joined = games.reissue(entry, seat, read.body_hash())
        return _answer_made(present.present_joined(joined), joined.game, joined.is_replayed)

    @api.post("/games/<game_id>/actions")
    def apply_action(game_id: str) -> Response:
        token = auth.token()
        limits.acting(token)
        retry = read.retry(token)
        try:
            action, expected_version = read.action()
        except (ProblemError, MalformedActionError):
            enter_seat(game_id, token)  # a wrong token comes before a wrong body
            raise
        exchange().action = action.type
        entry = enter_to_act(game_id, token, expected_version, retry)
        acted = games.act(entry, expected_version, action, read.body_hash())
        body: dict[str, Json] = {
            "game": present.present_view(acted.game),
            "events": [present.present_event(event) for event in acted.events],
        }
        return _answer(body, of=acted.game, is_replayed=acted.is_replayed)

    @api.post("/games/<game_id>/rematch")
    def rematch(game_id: str) -> Response:
        limits.joining()
        token = auth.token()
        entry = enter_seat(game_id, token, read.retry(token, gives_token=True))
        read.no_body()
        joined = games.rematch(entry, read.body_hash())
        return _answer_made(present.present_joined(joined), joined.game, joined.is_replayed)

    @api.get("/games/<game_id>/events")
    def list_events(game_id: str) -> Response:
        entry = _enter_to_read(game_id)
        after, limit = read.number("after", 0, 0, read.GREATEST_VERSION), read.number("limit", 100, 1, MOST_EVENTS)
        page, seconds = games.events(entry, after, limit), read.wait_seconds()
        if seconds and not page.events:
            _wait_for_news(entry, seconds, lambda now: now if now.last_seq > after else None)
            page = games.events(entry, after, limit)
        return _answer(present.present_events(page, after))

    @api.get("/games/<game_id>/events/stream")
    def stream_events(game_id: str) -> Response:
        entry = _enter_to_read(game_id)
        last_seq = read.last_event_id()
        games.look(entry)
        if waiting.is_draining:
            raise ProblemError("draining", "connect again", headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
        waiter = _waiter(entry, WaitKind.STREAM)
        response = Response(stream.stream(games, waiting, entry, waiter, last_seq), mimetype=stream.MEDIA_TYPE)
        response.headers["X-Accel-Buffering"] = "no"
        return response

    @api.get("/games/<game_id>/record")
    def get_record(game_id: str) -> Response:
        record = games.record(_enter_to_read(game_id))
        if request.accept_mimetypes.best_match([JSON, NOTATION]) == NOTATION:
            response = Response(to_text(record), mimetype=NOTATION)
        else:
            response = _answer(to_json(record))
        response.vary.add("Accept")
        return response

    def _enter_to_read(game_id: str) -> Entry:
        token = auth.token()
        limits.reading(token)
        return enter(game_id, token)

    def _wait_for_news(entry: Entry, seconds: int, news: Callable[[Entry], Entry | None]) -> Entry | None:
        games.mark_present(entry)
        waiter = _waiter(entry, WaitKind.POLL)
        return waiting.until(entry.game_id, waiter, seconds, lambda: news(games.look_again(entry)))

    return api


def _waiter(entry: Entry, kind: WaitKind) -> Waiter:
    seat = entry.viewer.seat
    return Waiter(address(), None if seat is None else f"{entry.game_id}/{seat}", kind)


def _answer_made(body: Json, game: GameView, is_replayed: bool) -> Response:
    """Something new was made: 201 and where it is."""
    response = _answer(body, 201, of=game, is_replayed=is_replayed)
    response.headers["Location"] = f"/v1/games/{game.id}"
    return response


def _answer(body: Json, status: int = 200, of: GameView | None = None, is_replayed: bool = False) -> Response:
    """*of*: the view in the body, whose ETag it gets."""
    response = Response(msgspec.json.encode(body), status, mimetype=JSON)
    if of is not None:
        exchange().showed(of)
        response.set_etag(_etag(of), weak=True)
    if is_replayed:
        exchange().is_replayed = True
        response.headers["Idempotency-Replayed"] = "true"
    return response


def _etag(of: GameView | Entry) -> str:
    """Never a hash of the content: that could be searched for hidden cards."""
    return f"v{of.version}-{of.viewer.tag}"


def _constant(body: Json) -> Response:
    """An answer that only a new release changes, the same for everybody."""
    response = _answer(body)
    response.set_etag(hashlib.sha256(response.get_data()).hexdigest()[:16])
    response.headers["Cache-Control"] = f"public, max-age={VARIANTS_MAX_AGE_SECONDS}"
    response.vary.add("Accept")
    response.make_conditional(request)
    return response
