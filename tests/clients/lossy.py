"""A door to the service that carries out every request, and loses the answers to some."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding"}


class Door(ThreadingHTTPServer):
    """Loses the answers of the requests that *losing* names by their method and number, from 1."""

    daemon_threads = True

    def __init__(self, url: str, losing: Mapping[str, set[int]]) -> None:
        super().__init__(("127.0.0.1", 0), Passage)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.lost: list[str] = []
        self._service = urlsplit(url).netloc
        self._losing = losing
        self._numbers = {method: itertools.count(1) for method in losing}

    def connect(self) -> HTTPConnection:
        return HTTPConnection(self._service)

    def loses(self, method: str) -> bool:
        """Whether the answer to the next request of *method* gets lost."""
        is_lost = next(self._numbers[method]) in self._losing[method]
        if is_lost:
            self.lost.append(method)
        return is_lost


class Passage(BaseHTTPRequestHandler):
    server: Door
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        service = self.server.connect()
        service.request(self.command, self.path, body, dict(self.headers.items()))
        answer = service.getresponse()
        content = answer.read()
        service.close()
        if self.server.loses(self.command):
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def lossy_door(url: str, losing: Mapping[str, set[int]]) -> Iterator[Door]:
    with Door(url, losing) as door:
        thread = Thread(target=door.serve_forever)
        thread.start()
        yield door
        door.shutdown()
        thread.join()
