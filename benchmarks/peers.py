"""boardgame.io beside the service: its server with a small card game, moves by its own clients. Needs Node."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import requests

from benchmarks.load import Burst
from benchmarks.report import cpu_seconds
from benchmarks.stack import Shown
from tests.redis_server import free_port

_DIRECTORY = Path(__file__).parent / "boardgame"
_STARTS_WITHIN_SECONDS = 20
_MOST_PER_SECOND = 8_000
_MOST_STORED_PER_SECOND = 1_000
"""Moves; for more there would be too few matches."""


@dataclass(frozen=True)
class Peer:
    """How boardgame.io is run: where matches are kept, and how many of a match's four players are connected."""

    is_stored: bool
    players: int
    connections: int

    @property
    def name(self) -> str:
        kept = "as files" if self.is_stored else "in memory"
        return f"{kept}, {'the mover alone' if self.players == 1 else f'all {self.players} players'} connected"


class Boardgame:
    """A server with its clients' process; a context manager."""

    def __init__(self, is_stored: bool) -> None:
        self._is_stored = is_stored
        self._open = ExitStack()

    def __enter__(self) -> Boardgame:
        port = free_port()
        with ExitStack() as opening:
            directory = opening.enter_context(tempfile.TemporaryDirectory(prefix="truco-boardgame-"))
            self._server = _node("server.cjs", str(port), *([directory] if self._is_stored else []))
            opening.callback(_end, self._server)
            _wait_for(f"http://127.0.0.1:{port}/games", self._server)
            self._clients = _node("clients.cjs", str(port))
            opening.callback(_end, self._clients)
            self._open = opening.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, traceback)

    def burst(self, peer: Peer, seconds: float, shown: Shown) -> None:
        order = {
            "connections": peer.connections,
            "players": peer.players,
            "seconds": seconds,
            "warmUpSeconds": min(0.5, seconds / 2),
            "mostPerSecond": _MOST_STORED_PER_SECOND if self._is_stored else _MOST_PER_SECOND,
        }
        assert self._clients.stdin is not None
        print(json.dumps(order), file=self._clients.stdin, flush=True)
        self._hear("playing")
        before = cpu_seconds([self._server.pid])
        self._hear("played")
        used = cpu_seconds([self._server.pid]) - before
        burst = Burst(**json.loads(self._hear()))
        shown.per_second.add(burst.per_second)
        shown.p50_ms.add(burst.p50_ms)
        shown.p99_ms.add(burst.p99_ms)
        shown.server_us.add(used / burst.answers * 1e6)
        shown.load_us.add(burst.cpu_seconds / burst.answers * 1e6)

    def _hear(self, expected: str | None = None) -> str:
        assert self._clients.stdout is not None
        line = self._clients.stdout.readline().strip()
        if not line or expected not in (None, line):
            raise RuntimeError(f"boardgame.io's clients said {line!r}")
        return line


def versions() -> str:
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    package = json.loads((_DIRECTORY / "package.json").read_text("utf-8"))["dependencies"]
    return f"Node {node}, " + ", ".join(f"{name} {number}" for name, number in package.items())


def _node(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["node", *arguments], cwd=_DIRECTORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.communicate()


def _wait_for(url: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if requests.get(url, timeout=1).ok:
                return
        except requests.RequestException:
            time.sleep(0.05)
    raise RuntimeError(f"boardgame.io did not start at {url}")
