"""Connections that are kept for scripts: found dead by using them, and made anew as the client makes them."""

from __future__ import annotations

import pytest
import redis

from service.store.script import Connections, Script
from tests.redis_server import RedisServer

COUNT = "return redis.call('INCR', KEYS[1])"
GET = "return redis.call('GET', KEYS[1])"


class MovingConnection(redis.Connection):
    """As a Sentinel's: where to connect is asked anew each time it connects."""

    port_now = 0

    def connect(self) -> None:
        self.port = self.port_now
        super().connect()


def test_a_connection_that_died_is_made_anew() -> None:
    with RedisServer() as server, redis.Redis.from_url(server.url) as client:
        count = Script(Connections(client), COUNT)
        assert count(["it"]) == 1
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        assert count(["it"]) == 2


def test_it_follows_the_server_that_moves() -> None:
    with RedisServer() as old, RedisServer() as new:
        MovingConnection.port_now = old.port
        client = redis.Redis(connection_pool=redis.ConnectionPool(connection_class=MovingConnection, protocol=2))
        count = Script(Connections(client), COUNT)
        assert count(["it"]) == 1
        old.kill()
        with pytest.raises(redis.ConnectionError):
            count(["it"])
        MovingConnection.port_now = new.port
        assert count(["it"]) == 1
        client.close()


def test_a_refusal_is_an_answer_and_the_connection_goes_on() -> None:
    with RedisServer() as server, redis.Redis.from_url(server.url) as client:
        connections = Connections(client)
        client.set("it", "no number")
        with pytest.raises(redis.ResponseError):
            Script(connections, COUNT)(["it"])
        assert Script(connections, GET)(["it"]) in ("no number", b"no number")
        assert len(connections._idle) == 1
