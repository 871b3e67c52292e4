"""Who waits hears of each commit, through one subscription that may break."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import fakeredis
import pytest
import redis

from service.store.bell import Bell, Listener
from service.store.connect import connect
from service.store.redis import channel
from tests.redis_server import RedisServer

PATIENCE_SECONDS = 10
IDS = [f"{place:026d}" for place in range(12)]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as started:
        yield started


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody listens to any more is left at the next look."""
    monkeypatch.setattr("service.store.bell._READ_SECONDS", 0.05)


@pytest.fixture(params=["embedded", "server"])
def client(request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    if request.param == "embedded":
        yield fakeredis.FakeRedis()
        return
    server: RedisServer = request.getfixturevalue("server")
    with redis.Redis.from_url(server.url) as real:
        yield real


@pytest.fixture
def bell(client: redis.Redis) -> Bell:
    return Bell(client)


def is_rung(listener: Listener) -> bool:
    """It rings before long; once it has, it is silent again."""
    rung = listener._rung.wait(PATIENCE_SECONDS)
    listener._rung.clear()
    return rung


def is_silent(listener: Listener) -> bool:
    return not listener._rung.is_set()


def commit(client: redis.Redis, game_id: str) -> None:
    """What a commit says."""
    client.publish(channel(game_id), "2")


def eventually(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.005)
    return True


def subscribers(client: redis.Redis, *game_ids: str) -> list[int]:
    return [count for _, count in client.pubsub_numsub(*map(channel, game_ids))]


# ---- rings ----


def test_a_commit_rings(bell: Bell, client: redis.Redis) -> None:
    with bell.listening(IDS[0]) as listener:
        for _ in range(20):
            assert is_silent(listener)
            commit(client, IDS[0])
            assert is_rung(listener)


def test_the_commit_right_after_rings_whoever_began_to_listen(bell: Bell, client: redis.Redis) -> None:
    for round_ in range(30):
        with bell.listening(IDS[round_ % 2]) as listener:
            commit(client, IDS[round_ % 2])
            assert is_rung(listener)


def test_a_ring_before_the_wait_counts(bell: Bell, client: redis.Redis) -> None:
    with bell.listening(IDS[0]) as listener:
        commit(client, IDS[0])
        assert eventually(lambda: not is_silent(listener))
        listener.wait(3_600)
        assert is_silent(listener)


def test_a_wait_ends_with_its_time(bell: Bell) -> None:
    with bell.listening(IDS[0]) as listener:
        listener.wait(0.01)
        assert is_silent(listener)


def test_only_the_games_own_commits_ring(bell: Bell, client: redis.Redis) -> None:
    with bell.listening(IDS[0]) as one, bell.listening(IDS[1]) as other:
        commit(client, IDS[2])
        commit(client, IDS[1])
        assert is_rung(other)
        assert is_silent(one)


def test_all_who_listen_are_rung(bell: Bell, client: redis.Redis) -> None:
    with bell.listening(IDS[0]) as first, bell.listening(IDS[0]) as second:
        with bell.listening(IDS[0]) as third:
            commit(client, IDS[0])
            assert all(map(is_rung, (first, second, third)))
        commit(client, IDS[0])
        assert all(map(is_rung, (first, second)))
        assert is_silent(third)
        bell.ring_all()
        assert all(map(is_rung, (first, second)))


def test_who_comes_again_hears_again(bell: Bell, client: redis.Redis) -> None:
    for _ in range(5):
        with bell.listening(IDS[0]) as listener:
            commit(client, IDS[0])
            assert is_rung(listener)
        assert eventually(lambda: subscribers(client, IDS[0]) == [0])


# ---- one subscription ----


def test_however_many_listen_it_is_one_connection() -> None:
    with RedisServer() as server, redis.Redis.from_url(server.url) as client, ExitStack() as stack:
        bell = Bell(client)
        listeners = [stack.enter_context(bell.listening(game_id)) for game_id in IDS for _ in range(5)]
        assert len(client.client_list(_type="pubsub")) == 1
        assert subscribers(client, *IDS) == [1] * len(IDS)
        for game_id in IDS:
            commit(client, game_id)
        assert all(map(is_rung, listeners))


def test_the_last_who_leaves_ends_it(bell: Bell, client: redis.Redis) -> None:
    with bell.listening(IDS[0]):
        with bell.listening(IDS[0]), bell.listening(IDS[1]):
            assert subscribers(client, *IDS[:2]) == [1, 1]
        assert eventually(lambda: subscribers(client, *IDS[:2]) == [1, 0])
    assert eventually(lambda: subscribers(client, IDS[0]) == [0])


def test_an_error_of_who_listens_gives_its_place_back(bell: Bell, client: redis.Redis) -> None:
    with pytest.raises(KeyError), bell.listening(IDS[0]):
        raise KeyError
    assert eventually(lambda: subscribers(client, IDS[0]) == [0])


# ---- it breaks ----


@pytest.fixture
def real(server: RedisServer) -> Iterator[redis.Redis]:
    """A client as the service makes it."""
    client = connect(server.url)
    yield client
    client.close()


def kill_subscriptions(client: redis.Redis, *committed: str) -> None:
    """Commits that come while nobody is subscribed: the server gets them in one piece."""
    pipeline = client.pipeline(transaction=False)
    pipeline.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
    for game_id in committed:
        pipeline.publish(channel(game_id), "2")
    killed, *heard = pipeline.execute()
    assert killed >= 1
    assert heard == [0] * len(committed)


def test_who_missed_a_commit_is_rung_when_the_subscription_is_back(real: redis.Redis) -> None:
    bell = Bell(real)
    with bell.listening(IDS[0]) as one, bell.listening(IDS[1]) as other:
        for _ in range(3):
            kill_subscriptions(real, IDS[0], IDS[1])
            assert is_rung(one)
            assert is_rung(other)
            assert eventually(lambda: subscribers(real, IDS[0], IDS[1]) == [1, 1])
            commit(real, IDS[0])
            assert is_rung(one)


def test_who_comes_while_it_is_broken_hears_too(real: redis.Redis) -> None:
    bell = Bell(real)
    with bell.listening(IDS[0]) as one:
        for _ in range(10):
            kill_subscriptions(real)
            with bell.listening(IDS[1]) as other:
                assert eventually(lambda: subscribers(real, IDS[0], IDS[1]) == [1, 1])
                one._rung.clear()
                other._rung.clear()
                commit(real, IDS[1])
                assert is_rung(other)
                commit(real, IDS[0])
                assert is_rung(one)


def test_it_outlives_a_storm(real: redis.Redis) -> None:
    """While subscriptions are killed again and again, listeners come and go; whoever is left hears."""
    bell = Bell(real)
    stopping = threading.Event()

    def come_and_go(game_id: str) -> None:
        while not stopping.is_set():
            with bell.listening(game_id) as listener:
                listener.wait(0.001)

    threads = [threading.Thread(target=come_and_go, args=(game_id,)) for game_id in IDS[1:5]]
    with bell.listening(IDS[0]) as one:
        for thread in threads:
            thread.start()
        for _ in range(40):
            real.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
            stopping.wait(0.01)
        stopping.set()
        for thread in threads:
            thread.join()
        with bell.listening(IDS[5]) as other:
            assert eventually(lambda: subscribers(real, IDS[0], IDS[5]) == [1, 1])
            one._rung.clear()
            other._rung.clear()
            commit(real, IDS[0])
            assert is_rung(one)
            commit(real, IDS[5])
            assert is_rung(other)
    assert eventually(lambda: subscribers(real, *IDS[:6]) == [0] * 6)


def test_a_server_that_was_away() -> None:
    with RedisServer() as server:
        client = connect(server.url)
        bell = Bell(client)
        with bell.listening(IDS[0]) as one:
            server.kill()
            with bell.listening(IDS[1]) as other:
                assert is_silent(other)
                server.start()
                assert is_rung(one)
                assert is_rung(other)
                assert eventually(lambda: subscribers(client, IDS[0], IDS[1]) == [1, 1])
                one._rung.clear()
                commit(client, IDS[0])
                assert is_rung(one)
        client.close()


def test_a_server_that_is_not_there_yet() -> None:
    server = RedisServer()
    client = connect(server.url)
    bell = Bell(client)
    with bell.listening(IDS[0]) as listener:
        assert is_silent(listener)
        with server:
            assert is_rung(listener)
            assert eventually(lambda: subscribers(client, IDS[0]) == [1])
            commit(client, IDS[0])
            assert is_rung(listener)
    client.close()
