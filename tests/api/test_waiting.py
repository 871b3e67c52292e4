"""Requests that are held back until there is news: who wakes them, and when they are answered at once."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import redis
from werkzeug.test import TestResponse

from tests.api.conftest import make_site
from tests.api.driver import (
    PATIENCE_SECONDS,
    UNLIMITED,
    Body,
    Clock,
    Live,
    Site,
    Started,
    answer,
    body_of,
    eventually,
)
from tests.redis_server import DURABLE, RedisServer

LONGEST = 25
WAKES_WITHIN_MS = 50
ACTS_WITHIN_SECONDS = 2


@pytest.fixture
def _only_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits does not look again by itself, so whoever sees news was woken."""
    monkeypatch.setattr("service.waiting.LOOKS_AGAIN_AFTER_SECONDS", 3_600)


@pytest.fixture
def game(any_site: Site) -> Started:
    return any_site.create("mano-a-mano", visibility="public")


def waiters(site: Site) -> int:
    """How many have a place, and have seen that there is no news yet."""
    bell = site.background.waiting._bell
    with bell._lock:
        listeners = [listener for several in bell._listeners.values() for listener in several]
    return sum(bool(listener._rung._cond._waiters) for listener in listeners)  # type: ignore[attr-defined]


def waited_for(game: Started, token: str | None, seconds: int = LONGEST, **kwargs: Any) -> TestResponse:
    """The answer to a look at *game* that knows its present version and waits for the next one."""
    query = {"after_version": game.version, "wait": seconds}
    return game.get(token, query_string=query, **kwargs)


@contextmanager
def held_back(site: Site, request: Callable[[], TestResponse], count: int = 1) -> Iterator[list[Future[TestResponse]]]:
    """*request*, sent *count* times, while all of them wait."""
    before = waiters(site)
    with ThreadPoolExecutor(count) as pool:
        answers = [pool.submit(request) for _ in range(count)]
        eventually(lambda: waiters(site) == before + count)
        yield answers
    eventually(lambda: waiters(site) <= before)


# ---- news ----


@pytest.mark.usefixtures("_only_woken")
@pytest.mark.parametrize("viewer", [0, 1, None])
def test_a_look_is_answered_when_somebody_acts(any_site: Site, game: Started, viewer: int | None) -> None:
    token = None if viewer is None else game.tokens[viewer]
    for _ in range(3):
        version = game.version
        with held_back(any_site, lambda: waited_for(game, token)) as [waiting]:
            game.step()
        view = body_of(waiting.result())
        assert view["version"] == version + 1
        view.pop("server_time")
        now = game.view(viewer)
        now.pop("server_time")
        assert without_presence(view) == without_presence(now)


def without_presence(view: Body) -> Body:
    return {**view, "seats": [{**seat, "presence": None} for seat in view["seats"]]}


@pytest.mark.usefixtures("_only_woken")
def test_events_are_answered_when_somebody_acts(any_site: Site, game: Started) -> None:
    last = game.events()["next_after"]
    with held_back(any_site, lambda: game.send("GET", f"/events?after={last}&wait=25")) as [waiting]:
        acted = game.step()
    assert body_of(waiting.result())["events"] == acted["events"]


@pytest.mark.usefixtures("_only_woken")
@pytest.mark.parametrize("below", ["?after_version=1&wait=25", "/events?after=1&wait=25"])
def test_a_lobby_wakes_when_somebody_sits_down_or_leaves(any_site: Site, below: str) -> None:
    game = any_site.create("paulista", 1, visibility="public")
    with held_back(any_site, lambda: game.send("GET", below)) as [waiting]:
        game.joined("Bia")
    assert waiting.result().status_code == 200
    with held_back(any_site, lambda: waited_for(game, None)) as [waiting]:
        game.leave(1, game.tokens[1])
    assert body_of(waiting.result())["seats"][1]["kind"] == "open"


@pytest.mark.usefixtures("_only_woken")
def test_who_waits_at_a_finished_game_is_told_of_the_rematch(any_site: Site, game: Started) -> None:
    game.resign()
    with held_back(any_site, lambda: waited_for(game, game.tokens[1])) as [waiting]:
        game.rematch(0)
    assert body_of(waiting.result())["rematch_id"] == game.view(0)["rematch_id"]


@pytest.mark.usefixtures("_only_woken")
def test_all_who_wait_are_woken(any_site: Site) -> None:
    games = [any_site.create(visibility="public") for _ in range(3)]
    each_five_times = iter(games * 5)
    with held_back(any_site, lambda: waited_for(next(each_five_times), None), 15) as answers:
        for game in games:
            game.step()
    assert [body_of(each.result())["version"] for each in answers] == [2] * 15


def test_a_game_that_is_cancelled_while_one_waits(any_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.waiting.LOOKS_AGAIN_AFTER_SECONDS", 0.05)
    game = any_site.create("paulista", 1, visibility="public")
    with held_back(any_site, lambda: waited_for(game, game.tokens[0])) as [waiting]:
        game.send("DELETE", "", token=game.host_token)
    assert answer(waiting.result()) == (404, "game_not_found")


@pytest.mark.usefixtures("_only_woken")
def test_a_token_that_dies_while_one_waits(any_site: Site) -> None:
    game = any_site.create("paulista", 2, visibility="public")
    with held_back(any_site, lambda: waited_for(game, game.tokens[1])) as [waiting]:
        game.leave(1, game.host_token)
    assert answer(waiting.result()) == (401, "invalid_token")


# ---- no news ----


def test_without_news_the_view_comes_unchanged(game: Started) -> None:
    before = game.get(game.tokens[0])
    after = waited_for(game, game.tokens[0], 1)
    assert after.status_code == 200
    assert without_presence(body_of(after)) == without_presence(body_of(before))
    assert after.headers["ETag"] == before.headers["ETag"]


def test_without_news_an_etag_is_answered_304(game: Started) -> None:
    etag = game.get(game.tokens[0]).headers["ETag"]
    response = waited_for(game, game.tokens[0], 1, headers={"If-None-Match": etag})
    assert (response.status_code, response.get_data()) == (304, b"")
    game.step()
    news = game.get(game.tokens[0], query_string={"after_version": 1, "wait": 25}, headers={"If-None-Match": etag})
    assert news.status_code == 200


def test_without_news_there_are_no_events(game: Started) -> None:
    last = game.events()["next_after"]
    assert game.events(after=last, wait=1) == {"events": [], "oldest_seq": 1, "next_after": last}


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"wait": 25},
        {"after_version": 1},
        {"after_version": 0, "wait": 25},
        {"after_version": 1, "wait": 0},
    ],
    ids=str,
)
def test_some_looks_do_not_wait(game: Started, query: dict[str, int]) -> None:
    started = time.monotonic()
    assert body_of(game.get(None, query_string=query))["version"] == 1
    assert time.monotonic() - started < LONGEST / 2


def test_events_that_are_there_are_not_waited_for(game: Started) -> None:
    started = time.monotonic()
    assert game.events(wait=25)["next_after"] == game.events()["next_after"]
    assert len(game.events(after=1, limit=1, wait=25)["events"]) == 1
    assert time.monotonic() - started < LONGEST / 2


@pytest.mark.parametrize("wait", [2, 26, 10**9, 2**53 - 1])
def test_a_longer_wait_counts_as_the_longest(site: Site, monkeypatch: pytest.MonkeyPatch, wait: int) -> None:
    monkeypatch.setattr("service.api.read.LONGEST_WAIT_SECONDS", 0.02)
    game = site.create(visibility="public")
    started = time.monotonic()
    assert waited_for(game, None, wait).status_code == 200
    assert game.events(after=99, wait=wait)["events"] == []
    assert time.monotonic() - started < PATIENCE_SECONDS


@pytest.mark.parametrize("query", ["wait=abc", "wait=-1", "wait=1.5", "wait=", "wait=1&wait=2", f"wait={10**16}"])
def test_a_wait_that_is_no_number(site: Site, query: str) -> None:
    game = site.create(visibility="public")
    for path in (f"?{query}", f"?after_version=1&{query}", f"?after_version=0&{query}", f"/events?{query}"):
        assert answer(game.send("GET", path)) == (400, "invalid_parameter")


@pytest.mark.parametrize("query", ["after_version=abc", "after_version=-1", "after_version=", f"after_version={2**53}"])
def test_a_version_that_is_no_number(site: Site, query: str) -> None:
    game = site.create(visibility="public")
    for path in (f"?{query}", f"?wait=25&{query}"):
        assert answer(game.send("GET", path)) == (400, "invalid_parameter")


def test_a_version_that_is_still_to_come_is_waited_for(site: Site) -> None:
    """As after a failure that cost the store its latest changes: the view then comes after the wait."""
    game = site.create(visibility="public")
    with held_back(site, lambda: game.send("GET", "?after_version=2&wait=25")) as [waiting]:
        game.step()
        eventually(lambda: game.version == 2)
        assert not waiting.done()
        game.step()
    assert body_of(waiting.result())["version"] == 3


def test_who_may_not_look_does_not_wait(site: Site) -> None:
    game, other = site.create(), site.create()
    for below in ("?after_version=1&wait=25", "/events?after=99&wait=25"):
        assert answer(game.send("GET", below)) == (401, "missing_token")
        assert answer(game.send("GET", below, token=other.tokens[0])) == (401, "invalid_token")
    assert answer(site.send("GET", f"/v1/games/{'0' * 26}?after_version=1&wait=25")) == (404, "game_not_found")


# ---- limits ----


def limited(clock: Clock, **limits: int) -> Site:
    return make_site(replace(UNLIMITED, **limits), clock)


def look(game: Started, token: str | None, address: str = "127.0.0.1") -> TestResponse:
    return waited_for(game, token, environ_overrides={"REMOTE_ADDR": address})


def test_of_one_seat_only_so_many_wait(clock: Clock) -> None:
    site = limited(clock, waits_per_seat=2)
    game, other = site.create(), site.create()
    with held_back(site, lambda: look(game, game.tokens[0]), 2) as waiting:
        assert body_of(look(game, game.tokens[0], "10.0.0.1"))["version"] == 1
        last = game.events(game.tokens[0])["next_after"]
        assert game.events(game.tokens[0], after=last, wait=25)["events"] == []
        assert not any(each.done() for each in waiting)
        with (
            held_back(site, lambda: look(game, game.tokens[1])),
            held_back(site, lambda: look(game, game.host_token)),
            held_back(site, lambda: look(other, other.tokens[0])),
        ):
            game.step()
            other.step()
    with held_back(site, lambda: look(game, game.tokens[0]), 2):
        game.step()


def test_of_one_address_only_so_many_wait(clock: Clock) -> None:
    site = limited(clock, waits_per_address=3)
    game = site.create("mano-a-mano", visibility="public")
    tokens = iter((None, game.tokens[0], game.host_token))
    with held_back(site, lambda: look(game, next(tokens)), 3) as waiting:
        for token in (None, game.tokens[0], game.tokens[1]):
            assert body_of(look(game, token))["version"] == 1
        assert not any(each.done() for each in waiting)
        with held_back(site, lambda: look(game, None, "10.0.0.1")):
            game.step()


def test_of_one_worker_only_so_many_wait(clock: Clock) -> None:
    site = limited(clock, waits_per_worker=2)
    game = site.create("mano-a-mano", visibility="public")
    addresses = iter(("10.0.0.1", "10.0.0.2"))
    with held_back(site, lambda: look(game, None, next(addresses)), 2) as waiting:
        assert body_of(look(game, game.tokens[0], "10.0.0.3"))["version"] == 1
        assert not any(each.done() for each in waiting)
        game.step()


def test_a_place_is_given_back_whatever_happens(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.waiting.LOOKS_AGAIN_AFTER_SECONDS", 0.02)
    site = limited(clock, waits_per_worker=1)
    for _ in range(3):
        game = site.create("paulista", 1, visibility="public")
        with held_back(site, lambda game=game: look(game, None)) as [waiting]:
            game.send("DELETE", "", token=game.host_token)
        assert waiting.result().status_code == 404
    game = site.create(visibility="public")
    assert waited_for(game, None, 1).status_code == 200
    assert site.background.waiting._held == {}


# ---- presence ----


def presences(game: Started) -> list[str | None]:
    return [seat["presence"] for seat in body_of(game.get(game.host_token))["seats"]]


def test_a_seat_that_waits_is_here(any_site: Site) -> None:
    game = any_site.create("paulista", 2, visibility="public")
    assert presences(game) == ["away", "away", None, None]
    with held_back(any_site, lambda: waited_for(game, game.tokens[1])) as [waiting]:
        assert presences(game) == ["away", "here", None, None]
        game.joined("Caio")
    assert [seat["presence"] for seat in body_of(waiting.result())["seats"]] == ["away", "here", "away", None]
    assert presences(game) == ["away", "here", "away", None], "for a while after the wait too"


def test_a_seat_that_waits_for_events_is_here(any_site: Site, game: Started) -> None:
    last = game.events()["next_after"]
    with held_back(any_site, lambda: game.send("GET", f"/events?after={last}&wait=25", token=game.tokens[0])):
        assert presences(game) == ["here", "away"]
        game.step()


def test_others_who_wait_are_not_shown(any_site: Site, game: Started) -> None:
    for token in (None, game.host_token):
        with held_back(any_site, lambda token=token: waited_for(game, token)):
            assert presences(game) == ["away", "away"]
            game.step()


def test_a_look_that_does_not_wait_does_not_count(game: Started) -> None:
    game.view(0)
    game.get(game.tokens[0], query_string={"after_version": 0, "wait": 25})
    game.step()
    assert presences(game) == ["away", "away"]


def test_who_has_not_waited_for_a_while_is_away(any_site: Site, game: Started) -> None:
    with held_back(any_site, lambda: waited_for(game, game.tokens[0])):
        game.step()
    [key] = any_site.redis.keys(f"*{game.id}*presence")
    any_site.redis.zadd(key, {"0": 1})
    assert presences(game) == ["away", "away"]


def test_presence_is_no_change_of_the_game(any_site: Site, game: Started) -> None:
    etag = game.get(game.host_token).headers["ETag"]
    events = game.events()
    with held_back(any_site, lambda: waited_for(game, game.host_token)) as [other]:
        assert waited_for(game, game.tokens[0], 1).status_code == 200
        assert presences(game) == ["here", "away"]
        assert game.get(game.host_token, headers={"If-None-Match": etag}).status_code == 304
        assert (game.version, game.events()) == (1, events)
        assert not other.done()
        game.step()


# ---- the end of the process ----


def test_when_the_process_shuts_down_all_are_let_go(any_site: Site, game: Started) -> None:
    last = game.events()["next_after"]
    with (
        held_back(any_site, lambda: waited_for(game, game.tokens[0]), 3) as looks,
        held_back(any_site, lambda: game.send("GET", f"/events?after={last}&wait=25"), 3) as events,
    ):
        any_site.background.drain()
    assert {each.result().status_code for each in (*looks, *events)} == {200}
    assert {body_of(each.result())["version"] for each in looks} == {1}
    assert waited_for(game, game.tokens[0]).status_code == 200
    assert waiters(any_site) == 0
    game.step()
    assert game.version == 2
    ready = any_site.send("GET", "/readyz")
    assert (answer(ready), int(ready.headers["Retry-After"]) >= 1) == ((503, "draining"), True)
    assert any_site.send("GET", "/healthz").status_code == 200


# ---- the subscription breaks ----


@pytest.mark.usefixtures("_only_woken")
def test_a_commit_while_the_subscription_is_broken(clock: Clock, redis_server: RedisServer) -> None:
    """The server drops it and gets the commit in one piece, so nobody can have heard of that."""
    site = make_site(replace(UNLIMITED, redis_url=redis_server.url), clock)
    game = site.create(visibility="public")
    store, commit = site.store, site.store._commit

    def break_and_commit(keys: list[str], args: list[Any]) -> object:
        pipeline = site.redis.pipeline(transaction=False)
        pipeline.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        pipeline.evalsha(commit.sha, len(keys), *keys, *args)
        killed, stands = pipeline.execute()
        assert killed >= 1
        return stands

    for version in (1, 2):
        with held_back(site, lambda: waited_for(game, game.tokens[0])) as [waiting]:
            store._commit = break_and_commit  # type: ignore[assignment]
            game.step()
            store._commit = commit
        assert body_of(waiting.result())["version"] == version + 1
    site.redis.close()


@pytest.mark.usefixtures("_only_woken")
def test_a_store_that_was_away_and_came_back(clock: Clock) -> None:
    with RedisServer(*DURABLE) as server:
        site = make_site(replace(UNLIMITED, redis_url=server.url), clock)
        game = site.create(visibility="public")
        action = game.view(game.to_act())["legal_actions"][0]
        with held_back(site, lambda: waited_for(game, game.tokens[0])) as [waiting]:
            server.kill()
            assert answer(game.post(0, action)) == (503, "storage_unavailable")
            server.start()
            game.step()
        assert body_of(waiting.result())["version"] == 2
        site.redis.close()


def test_a_store_that_goes_away_while_one_waits(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.waiting.LOOKS_AGAIN_AFTER_SECONDS", 0.05)
    with RedisServer() as server:
        site = make_site(replace(UNLIMITED, redis_url=server.url), clock)
        game = site.create(visibility="public")
        with held_back(site, lambda: waited_for(game, None)) as [waiting]:
            server.kill()
        assert answer(waiting.result()) == (503, "storage_unavailable")
        site.redis.close()


# ---- two workers ----


def test_a_waiter_is_told_within_50_ms(live: Live) -> None:
    """The median of 20 actions, from the moment the action is sent."""
    game = live.create(rules={"target": 99})
    took_ms: list[float] = []

    def wait(seat: int, version: int) -> tuple[float, Body]:
        news = game.view(seat, after_version=version, wait=LONGEST)
        return time.perf_counter(), news

    with ThreadPoolExecutor(1) as pool:
        for _ in range(20):
            seat = game.view(0)["turn"]["seats"][0]
            view = game.view(seat)
            told = pool.submit(wait, 1 - seat, view["version"])
            threading.Event().wait(0.05)  # it is let in and waits
            sent = time.perf_counter()
            game.act(seat, view["legal_actions"][0])
            at, news = told.result()
            assert news["version"] == view["version"] + 1
            took_ms.append(1000 * (at - sent))
    assert statistics.median(took_ms) < WAKES_WITHIN_MS, sorted(map(round, took_ms))


def test_an_overdue_turn_is_acted_on_without_a_request(live: Live) -> None:
    """A past deadline is written into the store; whoever waits is told of what the service did."""
    game = live.create(turn_seconds=3_600)
    site = make_site(replace(UNLIMITED, redis_url=live.redis_url))
    here = Started(site, game.id, game.tokens, "", None)
    here.change(deadline_ms=1)
    written = time.monotonic()
    assert game.view(0, after_version=2, wait=LONGEST)["version"] == 3
    assert time.monotonic() - written < ACTS_WITHIN_SECONDS
    assert [event["type"] for event in here.events()["events"]][-2:] == ["timed_out", "card_played"]
    site.redis.close()


def test_there_is_one_subscription_a_worker(live: Live) -> None:
    games = [live.create() for _ in range(2)]
    with redis.Redis.from_url(live.redis_url) as client, ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(game.view, 0, after_version=1, wait=LONGEST) for game in games * 4]
        channels = [f"truco:{{{game.id}}}:commits" for game in games]
        eventually(lambda: all(count >= 1 for _, count in client.pubsub_numsub(*channels)))
        assert len(client.client_list(_type="pubsub")) <= 2
        for game in games:
            game.step()
        assert [waiting.result()["version"] for waiting in answers] == [2] * 8
