"""Acting from what a worker remembers of a game: without a read, and never against what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from service.store import codec
from service.store.base import Loaded
from service.store.redis import RedisGameStore
from tests.api.conftest import make_site
from tests.api.driver import API_KEYS, UNLIMITED, Clock, Site, Started, answer, body_of
from tests.redis_server import RedisServer


class CountingStore(RedisGameStore):
    reads = 0

    def load(self, game_id: str, retry_name: str | None = None) -> Loaded | None:
        self.reads += 1
        return super().load(game_id, retry_name)


@dataclass
class Workers:
    """Two that share a Redis, and one game as each of them serves it."""

    one: Started
    other: Started

    @property
    def reads(self) -> int:
        store = self.one.site.store
        assert isinstance(store, CountingStore)
        return store.reads


def counting(site: Site) -> Site:
    site.store.__class__ = CountingStore
    return site


@pytest.fixture
def workers(clock: Clock, redis_server: RedisServer) -> Iterator[Workers]:
    settings = replace(UNLIMITED, redis_url=redis_server.url, api_keys=API_KEYS)
    one, other = counting(make_site(settings, clock)), make_site(settings, clock)
    one.api_key = next(iter(API_KEYS))
    game = one.create(visibility="public")
    yield Workers(game, Started(other, game.id, game.tokens, game.host_token, None))
    one.redis.close()
    other.redis.close()


def act_at(game: Started, version: int, seat: int, **kwargs: object) -> tuple[int, str | None]:
    """The first action that *seat* is offered, as if at *version*."""
    action = game.view(seat)["legal_actions"][0]
    return answer(game.post(seat, {**action, "expected_version": version}, **kwargs))


def test_an_action_at_the_version_that_is_remembered_reads_nothing(workers: Workers) -> None:
    game = workers.one
    seat = game.to_act()
    action = game.view(seat)["legal_actions"][0]
    before = workers.reads
    acted = game.post(seat, action)
    assert (acted.status_code, workers.reads) == (200, before)
    assert body_of(acted)["game"]["version"] == 2


def test_what_another_worker_has_done_since_is_found_out(workers: Workers) -> None:
    first = workers.one.to_act()
    stale = workers.one.view(first)["legal_actions"][0]
    workers.other.act(first, stale)
    refused = workers.one.post(first, stale)
    assert answer(refused) == (409, "version_conflict")
    assert body_of(refused)["game"] == workers.other.view(first)


def test_a_refusal_from_memory_counts_only_if_it_is_so(workers: Workers) -> None:
    first = workers.one.to_act()
    not_due = {"type": "accept", "expected_version": 1}
    assert answer(workers.one.post(first, not_due)) == (409, "nothing_to_answer")
    workers.other.act(first, workers.other.view(first)["legal_actions"][0])
    assert answer(workers.one.post(first, not_due)) == (409, "version_conflict")


def test_a_token_that_has_died_since_opens_nothing(workers: Workers) -> None:
    seat = workers.one.to_act()
    action = workers.one.view(seat)["legal_actions"][0]
    old = workers.other.reissued(seat)
    lost = workers.one.send("POST", "/actions", action, old)
    assert answer(lost) == (401, "invalid_token")
    workers.one.tokens[seat] = workers.other.tokens[seat]
    assert act_at(workers.one, 2, seat) == (200, None)


def test_a_game_that_went_back_and_on_another_way_is_not_overwritten(workers: Workers) -> None:
    """As after the failover to a replica that had not got the last commits: the same version, by another commit."""
    game = workers.one
    seat = game.to_act()
    action = game.view(seat)["legal_actions"][0]
    stored = game.load()
    another = replace(stored, last_seq=stored.last_seq + 5, nonce=b"another")
    game.site.redis.set(f"truco:{{{game.id}}}:state", codec.encode(another))
    acted = body_of(game.post(seat, action))
    assert acted["events"][0]["seq"] == another.last_seq + 1


def test_a_key_is_not_used_twice_from_memory(workers: Workers) -> None:
    game = workers.one
    key = {"Idempotency-Key": "one"}
    first = game.to_act()
    action = game.view(first)["legal_actions"][0]
    assert game.post(first, action, headers=key).status_code == 200
    again = workers.other.post(first, action, headers=key)
    assert (again.status_code, again.headers.get("Idempotency-Replayed")) == (200, "true")
    version = game.version
    while game.to_act() != first:
        game.step()
    version = game.version
    assert act_at(game, version, first, headers=key) == (422, "idempotency_key_reused")
    assert game.version == version


def test_a_game_with_a_clock_is_read_each_time(clock: Clock) -> None:
    site = counting(make_site(UNLIMITED, clock))
    game = site.create(visibility="public", turn_seconds=30)
    store = site.store
    assert isinstance(store, CountingStore)
    seat = game.to_act()
    action = game.view(seat)["legal_actions"][0]
    before = store.reads
    game.post(seat, action)
    assert store.reads > before


def test_a_wrong_token_comes_before_a_wrong_body(workers: Workers) -> None:
    game = workers.one
    assert answer(game.send("POST", "/actions", {"type": "dance"}, "x" * 43)) == (401, "invalid_token")
    assert answer(game.send("POST", "/actions", {"type": "dance"}, game.host_token)) == (403, "wrong_seat")
    assert answer(game.send("POST", "/actions", {"type": "dance"}, game.tokens[0])) == (422, "validation_failed")


def test_only_so_many_are_remembered(clock: Clock) -> None:
    site = make_site(replace(UNLIMITED, states_kept=2), clock)
    games = [site.create(visibility="public") for _ in range(3)]
    assert [site.store.recall(game.id, 1) is None for game in games] == [True, False, False]
    forgetful = make_site(replace(UNLIMITED, states_kept=0), clock)
    assert forgetful.store.recall(forgetful.create(visibility="public").id, 1) is None
