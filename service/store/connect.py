"""From a URL to a Redis client: one server, a Sentinel's master, a cluster, or an embedded one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, cast
from urllib.parse import unquote, urlsplit

import fakeredis
import redis
from redis.backoff import ConstantBackoff, NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

SENTINEL: Final = "redis+sentinel"
CLUSTER: Final = "redis+cluster"
SENTINEL_PORT: Final = 26_379
REDIS_PORT: Final = 6_379

_PATIENCE_SECONDS: Final = 0.6
"""For an answer, and for a connection. With one more try an outage is known within two seconds.

No health checks: a new connection would be pinged twice first, each time tried again.
"""

_SENTINEL_PATIENCE_SECONDS: Final = 0.2
"""Each is asked once and the next one after it, twice over if none knows a master."""

OPERATIONS_AT_ONCE: Final = 200
"""Of one process."""
_MOST_CONNECTIONS: Final = 2 * OPERATIONS_AT_ONCE + 50
"""The client raises when it would need more, and by default after a hundred. Scripts keep theirs, other commands may
need as many, and some are used beside the store."""


class UrlError(ValueError):
    """A REDIS_URL that names no Redis."""


def connect(url: str | None) -> redis.Redis:
    """A client that returns bytes; nothing is connected before the first command. None: an embedded Redis.

    `redis://host:port/db` (also `rediss://`, `unix://`), `redis+sentinel://host:port,host:port/service`, or
    `redis+cluster://host:port,host:port`; user and password before an `@`. Raises `UrlError`.
    """
    if url is None:
        return fakeredis.FakeRedis()
    scheme = url.partition("://")[0]
    if scheme == SENTINEL:
        return _sentinel_master(url)
    if scheme == CLUSTER:
        return _cluster(url)
    try:
        return redis.Redis.from_url(
            url,
            retry=_retry(),
            max_connections=_MOST_CONNECTIONS,
            socket_connect_timeout=_PATIENCE_SECONDS,
            socket_timeout=_PATIENCE_SECONDS,
        )
    except ValueError as error:
        raise UrlError(f"REDIS_URL: {error}") from None


def _retry() -> Retry:
    """Once, at once: a script that runs twice is harmless, and a new connection may find a new master."""
    return Retry(ConstantBackoff(0.05), 1)


def _sentinel_master(url: str) -> redis.Redis:
    hosts, path, credentials = _parts(url, SENTINEL_PORT)
    if not path:
        raise UrlError(f"REDIS_URL: {SENTINEL}:// needs the name of the service as its path")
    patience = {"socket_connect_timeout": _PATIENCE_SECONDS, "socket_timeout": _PATIENCE_SECONDS}
    asking = {
        "socket_connect_timeout": _SENTINEL_PATIENCE_SECONDS,
        "socket_timeout": _SENTINEL_PATIENCE_SECONDS,
        "retry": Retry(NoBackoff(), 0),
    }
    sentinel = Sentinel(hosts, sentinel_kwargs=asking, **patience)  # type: ignore[no-untyped-call]
    master = sentinel.master_for(path, retry=_retry(), max_connections=_MOST_CONNECTIONS, **credentials)  # type: ignore[no-untyped-call]
    return cast("redis.Redis", master)


def _cluster(url: str) -> redis.Redis:
    hosts, _, credentials = _parts(url, REDIS_PORT)

    def connected() -> redis.Redis:
        cluster = RedisCluster(
            startup_nodes=[ClusterNode(host, port) for host, port in hosts],  # type: ignore[no-untyped-call]
            retry=_retry(),
            max_connections=_MOST_CONNECTIONS,
            socket_connect_timeout=_PATIENCE_SECONDS,
            socket_timeout=_PATIENCE_SECONDS,
            **credentials,  # type: ignore[arg-type]
        )
        return cast("redis.Redis", cluster)

    return cast("redis.Redis", _LateClient(connected))


class _LateClient:
    """Makes a client at its first use. That of a cluster asks for the nodes when it is made, and fails without them."""

    def __init__(self, make: Callable[[], redis.Redis]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: redis.Redis | None = None

    def _client(self) -> redis.Redis:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def register_script(self, text: str) -> object:
        """Needs no client yet."""

        def run(keys: Sequence[str], args: Sequence[bytes | str | int] = ()) -> object:
            return self._client().register_script(text)(keys, args)

        return run

    def close(self) -> None:
        if self._made is not None:
            self._made.close()

    def __getattr__(self, name: str) -> object:
        return getattr(self._client(), name)


def _parts(url: str, default_port: int) -> tuple[list[tuple[str, int]], str, dict[str, str]]:
    """Hosts with their ports, the path without its slash, and user and password as the client takes them."""
    split = urlsplit(url)
    user_info, _, places = split.netloc.rpartition("@")
    user, _, password = user_info.partition(":")
    credentials = {"username": unquote(user), "password": unquote(password)}
    try:
        hosts = [
            (host, int(port) if port else default_port)
            for host, _, port in (place.partition(":") for place in places.split(","))
        ]
    except ValueError:
        raise UrlError(f"REDIS_URL: {places!r} are not hosts and ports") from None
    if not all(host for host, _ in hosts):
        raise UrlError("REDIS_URL names no host")
    return hosts, split.path.strip("/"), {name: text for name, text in credentials.items() if text}
