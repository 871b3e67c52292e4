"""Serves the metrics of all workers on a port of their own, from gunicorn's master.

Each worker writes its numbers to files of its own, so they outlive it; the master adds them up when it is asked. It
never imports `service.metrics`, and takes no part in what the workers serve.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from wsgiref.simple_server import WSGIServer


class MetricsServer:
    """Nothing until it is started; then the master's own thread."""

    def __init__(self) -> None:
        self._server: WSGIServer | None = None
        self._directory = ""

    def start(self, host: str, port: int) -> None:
        """To be called in the master before it makes a worker. Raises `OSError` if the port is taken."""
        self._directory = os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="truco-metrics-")
        # the library looks for the variable when it is imported, here and in the workers
        from prometheus_client import CollectorRegistry, multiprocess, start_http_server

        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry, self._directory)  # type: ignore[no-untyped-call]
        self._server, _ = start_http_server(port, host, registry)

    def leave(self) -> None:
        """In a worker: the socket is the master's alone, and goes with it."""
        if self._server is not None:
            self._server.socket.close()

    def forget(self, pid: int) -> None:
        """A worker has ended: what it was doing is no more, what it has done still counts."""
        if self._server is not None:
            from prometheus_client import multiprocess

            multiprocess.mark_process_dead(pid, self._directory)  # type: ignore[no-untyped-call]

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            shutil.rmtree(self._directory, ignore_errors=True)
