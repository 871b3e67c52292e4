"""How gunicorn serves the API; read by `gunicorn -c python:service.gunicorn_conf`.

gevent, because with threads ten half-sent requests stop a worker; and one worker only where games live in the process.
"""

import multiprocessing
import os

wsgi_app = "service.app:from_env()"
bind = f"127.0.0.1:{os.environ.get('PORT') or 8000}"
worker_class = "gevent"
workers = int(os.environ.get("WEB_CONCURRENCY") or multiprocessing.cpu_count()) if os.environ.get("REDIS_URL") else 1
keepalive = 75
graceful_timeout = 30
limit_request_line = 8190
control_socket_disable = True
"""It would need a writable home."""
