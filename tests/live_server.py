"""The service as `make run` serves it, on a free port; for tests that need real HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import requests

from tests.redis_server import free_port

ROOT = Path(__file__).parents[1]
STARTS_WITHIN_SECONDS = 20


class LiveServer:
    """The service with its workers; a context manager. It logs to *log*, or where the tests' own errors go."""

    def __init__(self, environ: Mapping[str, str] | None = None, log: Path | None = None) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._environ = {"TRUCO_DRAIN_SECONDS": "0", "TRUCO_LOG_LEVEL": "warning", **(environ or {})}
        self._log = log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it is ready."""
        command = [sys.executable, "-m", "gunicorn", "-c", "python:service.gunicorn_conf"]
        environ = {**os.environ, "PORT": str(self.port), **self._environ}
        if self._log is None:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environ)
        else:
            with self._log.open("ab") as log:
                self.process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
        self._wait_until_ready(self.process)

    @property
    def workers(self) -> list[int]:
        """The ids of the worker processes that run now, oldest first."""
        assert self.process is not None
        return sorted(_children(self.process.pid))

    def terminate(self) -> None:
        """Ask it to stop, as an orchestrator does; returns at once."""
        assert self.process is not None
        self.process.terminate()

    def wait(self) -> int:
        """Until it has stopped; its exit code."""
        assert self.process is not None
        return self.process.wait()

    def __enter__(self) -> LiveServer:
        try:
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + STARTS_WITHIN_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if requests.get(f"{self.url}/readyz", timeout=1).ok:
                    return
            except requests.RequestException:
                time.sleep(0.05)
        raise RuntimeError(f"the service did not start at {self.url}")


@contextmanager
def live_server(environ: Mapping[str, str] | None = None) -> Iterator[str]:
    """The base URL of a running service; it is stopped when the block ends."""
    with LiveServer(environ) as server:
        yield server.url


def _children(parent: int) -> Iterator[int]:
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = status.read_text("utf-8", "replace").partition(" (")
        except OSError:  # it has ended since
            continue
        state, its_parent = rest.rpartition(") ")[2].split()[:2]
        if int(its_parent) == parent and state != "Z":
            yield int(pid)
