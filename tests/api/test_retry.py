"""Requests whose answers were lost, and that are sent again with the same Idempotency-Key."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any

import pytest
from werkzeug.test import TestResponse

from service.store.base import Game, LoggedEvent, RetryRecord, StoreUnavailableError
from service.store.redis import RedisGameStore
from tests.api.conftest import make_site
from tests.api.driver import (
    UNLIMITED,
    Body,
    Clock,
    MeetingStore,
    Site,
    Started,
    answer,
    at_once,
    bearer,
    body_of,
)

KEY = "c2b7a7de-58a4-4f0e-9d0c-3b9a1f6e7d52"
OTHER_KEY = "0d5cbb6c-0a1f-4ac6-a5a4-0a4d6c2e3f10"
REPETITIONS = 30
DAY_SECONDS = 86_400
TWO = [{"name": "Ana"}, {"name": "Bia"}]
REPLAYED = "Idempotency-Replayed"


def keyed(key: str = KEY, **headers: str) -> dict[str, Any]:
    return {"headers": {"Idempotency-Key": key, **headers}}


def create(site: Site, key: str = KEY, headers: dict[str, str] | None = None, **order: Any) -> TestResponse:
    order = {"variant": "mano-a-mano", "visibility": "public", **order}
    return site.send("POST", "/v1/games", order, **keyed(key, **(headers or {})))


def join(game: Started, name: str = "Gil", key: str = KEY, token: str | None = None, **members: Any) -> TestResponse:
    return game.send("POST", "/seats", game.wish(name, **members), token, **keyed(key))


def due(game: Started) -> tuple[int, Body]:
    """The seat in turn and the first action that it is offered."""
    seat = game.to_act()
    return seat, game.view(seat)["legal_actions"][0]


def is_replay(response: TestResponse) -> bool:
    assert response.headers.get(REPLAYED) in (None, "true")
    return REPLAYED in response.headers


def tokens(created: Body) -> Body:
    return {name: created[name] for name in ("seats", "host_token", "join_code")}


def records(site: Site) -> list[bytes]:
    """The keys of what requests have left behind with a game."""
    return [key for key in site.redis.keys("*") if b"}:retry:" in key]


def games(site: Site) -> list[bytes]:
    return [key for key in site.redis.keys("*") if key.endswith(b":state")]


# ---- each POST, sent twice ----


@pytest.mark.parametrize("visibility", ["private", "public"])
@pytest.mark.parametrize("players", [[], [{"name": "Ana"}], TWO], ids=len)
def test_a_lost_create(any_site: Site, players: list[Body], visibility: str) -> None:
    first, second = (create(any_site, players=players, visibility=visibility) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert (is_replay(first), is_replay(second)) == (False, True)
    assert body_of(first) == body_of(second)
    for name in ("Location", "ETag"):
        assert first.headers[name] == second.headers[name]
    assert len(games(any_site)) == 1
    created = body_of(second)
    for token in (created["host_token"], *(seat["token"] for seat in created["seats"])):
        assert any_site.send("GET", f"/v1/games/{created['game']['id']}", token=token).status_code == 200


def test_a_lost_create_of_a_game_that_has_gone_on(any_site: Site) -> None:
    first = body_of(create(any_site, players=[{"name": "Ana"}], visibility="private"))
    game = Started(any_site, first["game"]["id"], {0: first["seats"][0]["token"]}, first["host_token"], "")
    game.join_code = first["join_code"]
    game.joined("Bia")
    game.step()
    second = create(any_site, players=[{"name": "Ana"}], visibility="private")
    assert is_replay(second)
    assert tokens(body_of(second)) == tokens(first)
    assert body_of(second)["game"]["version"] == 3
    assert body_of(second)["game"] == body_of(game.get(game.host_token))


@pytest.mark.parametrize("visibility", ["private", "public"])
@pytest.mark.parametrize("seat", [None, 2])
def test_a_lost_join(any_site: Site, visibility: str, seat: int | None) -> None:
    game = any_site.create("paulista", 1, visibility=visibility)
    wish = {} if seat is None else {"seat": seat}
    first, second = (join(game, **wish) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert (is_replay(first), is_replay(second)) == (False, True)
    assert body_of(first) == body_of(second)
    assert body_of(first)["seat"] == (seat or 1)
    for name in ("Location", "ETag"):
        assert first.headers[name] == second.headers[name]
    view = body_of(game.get(body_of(second)["token"]))
    assert [each["name"] for each in view["seats"]].count("Gil") == 1
    assert view["version"] == 2


def test_a_lost_join_of_a_game_that_has_gone_on(any_site: Site) -> None:
    game = any_site.create("mano-a-mano", 1)
    first = join(game)
    game.tokens[1] = body_of(first)["token"]
    for turns in range(3):
        second = join(game)
        assert (second.status_code, is_replay(second)) == (201, True)
        assert {name: body_of(second)[name] for name in ("seat", "token")} == {"seat": 1, "token": game.tokens[1]}
        assert body_of(second)["game"] == game.view(1)
        assert body_of(second)["game"]["version"] == 2 + turns
        game.step()
    game.resign()
    assert body_of(join(game))["game"]["status"] == "finished"


def test_a_lost_action(any_site: Site) -> None:
    game = any_site.create("mano-a-mano", visibility="public")
    seat, action = due(game)
    first, second = (game.post(seat, action, **keyed()) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 200)
    assert (is_replay(first), is_replay(second)) == (False, True)
    assert body_of(first) == body_of(second)
    assert first.headers["ETag"] == second.headers["ETag"]
    assert game.version == 2
    assert len(any_site.store.actions(game.id)) == 1


def test_a_lost_action_of_a_game_that_has_gone_on(any_site: Site) -> None:
    game = any_site.create("mano-a-mano", visibility="public")
    seat, action = due(game)
    first = body_of(game.post(seat, action, **keyed()))
    while game.view(0)["hand"]["number"] == 1:
        game.step()
    second = game.post(seat, action, **keyed())
    assert is_replay(second)
    assert body_of(second)["events"] == first["events"]
    assert body_of(second)["game"] == game.view(seat)
    game.resign()
    assert body_of(game.post(seat, action, **keyed()))["events"] == first["events"]


def test_a_lost_action_that_ended_the_game(any_site: Site) -> None:
    game = any_site.create("mano-a-mano", visibility="public")
    action = {"type": "resign", "expected_version": 1}
    first, second = (game.post(0, action, **keyed()) for _ in range(2))
    assert is_replay(second)
    assert body_of(first) == body_of(second)
    assert [event["type"] for event in body_of(second)["events"]] == ["resigned", "game_won"]


def test_a_lost_action_whose_events_are_not_all_kept(clock: Clock) -> None:
    site = make_site(replace(UNLIMITED, events_kept=4), clock)
    game = site.create("mano-a-mano", visibility="public")
    seat, action = due(game)
    first = body_of(game.post(seat, action, **keyed()))["events"]
    kept = [first]
    while kept[-1]:
        game.step()
        second = game.post(seat, action, **keyed())
        assert is_replay(second)
        kept.append(body_of(second)["events"])
    assert all(events == first[len(first) - len(events) :] for events in kept)


def test_a_lost_rematch(any_site: Site) -> None:
    game = any_site.create("mano-a-mano")
    game.resign()
    first, second = (game.rematch(0, **keyed()) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert (is_replay(first), is_replay(second)) == (False, True)
    assert body_of(first) == body_of(second)
    for name in ("Location", "ETag"):
        assert first.headers[name] == second.headers[name]
    assert body_of(second)["game"]["version"] == 2
    assert game.rematch(1).status_code == 201
    third = game.rematch(0, json={}, **keyed())
    assert (third.status_code, is_replay(third)) == (201, True)
    assert body_of(third)["token"] == body_of(first)["token"]
    assert body_of(third)["game"]["status"] == "playing"


def test_coming_back_changes_nothing_however_often(any_site: Site) -> None:
    game = any_site.create("mano-a-mano")
    for kwargs in ({}, keyed("k"), keyed("k"), {"json": {}, **keyed("k")}):
        response = game.send("POST", "/seats/0/return", token=game.tokens[0], **kwargs)
        assert response.status_code == 200
        assert body_of(response) == game.view(0)
        assert response.headers["ETag"] == 'W/"v1-s0"'
    assert game.version == 1


def test_who_may_come_back_where(site: Site) -> None:
    lobby, playing, over = site.create("paulista", 1), site.create(), site.create()
    over.resign()

    def come_back(game: Started, seat: int | str, token: str | None, **kwargs: Any) -> tuple[int, str | None]:
        return answer(game.send("POST", f"/seats/{seat}/return", token=token, **kwargs))

    assert come_back(lobby, 0, lobby.tokens[0]) == (409, "game_not_started")
    assert come_back(over, 0, over.tokens[0]) == (409, "game_finished")
    assert come_back(playing, 1, playing.tokens[0]) == (403, "wrong_seat")
    assert come_back(playing, 0, playing.host_token) == (403, "wrong_seat")
    assert come_back(playing, 0, None) == (401, "missing_token")
    assert come_back(playing, 0, over.tokens[0]) == (401, "invalid_token")
    assert come_back(playing, 6, playing.tokens[0]) == (404, "not_found")
    assert come_back(playing, 5, playing.tokens[0]) == (404, "not_found")
    assert come_back(playing, 0, playing.tokens[0], json={"seat": 0}) == (422, "validation_failed")
    assert come_back(playing, 0, playing.tokens[0], **keyed("k" * 65)) == (400, "invalid_header")


# ---- what makes a request the same ----


def test_another_body_under_the_same_key(any_site: Site) -> None:
    created = create(any_site, players=[{"name": "Ana"}])
    refused = (422, "idempotency_key_reused")
    assert answer(create(any_site, players=[{"name": "Bia"}])) == refused
    assert answer(create(any_site, players=[{"name": "Ana"}], turn_seconds=5)) == refused
    assert len(games(any_site)) == 1

    game = Started(any_site, body_of(created)["game"]["id"], {0: body_of(created)["seats"][0]["token"]}, "", None)
    assert join(game).status_code == 201
    assert answer(join(game, "Hugo")) == refused
    assert answer(join(game, seat=1)) == refused
    assert game.view(0)["version"] == 2

    seat = game.to_act()
    if seat not in game.tokens:
        game.tokens[seat] = body_of(join(game))["token"]
    first, second, *_ = game.view(seat)["legal_actions"]
    assert game.post(seat, first, **keyed()).status_code == 200
    assert answer(game.post(seat, second, **keyed())) == refused
    assert answer(game.post(seat, {**first, "expected_version": 3}, **keyed())) == refused
    assert is_replay(game.post(seat, first, **keyed()))


def test_a_key_is_refused_before_the_state_of_the_game_is_looked_at(site: Site) -> None:
    """The key was used for another body: that is never right, whatever the game is up to."""
    game = site.create()
    game.post(0, {"type": "resign", "expected_version": 1}, **keyed())
    other = {"type": "fold", "expected_version": 2}
    assert answer(game.post(0, other, **keyed())) == (422, "idempotency_key_reused")
    assert answer(game.post(0, other)) == (409, "game_finished")


@pytest.mark.parametrize(
    "written",
    [
        '{"players":[{"name":"Ana"}],"metadata":{"a":"1","b":"é"},"variant":"mano-a-mano"}',
        '{"metadata":{"b":"é","a":"1"},"variant":"mano-a-mano","players":[{"name":"Ana"}]}',
        ' {\n"variant" : "mano-a-mano", "players" : [ {"name" : "Ana"} ], "metadata":{"a":"1", "b":"\\u00e9"} } ',
        '{"variant":"mano\\u002da-mano","players":[{"n\\u0061me":"Ana"}],"metadata":{"a":"1","b":"é"}}',
    ],
)
def test_how_the_body_is_written_makes_no_other_request(site: Site, written: str) -> None:
    order = {"variant": "mano-a-mano", "players": [{"name": "Ana"}], "metadata": {"a": "1", "b": "é"}}
    first = site.send("POST", "/v1/games", order, **keyed())
    for media in ("application/json", "application/json; charset=utf-8"):
        second = site.send("POST", "/v1/games", data=written.encode(), content_type=media, **keyed())
        assert is_replay(second)
        assert body_of(second) == body_of(first)


def test_what_is_not_equal_makes_another_request(site: Site) -> None:
    assert create(site, players=TWO).status_code == 201
    for other in (TWO[::-1], [*TWO, None], [{"name": "ana"}, {"name": "Bia"}], [{"name": "Ana "}, {"name": "Bia"}]):
        assert create(site, players=other).status_code == 422


def test_each_caller_has_keys_of_its_own(site: Site) -> None:
    game = site.create("mano-a-mano", visibility="public")
    seat, action = due(game)
    assert not is_replay(game.post(seat, action, **keyed("k")))
    other, answering = due(game)
    assert other != seat
    response = game.post(other, answering, **keyed("k"))
    assert (response.status_code, is_replay(response)) == (200, False)
    assert game.version == 3


def test_each_route_has_keys_of_its_own(site: Site) -> None:
    one, two = (body_of(create(site, key))["game"]["id"] for key in (KEY, OTHER_KEY))
    joined = [join(Started(site, game_id, {}, "", None)) for game_id in (one, two)]
    assert [(response.status_code, is_replay(response)) for response in joined] == [(201, False)] * 2
    assert len({body_of(response)["token"] for response in joined}) == 2


def test_a_join_with_a_token_is_another_caller(site: Site) -> None:
    game = site.create("paulista", 1, visibility="public")
    seats = [body_of(join(game, token=token))["seat"] for token in (None, game.host_token, game.tokens[0])]
    assert seats == [1, 2, 3]
    again = [join(game, token=token) for token in (None, game.host_token, game.tokens[0])]
    assert [(body_of(response)["seat"], is_replay(response)) for response in again] == [(1, True), (2, True), (3, True)]


def test_each_platform_has_keys_of_its_own(clock: Clock) -> None:
    site = make_site(replace(UNLIMITED, api_keys=frozenset({"chave-um", "chave-dois"})), clock)
    responses = [create(site, headers={"X-API-Key": key}) for key in ("chave-um", "chave-dois", "chave-um")]
    ids = [body_of(response)["game"]["id"] for response in responses]
    assert ids[0] == ids[2] != ids[1]
    assert answer(create(site)) == (401, "missing_token")
    assert answer(create(site, headers={"X-API-Key": "chave"})) == (401, "invalid_token")


# ---- keys ----

NO_KEYS = [
    "",
    " ",
    "k" * 65,
    "k" * 10_000,
    "key with spaces inside it",
    "chave-é-" * 4,
    "tab\tin-a-key-of-22-chars",
    "\x7f" * 22,
]
SHORT_KEYS = ["k" * 21, "short", "k"]


@pytest.mark.parametrize("key", [*NO_KEYS, *SHORT_KEYS])
def test_a_key_that_a_token_hangs_on_is_long(site: Site, key: str) -> None:
    game, over = site.create("paulista", 1, visibility="public"), site.create()
    over.resign()
    before = site.stored()
    for response in (create(site, key), join(game, key=key), over.rematch(0, **keyed(key))):
        assert answer(response) == (400, "invalid_header")
    assert site.stored() == before


@pytest.mark.parametrize("key", NO_KEYS)
def test_a_key_that_is_none(site: Site, key: str) -> None:
    game = site.create()
    seat, action = due(game)
    assert answer(game.post(seat, action, **keyed(key))) == (400, "invalid_header")
    assert game.version == 1


@pytest.mark.parametrize("key", ["k" * 22, "k" * 64, "".join(map(chr, range(0x21, 0x7F)))[:64], "~!" * 11])
def test_a_key_may_be_of_any_visible_ascii(site: Site, key: str) -> None:
    first, second = create(site, key, players=[{"name": "Ana"}]), create(site, key, players=[{"name": "Ana"}])
    assert body_of(first) == body_of(second)
    game = Started(site, body_of(first)["game"]["id"], {}, "", None)
    assert body_of(join(game, key=key)) == body_of(join(game, key=key))


@pytest.mark.parametrize("key", ["k", *SHORT_KEYS, "k" * 64])
def test_the_key_of_an_action_may_be_short(site: Site, key: str) -> None:
    game = site.create()
    seat, action = due(game)
    assert [is_replay(game.post(seat, action, **keyed(key))) for _ in range(2)] == [False, True]


@pytest.mark.parametrize("key", ["k", "", "k" * 65, KEY])
def test_where_nothing_is_posted_the_header_is_ignored(site: Site, key: str) -> None:
    game = site.create("paulista", 2, visibility="public")
    for method, below, token, status in (
        ("GET", "", None, 200),
        ("GET", "/events", None, 200),
        ("DELETE", "/seats/1", game.tokens[1], 204),
        ("DELETE", "/seats/1", game.tokens[1], 204),
        ("DELETE", "", game.host_token, 204),
    ):
        response = game.send(method, below, token=token, **keyed(key))
        assert (response.status_code, is_replay(response)) == (status, False)
    assert records(site) == []


# ---- what is remembered ----


def test_a_refused_create_is_judged_anew(any_site: Site) -> None:
    unplayable = {"rules": {"manilhas": ["4C"]}}
    assert [answer(create(any_site, **unplayable)) for _ in range(2)] == [(422, "unplayable_rules")] * 2
    response = create(any_site)
    assert (response.status_code, is_replay(response)) == (201, False)


def test_a_refused_join_is_judged_anew(any_site: Site) -> None:
    game = any_site.create("paulista", 2, visibility="public")
    assert answer(join(game, seat=1)) == (409, "seat_taken")
    assert game.leave(1, game.tokens[1]).status_code == 204
    response = join(game, seat=1)
    assert (response.status_code, is_replay(response)) == (201, False)
    assert is_replay(join(game, seat=1))


def test_a_refused_action_is_judged_anew(any_site: Site) -> None:
    game = any_site.create("mano-a-mano", visibility="public")
    seat, action = due(game)
    other = game.view(1 - seat)
    early = {"type": "play", "card": other["seats"][1 - seat]["cards"][0]["card"], "expected_version": 2}
    assert answer(game.post(1 - seat, early, **keyed())) == (409, "version_conflict")
    game.act(seat, action)
    response = game.post(1 - seat, early, **keyed())
    assert (response.status_code, is_replay(response)) == (200, False)
    assert is_replay(game.post(1 - seat, early, **keyed()))


def test_a_refused_rematch_is_judged_anew(any_site: Site) -> None:
    game = any_site.create()
    assert answer(game.rematch(0, **keyed())) == (409, "game_not_finished")
    game.resign()
    response = game.rematch(0, **keyed())
    assert (response.status_code, is_replay(response)) == (201, False)


def test_a_refused_request_leaves_nothing(any_site: Site) -> None:
    game = any_site.create("paulista", visibility="public")
    join(game)
    game.post(0, {"type": "resign", "expected_version": 7}, **keyed())
    game.rematch(0, **keyed())
    assert records(any_site) == []


def test_a_request_leaves_one_record_for_a_day_in_the_slot_of_its_game(any_site: Site) -> None:
    game = Started(any_site, body_of(create(any_site, players=[{"name": "Ana"}]))["game"]["id"], {}, "", None)
    game.tokens[0] = body_of(create(any_site, players=[{"name": "Ana"}]))["seats"][0]["token"]
    game.tokens[1] = body_of(join(game))["token"]
    game.post(0, {"type": "resign", "expected_version": 2}, **keyed())
    following = body_of(game.rematch(0, **keyed()))["game"]["id"]
    for game_id, count in ((game.id, 3), (following, 1)):
        mine = [key for key in records(any_site) if f"{{{game_id}}}".encode() in key]
        assert len(mine) == count
        assert all(DAY_SECONDS - 60 < any_site.redis.ttl(key) <= DAY_SECONDS for key in mine)
    assert len(records(any_site)) == 4


def test_the_store_tells_neither_keys_nor_tokens(any_site: Site) -> None:
    created = body_of(create(any_site, players=[{"name": "Ana"}], visibility="private"))
    game = Started(any_site, created["game"]["id"], {0: created["seats"][0]["token"]}, created["host_token"], None)
    game.join_code = created["join_code"]
    game.tokens[1] = body_of(join(game, key=OTHER_KEY))["token"]
    game.post(0, {"type": "resign", "expected_version": 2}, **keyed("a-short-key"))
    next_token = body_of(game.rematch(0, **keyed()))["token"]
    dump = b"".join(flattened(any_site.stored()))
    assert b"Ana" in dump
    for key in (KEY, OTHER_KEY, "a-short-key"):
        assert key.encode() not in dump
    for token in (*game.tokens.values(), game.host_token, next_token):
        assert token.encode() not in dump
        assert urlsafe_b64decode(token + "=") not in dump


def flattened(stored: object) -> Iterator[bytes]:
    if isinstance(stored, bytes):
        yield stored
    elif isinstance(stored, dict):
        for key, value in stored.items():
            yield from (*flattened(key), *flattened(value))
    elif isinstance(stored, list | tuple):
        for value in stored:
            yield from flattened(value)


# ---- a replay gives away nothing ----


@pytest.mark.parametrize("visibility", ["private", "public"])
def test_a_lost_join_whose_seat_was_left_since(any_site: Site, visibility: str) -> None:
    game = any_site.create("mano-a-mano", 0, visibility=visibility)
    first = body_of(join(game, seat=1))
    assert game.leave(1, first["token"]).status_code == 204
    assert answer(join(game, seat=1)) == (409, "seat_taken")
    assert (game.joined("Hugo"), game.joined("Iris")) == (0, 1)
    response = join(game, seat=1)
    assert answer(response) == (409, "seat_taken")
    theirs = [held["card"] for held in game.view(1)["seats"][1]["cards"]]
    assert not any(card in response.get_data(as_text=True) for card in theirs)
    assert answer(game.get(first["token"])) == (401, "invalid_token")
    fresh = join(game, key=OTHER_KEY)
    assert answer(fresh) == (409, "game_full")


def test_a_lost_join_does_not_take_the_seat_that_its_player_took_anew(site: Site) -> None:
    game = site.create("paulista", 1)
    first = body_of(join(game))
    game.leave(1, first["token"])
    second = body_of(join(game, key=OTHER_KEY))
    assert (second["seat"], second["token"] == first["token"]) == (1, False)
    assert answer(join(game)) == (409, "seat_taken")
    assert game.get(second["token"]).status_code == 200


def test_a_lost_rematch_whose_token_was_renewed_since(any_site: Site) -> None:
    game = any_site.create()
    game.resign()
    first, second = body_of(game.rematch(0, **keyed())), body_of(game.rematch(0, **keyed(OTHER_KEY)))
    assert first["token"] != second["token"]
    assert answer(game.rematch(0, **keyed())) == (409, "seat_taken")
    assert is_replay(game.rematch(0, **keyed(OTHER_KEY)))


def test_a_lost_join_of_a_game_that_is_gone(any_site: Site) -> None:
    game = any_site.create("paulista", 1, visibility="public")
    assert join(game).status_code == 201
    game.send("DELETE", "", token=game.host_token)
    assert answer(join(game)) == (404, "game_not_found")


def test_a_lost_create_of_a_game_that_is_gone(any_site: Site) -> None:
    """It is not made again, by whatever was held up on its way."""
    created = body_of(create(any_site))
    path = f"/v1/games/{created['game']['id']}"
    assert any_site.send("DELETE", path, token=created["host_token"]).status_code == 204
    assert answer(create(any_site)) == (404, "game_not_found")
    assert answer(any_site.send("GET", path, token=created["host_token"])) == (404, "game_not_found")
    assert games(any_site) == []
    assert answer(create(any_site, turn_seconds=5)) == (422, "idempotency_key_reused")
    assert create(any_site, OTHER_KEY).status_code == 201


def test_the_key_alone_opens_nothing(any_site: Site) -> None:
    """Without the token an action is not replayed, with another's it is that seat's own request."""
    game = any_site.create("mano-a-mano", visibility="public")
    seat, action = due(game)
    game.post(seat, action, **keyed())
    below = {"below": "/actions", "body": action}
    assert answer(game.send("POST", **below, **keyed())) == (401, "missing_token")
    assert answer(game.send("POST", **below, token="x" * 43, **keyed())) == (401, "invalid_token")
    assert answer(game.send("POST", **below, token=game.host_token, **keyed())) == (403, "wrong_seat")
    assert answer(game.send("POST", **below, token=game.tokens[1 - seat], **keyed())) == (409, "version_conflict")


# ---- at the same time ----


@pytest.fixture(params=["anyhow", "meeting"])
def rounds(request: pytest.FixtureRequest, any_site: Site, _short_turns: None) -> Iterator[Callable[[], object]]:
    """What each round calls before its two requests: makes them meet, or leaves it to the threads."""
    if request.param == "meeting":
        return repeat(partial(MeetingStore.of(any_site).expect, 2), 3)
    return repeat(lambda: None, REPETITIONS)


def check_one_effect(responses: list[TestResponse], status: int) -> Body:
    """One was carried out and the other replayed; gives the answer, without the view, that both got."""
    assert [response.status_code for response in responses] == [status] * 2
    assert sorted(map(is_replay, responses)) == [False, True]
    one, two = ({name: value for name, value in body_of(each).items() if name != "game"} for each in responses)
    assert one == two
    return one


def test_two_creates_at_once(any_site: Site, rounds: Iterator[Callable[[], object]]) -> None:
    for number, arrange in enumerate(rounds):
        arrange()
        request = partial(create, any_site, f"{KEY}{number}", players=[{"name": "Ana"}], visibility="private")
        check_one_effect(at_once(request, request), 201)
        assert len(games(any_site)) == number + 1
    types = [any_site.store.events(key.split(b"}")[0][-26:].decode(), 0, 10).events for key in games(any_site)]
    assert all([event.type for event in events] == ["seat_joined"] for events in types)


def test_two_joins_at_once(any_site: Site, rounds: Iterator[Callable[[], object]]) -> None:
    for number, arrange in enumerate(rounds):
        game = any_site.create("paulista", 1, visibility="public")
        arrange()
        request = partial(join, game, key=f"{KEY}{number}")
        joined = check_one_effect(at_once(request, request), 201)
        assert joined["seat"] == 1
        assert game.version == 2
        assert body_of(game.get(joined["token"]))["viewer"]["seat"] == 1


def test_two_joins_of_the_last_seat_at_once(any_site: Site, rounds: Iterator[Callable[[], object]]) -> None:
    for arrange in rounds:
        game = any_site.create("mano-a-mano", 1, visibility="public")
        arrange()
        request = partial(join, game)
        game.tokens[1] = check_one_effect(at_once(request, request), 201)["token"]
        assert game.view(1)["status"] == "playing"
        assert [event["type"] for event in game.events()["events"]].count("game_started") == 1


def test_two_actions_at_once(any_site: Site, rounds: Iterator[Callable[[], object]]) -> None:
    game = any_site.create("mano-a-mano", visibility="public", rules={"target": 99})
    for number, arrange in enumerate(rounds):
        seat, action = due(game)
        arrange()
        request = partial(game.post, seat, action, **keyed(f"{number}"))
        done = check_one_effect(at_once(request, request), 200)
        assert {event["version"] for event in done["events"]} == {number + 2}
        assert game.version == number + 2
    assert len(any_site.store.actions(game.id)) == game.version - 1


def test_two_rematches_at_once(any_site: Site, rounds: Iterator[Callable[[], object]]) -> None:
    for arrange in rounds:
        game = any_site.create("mano-a-mano", visibility="public")
        game.resign()
        arrange()
        request = partial(game.rematch, 1, **keyed())
        responses = at_once(request, request)
        joined = check_one_effect(responses, 201)
        next_id = game.view(0)["rematch_id"]
        assert {body_of(response)["game"]["id"] for response in responses} == {next_id}
        following = any_site.send("GET", f"/v1/games/{next_id}", token=joined["token"])
        assert body_of(following)["version"] == 2


# ---- broken in the middle ----


class LosingStore(RedisGameStore):
    """Breaks in one of the next commits: after it was carried out, or before."""

    breaks: str | None = None
    breaks_in: int = 0
    """How many commits go well first."""

    def commit(
        self,
        game: Game,
        previous: Game | None,
        events: Sequence[LoggedEvent],
        action: str | None = None,
        retry: tuple[str, RetryRecord] | None = None,
    ) -> None:
        self.breaks_in -= 1
        breaks = self.breaks if self.breaks_in == -1 else None
        if breaks != "before":
            super().commit(game, previous, events, action, retry)
        if breaks is not None:
            raise StoreUnavailableError("the answer was lost")


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_store_breaks_in_the_commit(any_site: Site, when: str) -> None:
    """The request is told that nothing is certain, and can be sent again whatever the truth is."""
    store = any_site.store
    store.__class__ = LosingStore
    assert isinstance(store, LosingStore)

    def sent_twice(request: Callable[[], TestResponse], commit: int = 0) -> Body:
        store.breaks, store.breaks_in = when, commit
        lost = request()
        assert answer(lost) == (503, "storage_unavailable")
        assert int(lost.headers["Retry-After"]) >= 1
        found = request()
        assert found.status_code in (200, 201)
        assert is_replay(found) == (when == "after")
        return body_of(found)

    created = sent_twice(partial(create, any_site, players=[{"name": "Ana"}]))
    assert len(games(any_site)) == 1
    game = Started(any_site, created["game"]["id"], {0: created["seats"][0]["token"]}, created["host_token"], None)
    joined = sent_twice(partial(join, game))
    game.tokens[1] = joined["token"]
    assert (joined["seat"], game.version) == (1, 2)
    seat, action = due(game)
    assert sent_twice(partial(game.post, seat, action, **keyed()))["game"]["version"] == 3
    assert len(any_site.store.actions(game.id)) == 1
    game.resign()
    assert sent_twice(partial(game.rematch, 0, **keyed()), commit=2)["seat"] == 0


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("commit", [0, 1])
def test_the_store_breaks_before_the_seat_of_a_rematch_is_taken(any_site: Site, when: str, commit: int) -> None:
    """First the next game is made, then the old one says so, and then the seat is taken."""
    game = any_site.create("mano-a-mano", visibility="public")
    game.resign()
    store = any_site.store
    store.__class__ = LosingStore
    assert isinstance(store, LosingStore)
    store.breaks, store.breaks_in = when, commit
    assert answer(game.rematch(0, **keyed())) == (503, "storage_unavailable")
    found = game.rematch(0, **keyed())
    assert (found.status_code, is_replay(found)) == (201, False)
    assert is_replay(game.rematch(0, **keyed()))
    assert body_of(found)["game"]["id"] == game.view(0)["rematch_id"]
    assert body_of(found)["game"]["version"] == 2
    assert len(games(any_site)) == 2
    assert [event["type"] for event in game.events()["events"]].count("rematch_created") == 1


def test_a_create_that_died_after_it_reserved_its_id(any_site: Site) -> None:
    reserved = "0" * 26
    reserve = any_site.store.reserve_id
    any_site.store.reserve_id = lambda name, _: reserve(name, reserved)  # type: ignore[method-assign]
    any_site.store.__class__ = LosingStore
    any_site.store.breaks = "before"  # type: ignore[attr-defined]
    assert answer(create(any_site)) == (503, "storage_unavailable")
    del any_site.store.reserve_id
    response = create(any_site)
    assert (response.status_code, is_replay(response), body_of(response)["game"]["id"]) == (201, False, reserved)


def test_a_create_whose_record_is_not_there_yet(site: Site) -> None:
    """The game stands under the reserved id, and nothing says with what it was answered."""
    assert create(site).status_code == 201
    site.redis.delete(*records(site))
    assert answer(create(site)) == (409, "request_in_progress")
    assert len(games(site)) == 1


def test_bodies_are_compared_as_values_only_when_the_key_is_known(site: Site) -> None:
    """A body that would be refused is refused, also under a key that was used."""
    assert create(site).status_code == 201
    assert answer(create(site, variant="nothing")) == (422, "validation_failed")
    broken = site.send("POST", "/v1/games", data=json.dumps({}) + "}", content_type="application/json", **keyed())
    assert answer(broken) == (400, "malformed_json")


def test_the_header_is_looked_at_before_the_game(site: Site) -> None:
    nowhere = Started(site, "0" * 26, {0: "x" * 43}, "", None)
    assert answer(join(nowhere, key="k")) == (400, "invalid_header")
    assert answer(nowhere.rematch(0, **keyed("k"))) == (400, "invalid_header")
    assert answer(join(nowhere)) == (404, "game_not_found")
    assert bearer(None) == {}
