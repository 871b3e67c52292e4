"""The gunicorn worker: gevent's, with an end in three steps.

On SIGTERM readiness fails and waiters are let go. A little later, when a load balancer has noticed, the listener
closes; who had been let in by the kernel is still served. Then connections on which nothing is asked are closed, so
that the process need not wait for clients that keep them for later.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Final

import gevent
from gevent.pool import Pool
from gevent.server import StreamServer
from gevent.socket import SHUT_RD, socket
from gunicorn.workers.ggevent import GeventWorker

DRAIN_SECONDS: Final = float(os.environ.get("TRUCO_DRAIN_SECONDS") or 2)
"""Between failing readiness and closing the listener: as long as a load balancer needs to notice."""
_LOOKS_EVERY_SECONDS: Final = 0.2
_UNASKED_SECONDS: Final = 0.5
"""Who has connected or been answered just now may have a request on its way."""
_A_MOMENT_SECONDS: Final = 1e-6
"""After each request, or a connection whose next request is there already would keep the others waiting. With 0 the
loop would not look for theirs.
"""


class _Listener(StreamServer):  # type: ignore[misc]
    max_accept = 4
    """At most so many are let in between two rounds of all connections, so that every worker gets its share. With
    gunicorn's 1 the last of 64 that came together to busy workers waited for a third of a second.
    """

    def close(self) -> None:
        """Who waits to be accepted would get a reset."""
        if not self.closed:
            self.stop_accepting()
            while accepted := self.do_read():
                self.do_handle(*accepted)
        super().close()


class DrainingWorker(GeventWorker):  # type: ignore[misc]
    def init_process(self) -> None:
        self._keepalive_seconds = self.cfg.keepalive
        self._listeners: list[_Listener] = []
        self._unasked: dict[socket, float] = {}
        """The connections on which no request is being answered, since when."""
        super().init_process()

    def server_class(self, listener: socket, spawn: Pool, **_: object) -> _Listener:
        """Gunicorn calls this for each address that it listens on."""
        server = _Listener(listener, handle=partial(self.handle, listener), spawn=spawn)
        self._listeners.append(server)
        return server

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        gevent.spawn(self._end)

    def _end(self) -> None:
        if self.booted:
            self.cfg.set("keepalive", 0)  # from now on each answer says that it is the connection's last
            self.wsgi.extensions["truco"].drain()
            gevent.sleep(DRAIN_SECONDS)
        self.alive = False
        while True:
            gevent.sleep(_LOOKS_EVERY_SECONDS)
            if all(listener.closed for listener in self._listeners):
                self._close_unasked()

    def _close_unasked(self) -> None:
        before = time.monotonic() - _UNASKED_SECONDS
        for connection in [connection for connection, since in self._unasked.items() if since < before]:
            with suppress(OSError):
                # its reader gets the end of file; gevent's own shutdown would raise in it instead
                connection._sock.shutdown(SHUT_RD)

    def timeout_ctx(self) -> gevent.Timeout:
        """Not with the keepalive of the end: the next request of a connection may be on its way."""
        return gevent.Timeout(self._keepalive_seconds, False)

    def handle(self, listener: socket, client: socket, address: tuple[str, int]) -> None:
        self._unasked[client] = time.monotonic()
        try:
            # it is asked for its name only, which a listener that has closed by now could not tell
            super().handle(client, client, address)
        finally:
            del self._unasked[client]

    def handle_request(self, listener_name: str, req: object, sock: socket, addr: tuple[str, int]) -> None:
        del self._unasked[sock]
        try:
            super().handle_request(listener_name, req, sock, addr)
        finally:
            self._unasked[sock] = time.monotonic()
        gevent.sleep(_A_MOMENT_SECONDS)
