"""How gunicorn serves the API; read by `gunicorn -c python:service.gunicorn_conf`.

gevent, because with threads ten half-sent requests stop a worker; and one worker only where games live in the process.
"""

import gc
import logging
import multiprocessing
import os
from types import TracebackType

import gevent
from gunicorn.arbiter import Arbiter
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.base import Worker

from service import logs
from service.metrics_server import MetricsServer
from service.settings import Settings


class JsonLogger(Logger):  # type: ignore[misc]
    """What gunicorn says, as JSON lines, without what it quotes of requests."""

    def setup(self, cfg: Config) -> None:
        super().setup(cfg)
        level = max(self.error_log.level, logging.INFO)  # "debug" quotes what clients send
        logs.configure(logging.getLevelName(level))
        self.error_log.handlers.clear()
        self.error_log.propagate = True
        self.error_log.setLevel(level)

    def warning(self, msg: str, *args: object, **kwargs: object) -> None:
        """Of a request that cannot be read, gunicorn's message has the line at fault, a token perhaps."""
        super().warning("a request could not be read" if msg.startswith("Invalid request") else msg, *args, **kwargs)

    def exception(self, msg: str, *args: object, **kwargs: object) -> None:
        """*args* are a request's method and its path with the query."""
        super().exception(msg.partition(" %")[0], **kwargs)


_settings = Settings.from_env(os.environ)
_metrics = MetricsServer()

wsgi_app = "service.app:from_env()"
bind = f"127.0.0.1:{os.environ.get('PORT') or 8000}"
worker_class = "service.worker.DrainingWorker"
worker_connections = 10_000
workers = int(os.environ.get("WEB_CONCURRENCY") or multiprocessing.cpu_count()) if os.environ.get("REDIS_URL") else 1
keepalive = 75
graceful_timeout = int(os.environ.get("TRUCO_GRACEFUL_SECONDS") or 30)
limit_request_line = 8190
logger_class = JsonLogger
loglevel = _settings.log_level
control_socket_disable = True
"""It would need a writable home."""


def when_ready(_arbiter: Arbiter) -> None:
    """Before the first worker."""
    if _settings.metrics_port is not None:
        _metrics.start(os.environ.get("HOST") or "127.0.0.1", _settings.metrics_port)


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
