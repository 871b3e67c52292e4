"""The store fails: gone, full, read-only, or holding what this process does not understand."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from service.settings import Settings
from tests.api.conftest import make_site
from tests.api.driver import Body, Clock, Site, Started, answer, bearer
from tests.redis_server import RedisServer

ANSWERS_WITHIN_SECONDS = 2.0
KEEPS_ITS_DATA = ("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """One for this test alone, which finds its games again after a crash."""
    with RedisServer(*KEEPS_ITS_DATA) as server:
        yield server


@pytest.fixture
def fragile(server: RedisServer, clock: Clock) -> Iterator[Site]:
    site = make_site(Settings(redis_url=server.url), clock)
    yield site
    site.redis.close()


def every_request(game: Started, seat: int) -> list[tuple[str, str, Body | None, str | None]]:
    """One to each operation that needs the store."""
    act = {"type": "resign", "expected_version": 1}
    token = game.tokens[seat]
    return [
        ("GET", "/v1/games", None, None),
        ("POST", "/v1/games", {"variant": "mano-a-mano", "visibility": "public"}, None),
        ("GET", game.path, None, token),
        ("GET", f"{game.path}/events", None, token),
        ("GET", f"{game.path}/record", None, token),
        ("POST", f"{game.path}/actions", act, token),
        ("POST", f"{game.path}/seats", {"name": "Gil"}, None),
        ("DELETE", f"{game.path}/seats/{seat}", None, token),
        ("DELETE", game.path, None, game.host_token),
    ]


def check_unavailable(site: Site, method: str, path: str, body: Body | None = None, token: str | None = None) -> None:
    started = time.monotonic()
    response = site.send(method, path, body, token)
    assert time.monotonic() - started < ANSWERS_WITHIN_SECONDS
    assert answer(response) == (503, "storage_unavailable")
    assert int(response.headers["Retry-After"]) >= 1


def test_without_its_store_the_service_says_so_and_comes_back(server: RedisServer, fragile: Site) -> None:
    game = fragile.create("mano-a-mano", visibility="public")
    seat = game.to_act()
    before = fragile.stored()
    server.kill()
    for request in every_request(game, seat):
        check_unavailable(fragile, *request)
    check_unavailable(fragile, "GET", "/readyz")
    assert fragile.send("GET", "/healthz").status_code == 200
    assert fragile.send("GET", "/v1/variants").status_code == 200
    assert fragile.send("GET", "/openapi.yaml").status_code == 200
    server.start()
    assert fragile.send("GET", "/readyz").status_code == 200
    assert fragile.stored() == before
    game.act(seat, game.view(seat)["legal_actions"][0])
    assert fragile.create("simples").view(0)["status"] == "playing"


def test_a_store_that_restarts_between_two_requests_is_not_noticed(server: RedisServer, fragile: Site) -> None:
    game = fragile.create("mano-a-mano")
    server.kill()
    server.start()
    assert game.get(game.tokens[0]).status_code == 200
    server.kill()
    server.start()
    assert answer(game.post(0, {"type": "resign", "expected_version": 1})) == (200, None)
    assert game.view(1)["status"] == "finished"


def test_a_store_that_is_stuck_is_unavailable(server: RedisServer, fragile: Site) -> None:
    game = fragile.create("mano-a-mano")
    server.pause()
    check_unavailable(fragile, "GET", game.path, token=game.tokens[0])
    check_unavailable(fragile, "GET", "/readyz")
    server.resume()
    assert game.get(game.tokens[0]).status_code == 200


def test_a_store_that_loses_its_scripts_gets_them_again(fragile: Site) -> None:
    game = fragile.create("mano-a-mano", 1)
    fragile.redis.script_flush()
    game.joined("Bia")
    other = fragile.create("simples", 1)
    fragile.redis.script_flush()
    assert other.send("DELETE", "", token=other.host_token).status_code == 204


@pytest.mark.parametrize("trouble", ["full", "read-only"])
def test_a_store_that_cannot_write_still_reads(fragile: Site, trouble: str) -> None:
    game, lobby = fragile.create("mano-a-mano", visibility="public"), fragile.create("simples", 1, visibility="public")
    seat = game.to_act()
    action = game.view(seat)["legal_actions"][0]
    before = fragile.stored()
    if trouble == "full":
        fragile.redis.config_set("maxmemory-policy", "noeviction")
        fragile.redis.config_set("maxmemory", 1)
    else:
        fragile.redis.replicaof("127.0.0.1", 1)
    check_unavailable(fragile, "POST", f"{game.path}/actions", action, game.tokens[seat])
    check_unavailable(fragile, "POST", f"{lobby.path}/seats", {"name": "Gil"})
    check_unavailable(fragile, "POST", "/v1/games", {"variant": "simples", "visibility": "public"})
    check_unavailable(fragile, "POST", "/v1/games", {"variant": "simples"})
    check_unavailable(fragile, "DELETE", f"{lobby.path}/seats/0", None, lobby.tokens[0])
    check_unavailable(fragile, "DELETE", f"{game.path}/seats/0", None, game.tokens[0])
    assert fragile.stored() == before
    assert game.view(seat)["legal_actions"][0] == action
    assert fragile.get("/v1/games")["games"][0]["id"] == lobby.id
    if trouble == "full":
        fragile.redis.config_set("maxmemory", 0)
    else:
        fragile.redis.replicaof("NO", "ONE")
    game.act(seat, action)
    lobby.joined("Gil")


# ---- stored by a newer release ----

NEWER = b"9 5 x\x00\xff whatever it may be"


def state_key(game: Started) -> bytes:
    return f"truco:{{{game.id}}}:state".encode()


def test_a_state_of_a_newer_format_is_left_alone(any_site: Site) -> None:
    game = any_site.create("mano-a-mano", visibility="public")
    seat = game.to_act()
    any_site.redis.set(state_key(game), NEWER)
    before = any_site.stored()
    requests = every_request(game, seat)[2:]
    for version in (1, 5):
        act = {"type": "resign", "expected_version": version}
        requests.append(("POST", f"{game.path}/actions", act, game.tokens[seat]))
    for method, path, body, token in requests:
        response = any_site.send(method, path, body, headers=bearer(token))
        assert answer(response) == (503, "storage_unavailable"), (method, path)
        assert "Retry-After" in response.headers
    left = {key: value for key, value in any_site.stored().items() if not key.startswith(b"truco:games:")}
    assert left == {key: value for key, value in before.items() if not key.startswith(b"truco:games:")}, "but for hints"


@pytest.mark.parametrize("status", ["lobby", "playing"])
def test_a_game_of_a_newer_format_does_not_hide_the_others(any_site: Site, status: str) -> None:
    players = {"lobby": 1, "playing": None}[status]
    newer, game = (any_site.create("simples", players, visibility="public") for _ in range(2))
    state = any_site.redis.get(state_key(newer))
    assert state is not None
    any_site.redis.set(state_key(newer), NEWER)
    listed = any_site.get(f"/v1/games?status={status}")
    assert [each["id"] for each in listed["games"]] == [game.id]
    any_site.redis.set(state_key(newer), state)  # as a process of the newer release would see it
    listed = any_site.get(f"/v1/games?status={status}")
    assert {each["id"] for each in listed["games"]} == {game.id, newer.id}


@pytest.mark.parametrize("stored", [b"", b"1", b"1 1", b"1 1 x ", b"1 1 x \xc1", b"x y z \x90", b"1 1 x \x9a"])
def test_a_state_that_cannot_be_read_is_no_open_door(any_site: Site, stored: bytes) -> None:
    game = any_site.create("mano-a-mano", visibility="public")
    any_site.redis.set(state_key(game), stored)
    response = any_site.send("GET", game.path)
    assert answer(response) == (503, "storage_unavailable")
    assert any_site.redis.get(state_key(game)) == stored
    assert any_site.get("/v1/games?status=playing")["games"] == []
