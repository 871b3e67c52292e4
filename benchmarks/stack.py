"""The service and the bare stack on one Redis, and bursts of load on each of their operations."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import TracebackType

import msgspec
import requests

from benchmarks import ceiling
from benchmarks.ceiling import Answer, Answers, answer_of
from benchmarks.games import NAMES, Maker, get, post
from benchmarks.load import Burst, Load, Order
from benchmarks.report import cpu_seconds
from benchmarks.rounds import Rounds
from service.games import Created
from service.tokens import new_id
from tests.live_server import LiveServer
from tests.redis_server import RedisServer

SERVICE, KEPT, CEILING = "with the read", "with kept states", "ceiling"
STATES_KEPT = "TRUCO_STATES_KEPT"
"""The setting: how many states a worker keeps; 0 is none."""
UNMEASURED = {"TRUCO_RATE_CREATE": "1000000/minute", "TRUCO_RATE_ACT": "1000000/minute"}
"""All load comes from one address, and a token acts more often than any player; the counting is measured, though."""
ACTION, VIEW, NOT_MODIFIED, CREATE = "applyAction", "getGame", "getGame, 304", "createGame"
STATUS = {ACTION: 200, VIEW: 200, NOT_MODIFIED: 304, CREATE: 201}
_GUESSED_PER_SECOND = 2_000
_SPARE = 3
"""Times as many as the fastest burst so far would need: the machine may have been busy then."""
_MIDDLE_OF_A_GAME = 40
"""Actions: several hands have been played."""


@dataclass(frozen=True)
class Case:
    """One operation of one server under a number of connections."""

    operation: str
    server: str
    connections: int

    @property
    def lanes(self) -> str:
        return f"{self.operation}, {self.server}, {self.connections}"


@dataclass
class Shown:
    """What the bursts of one case have shown."""

    per_second: Rounds = field(default_factory=Rounds)
    p50_ms: Rounds = field(default_factory=Rounds)
    p99_ms: Rounds = field(default_factory=Rounds)
    server_us: Rounds = field(default_factory=Rounds)
    """CPU time of the workers for one request,"""
    redis_us: Rounds = field(default_factory=Rounds)
    """of Redis,"""
    load_us: Rounds = field(default_factory=Rounds)
    """and of whoever sent it."""

    @property
    def cpu_us(self) -> Rounds:
        parts = (self.server_us.figures, self.redis_us.figures, self.load_us.figures)
        return Rounds([sum(used) for used in zip(*parts, strict=True)])


class Stack:
    """Everything running; a context manager."""

    def __init__(self, connections: Sequence[int]) -> None:
        self.shown: dict[Case, Shown] = {}
        self.cases = [
            Case(operation, server, number)
            for number in connections
            for operation, servers in {
                ACTION: (SERVICE, KEPT, CEILING),
                VIEW: (SERVICE, KEPT, CEILING),
                NOT_MODIFIED: (SERVICE, KEPT, CEILING),
                CREATE: (SERVICE,),
            }.items()
            for server in servers
        ]
        self._fastest: dict[Case, float] = {}
        self._open = ExitStack()

    def __enter__(self) -> Stack:
        with ExitStack() as opening:
            directory = Path(opening.enter_context(tempfile.TemporaryDirectory(prefix="truco-bench-")))
            self.redis = opening.enter_context(RedisServer())
            environ = {"REDIS_URL": self.redis.url, **UNMEASURED}
            self._maker = Maker(self.redis.url)
            self._servers = {
                SERVICE: LiveServer({**environ, STATES_KEPT: "0"}),
                KEPT: LiveServer(environ),
            }
            for server in self._servers.values():
                opening.enter_context(server)
            answers = typical_answers(self._maker, self._servers[SERVICE].url)
            self._stored_bytes = len(answers.stored)
            said = directory / "answers"
            said.write_bytes(msgspec.msgpack.encode(answers))
            self._servers[CEILING] = opening.enter_context(
                LiveServer({**environ, "BENCH_ANSWERS": str(said)}, app="benchmarks.ceiling:from_env()")
            )
            self._load = opening.enter_context(Load())
            self._prepare()
            self._open = opening.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, traceback)

    def burst(self, case: Case, seconds: float) -> Burst:
        """Load on *case*; what it shows is added to `shown`."""
        self._make_actions(case, seconds)
        server = self._servers[case.server]
        order = Order(
            port=server.port,
            lanes=case.lanes,
            connections=case.connections,
            status=STATUS[case.operation],
            seconds=seconds,
            warm_up_seconds=min(0.3, seconds / 4),
        )
        workers, redis = server.workers, [self.redis.process_id]
        before = cpu_seconds(workers), cpu_seconds(redis)
        burst = self._load.burst(order)
        used = cpu_seconds(workers) - before[0], cpu_seconds(redis) - before[1]
        self._fastest[case] = max(burst.per_second, self._fastest.get(case, 0))
        shown = self.shown.setdefault(case, Shown())
        shown.per_second.add(burst.per_second)
        shown.p50_ms.add(burst.p50_ms)
        shown.p99_ms.add(burst.p99_ms)
        for rounds, cpu in ((shown.server_us, used[0]), (shown.redis_us, used[1]), (shown.load_us, burst.cpu_seconds)):
            rounds.add(cpu / burst.answers * 1e6)
        return burst

    def _make_actions(self, case: Case, seconds: float) -> None:
        """As many as the burst can need."""
        if case.operation != ACTION or case.server == CEILING:
            return
        per_second = self._fastest.get(case, _GUESSED_PER_SECOND)
        needed = math.ceil(per_second * _SPARE * (seconds + 0.3) / case.connections) + 20
        self._maker.top_up(self._load, case.lanes, case.connections, needed)

    def _prepare(self) -> None:
        """The requests that can be sent again and again; what the ceiling says is what the service says."""
        for case in self.cases:
            many = range(case.connections)
            if case.server == CEILING:
                self._load.add(
                    case.lanes,
                    [[request_to_ceiling(self._maker, case.operation, self._stored_bytes)] for _ in many],
                    again=True,
                )
            elif case.operation == CREATE:
                body = {"variant": "paulista", "players": [{"name": name} for name in NAMES]}
                self._load.add(case.lanes, [[post("/v1/games", msgspec.json.encode(body))] for _ in many], again=True)
            elif case.operation != ACTION:
                self._load.add(case.lanes, [[self._look(case.operation)] for _ in many], again=True)

    def _look(self, operation: str) -> bytes:
        """At a game that has been played for a while."""
        created, version = self._played()
        etag = f'W/"v{version}-s0"' if operation == NOT_MODIFIED else None
        return get(f"/v1/games/{created.game.id}", created.tokens[0], etag)

    def _played(self) -> tuple[Created, int]:
        created, game = self._maker.make()
        for step in islice(self._maker.steps(game), _MIDDLE_OF_A_GAME):
            entry = self._maker.games.enter_seat(created.game.id, created.tokens[step.seat])
            self._maker.games.act(entry, step.version, step.action)
        found = self._maker.store.load(created.game.id)
        assert found is not None
        return created, found.game.version


def typical_answers(maker: Maker, url: str) -> Answers:
    """To an action and a look in the middle of a game, and the stored state: of each the one of median length."""
    http = requests.Session()
    acted, seen, unchanged, stored = [], [], [], []
    created, game = maker.make()
    address = f"{url}/v1/games/{created.game.id}"
    for step in maker.steps(game):
        bearer = {"Authorization": f"Bearer {created.tokens[step.seat]}"}
        sent = maker.request(created, step).partition(b"\r\n\r\n")[2]
        acted.append(http.post(f"{address}/actions", sent, headers={**bearer, "Content-Type": "application/json"}))
        view = http.get(address, headers=bearer)
        seen.append(view)
        unchanged.append(http.get(address, headers={**bearer, "If-None-Match": view.headers["ETag"]}))
        found = maker.client.get(f"truco:{{{created.game.id}}}:state")
        assert isinstance(found, bytes)
        stored.append(found.split(b" ", 2)[2])
    middle = sorted(stored, key=len)[len(stored) // 2]
    return Answers(_median(acted), _median(seen), _median(unchanged), middle)


def request_to_ceiling(maker: Maker, operation: str, stored_bytes: int) -> bytes:
    """With a value of its own to read, and with the head and body of a request to the service."""
    name = new_id()
    created, game = maker.make()
    maker.client.set(ceiling.key(name), f"2 1 {'-' * stored_bytes}")
    if operation == ACTION:
        step = next(maker.steps(game))
        body = maker.request(created, step).partition(b"\r\n\r\n")[2]
        return post(f"/v1/games/{name}/actions", body, created.tokens[step.seat])
    etag = 'W/"v40-s0"' if operation == NOT_MODIFIED else None
    return get(f"/v1/games/{name}", created.tokens[0], etag)


def _median(responses: Sequence[requests.Response]) -> Answer:
    middle = sorted(responses, key=lambda response: len(response.content))[len(responses) // 2]
    middle.raise_for_status()
    return answer_of(middle.status_code, middle.headers, middle.content)
