"""How gunicorn serves the API; read by `gunicorn -c python:service.gunicorn_conf`.

gevent, because with threads ten half-sent requests stop a worker; and one worker only where games live in the process.
"""

import gc
import multiprocessing
import os

from gunicorn.workers.base import Worker

wsgi_app = "service.app:from_env()"
bind = f"127.0.0.1:{os.environ.get('PORT') or 8000}"
worker_class = "service.worker.DrainingWorker"
worker_connections = 10_000
workers = int(os.environ.get("WEB_CONCURRENCY") or multiprocessing.cpu_count()) if os.environ.get("REDIS_URL") else 1
keepalive = 75
graceful_timeout = int(os.environ.get("TRUCO_GRACEFUL_SECONDS") or 30)
limit_request_line = 8190
control_socket_disable = True
"""It would need a writable home."""


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
