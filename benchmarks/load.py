"""The load: a process of its own with raw sockets, whose requests are made beforehand.

Each connection sends its next request when the last one is answered. An answer is only measured by its head: whatever
this process does would be taken from the two cores that the server has, too.
"""

from __future__ import annotations

import math
import multiprocessing
import select
import socket
import time
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from statistics import quantiles
from types import TracebackType

_LENGTH = b"\r\nContent-Length: "
_END_OF_HEAD = b"\r\n\r\n"
_RECEIVED_AT_ONCE = 65_536
_FEWEST_ANSWERS = 20
_LOST_AFTER_SECONDS = 10


class LoadError(Exception):
    """An answer that was not expected, or too few requests were made."""


@dataclass(frozen=True)
class Burst:
    """What one burst of load has shown."""

    per_second: float
    p50_ms: float
    p99_ms: float
    answers: int
    """All of them, those before the measured time too."""
    cpu_seconds: float
    """Of the process that made the load."""


@dataclass(frozen=True)
class Order:
    """One burst: its connections, the status that every answer must have, and how long."""

    port: int
    lanes: str
    connections: int
    status: int
    seconds: float = math.inf
    """Infinite: until all requests that were made are sent."""
    warm_up_seconds: float = 0


class Load:
    """The process, from the side of who orders; a context manager."""

    def __enter__(self) -> Load:
        context = multiprocessing.get_context("spawn")
        self._pipe, end = context.Pipe()
        self._process = context.Process(target=_serve, args=(end,), daemon=True)
        self._process.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.join()

    def add(self, lanes: str, requests: Sequence[Sequence[bytes]], again: bool = False) -> None:
        """More *requests* for each connection of *lanes*; with *again* they are sent round and round."""
        self._ask("add", lanes, requests, again)

    def left(self, lanes: str) -> int:
        """How many requests the connection of *lanes* has that has fewest."""
        left = self._ask("left", lanes)
        assert isinstance(left, int)
        return left

    def burst(self, order: Order) -> Burst:
        """Raises `LoadError`."""
        burst = self._ask("burst", order)
        assert isinstance(burst, Burst)
        return burst

    def _ask(self, *question: object) -> object:
        self._pipe.send(question)
        answer: object = self._pipe.recv()
        if isinstance(answer, LoadError):
            raise answer
        return answer


class _Lane:
    """The requests of one connection, in order."""

    def __init__(self) -> None:
        self.requests: deque[bytes] = deque()
        self.again = False

    def next(self) -> bytes:
        request = self.requests.popleft()
        if self.again:
            self.requests.append(request)
        return request


class _Connection:
    """One connection to the server. It counts bytes, and looks no further into an answer than its head."""

    def __init__(self, port: int, lane: _Lane) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=_LOST_AFTER_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lane = lane
        self._received = b""
        self._expected = 0
        self.sent_at = 0.0

    def ask(self) -> None:
        request = self.lane.next()
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)

    def hear(self, status: bytes) -> bool:
        """Whether the answer is whole now."""
        received = self.socket.recv(_RECEIVED_AT_ONCE)
        if not received:
            raise LoadError("the server has closed a connection")
        if self._received:
            received = self._received + received
        if not self._expected:
            head = received.find(_END_OF_HEAD)
            if head < 0:
                self._received = received
                return False
            if received[9:12] != status:
                raise LoadError(f"expected {status.decode()}: {received[:2000].decode('utf-8', 'replace')}")
            length = received.find(_LENGTH, 0, head)
            body = 0 if length < 0 else int(received[length + len(_LENGTH) : received.index(b"\r", length + 2)])
            self._expected = head + len(_END_OF_HEAD) + body
        if len(received) < self._expected:
            self._received = received
            return False
        self._received, self._expected = b"", 0
        return True


def _serve(pipe: Pipe) -> None:
    lanes: dict[str, list[_Lane]] = {}
    while True:
        try:
            match pipe.recv():
                case "add", str(name), requests, again:
                    known = lanes.setdefault(name, [_Lane() for _ in requests])
                    for lane, more in zip(known, requests, strict=True):
                        lane.requests.extend(more)
                        lane.again = again
                    pipe.send(None)
                case "left", str(name):
                    pipe.send(min((len(lane.requests) for lane in lanes.get(name, ())), default=0))
                case "burst", Order() as order:
                    pipe.send(_burst(order, lanes[order.lanes]))
        except LoadError as error:
            pipe.send(error)
        except (OSError, TimeoutError) as error:
            pipe.send(LoadError(repr(error)))


def _burst(order: Order, lanes: list[_Lane]) -> Burst:
    connections = [_Connection(order.port, lane) for lane in lanes[: order.connections]]
    try:
        return _measured(order, connections)
    finally:
        for connection in connections:
            connection.socket.close()


def _measured(order: Order, connections: list[_Connection]) -> Burst:
    status = str(order.status).encode()
    poll = select.epoll()
    by_number = {connection.socket.fileno(): connection for connection in connections}
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    latencies = array("d")
    answers, busy, last = 0, len(connections), 0.0
    cpu_before = time.process_time()
    begin = time.perf_counter() + order.warm_up_seconds
    end = begin + order.seconds
    for connection in connections:
        connection.ask()
    while busy:
        ready = poll.poll(_LOST_AFTER_SECONDS)
        if not ready:
            raise LoadError(f"no answer within {_LOST_AFTER_SECONDS} s")
        for number, _ in ready:
            connection = by_number[number]
            if not connection.hear(status):
                continue
            now = time.perf_counter()
            answers += 1
            if begin <= now < end:
                latencies.append(now - connection.sent_at)
            if now >= end or (end == math.inf and not connection.lane.requests):
                busy -= 1
                last = now
            elif connection.lane.requests:
                connection.ask()
            else:
                raise LoadError("a connection has sent all requests that were made for it")
    poll.close()
    percentiles = _percentiles(latencies)
    return Burst(
        per_second=len(latencies) / (min(end, last) - begin),
        p50_ms=percentiles[49] * 1e3,
        p99_ms=percentiles[98] * 1e3,
        answers=answers,
        cpu_seconds=time.process_time() - cpu_before,
    )


def _percentiles(latencies: Sequence[float]) -> list[float]:
    """1 to 99."""
    if len(latencies) < _FEWEST_ANSWERS:
        raise LoadError(f"{len(latencies)} answers in a burst: this machine is too busy to measure on")
    return quantiles(latencies, n=100, method="inclusive")
