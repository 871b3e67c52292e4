"""How gunicorn serves the API; read by `gunicorn -c python:service.gunicorn_conf`.

gevent, because with threads ten half-sent requests stop a worker; and one worker only where games live in the process.
"""

import gc
import multiprocessing
import os
from math import ceil
from pathlib import Path

from gunicorn.workers.base import Worker

from service.settings import number
from service.worker import DRAIN_SECONDS

_host = os.environ.get("HOST") or "127.0.0.1"
_port = number(os.environ, "PORT", 8000, least=1)

wsgi_app = "service.app:from_env()"
bind = f"[{_host}]:{_port}" if ":" in _host else f"{_host}:{_port}"
worker_class = "service.worker.DrainingWorker"
worker_connections = 10_000
_most_workers = number(os.environ, "WEB_CONCURRENCY", multiprocessing.cpu_count(), least=1)
workers = _most_workers if os.environ.get("REDIS_URL") else 1
timeout = number(os.environ, "TRUCO_STUCK_SECONDS", 30, least=1)
keepalive = number(os.environ, "TRUCO_KEEPALIVE_SECONDS", 75, least=1)
graceful_timeout = ceil(DRAIN_SECONDS) + number(os.environ, "TRUCO_GRACEFUL_SECONDS", 30, least=0)
"""From SIGTERM on; with less than the drain the master would kill its workers in the middle of it."""
limit_request_line = 8190
control_socket_disable = True
"""It would need a writable home."""
_memory = Path("/dev/shm")  # noqa: S108 - gunicorn's files there have no names
worker_tmp_dir = str(_memory) if _memory.is_dir() else None
"""For the workers' signs of life; a disk may be slow, or read-only."""


def post_worker_init(worker: Worker) -> None:
    """The sweeper starts in the worker, not in the master."""
    worker.wsgi.extensions["truco"].start()
    _collect_rarely()


def _collect_rarely() -> None:
    """A full collection holds everybody up, a thousand waiters make it long, and it finds next to nothing.

    What is loaded by now stays for good and need not be looked through again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(1_000, 10, 1_000)
