"""A process that only holds waiters: long polls that are asked again when answered, and streams that are read.

Reads one JSON line, `{port, polls: [request…], streams: [request…]}`, says "held" when all are open, and ends with its
standard input.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time

OPENS_A_SECOND = 100


class _Poll:
    def __init__(self, connection: socket.socket, request: bytes) -> None:
        self._connection, self._request = connection, request
        self._received = b""
        connection.sendall(request)

    def receive(self, content: bytes) -> None:
        self._received += content
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"a poll was answered {self._received[:200]!r}")
        [length] = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if len(body) >= length:
            self._received = b""
            self._connection.sendall(self._request)


class _Stream:
    def __init__(self, connection: socket.socket, request: bytes) -> None:
        connection.sendall(request)
        self.is_open = False

    def receive(self, content: bytes) -> None:
        self.is_open = self.is_open or b"event: snapshot" in content
        if b"retry:" in content:
            raise RuntimeError("a stream has ended")


def main() -> None:
    order = json.loads(sys.stdin.readline())
    kinds = [
        (kind, request)
        for pair in zip(order["polls"], order["streams"], strict=True)
        for kind, request in zip((_Poll, _Stream), pair, strict=True)
    ]
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ, None)
    streams: list[_Stream] = []
    is_told = False
    while True:
        for key, _ in selector.select(0 if kinds else 0.2):
            if key.data is None:
                return
            assert isinstance(key.fileobj, socket.socket)
            content = key.fileobj.recv(65_536)
            if not content:
                raise RuntimeError(f"a {type(key.data).__name__} was closed")
            key.data.receive(content)
        if kinds:
            kind, request = kinds.pop()
            connection = socket.create_connection(("127.0.0.1", order["port"]), 30)
            waiter = kind(connection, request.encode("ascii"))
            streams += [waiter] if isinstance(waiter, _Stream) else []
            selector.register(connection, selectors.EVENT_READ, waiter)
            time.sleep(1 / OPENS_A_SECOND)
        elif not is_told and all(stream.is_open for stream in streams):
            is_told = True
            print("held", flush=True)


if __name__ == "__main__":
    main()
