"""What a platform does with its API key: list its games, give a player another token, delete a game with its names."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from werkzeug.test import TestResponse

from service.store.base import Status
from tests.api.conftest import make_site
from tests.api.driver import (
    API_KEY,
    API_KEYS,
    LONE_API_KEY,
    NAMES,
    NEXT_API_KEY,
    OTHER_API_KEY,
    UNLIMITED,
    Clock,
    MeetingStore,
    Site,
    Started,
    answer,
    at_once,
    body_of,
    platform,
)
from tests.redis_server import RedisServer

KEY = "c2b7a7de-58a4-4f0e-9d0c-3b9a1f6e7d52"
OTHER_KEY = "0d5cbb6c-0a1f-4ac6-a5a4-0a4d6c2e3f10"
REPETITIONS = 15
NO_GAME = (404, "game_not_found")


@pytest.fixture
def site(clock: Clock) -> Site:
    """The service with API keys on its embedded store."""
    return make_site(replace(UNLIMITED, api_keys=API_KEYS), clock)


def keyed(key: str = KEY) -> dict[str, Any]:
    return {"headers": {"Idempotency-Key": key}}


def is_replay(response: TestResponse) -> bool:
    return response.headers.get("Idempotency-Replayed") == "true"


def create(site: Site, api_key: str | None, key: str | None = None, **order: Any) -> TestResponse:
    headers = {**platform(api_key), **({} if key is None else {"Idempotency-Key": key})}
    return site.send("POST", "/v1/games", {"variant": "mano-a-mano", **order}, headers=headers)


def made(site: Site, api_key: str, **order: Any) -> str:
    """The id of a game that *api_key* has made."""
    response = create(site, api_key, **order)
    assert response.status_code == 201, response.get_data()
    game_id: str = body_of(response)["game"]["id"]
    return game_id


def listed(site: Site, api_key: str | None = API_KEY, **query: Any) -> list[str]:
    page = site.get("/v1/games", query_string={"mine": "true", **query}, headers=platform(api_key))
    return [game["id"] for game in page["games"]]


def in_each_status(site: Site, **order: Any) -> list[Started]:
    """A lobby, a game that is played, and one that is over."""
    lobby, playing, over = (
        site.create("paulista", 2, **order),
        site.create("mano-a-mano", **order),
        site.create("mano-a-mano", **order),
    )
    over.resign()
    return [lobby, playing, over]


def of_nobody(site: Site) -> Started:
    """A game as it was made before there were API keys."""
    game = site.create("mano-a-mano")
    game.change(platform=None)
    return game


# ---- the list ----


def test_a_platform_lists_its_games_private_ones_too(platform_site: Site, clock: Clock) -> None:
    site, ids = platform_site, []
    for visibility in ("private", "public", "private"):
        clock.now_ms += 1
        ids.append(made(site, API_KEY, visibility=visibility))
        made(site, OTHER_API_KEY, visibility=visibility)
    assert listed(site) == ids[::-1]
    assert len(listed(site, OTHER_API_KEY)) == 3
    assert listed(site, LONE_API_KEY) == []
    public = {game["id"] for game in site.get("/v1/games")["games"]}
    assert len(public) == 2
    assert public & set(ids) == {ids[1]}


def test_what_is_listed(site: Site) -> None:
    game = site.create("paulista", 2, turn_seconds=45)
    [listed] = site.get("/v1/games?mine=true", headers=platform(API_KEY))["games"]
    assert listed == {
        "id": game.id,
        "variant": "paulista",
        "status": "lobby",
        "turn_seconds": 45,
        "created_at": game.view(0)["created_at"],
        "seats": [
            {"seat": seat, "name": name, "kind": "open" if name is None else "human"}
            for seat, name in enumerate((*NAMES[:2], None, None))
        ],
    }


def test_every_key_of_a_platform_does(platform_site: Site) -> None:
    ids = {made(platform_site, key) for key in (API_KEY, NEXT_API_KEY)}
    alone = made(platform_site, LONE_API_KEY)
    assert set(listed(platform_site, API_KEY)) == set(listed(platform_site, NEXT_API_KEY)) == ids
    assert listed(platform_site, LONE_API_KEY) == [alone]


def test_a_platform_outlives_its_keys(redis_server: RedisServer, clock: Clock) -> None:
    """Its games stay its own when all its keys are new ones; those of a key without a name go with the key."""
    old, new = (
        make_site(replace(UNLIMITED, redis_url=redis_server.url, api_keys=keys), clock)
        for keys in (API_KEYS, {"a-new-key": "mesa", "another": "another"})
    )
    old.redis.flushdb()
    game, alone = old.create("paulista", 1), made(old, LONE_API_KEY)
    assert listed(new, "a-new-key") == [game.id]
    assert listed(new, "another") == []
    assert answer(new.send("DELETE", f"/v1/games/{alone}", headers=platform("another"))) == NO_GAME
    assert answer(new.send("DELETE", game.path, headers=platform(API_KEY))) == (401, "invalid_token")
    assert answer(new.send("DELETE", game.path, headers=platform("a-new-key"))) == (204, None)
    for site in (old, new):
        site.redis.close()


def test_a_create_is_known_again_by_another_key_of_the_platform(site: Site) -> None:
    responses = [create(site, key, KEY) for key in (API_KEY, NEXT_API_KEY, OTHER_API_KEY)]
    ids = [body_of(response)["game"]["id"] for response in responses]
    assert [is_replay(response) for response in responses] == [False, True, False]
    assert ids[0] == ids[1] != ids[2]


def test_a_game_moves_from_list_to_list_as_its_status_does(platform_site: Site) -> None:
    game = platform_site.create("mano-a-mano", 1)

    def statuses() -> list[str]:
        return [status for status in Status for _ in listed(platform_site, status=status)]

    assert statuses() == ["lobby"]
    game.joined("Bia")
    assert statuses() == ["playing"]
    game.resign()
    assert statuses() == ["finished"]
    assert [len(platform_site.get(f"/v1/games?status={status}")["games"]) for status in Status] == [0, 0, 0]


def test_a_rematch_is_of_the_same_platform(platform_site: Site) -> None:
    game = platform_site.create("mano-a-mano")
    for _ in range(2):
        game.resign()
        next_id = body_of(game.rematch(0))["game"]["id"]
        assert listed(platform_site) == [next_id]
        following = Started(platform_site, next_id, {}, game.host_token, game.join_code)
        following.tokens = {seat: body_of(game.rematch(seat))["token"] for seat in game.tokens}
        assert listed(platform_site, status="playing") == [next_id]
        game = following
    assert game.delete().status_code == 204


def test_a_private_game_is_in_no_public_list(platform_site: Site) -> None:
    in_each_status(platform_site)
    for status in Status:
        assert len(listed(platform_site, status=status)) == 1
        for query in (f"status={status}", f"status={status}&mine=false"):
            for key in (None, API_KEY, "wrong"):
                assert platform_site.get(f"/v1/games?{query}", headers=platform(key))["games"] == []


def test_the_list_is_filtered_and_paged_like_the_public_one(platform_site: Site, clock: Clock) -> None:
    ids = []
    for variant in ("mano-a-mano", "simples", "mano-a-mano") * 3:
        clock.now_ms += 1
        ids.append(made(platform_site, API_KEY, variant=variant))
    assert listed(platform_site, variant="simples") == [ids[7], ids[4], ids[1]]
    assert listed(platform_site, variant="paulista") == []
    pages, cursor = [], {}
    while not pages or cursor["cursor"] is not None:
        query = {"mine": "true", "variant": "mano-a-mano", "limit": 4, **cursor}
        page = platform_site.get("/v1/games", query_string=query, headers=platform(NEXT_API_KEY))
        pages.append([game["id"] for game in page["games"]])
        cursor = {"cursor": page["next_cursor"]}
    assert pages == [[ids[8], ids[6], ids[5], ids[3]], [ids[2], ids[0]]]


def test_a_page_may_be_short_before_the_list_ends(platform_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.store.redis._CANDIDATES_AT_MOST", 5)
    rare = made(platform_site, API_KEY, variant="simples", visibility="public")
    for _ in range(11):
        made(platform_site, API_KEY, visibility="public")
    for mine in ("true", "false"):
        found, pages, cursor = [], 0, {}
        while not pages or cursor["cursor"] is not None:
            query = {"mine": mine, "variant": "simples", **cursor}
            page = platform_site.get("/v1/games", query_string=query, headers=platform(API_KEY))
            found += [game["id"] for game in page["games"]]
            pages, cursor = pages + 1, {"cursor": page["next_cursor"]}
        assert found == [rare]
        assert pages == 3


def test_only_a_known_key_lists(site: Site, clock: Clock) -> None:
    site.create()
    assert answer(site.send("GET", "/v1/games?mine=true")) == (401, "missing_token")
    for wrong in ("", "mesa", API_KEY.upper(), f"mesa:{API_KEY}", f"{API_KEY},{OTHER_API_KEY}", "chavé"):
        assert answer(site.send("GET", "/v1/games?mine=true", headers=platform(wrong))) == (401, "invalid_token")
    without = make_site(UNLIMITED, clock)
    without.create()
    assert answer(without.send("GET", "/v1/games?mine=true")) == (401, "missing_token")
    assert answer(without.send("GET", "/v1/games?mine=true", headers=platform("any"))) == (401, "invalid_token")


@pytest.mark.parametrize("mine", ["1", "TRUE", "yes", "", "true&mine=true"])
def test_mine_is_true_or_false(site: Site, mine: str) -> None:
    refused = site.send("GET", f"/v1/games?mine={mine}", headers=platform(API_KEY))
    assert answer(refused) == (400, "invalid_parameter")


def test_caches_are_told_that_the_key_matters(site: Site) -> None:
    for query in ("", "?mine=true"):
        response = site.send("GET", f"/v1/games{query}", headers=platform(API_KEY))
        assert response.headers["Vary"] == "X-API-Key, Authorization"
        assert response.headers["Cache-Control"] == "private, no-cache"


def test_a_key_opens_no_view(site: Site) -> None:
    for game in in_each_status(site):
        for below in ("", "/events", "/events/stream", "/record"):
            refused = game.send("GET", below, headers=platform(API_KEY))
            assert refused.status_code in (401, 406)
        for below, body in (("/actions", {"type": "resign", "expected_version": 1}), ("/rematch", {})):
            assert answer(game.send("POST", below, body, headers=platform(API_KEY))) == (401, "missing_token")
        assert answer(game.send("DELETE", "/seats/0", headers=platform(API_KEY))) == (401, "missing_token")


# ---- another token ----


def test_a_lost_token_is_replaced_in_every_status(platform_site: Site) -> None:
    for game in in_each_status(platform_site):
        before = game.view(0)
        response = game.reissue(0)
        joined = body_of(response)
        assert (response.status_code, joined["seat"]) == (201, 0)
        assert response.headers["Location"] == game.path
        assert response.headers["ETag"] == f'W/"v{before["version"] + 1}-s0"'
        lost, game.tokens[0] = game.tokens[0], joined["token"]
        act = {"type": "resign", "expected_version": before["version"] + 1}
        assert answer(game.get(lost)) == (401, "invalid_token")
        assert answer(game.send("POST", "/actions", act, lost)) == (401, "invalid_token")
        assert joined["game"] == game.view(0)
        assert game.view(1)["version"] == before["version"] + 1


def test_nothing_else_changes(platform_site: Site, clock: Clock) -> None:
    """The game goes on where it was: its turn and clock, the others' tokens, its events."""
    game = platform_site.create("paulista", turn_seconds=30, metadata={"mesa": "7"})
    game.step()
    clock.now_ms += 5_000
    events = game.events(game.host_token)
    before, others = [game.view(seat) for seat in range(4)], {**game.tokens}
    game.reissued(2)
    assert {seat: token for seat, token in game.tokens.items() if seat != 2} == {
        seat: token for seat, token in others.items() if seat != 2
    }
    for seat in range(4):
        now, then = game.view(seat), before[seat]
        assert now.pop("version") == then.pop("version") + 1
        for view in (now, then):
            for action in view["legal_actions"]:
                del action["expected_version"]
        assert now == then
    assert game.events(game.host_token) == events
    for _ in range(8):
        game.step()


def test_each_time_the_token_before_dies(platform_site: Site) -> None:
    game = platform_site.create()
    dead = [game.reissued(0) for _ in range(3)]
    assert len({*dead, game.tokens[0]}) == 4
    assert [answer(game.get(token)) for token in dead] == [(401, "invalid_token")] * 3
    assert game.view(0)["version"] == 4


def test_a_token_in_the_request_is_not_read(site: Site) -> None:
    game = site.create()
    for token in (game.tokens[0], game.host_token, "x" * 43):
        game.tokens[0] = body_of(game.reissue(0, token=token))["token"]
    assert answer(game.reissue(0, headers={"Authorization": "Basic x"})) == (201, None)


def test_only_the_platform_of_the_game_gets_a_token(platform_site: Site, clock: Clock) -> None:
    game, of_none = platform_site.create(visibility="public"), of_nobody(platform_site)
    for key in (OTHER_API_KEY, LONE_API_KEY):
        assert answer(game.reissue(0, key)) == NO_GAME
    for key in (API_KEY, LONE_API_KEY):
        assert answer(of_none.reissue(0, key)) == NO_GAME
    assert answer(game.reissue(0, None)) == (401, "missing_token")
    assert answer(game.reissue(0, None, token=game.tokens[0])) == (401, "missing_token")
    assert answer(game.reissue(0, "wrong")) == (401, "invalid_token")
    assert answer(with_id(game, "0" * 26).reissue(0)) == NO_GAME
    assert answer(with_id(game, "../..").reissue(0))[0] == 404
    assert (game.view(0)["version"], of_none.view(0)["version"]) == (1, 2)
    without = make_site(UNLIMITED, clock).create()
    assert answer(without.reissue(0, None)) == (401, "missing_token")
    assert answer(without.reissue(0, API_KEY)) == (401, "invalid_token")


def with_id(game: Started, game_id: str) -> Started:
    return Started(game.site, game_id, {**game.tokens}, game.host_token, game.join_code)


def test_a_seat_where_nobody_sits_has_no_token(platform_site: Site) -> None:
    lobby, _, over = in_each_status(platform_site)
    assert answer(lobby.reissue(2)) == (409, "game_not_started")
    assert lobby.leave(1, lobby.tokens[1]).status_code == 204
    assert answer(lobby.reissue(1)) == (409, "game_not_started")
    following = with_id(over, body_of(over.rematch(0))["game"]["id"])
    assert answer(following.reissue(1)) == (409, "game_not_started")
    assert following.reissue(0).status_code == 201
    assert lobby.view(0)["version"] == 2


@pytest.mark.parametrize("seat", ["2", "5", "6", "-1", "00", "x", "1.0", "99999999999999999999"])
def test_a_seat_that_the_game_has_not(site: Site, seat: str) -> None:
    assert answer(site.create("mano-a-mano").reissue(seat)) == (404, "not_found")


def test_it_takes_no_body(site: Site) -> None:
    game = site.create()
    assert answer(game.reissue(0, json={"seat": 0})) == (422, "validation_failed")
    assert answer(game.reissue(0, json=[])) == (422, "validation_failed")
    assert answer(game.reissue(0, data=b"{", content_type="application/json")) == (400, "malformed_json")
    assert game.view(0)["version"] == 1
    assert game.reissue(0, json={}).status_code == 201


def test_what_is_looked_at_first(site: Site) -> None:
    nowhere = Started(site, "0" * 26, {}, "", None)
    short = keyed("k")
    assert answer(nowhere.reissue(0, None, **short)) == (401, "missing_token")
    assert answer(nowhere.reissue(0, "wrong", **short)) == (401, "invalid_token")
    assert answer(nowhere.reissue(0, **short)) == (400, "invalid_header")
    assert answer(nowhere.reissue(0, json={"wrong": 1})) == NO_GAME
    lobby = site.create("paulista", 1)
    assert answer(lobby.reissue(1, json={"wrong": 1})) == (422, "validation_failed")


def test_it_is_counted_with_those_who_sit_down(clock: Clock) -> None:
    site = make_site(replace(UNLIMITED, api_keys=API_KEYS, rate_join="2/minute"), clock)
    game = site.create()
    assert [game.reissue(0, key).status_code for key in (None, API_KEY, API_KEY)] == [401, 201, 429]
    assert game.delete().status_code == 204, "which can always be done"


def test_the_seat_in_a_rematch_stays_whoever_has_asked_before(platform_site: Site) -> None:
    """The token of the game that is over is lost, and the next one is open already."""
    game = platform_site.create("mano-a-mano")
    game.resign()
    following = with_id(game, body_of(game.rematch(0))["game"]["id"])
    lost = game.reissued(1)
    assert answer(game.send("POST", "/rematch", token=lost)) == (401, "invalid_token")
    joined = body_of(game.rematch(1))
    assert (joined["seat"], joined["game"]["id"], joined["game"]["status"]) == (1, following.id, "playing")
    following.tokens = {1: joined["token"]}
    renewed = body_of(game.rematch(1))["token"]
    assert answer(following.get(joined["token"])) == (401, "invalid_token")
    assert following.get(renewed).status_code == 200


def test_a_seat_that_was_left_in_a_rematch_is_not_given_back_by_a_new_token(platform_site: Site) -> None:
    game = platform_site.create("paulista")
    game.resign()
    following = with_id(game, body_of(game.rematch(0))["game"]["id"])
    assert following.leave(1, game.host_token).status_code == 204
    game.reissued(1)
    assert answer(game.rematch(1)) == (409, "seat_taken")
    following.joined("Gil")
    assert answer(game.rematch(1)) == (409, "seat_taken")


# ---- requests that got lost ----


def test_a_lost_reissue(platform_site: Site) -> None:
    game = platform_site.create()
    first, second = (game.reissue(0, **keyed()) for _ in range(2))
    assert [(each.status_code, is_replay(each)) for each in (first, second)] == [(201, False), (201, True)]
    assert body_of(first) == body_of(second)
    game.tokens[0] = body_of(second)["token"]
    game.step()
    third = game.reissue(0, NEXT_API_KEY, json={}, **keyed())
    assert is_replay(third)
    assert body_of(third) == {"seat": 0, "token": game.tokens[0], "game": game.view(0)}
    other = game.reissue(1, **keyed())
    assert (other.status_code, is_replay(other)) == (201, False), "another seat is another path"
    assert answer(game.reissue(0, OTHER_API_KEY, **keyed())) == NO_GAME


def test_a_lost_reissue_whose_token_was_replaced_since(platform_site: Site) -> None:
    game = platform_site.create("paulista", 2)
    first = body_of(game.reissue(0, **keyed()))["token"]
    game.tokens[0] = body_of(game.reissue(0, **keyed(OTHER_KEY)))["token"]
    assert answer(game.reissue(0, **keyed())) == (409, "seat_taken")
    assert answer(game.get(first)) == (401, "invalid_token")
    assert is_replay(game.reissue(0, **keyed(OTHER_KEY)))
    assert game.leave(0, game.tokens[0]).status_code == 204
    assert answer(game.reissue(0, **keyed(OTHER_KEY))) == (409, "seat_taken")


def test_requests_whose_token_was_re_issued_since(platform_site: Site) -> None:
    """A join is refused, for its token is dead; what createGame said it says again."""
    created = body_of(create(platform_site, API_KEY, KEY, players=[{"name": "Ana"}], visibility="public"))
    game = Started(platform_site, created["game"]["id"], {0: created["seats"][0]["token"]}, "", None)
    wish = {"name": "Bia"}
    game.tokens[1] = body_of(game.send("POST", "/seats", wish, **keyed()))["token"]
    lost = [game.reissued(seat) for seat in (0, 1)]
    assert answer(game.send("POST", "/seats", wish, **keyed())) == (409, "seat_taken")
    again = create(platform_site, API_KEY, KEY, players=[{"name": "Ana"}], visibility="public")
    assert is_replay(again)
    assert body_of(again)["seats"] == created["seats"]
    assert [answer(game.get(token)) for token in lost] == [(401, "invalid_token")] * 2


@pytest.mark.parametrize("key", ["k", "k" * 21, "k" * 65, "é" * 22, ""])
def test_a_key_that_a_token_hangs_on_is_long(site: Site, key: str) -> None:
    game = site.create()
    assert answer(game.reissue(0, **keyed(key))) == (400, "invalid_header")
    assert game.view(0)["version"] == 1


# ---- deleting ----


def test_a_game_is_deleted_in_every_status(platform_site: Site) -> None:
    for game in in_each_status(platform_site, visibility="public", turn_seconds=3_600, metadata={"who": "Ana"}):
        deleted = game.delete()
        assert (deleted.status_code, deleted.get_data()) == (204, b"")
        for token in (None, *game.tokens.values(), game.host_token):
            for method, below in (("GET", ""), ("GET", "/events"), ("GET", "/record"), ("POST", "/rematch")):
                assert answer(game.send(method, below, token=token)) == NO_GAME
        assert answer(game.delete()) == NO_GAME
        assert answer(game.reissue(0)) == NO_GAME
    assert platform_site.stored() == {}
    for status in Status:
        assert listed(platform_site, status=status) == []
        assert platform_site.get(f"/v1/games?status={status}")["games"] == []


def test_nothing_of_a_deleted_game_stays(platform_site: Site) -> None:
    """Presence, records of requests, deadlines, hints: all of it goes. A mark says for a day that it is gone."""
    site = platform_site
    created = body_of(create(site, API_KEY, KEY, players=[{"name": "Zacarias"}], turn_seconds=60, visibility="public"))
    game = Started(site, created["game"]["id"], {0: created["seats"][0]["token"]}, "", None)
    game.tokens[1] = body_of(game.send("POST", "/seats", {"name": "Quitéria"}, **keyed()))["token"]
    game.get(game.tokens[0], query_string={"after_version": 1, "wait": 25})
    seat = game.to_act()
    game.post(seat, game.view(seat)["legal_actions"][0], **keyed("an-action"))
    game.reissued(1)
    site.store.mark_present(game.id, 0)
    assert len(site.redis.keys(f"*{game.id}*")) == 5
    assert game.delete(NEXT_API_KEY).status_code == 204
    mark = f"truco:{{{game.id}}}:state".encode()
    reserved = site.redis.keys("truco:retry:*")
    assert len(reserved) == 1
    assert site.stored() == {mark: b"gone", reserved[0]: game.id.encode()}
    for key in (mark, reserved[0]):
        assert 0 < site.redis.ttl(key) <= 86_400


def test_a_rematch_is_deleted_by_itself(platform_site: Site) -> None:
    game = platform_site.create("mano-a-mano")
    game.resign()
    following = with_id(game, body_of(game.rematch(0))["game"]["id"])
    assert game.delete().status_code == 204
    assert following.get(game.host_token).status_code == 200
    assert following.delete().status_code == 204
    assert platform_site.stored() == {}
    again = platform_site.create("mano-a-mano")
    again.resign()
    following = with_id(again, body_of(again.rematch(0))["game"]["id"])
    assert following.delete().status_code == 204
    assert answer(again.rematch(0)) == NO_GAME


def test_a_create_is_not_carried_out_again_for_a_deleted_game(platform_site: Site) -> None:
    game = Started(platform_site, made(platform_site, API_KEY), {}, "", None)
    keyed_game = Started(platform_site, body_of(create(platform_site, API_KEY, KEY))["game"]["id"], {}, "", None)
    for each in (game, keyed_game):
        assert each.delete().status_code == 204
    assert answer(create(platform_site, API_KEY, KEY)) == NO_GAME
    assert answer(create(platform_site, API_KEY, KEY, seats=4)) == NO_GAME
    assert listed(platform_site) == []
    assert create(platform_site, API_KEY, OTHER_KEY).status_code == 201


def test_only_the_platform_of_the_game_deletes_it(platform_site: Site, clock: Clock) -> None:
    for game in (*in_each_status(platform_site, visibility="public"), of_nobody(platform_site)):
        before = game.view(0)
        for key in (OTHER_API_KEY, LONE_API_KEY):
            assert answer(game.delete(key)) == NO_GAME
        assert answer(game.delete("wrong")) == (401, "invalid_token")
        assert answer(game.delete(None)) == (401, "missing_token")
        assert game.view(0) == before
    assert answer(game.delete()) == NO_GAME, "it was made with no API key"
    without = make_site(UNLIMITED, clock).create()
    assert answer(without.delete("any")) == (401, "invalid_token")
    assert without.view(0)["status"] == "playing"


def test_of_a_token_and_a_key_the_token_counts(platform_site: Site) -> None:
    lobby, playing, over = in_each_status(platform_site)
    for game in (playing, over):
        assert answer(game.delete(token=game.host_token)) == (409, "game_started")
        assert answer(game.delete(token=game.tokens[0])) == (403, "wrong_seat")
        assert answer(game.delete(token="x" * 43)) == (401, "invalid_token")
    for key in ("wrong", OTHER_API_KEY):
        other = platform_site.create("paulista", 1)
        assert answer(other.delete(key, other.host_token)) == (204, None)
    assert answer(lobby.delete(token=lobby.host_token)) == (204, None)


def test_deleting_takes_no_body(site: Site) -> None:
    game = site.create()
    headers = platform(API_KEY)
    assert answer(game.send("DELETE", "", {"why": "LGPD"}, headers=headers)) == (422, "validation_failed")
    assert game.view(0)["version"] == 1
    assert answer(game.send("DELETE", "", {}, headers=headers)) == (204, None)


def test_a_game_whose_time_is_up_is_deleted_all_the_same(platform_site: Site, clock: Clock) -> None:
    game = platform_site.create("mano-a-mano", turn_seconds=5)
    clock.now_ms += 60_000
    assert game.delete().status_code == 204
    platform_site.background.sweeper._games.settle_overdue(game.id)
    assert platform_site.stored() == {}


# ---- at the same time ----


@pytest.fixture(params=["anyhow", "meeting"])
def arrange(request: pytest.FixtureRequest, platform_site: Site, _short_turns: None) -> Callable[[int], None]:
    """Called with their number before requests at once: makes them meet, or leaves it to the threads."""
    if request.param == "anyhow":
        return lambda _: None
    return MeetingStore.of(platform_site).expect


def test_a_token_is_replaced_while_its_old_one_acts(platform_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(REPETITIONS):
        game = platform_site.create("mano-a-mano")
        seat = game.to_act()
        action = game.view(seat)["legal_actions"][0]
        arrange(2)
        acted, renewed = at_once(partial(game.post, seat, action), partial(game.reissue, seat))
        assert renewed.status_code == 201
        assert answer(acted) in ((200, None), (401, "invalid_token"))
        lost, game.tokens[seat] = game.tokens[seat], body_of(renewed)["token"]
        assert answer(game.get(lost)) == (401, "invalid_token")
        has_acted = acted.status_code == 200
        assert game.view(seat)["version"] == 2 + has_acted
        assert len(platform_site.store.actions(game.id)) == has_acted
        if not has_acted:
            game.post(seat, {**action, "expected_version": 2})
        assert len(platform_site.store.actions(game.id)) == 1


def test_a_token_is_replaced_while_another_seat_acts(platform_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(REPETITIONS):
        game = platform_site.create("mano-a-mano")
        seat = game.to_act()
        action = game.view(seat)["legal_actions"][0]
        arrange(2)
        acted, renewed = at_once(partial(game.post, seat, action), partial(game.reissue, 1 - seat))
        assert renewed.status_code == 201
        game.tokens[1 - seat] = body_of(renewed)["token"]
        assert answer(acted) in ((200, None), (409, "version_conflict"))
        if acted.status_code == 409:
            assert body_of(acted)["game"] == game.view(seat)
            again = {**action, "expected_version": 2}
            assert game.post(seat, again).status_code == 200
        assert game.view(1 - seat)["version"] == 3


def test_a_token_is_replaced_twice_at_once(platform_site: Site, arrange: Callable[[int], None]) -> None:
    for number in range(REPETITIONS):
        game = platform_site.create("mano-a-mano")
        arrange(2)
        responses = at_once(partial(game.reissue, 0), partial(game.reissue, 0, NEXT_API_KEY))
        tokens = [body_of(response)["token"] for response in responses]
        assert sorted(game.get(token).status_code for token in tokens) == [200, 401]
        arrange(2)
        request = partial(game.reissue, 0, **keyed(f"{KEY}{number}"))
        responses = at_once(request, request)
        assert sorted(map(is_replay, responses)) == [False, True]
        [token] = {body_of(response)["token"] for response in responses}
        assert body_of(game.get(token))["version"] == 4


def check_gone(game: Started, deleted: TestResponse) -> None:
    assert answer(deleted) == (204, None)
    assert answer(game.get(game.host_token)) == NO_GAME
    assert not game.site.redis.keys(f"*{{{game.id}}}*")


def test_a_game_is_deleted_while_somebody_acts(platform_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(REPETITIONS):
        game = platform_site.create("mano-a-mano", turn_seconds=60)
        seat = game.to_act()
        action = game.view(seat)["legal_actions"][0]
        arrange(2)
        acted, deleted = at_once(partial(game.post, seat, action), game.delete)
        assert answer(acted) in ((200, None), NO_GAME)
        check_gone(game, deleted)


def test_a_game_is_deleted_while_the_last_seat_is_taken(platform_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(REPETITIONS):
        game = platform_site.create("mano-a-mano", 1, visibility="public")
        arrange(2)
        joined, deleted = at_once(game.join, game.delete)
        assert answer(joined) in ((201, None), NO_GAME)
        check_gone(game, deleted)
    for mine in ("true", "false"):
        for status in Status:
            assert listed(platform_site, mine=mine, status=status) == []


def test_a_game_is_deleted_while_a_token_is_replaced(platform_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(REPETITIONS):
        game = platform_site.create("mano-a-mano")
        arrange(2)
        renewed, deleted = at_once(partial(game.reissue, 0), game.delete)
        assert answer(renewed) in ((201, None), NO_GAME)
        check_gone(game, deleted)


def test_a_game_is_deleted_twice_at_once(platform_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(REPETITIONS):
        game = platform_site.create("mano-a-mano")
        arrange(2)
        one, other = at_once(game.delete, partial(game.delete, NEXT_API_KEY))
        assert {answer(one), answer(other)} <= {(204, None), NO_GAME}
        check_gone(game, one if one.status_code == 204 else other)


def test_a_finished_game_is_deleted_while_a_rematch_is_asked_for(
    platform_site: Site, arrange: Callable[[int], None]
) -> None:
    for _ in range(REPETITIONS):
        game = platform_site.create("mano-a-mano")
        game.resign()
        arrange(2)
        asked, deleted = at_once(partial(game.rematch, 0), game.delete)
        check_gone(game, deleted)
        assert answer(asked) in ((201, None), NO_GAME)
        for game_id in listed(platform_site):
            assert with_id(game, game_id).delete().status_code == 204
        assert platform_site.redis.keys("*:state") == []


# ---- secrets ----


def test_the_store_tells_no_api_key(platform_site: Site) -> None:
    for key in API_KEYS:
        response = create(platform_site, key, KEY, players=[{"name": "Ana"}], visibility="private")
        game = Started(platform_site, body_of(response)["game"]["id"], {}, "", None)
        game.reissue(0, key, **keyed())
    dump = repr(platform_site.stored())
    assert "Ana" in dump
    for key in API_KEYS:
        assert key not in dump


def test_no_answer_tells_whose_a_game_is(site: Site) -> None:
    game = site.create(visibility="public")
    texts = [
        response.get_data(as_text=True) + str(response.headers)
        for response in (
            create(site, API_KEY),
            game.get(None),
            game.get(game.host_token),
            game.reissue(1),
            game.reissue(1, OTHER_API_KEY),
            site.send("GET", "/v1/games?mine=true", headers=platform(API_KEY)),
        )
    ]
    stored = game.load().platform
    assert stored is not None
    for text in texts:
        assert stored.hex() not in text
        assert API_KEY not in text
    assert "platform" not in json.loads(texts[1].partition("Content-Type")[0])
