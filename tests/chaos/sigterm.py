"""The service is asked to stop while it is busy."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections import Counter
from contextlib import ExitStack

from tests.chaos.service import service
from tests.chaos.wire import Answer, LostError, Table, Violation, Wire, create, note_turn, request_bytes
from tests.live_server import LiveServer
from tests.redis_server import RedisServer

WAITERS = 50
STREAMS = 10
ACTING = 20
KEPT_OPEN = 10
DRAIN_SECONDS = 1.0
WAITS_END_WITHIN_SECONDS = 2.0
STOPS_WITHIN_SECONDS = DRAIN_SECONDS + 7


def sigterm() -> list[str]:
    """SIGTERM with 50 long polls and 20 actions in flight: each request that got in is answered, waits at once."""
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer())
        live = stack.enter_context(service(server.url, TRUCO_DRAIN_SECONDS=str(DRAIN_SECONDS)))
        with Wire(live.url) as wire:
            idle = create(wire)
            tables = [create(wire, rules={"target": 98}) for _ in range(ACTING)]
        waiters = [stack.enter_context(Wire(live.url)) for _ in range(WAITERS)]
        for waiter in waiters:
            waiter.send("GET", f"{idle.path}?after_version=1&wait=25")
        streams = [stack.enter_context(_Stream(live, idle)) for _ in range(STREAMS)]
        kept = [stack.enter_context(Wire(live.url)) for _ in range(KEPT_OPEN)]
        for wire in kept:
            wire.get("/healthz")
        players = [_Player(live.url, table, keeps=number % 2 == 0) for number, table in enumerate(tables)]
        readiness = _Readiness(live.url)
        for thread in (*players, readiness):
            thread.start()
        time.sleep(1)  # until all wait, and all act
        live.terminate()
        asked = time.monotonic()
        waited = _check_waiters(waiters, asked)
        for stream in streams:
            stream.check_end()
        exit_code = live.wait()
        stopped = time.monotonic() - asked
        for thread in (*players, readiness):
            thread.join()
    counts: Counter[str] = sum((player.counts for player in players), Counter())
    if failures := [failure for player in players for failure in player.failures]:
        raise Violation(f"{len(failures)} requests that got in failed: {failures[:5]}")
    if exit_code or stopped > STOPS_WITHIN_SECONDS:
        raise Violation(f"exit code {exit_code} after {stopped:.1f} s")
    if readiness.answers[-1] != 503:
        raise Violation(f"readiness did not fail before the listener closed: {readiness.answers[-5:]}")
    return [
        f"{WAITERS} long polls answered within {waited * 1000:.0f} ms, {STREAMS} streams ended with retry",
        (
            f"{counts['answered']} actions answered by {ACTING} clients, half of them on a new connection each;"
            f" after the signal {sum(player.answered_since(asked) for player in players)}; no reset, no 5xx"
        ),
        (
            f"readyz answered {sum(status == 503 for status in readiness.answers)} times 503 first;"
            f" {KEPT_OPEN} idle connections were open; exit code 0 after {stopped:.1f} s ({DRAIN_SECONDS:.0f} s drain)"
        ),
    ]


def _check_waiters(waiters: list[Wire], asked: float) -> float:
    for waiter in waiters:
        answer = waiter.read()
        if answer.status != 200 or answer.body["version"] != 1:
            raise Violation(f"a waiter was answered {answer.status} {answer.content[:200]!r}")
    waited = time.monotonic() - asked
    if waited > WAITS_END_WITHIN_SECONDS:
        raise Violation(f"the waiters were answered after {waited:.1f} s")
    return waited


class _Player(threading.Thread):
    """Plays a game by itself until it cannot connect any more; on one connection, or on a new one for each request."""

    def __init__(self, url: str, table: Table, keeps: bool) -> None:
        super().__init__()
        self._wire = Wire(url)
        self._url, self._table, self._keeps = url, table, keeps
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self._answered_at: list[float] = []

    def run(self) -> None:
        with self._wire:
            while not self.failures:
                seat = self._table.waits_for[0]
                view = self._ask("GET", self._table.path, seat)
                if view is None:
                    return
                legal = [
                    action for action in view.body["legal_actions"] if action["type"] in ("play", "accept", "fold")
                ]
                answer = self._ask("POST", self._table.actions, seat, legal[0])
                if answer is None:
                    return
                self.counts["answered"] += 1
                self._answered_at.append(time.monotonic())
                note_turn(self._table, answer.body["game"])

    def answered_since(self, moment: float) -> int:
        return sum(at > moment for at in self._answered_at)

    def _ask(self, method: str, path: str, seat: int, body: object = None) -> Answer | None:
        """None when nobody listens any more, and after a failure."""
        if not self._keeps:
            self._wire.hang_up()
        try:
            answer = self._wire.ask(method, path, body, self._table.tokens[seat])
        except LostError as error:
            if not isinstance(error.__cause__, ConnectionRefusedError):
                self.failures.append(f"{method} {error}")
            return None
        if answer.status != 200:
            self.failures.append(f"{method} answered {answer.status} {answer.content[:200]!r}")
            return None
        return answer


class _Readiness(threading.Thread):
    """Asks readyz until nobody listens."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self.answers: list[int] = []

    def run(self) -> None:
        while True:
            try:
                with Wire(self._url) as wire:
                    self.answers.append(wire.ask("GET", "/readyz").status)
            except LostError:
                return
            time.sleep(0.05)


class _Stream:
    """A reader of a game's stream; a context manager."""

    def __init__(self, live: LiveServer, table: Table) -> None:
        self._socket = socket.create_connection(("127.0.0.1", live.port), 30)
        self._socket.sendall(request_bytes("GET", f"{table.path}/events/stream"))

    def check_end(self) -> None:
        received = b""
        while content := self._socket.recv(65_536):
            received += content
        if b"event: snapshot" not in received or not re.search(rb"retry: \d{4}\n\n\s*0?\s*$", received):
            raise Violation(f"a stream ended with {received[-100:]!r}")

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
