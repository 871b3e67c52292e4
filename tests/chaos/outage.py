"""Redis away, frozen, full, or read-only: the service says so in time, and is back as soon as Redis is."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import redis

from tests.chaos.service import WORKERS, service
from tests.chaos.wire import Answer, Table, Violation, Wire, create, look
from tests.redis_server import DURABLE, RedisServer, free_port

TOLD_WITHIN_SECONDS = 2.0
BACK_WITHIN_SECONDS = 5.0
WOKEN_WITHIN_SECONDS = 1.0
WAIT_SECONDS = 20
Step = Callable[[], object]


def outage() -> list[str]:
    """Redis killed, frozen, out of memory, read-only: 503 within 2 s, alive but not ready, and back by itself."""
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer(*DURABLE))
        live = stack.enter_context(service(server.url))
        site = _Site(live.url)
        lines = [
            site.goes_through("killed", server.kill, server.start),
            site.goes_through("frozen", server.pause, server.resume),
        ]
        client = stack.enter_context(redis.Redis.from_url(server.url))
        lines += [
            site.only_reads(
                "out of memory",
                lambda: client.config_set("maxmemory", 1),
                lambda: client.config_set("maxmemory", 0),
            ),
            site.only_reads(
                "read-only",
                lambda: client.replicaof("127.0.0.1", str(free_port())),
                lambda: client.replicaof("NO", "ONE"),
            ),
        ]
    return [*lines, _other_master()]


class _Site:
    """A service with a game on it, and what it says when its store is in trouble."""

    def __init__(self, url: str) -> None:
        self._url = url
        with Wire(url) as wire:
            self._table = create(wire)

    def goes_through(self, trouble: str, begin: Step, end: Step) -> str:
        """Redis does not answer between *begin* and *end*."""
        with Wire(self._url) as waiting:
            _wait_for_news(waiting, self._table)
            begin()
            started = time.monotonic()
            told = max(self._asked_all(503))
            self._expect("/healthz", 200)
            self._expect("/readyz", 503)
            answer = waiting.read()
            waiter = f"{answer.status} after {time.monotonic() - started:.1f} s"
            if answer.status != 503:
                raise Violation(f"a waiter was answered {answer.status} while Redis was {trouble}")
        end()
        back = self.back()
        self._check_waking()
        return (
            f"{trouble}: 503 within {told:.2f} s, healthz 200, readyz 503, a waiter {waiter};"
            f" back {back:.1f} s after Redis, waiters are woken"
        )

    def only_reads(self, trouble: str, begin: Step, end: Step) -> str:
        """Redis answers, but writes nothing between *begin* and *end*."""
        begin()
        told = max(max(self._asked(503, *request)) for request in self._writes())
        for request in self._reads():
            self._asked(200, *request)
        end()
        return f"{trouble}: writes 503 within {told:.2f} s, reads 200; back {self.back():.1f} s after"

    def _asked_all(self, status: int) -> list[float]:
        """Every operation at once: how long each took to answer *status*."""
        requests = [*self._writes(), *self._reads()]
        with ThreadPoolExecutor(len(requests) * WORKERS) as threads:
            asked = [threads.submit(self._asked, status, *request) for request in requests * WORKERS]
            return [seconds for one in asked for seconds in one.result()]

    def _writes(self) -> list[tuple[str, str, object]]:
        return [
            ("POST", self._table.actions, {"type": "resign", "expected_version": 1}),
            ("POST", "/v1/games", {"variant": "paulista"}),
            ("DELETE", f"{self._table.path}/seats/0", None),
        ]

    def _reads(self) -> list[tuple[str, str, object]]:
        path = self._table.path
        return [
            ("GET", path, None),
            ("GET", f"{path}?after_version=1&wait=1", None),
            ("GET", f"{path}/events", None),
            ("GET", "/v1/games", None),
        ]

    def _asked(self, status: int, method: str, path: str, body: object) -> list[float]:
        """How long it took, twice: on a new connection and again. Raises `Violation`."""
        taken = []
        with Wire(self._url) as wire:
            for _ in range(2):
                started = time.monotonic()
                answer = wire.ask(method, path, body, self._table.tokens[0])
                taken.append(time.monotonic() - started)
                if answer.status != status or (status == 503 and not _is_told_well(answer)):
                    raise Violation(f"{method} {path} answered {answer.status} {answer.content!r}")
                if status == 503 and taken[-1] > TOLD_WITHIN_SECONDS:
                    raise Violation(f"{method} {path} took {taken[-1]:.1f} s to say 503")
        return taken

    def _expect(self, path: str, status: int) -> None:
        with Wire(self._url) as wire:
            answer = wire.ask("GET", path)
        if answer.status != status:
            raise Violation(f"{path} answered {answer.status}, not {status}")

    def back(self) -> float:
        """How long until writes succeed again on every worker."""
        started = time.monotonic()
        successes = 0
        while successes < 5 * WORKERS:
            with Wire(self._url) as wire:
                is_written = wire.ask("POST", "/v1/games", {"variant": "paulista"}).status == 201
            successes = successes + 1 if is_written else 0
            if time.monotonic() - started > BACK_WITHIN_SECONDS:
                raise Violation(f"not back {BACK_WITHIN_SECONDS:.0f} s after Redis")
        self._expect("/readyz", 200)
        return time.monotonic() - started

    def _check_waking(self) -> None:
        """Waiters hear of an action at once, not only when they look again by themselves."""
        with ExitStack() as stack:
            acting = stack.enter_context(Wire(self._url))
            waiting = [stack.enter_context(Wire(self._url)) for _ in range(5 * WORKERS)]
            table = create(acting)
            for wire in waiting:
                _wait_for_news(wire, table)
            time.sleep(0.5)  # until they wait
            seat = table.waits_for[0]
            acting.post(table.actions, look(acting, table, seat)["legal_actions"][0], table.tokens[seat])
            acted = time.monotonic()
            for wire in waiting:
                if wire.read().body["version"] != 2:
                    raise Violation("a waiter was answered with an old view")
            if time.monotonic() - acted > WOKEN_WITHIN_SECONDS:
                raise Violation(f"waiters were woken after {time.monotonic() - acted:.1f} s")


def _wait_for_news(wire: Wire, table: Table) -> None:
    wire.send("GET", f"{table.path}?after_version=1&wait={WAIT_SECONDS}")


def _is_told_well(answer: Answer) -> bool:
    return answer.code == "storage_unavailable" and int(answer.headers.get("retry-after", 0)) > 0


def _other_master() -> str:
    """The master becomes a replica, and another one is behind the same address, as in Kubernetes."""
    with ExitStack() as stack:
        first = stack.enter_context(RedisServer())
        second = stack.enter_context(RedisServer())
        door = stack.enter_context(_Door(first.port))
        live = stack.enter_context(service(f"redis://127.0.0.1:{door.port}/0"))
        site = _Site(live.url)
        door.leads_to = second.port
        with redis.Redis.from_url(first.url) as client:
            client.replicaof("127.0.0.1", str(second.port))
        back = site.back()
    return f"another master behind the same address: back after {back:.1f} s"


class _Door:
    """An address of its own that leads to a server; connections stay where they once led. A context manager."""

    def __init__(self, leads_to: int) -> None:
        self.leads_to = leads_to
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    def _accept(self) -> None:
        while True:
            try:
                outer, _ = self._listener.accept()
            except OSError:
                return
            inner = socket.create_connection(("127.0.0.1", self.leads_to))
            self._open += (outer, inner)
            for one, other in ((outer, inner), (inner, outer)):
                thread = threading.Thread(target=self._carry, args=(one, other))
                self._threads.append(thread)
                thread.start()

    @staticmethod
    def _carry(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while content := one.recv(65_536):
                other.sendall(content)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> _Door:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for connection in (self._listener, *self._open):
            connection.close()
