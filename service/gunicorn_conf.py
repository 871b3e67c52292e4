"""How gunicorn serves the API; read by `gunicorn -c python:service.gunicorn_conf`.

gevent, because with threads ten half-sent requests stop a worker; and one worker only where games live in the process.
"""

import gc
import logging
import multiprocessing
import os
from math import ceil
from pathlib import Path
from types import TracebackType

import gevent
from gunicorn.arbiter import Arbiter
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.base import Worker

from service import logs
from service.metrics_server import MetricsServer
from service.settings import Settings, number
from service.worker import DRAIN_SECONDS


class JsonLogger(Logger):  # type: ignore[misc]
    """What gunicorn says, as JSON lines, without what it quotes of requests."""

    def setup(self, cfg: Config) -> None:
        super().setup(cfg)
        level = max(logging.getLevelName(cfg.loglevel.upper()), logging.INFO)  # "debug" quotes what clients send
        self.loglevel = level
        logs.configure(logging.getLevelName(level))
        self.error_log.handlers.clear()
        self.error_log.propagate = True
        self.error_log.setLevel(self.loglevel)

    def warning(self, msg: str, *args: object, **kwargs: object) -> None:
        """Of a request that cannot be read, gunicorn's message has the line at fault, a token perhaps."""
        super().warning("a request could not be read" if msg.startswith("Invalid request") else msg, *args, **kwargs)

    def exception(self, msg: str, *args: object, **kwargs: object) -> None:
        """*args* are a request's method and its path with the query."""
        super().exception(msg.partition(" %")[0], **kwargs)


_settings = Settings.from_env(os.environ)
_metrics = MetricsServer()
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
logger_class = JsonLogger
loglevel = _settings.log_level
control_socket_disable = True
"""It would need a writable home."""
_memory = Path("/dev/shm")  # noqa: S108 - gunicorn's files there have no names
worker_tmp_dir = str(_memory) if _memory.is_dir() else None
"""For the workers' signs of life; a disk may be slow, or read-only."""


def when_ready(_arbiter: Arbiter) -> None:
    """Before the first worker."""
    if _settings.metrics_port is not None:
        _metrics.start(_host, _settings.metrics_port)


def post_fork(_arbiter: Arbiter, _worker: Worker) -> None:
    _metrics.leave()


def post_worker_init(worker: Worker) -> None:
    """The sweeper starts in the worker, not in the master."""
    worker.wsgi.extensions["truco"].start()
    gevent.get_hub().print_exception = _log_stray
    _collect_rarely()


def child_exit(_arbiter: Arbiter, worker: Worker) -> None:
    """However it ended."""
    _metrics.forget(worker.pid)


def on_exit(_arbiter: Arbiter) -> None:
    _metrics.stop()


def _log_stray(_context: object, _type: object, error: BaseException | None, _trace: TracebackType | None) -> None:
    """In place of gevent's print of an exception that ends a greenlet."""
    if error is not None:
        logs.stray(error)


def _collect_rarely() -> None:
    """A full collection holds everybody up, a thousand waiters make it long, and it finds next to nothing.

    What is loaded by now stays for good and need not be looked through again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(1_000, 10, 1_000)
