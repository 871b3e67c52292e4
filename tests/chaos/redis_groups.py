"""Several servers that work together: a cluster of three, and a master with a replica and three sentinels."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import redis

from tests.redis_server import RedisServer, free_port, server_binary

SLOTS = 16_384
SERVICE = "truco"
"""The name under which the sentinels know the master."""
DOWN_AFTER_MS = 1_000
_SENTINELS = 3
_WITHIN_SECONDS = 20


@contextmanager
def cluster_of_three() -> Iterator[list[RedisServer]]:
    """Three masters that share the slots."""
    with ExitStack() as stack:
        buses = [free_port() for _ in range(3)]
        nodes = [
            stack.enter_context(RedisServer("--cluster-enabled", "yes", "--cluster-port", str(bus))) for bus in buses
        ]
        clients = [stack.enter_context(redis.Redis.from_url(node.url)) for node in nodes]
        for number, client in enumerate(clients):
            first, last = SLOTS * number // 3, SLOTS * (number + 1) // 3 - 1
            client.execute_command("CLUSTER ADDSLOTSRANGE", first, last)
            client.execute_command("CLUSTER MEET", "127.0.0.1", nodes[0].port, buses[0])
        for client in clients:
            _until(lambda client=client: _is_whole(client))  # type: ignore[misc]
        yield nodes


def cluster_url(nodes: list[RedisServer]) -> str:
    return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)


def _is_whole(client: redis.Redis) -> bool:
    info = client.execute_command("CLUSTER INFO")
    known = client.execute_command("CLUSTER NODES")
    return info["cluster_state"] == "ok" and len(known) == 3


class SentinelTrio:
    """A master, a replica, and three sentinels that watch them; a context manager."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._ports = [free_port() for _ in range(_SENTINELS)]
        self._directory = Path(tempfile.mkdtemp(prefix="truco-sentinels-"))

    @property
    def url(self) -> str:
        return "redis+sentinel://" + ",".join(f"127.0.0.1:{port}" for port in self._ports) + f"/{SERVICE}"

    def master_port(self) -> int:
        """Where the first sentinel sends clients."""
        with redis.Redis(port=self._ports[0]) as sentinel:
            _, port = sentinel.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", SERVICE)
        return int(port)

    def kill_master(self) -> None:
        self.master.kill()

    def cut_off_replica(self) -> None:
        """From now on nothing that the master commits reaches the replica, nor does a new copy."""
        with redis.Redis.from_url(self.master.url) as client:
            client.execute_command("ACL SETUSER", "default", "-psync", "-sync")
            client.execute_command("CLIENT KILL", "TYPE", "REPLICA")

    def __enter__(self) -> SentinelTrio:
        self.master = self._stack.enter_context(RedisServer())
        self.replica = self._stack.enter_context(
            RedisServer("--replicaof", "127.0.0.1", str(self.master.port), "--repl-diskless-sync-delay", "0")
        )
        self._stack.callback(shutil.rmtree, self._directory, ignore_errors=True)
        for port in self._ports:
            self._stack.enter_context(self._sentinel(port))
        with redis.Redis.from_url(self.replica.url) as client:
            _until(lambda: client.info("replication")["master_link_status"] == "up")
        for port in self._ports:
            with redis.Redis(port=port) as client:
                _until(lambda client=client: self._knows_all(client))  # type: ignore[misc]
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def _sentinel(self, port: int) -> Iterator[None]:
        file = self._directory / f"{port}.conf"
        file.write_text(
            f"port {port}\nbind 127.0.0.1\ndir {self._directory}\n"
            f"sentinel monitor {SERVICE} 127.0.0.1 {self.master.port} 2\n"
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}\n"
            f"sentinel failover-timeout {SERVICE} 5000\n",
            "ascii",
        )
        process = subprocess.Popen(
            [server_binary(), str(file), "--sentinel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield
        finally:
            process.kill()
            process.wait()

    @staticmethod
    def _knows_all(sentinel: redis.Redis) -> bool:
        """Whether it could fail over now: it has found the replica and the other sentinels."""
        try:
            answer = sentinel.execute_command("SENTINEL MASTERS")[SERVICE]
        except redis.ConnectionError:
            return False
        return bool(answer["num-slaves"] == 1 and answer["num-other-sentinels"] == _SENTINELS - 1)


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _WITHIN_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError("the servers do not find each other")
        time.sleep(0.05)
