"""The service on two workers, with room for the load."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.live_server import LiveServer

WORKERS = 2
_UNLIMITED = {
    "WEB_CONCURRENCY": str(WORKERS),
    "TRUCO_RATE_CREATE": "none",
    "TRUCO_RATE_JOIN": "none",
    "TRUCO_RATE_READ": "none",
    "TRUCO_RATE_ACT": "none",
    "TRUCO_WAITS_PER_ADDRESS": "5000",
}


@contextmanager
def service(redis_url: str, **environ: str) -> Iterator[LiveServer]:
    """Stopped when the block ends. What it logs is shown only if the block fails."""
    with tempfile.TemporaryDirectory(prefix="truco-service-") as directory:
        log = Path(directory) / "log"
        try:
            with LiveServer({"REDIS_URL": redis_url, **_UNLIMITED, **environ}, log) as live:
                yield live
        except BaseException as error:
            error.add_note("the service's last words:\n" + log.read_text("utf-8", "replace")[-3_000:])
            raise
