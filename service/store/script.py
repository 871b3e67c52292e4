"""Scripts on a Redis server, with as little around the round trip as is safe.

The client asks the kernel before each command whether its connection still lives, and keeps measurements: together that
costs several times what sending and parsing do. Here a connection that has died is found by using it, and the script is
sent once more on a new one. So only for scripts that are harmless twice.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Final

import redis
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection
from redis.exceptions import NoScriptError
from redis.retry import Retry

Argument = str | bytes | int

_PAUSE_SECONDS: Final = 0.05
"""Before the second try."""


class Connections:
    """Connections of a client's pool that are kept for scripts once they have been taken."""

    def __init__(self, client: redis.Redis) -> None:
        self._pool = client.connection_pool
        self._idle: list[AbstractConnection] = []

    def ask(self, *command: Argument) -> object:
        """The server's answer. Raises what the client raises, after a second try."""
        connection = self._idle.pop() if self._idle else self._new()
        try:
            try:
                return _answer(connection, command)
            except (redis.ConnectionError, redis.TimeoutError):
                connection.disconnect()  # type: ignore[no-untyped-call]
                time.sleep(_PAUSE_SECONDS)
                return _answer(connection, command)
        except redis.ResponseError:
            raise  # an answer, too
        except BaseException:
            connection.disconnect()  # type: ignore[no-untyped-call]  # the answer may still be on its way
            raise
        finally:
            self._idle.append(connection)

    def _new(self) -> AbstractConnection:
        connection = self._pool.get_connection()
        assert isinstance(connection, AbstractConnection)
        connection.retry = Retry(NoBackoff(), 0)  # it is tried twice here
        return connection

    def disconnect(self) -> None:
        """Those that are idle; their next use finds the server anew."""
        for connection in tuple(self._idle):
            connection.disconnect()  # type: ignore[no-untyped-call]


class Script:
    """A script, called as the client's own scripts are. Nothing is sent before."""

    def __init__(self, connections: Connections, text: str) -> None:
        self.sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        self._connections = connections
        self._text = text

    def __call__(self, keys: Sequence[str], args: Sequence[Argument] = ()) -> object:
        try:
            return self._connections.ask("EVALSHA", self.sha, len(keys), *keys, *args)
        except NoScriptError:
            return self._connections.ask("EVAL", self._text, len(keys), *keys, *args)


def _answer(connection: AbstractConnection, command: Sequence[Argument]) -> object:
    # nothing if it is connected; in this way alone a Sentinel is asked for the master of now
    connection.connect()  # type: ignore[no-untyped-call]
    connection.send_packed_command(connection.pack_command(*command))  # type: ignore[no-untyped-call]
    time.sleep(0)  # others work meanwhile; on a busy worker the answer is read a little later for it
    answer: object = connection.read_response()
    return answer
