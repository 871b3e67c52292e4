"""The service as `make run` serves it, on a free port; for tests that need real HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.redis_server import free_port

ROOT = Path(__file__).parents[1]
STARTS_WITHIN_SECONDS = 20


@contextmanager
def live_server(environ: Mapping[str, str] | None = None) -> Iterator[str]:
    """The base URL of a running service; it is stopped when the block ends."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "-c", "python:service.gunicorn_conf", "--log-level", "warning"],
        cwd=ROOT,
        env={**os.environ, "PORT": str(port), **(environ or {})},
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_ready(url, process)
        yield url
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if requests.get(f"{url}/readyz", timeout=1).ok:
                return
        except requests.RequestException:
            time.sleep(0.05)
    raise RuntimeError(f"the service did not start at {url}")
