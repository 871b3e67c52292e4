"""A client as bare as can be: it costs little, sees each lost connection, and may hang up before the answer."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import msgspec

Body = dict[str, Any]


class Violation(Exception):  # noqa: N818 -- it is what a promise suffers, not an error of the code
    """The service broke a promise."""


class LostError(Exception):
    """No answer came: refused, reset, or closed in the middle."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    content: bytes

    @property
    def body(self) -> Body:
        return msgspec.json.decode(self.content, type=dict[str, Any])

    @property
    def code(self) -> str | None:
        """The problem's code; None for a success."""
        if self.status < 400:
            return None
        code: str | None = self.body.get("code")
        return code


class Wire:
    """One connection, opened when needed; a context manager."""

    def __init__(self, url: str, timeout_seconds: float = 30) -> None:
        place = urlsplit(url)
        assert place.hostname is not None
        assert place.port is not None
        self.address = place.hostname, place.port
        self._timeout_seconds = timeout_seconds
        self._socket: socket.socket | None = None
        self._unread = b""

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        token: str | None = None,
        key: str | None = None,
    ) -> None:
        """Raises `LostError`."""
        self.send_bytes(request_bytes(method, path, body, token, key))

    def send_bytes(self, content: bytes) -> None:
        """Raises `LostError`."""
        try:
            if self._socket is None:
                self._socket = socket.create_connection(self.address, self._timeout_seconds)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(content)
        except OSError as error:
            self.hang_up()
            raise LostError(repr(error)) from error

    def read(self) -> Answer:
        """The answer to what was sent. Raises `LostError`."""
        try:
            head = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            answer = Answer(int(head[0].split()[1]), headers, self._exactly(int(headers.get("content-length", 0))))
        except OSError as error:
            self.hang_up()
            raise LostError(repr(error)) from error
        if headers.get("connection") == "close":
            self.hang_up()
        return answer

    def _until(self, end: bytes) -> bytes:
        while end not in self._unread:
            self._receive()
        found, _, self._unread = self._unread.partition(end)
        return found

    def _exactly(self, length: int) -> bytes:
        while len(self._unread) < length:
            self._receive()
        found, self._unread = self._unread[:length], self._unread[length:]
        return found

    def _receive(self) -> None:
        assert self._socket is not None
        received = self._socket.recv(65_536)
        if not received:
            raise ConnectionResetError("closed before the answer")
        self._unread += received

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        token: str | None = None,
        key: str | None = None,
    ) -> Answer:
        self.send(method, path, body, token, key)
        return self.read()

    def get(self, path: str, token: str | None = None) -> Body:
        """Raises `Violation` unless it is a 200."""
        return _expected(self.ask("GET", path, token=token), 200)

    def post(self, path: str, body: object = None, token: str | None = None, status: int = 200) -> Body:
        """Raises `Violation` unless it has that *status*."""
        return _expected(self.ask("POST", path, body, token), status)

    def hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._unread = None, b""

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.hang_up()


def request_bytes(
    method: str, path: str, body: object = None, token: str | None = None, key: str | None = None
) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: truco"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if key is not None:
        lines.append(f"Idempotency-Key: {key}")
    content = b"" if body is None else msgspec.json.encode(body)
    if body is not None:
        lines.append("Content-Type: application/json")
    if method == "POST":
        lines.append(f"Content-Length: {len(content)}")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + content


def _expected(answer: Answer, status: int) -> Body:
    if answer.status != status:
        raise Violation(f"answered {answer.status}, not {status}: {answer.content[:300]!r}")
    return answer.body


@dataclass(frozen=True)
class Table:
    """A game, and the tokens of its seats."""

    id: str
    tokens: tuple[str, ...]
    waits_for: list[int] = field(default_factory=list, compare=False)
    """The seats whose turn it was when a client last heard."""

    @property
    def path(self) -> str:
        return f"/v1/games/{self.id}"

    @property
    def actions(self) -> str:
        return f"{self.path}/actions"


NAMES = ("Ana", "Bia", "Caio", "Davi", "Eva", "Fábio")


def create(wire: Wire, variant: str = "mano-a-mano", seats: int | None = None, **members: object) -> Table:
    """A public game with all its seats taken, so it has begun."""
    if seats is None:
        seats = wire.get(f"/v1/variants/{variant}")["seats"]["default"]
    body = {
        "variant": variant,
        "seats": seats,
        "visibility": "public",
        "players": [{"name": name} for name in NAMES[:seats]],
        **members,
    }
    made = wire.post("/v1/games", body, status=201)
    table = Table(made["game"]["id"], tuple(seat["token"] for seat in made["seats"]))
    note_turn(table, made["game"])
    return table


def note_turn(table: Table, view: Body) -> None:
    table.waits_for[:] = view["turn"]["seats"] if view["turn"] else []


def look(wire: Wire, table: Table, seat: int) -> Body:
    return wire.get(table.path, table.tokens[seat])
