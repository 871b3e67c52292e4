"""`make capacity`: pods, Redis, bytes and bandwidth for many players, and what happens when all come back at once.

Standard library only; it measures nothing. What was measured is an input here, with the command that measures it. The
tables in docs/capacity.md are what this prints; a test compares.
"""

from __future__ import annotations

import argparse
import heapq
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import quantiles

FOOTPRINT = "`make bench-footprint`"
WAITERS = "`make chaos NAME=waiters`"
ASSUMED = "assumed"
SETTING = "setting"


@dataclass(frozen=True)
class Input:
    """One number, and where it comes from."""

    name: str
    value: float
    source: str


SEATS = Input("seats of a table", 4, ASSUMED)
PACE = Input("seconds between two actions of a table", 5, ASSUMED)
POLLERS = Input("polls that an action wakes (all seats but the actor's, none by stream)", 3, ASSUMED)
ACTIVE = Input("mean of a day over its peak", 0.4, ASSUMED)
CLOCKED = Input("share of games with `turn_seconds`", 1, ASSUMED)
BUSY = Input("share of a worker's core that is planned with", 0.6, ASSUMED)
REDIS_BUSY = Input("share of a Redis core that is planned with", 0.4, ASSUMED)
SHARD_GB = Input("GB of games on a Redis shard (of a 32 GB node: fork, buffers, growth)", 16, ASSUMED)
RECONNECT = Input("µs for a new connection, beside the poll on it", 150, ASSUMED)
WORKERS = Input("workers of a pod", 2, SETTING)
WAITS = Input("`TRUCO_WAITS_PER_WORKER`", 5_000, SETTING)
PLACES = Input("operations of a worker at once (`OPERATIONS_AT_ONCE`)", 200, SETTING)
SWEEPS = Input("looks of a worker for overdue turns, a second", 2, SETTING)
KEPT_DAYS = Input("`TRUCO_FINISHED_TTL_SECONDS`, days", 7, SETTING)
RETRIES_DAYS = Input("days that records of requests are kept", 1, SETTING)
HANGS = Input("seconds until an operation gives a silent Redis up (two tries)", 1.25, SETTING)
RETRY_AFTER = Input("`Retry-After` of a 503, seconds", 1, SETTING)
LOOKS_AGAIN = Input("seconds after which a waiter looks again unrung", 15, SETTING)
ACTION_CPU = Input("action: worker µs", 1_364, FOOTPRINT)
ACTION_REDIS = Input("action: Redis µs, `appendfsync always`", 181, FOOTPRINT)
ACTION_WIRE = Input("action: bytes to and from Redis", 1_856, FOOTPRINT)
POLL_CPU = Input("woken long poll: worker µs", 1_512, FOOTPRINT)
POLL_REDIS = Input("woken long poll: Redis µs", 144, FOOTPRINT)
POLL_WIRE = Input("woken long poll: bytes to and from Redis", 2_768, FOOTPRINT)
VIEW_CPU = Input("view without waiting: worker µs (a waiter's look costs less)", 661, FOOTPRINT)
CREATE_CPU = Input("created game: worker µs", 1_484, FOOTPRINT)
CREATE_REDIS = Input("created game: Redis µs", 95, FOOTPRINT)
INDEX_REDIS = Input("deadline set: Redis µs (action with a clock less one without)", 17, FOOTPRINT)
BROADCAST_CPU = Input("PUBLISH: µs at each other node of a cluster", 0.8, FOOTPRINT)
GAME_ACTIONS = Input("actions of a game (`paulista`, random legal play)", 100, FOOTPRINT)
PLAYING_BYTES = Input("bytes of a running game in Redis, mean over its actions", 17_084, FOOTPRINT)
FINISHED_BYTES = Input("bytes of a finished game, with the records of its requests", 28_983, FOOTPRINT)
RETRIES_BYTES = Input("of these the records of requests, gone after a day", 12_087, FOOTPRINT)
ACTION_REQUEST = Input("action: request bytes", 349, FOOTPRINT)
HEAD = Input("an answer's head, bytes", 258, FOOTPRINT)
ACTION_BODY = Input("action: answer's body, bytes", 2_497, FOOTPRINT)
ACTION_GZIP = Input("action: the same, gzip", 905, FOOTPRINT)
VIEW_REQUEST = Input("poll: request bytes", 206, FOOTPRINT)
VIEW_BODY = Input("poll: answer's body, bytes", 2_453, FOOTPRINT)
VIEW_GZIP = Input("poll: the same, gzip", 884, FOOTPRINT)
WAITER_KIB = Input("KiB of a worker's memory for a waiter", 37.6, WAITERS)
WORKER_MIB = Input("MiB of a worker without waiters (84 with 240, less theirs)", 75, FOOTPRINT)
CONNECTIONS = Input("connections of a worker to one Redis after all its waiters woke at once", 403, FOOTPRINT)

INPUTS = [value for value in list(globals().values()) if isinstance(value, Input)]


@dataclass(frozen=True)
class Plan:
    """What *people* who play at once need."""

    people: int

    @property
    def tables(self) -> float:
        return self.people / SEATS.value

    @property
    def actions(self) -> float:
        """A second; of all that follows too."""
        return self.tables / PACE.value

    @property
    def game_seconds(self) -> float:
        return GAME_ACTIONS.value * PACE.value

    @property
    def creations(self) -> float:
        return self.tables / self.game_seconds

    @property
    def worker_cores(self) -> float:
        """Busy ones."""
        an_action = ACTION_CPU.value + POLLERS.value * POLL_CPU.value
        return (self.actions * an_action + self.creations * CREATE_CPU.value) / 1e6

    @property
    def workers(self) -> int:
        by_cpu = self.worker_cores / BUSY.value
        by_waits = self.people / (WAITS.value * BUSY.value)
        return math.ceil(max(by_cpu, by_waits, 6))

    @property
    def pods(self) -> int:
        return math.ceil(self.workers / WORKERS.value)

    @property
    def worker_mib(self) -> float:
        return WORKER_MIB.value + WAITER_KIB.value / 1024 * self.people / (self.pods * WORKERS.value)

    @property
    def redis_cores(self) -> float:
        """Without what a cluster's nodes tell each other."""
        an_action = ACTION_REDIS.value + POLLERS.value * POLL_REDIS.value
        return (self.actions * an_action + self.creations * CREATE_REDIS.value) / 1e6

    @property
    def index_cores(self) -> float:
        """Of the one shard with the index of deadlines."""
        return (
            self.actions * CLOCKED.value * INDEX_REDIS.value + self.workers * SWEEPS.value * INDEX_REDIS.value
        ) / 1e6

    def finished(self, days: float) -> float:
        """Games that are kept after their end."""
        return self.creations * ACTIVE.value * 86_400 * days

    def gigabytes(self, days: float, records_days: float = RETRIES_DAYS.value) -> float:
        """In Redis, with finished games kept for *days* and the records of their requests for *records_days*."""
        games = self.tables * PLAYING_BYTES.value + self.finished(days) * (FINISHED_BYTES.value - RETRIES_BYTES.value)
        return (games + self.finished(records_days) * RETRIES_BYTES.value) / 1e9

    def shards(self, days: float) -> int:
        return max(1, math.ceil(self.gigabytes(days) / SHARD_GB.value), math.ceil(self.redis_cores / REDIS_BUSY.value))

    @property
    def broadcast_cores(self) -> float:
        """Of every node of one cluster: PUBLISH reaches all, so that more nodes do not help."""
        return self.actions * BROADCAST_CPU.value / 1e6

    def gigabits_out(self, body_action: float, body_view: float) -> float:
        answers = HEAD.value + body_action + POLLERS.value * (HEAD.value + body_view)
        return self.actions * answers * 8 / 1e9

    @property
    def gigabits_in(self) -> float:
        return self.actions * (ACTION_REQUEST.value + POLLERS.value * VIEW_REQUEST.value) * 8 / 1e9

    @property
    def gigabits_redis(self) -> float:
        """Both ways."""
        return self.actions * (ACTION_WIRE.value + POLLERS.value * POLL_WIRE.value) * 8 / 1e9


PLANS = [Plan(10_000), Plan(1_000_000), Plan(10_000_000)]


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def inputs() -> str:
    """By where they come from."""
    by_source: dict[str, list[str]] = {}
    for each in INPUTS:
        by_source.setdefault(each.source, []).append(f"{each.name}: **{each.value:,g}**")
    lines = ["| from | inputs |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {source} | {'; '.join(named)} |" for source, named in by_source.items())])


def sizes() -> str:
    def row(name: str, figure: Callable[[Plan], float], digits: int = 0) -> list[str]:
        return [name, *(f"{figure(plan):,.{digits}f}" for plan in PLANS)]

    rows = [
        row("tables", lambda plan: plan.tables),
        row("actions a second", lambda plan: plan.actions),
        row("polls a second", lambda plan: plan.actions * POLLERS.value),
        row("games begun a second", lambda plan: plan.creations),
        row("busy worker cores", lambda plan: plan.worker_cores, 1),
        row("**pods** of two workers", lambda plan: plan.pods),
        row("waiters of a worker", lambda plan: plan.people / (plan.pods * WORKERS.value)),
        row("busy Redis cores, without broadcast", lambda plan: plan.redis_cores, 2),
        row("the deadline index, cores of its one shard", lambda plan: plan.index_cores, 2),
        row("broadcast of PUBLISH, cores of *each* node of one cluster", lambda plan: plan.broadcast_cores, 2),
        row("GB in Redis, finished games kept 7 days", lambda plan: plan.gigabytes(KEPT_DAYS.value)),
        row("GB, kept 1 day", lambda plan: plan.gigabytes(1)),
        row("GB, kept 1 hour", lambda plan: plan.gigabytes(1 / 24)),
        row("GB, kept 1 hour with their records of requests", lambda plan: plan.gigabytes(1 / 24, 1 / 24), 1),
        row("**shards**, kept 7 days", lambda plan: plan.shards(KEPT_DAYS.value)),
        row("**shards**, kept 1 day", lambda plan: plan.shards(1)),
        row("**shards**, kept 1 hour", lambda plan: plan.shards(1 / 24)),
        row("MiB of a worker", lambda plan: plan.worker_mib),
        row("connections to a Redis, after a storm", lambda plan: plan.workers * CONNECTIONS.value),
        row("the same with 32 operations at once", lambda plan: plan.workers * (2 * 32 + 1)),
        row("Gbit/s out to players", lambda plan: plan.gigabits_out(ACTION_BODY.value, VIEW_BODY.value), 2),
        row("the same, a proxy compressing", lambda plan: plan.gigabits_out(ACTION_GZIP.value, VIEW_GZIP.value), 2),
        row("Gbit/s in from players", lambda plan: plan.gigabits_in, 2),
        row("Gbit/s between pods and Redis", lambda plan: plan.gigabits_redis, 2),
    ]
    return table(["people at once", *(f"{plan.people:,}" for plan in PLANS)], rows)


def limits() -> str:
    """How many people until each part is full, with nothing changed."""
    one = Plan(1_000_000)
    per_person = {
        f"7 days of finished games on one shard of {SHARD_GB.value:g} GB": one.gigabytes(7) / SHARD_GB.value,
        "the same, 1 day": one.gigabytes(1) / SHARD_GB.value,
        "30 pods, the most of `overlays/prod`": one.worker_cores / BUSY.value / (30 * WORKERS.value),
        "one Redis, its core": (one.redis_cores + one.index_cores) / REDIS_BUSY.value,
        "a cluster: PUBLISH at every node": one.broadcast_cores / REDIS_BUSY.value,
        "a cluster: the deadline index's shard": one.index_cores / REDIS_BUSY.value,
        "Redis's `maxclients` of 10,000, after a storm": one.workers * CONNECTIONS.value / 10_000,
    }
    rows = sorted((1_000_000 / used, name) for name, used in per_person.items())
    return table(["full first", "at people"], [[name, f"{round(people, -3):,.0f}"] for people, name in rows])


@dataclass(frozen=True)
class Calm:
    """What a worker's queue did."""

    p99_ms: float
    longest_ms: float
    calm_after: float
    """Seconds until nobody waits for 100 ms any more."""


def queue(before: float, after: float, extra: list[tuple[float, float]], seed: int = 1) -> Calm:
    """One worker as one queue, in the order of arrival: its usual load, and *extra* jobs (when, µs).

    *before* and *after* the event it has so many players.
    """
    chance = Random(seed)
    jobs = sorted([*_usual(0, STORM_AT, before, chance), *_usual(STORM_AT, ENDS_AT, after, chance), *extra])
    free_at, delays = 0.0, list[tuple[float, float]]()
    for at, cost in jobs:
        begun = max(at, free_at)
        free_at = begun + cost / 1e6
        delays.append((at, free_at - at))
    during = [delay for at, delay in delays if at >= STORM_AT]
    late = [at + delay for at, delay in delays if at >= STORM_AT and delay > 0.1]
    return Calm(
        p99_ms=quantiles(during, n=100)[98] * 1e3,
        longest_ms=max(during) * 1e3,
        calm_after=max(late, default=STORM_AT) - STORM_AT,
    )


STORM_AT = 5.0
ENDS_AT = 15.0


def _usual(begin: float, end: float, players: float, chance: Random) -> Iterator[tuple[float, float]]:
    rate = players / SEATS.value / PACE.value
    at = begin
    while (at := at + chance.expovariate(rate)) < end:
        yield at, ACTION_CPU.value
        for _ in range(int(POLLERS.value)):
            yield at, POLL_CPU.value


@dataclass(frozen=True)
class Storm:
    """What comes to one worker, as shares of the players that it has."""

    name: str
    comes: float
    job_us: float
    stays: float = 0.0
    """More players from then on."""


_COMES_BACK_US = POLL_CPU.value + RECONNECT.value
STORMS = [
    Storm("nothing", 0, _COMES_BACK_US),
    Storm("one pod of 20 is drained", 1 / 20, _COMES_BACK_US),
    Storm("a quarter of the pods are drained", 1 / 4, _COMES_BACK_US),
    Storm("all pods are drained at once", 1, _COMES_BACK_US),
    Storm("one of three zones is lost", 1 / 2, _COMES_BACK_US, 1 / 2),
    Storm("the subscription breaks, all look again", 1, VIEW_CPU.value),
    Storm("a Redis comes back, all ask again", 1, POLL_CPU.value),
]


def storms() -> str:
    """Players who come back to a worker at its planned load, by how many and over how long."""
    players = PLANS[1].people / PLANS[1].workers
    rows = []
    for storm in STORMS:
        coming = round(players * storm.comes)
        figures = []
        for spread in (0.05, 2.0, 4.0) if coming else (0.05,):
            chance = Random(coming)
            extra = [(STORM_AT + chance.uniform(0, spread), storm.job_us) for _ in range(coming)]
            calm = queue(players, players * (1 + storm.stays), extra)
            settled = f"{calm.calm_after:.1f}" if calm.calm_after < ENDS_AT - STORM_AT else "no end"
            figures.append(f"{calm.p99_ms:,.0f} / {settled}")
        rows.append([storm.name, f"{coming:,}", *figures, *["-"] * (3 - len(figures))])
    head = ["p99 ms in 10 s / s until nobody waits for 100 ms", "come to a worker"]
    return table([*head, "at once (50 ms)", "spread over 2 s", "over 4 s"], rows)


@dataclass(frozen=True)
class Held:
    """What players of the shards that are well notice of one that is silent."""

    places: float
    """Taken, the 95th percentile."""
    late: float
    """Share of requests that waited for a place for 100 ms or more."""


def silent(waiters: float, shards: int, seconds: float, seed: int = 1) -> Held:
    """A worker's places while one of *shards* does not answer: each of its operations holds one until it gives up.

    Who acts there tries again after `Retry-After`; who waits there finds out when it looks again.
    """
    chance = Random(seed)
    tables = waiters / SEATS.value
    dead = round(tables / shards)
    arrivals: list[tuple[float, bool, bool]] = []
    for _ in range(dead):
        arrivals.append((chance.uniform(0, PACE.value), True, True))
        arrivals += [(chance.uniform(0, LOOKS_AGAIN.value), True, True) for _ in range(int(POLLERS.value))]
    rate = (tables - dead) / PACE.value * (2 + POLLERS.value * 2)
    at = 0.0
    while (at := at + chance.expovariate(rate)) < seconds:
        arrivals.append((at, False, False))
    heapq.heapify(arrivals)
    free = [0.0] * int(PLACES.value)
    taken, late, others, count = list[float](), 0, 0, 0
    while arrivals and arrivals[0][0] < seconds:
        at, is_dead, again = heapq.heappop(arrivals)
        begun = max(at, heapq.heappop(free))
        ends = begun + (HANGS.value if is_dead else 0.002)
        heapq.heappush(free, ends)
        if is_dead and again:
            heapq.heappush(arrivals, (ends + RETRY_AFTER.value, True, True))
        if not is_dead:
            others += 1
            late += begun - at >= 0.1
        count += 1
        if not count % 50:
            taken.append(sum(end > at for end in free))
    return Held(quantiles(taken, n=20)[18], late / max(others, 1))


def silences() -> str:
    plan = PLANS[1]
    rows = []
    for waiters in (plan.people / plan.workers, WAITS.value):
        for shards in (3, 6, 12, 24):
            held = silent(waiters, shards, 20)
            rows.append([f"{waiters:,.0f}", str(shards), f"{held.places:,.0f}", f"{held.late:.0%}"])
    head = ["waiters of a worker", "shards", f"of its {PLACES.value:g} places taken", "requests of other shards late"]
    return table(head, rows)


TABLES = {"inputs": inputs, "sizes": sizes, "limits": limits, "storms": storms, "silences": silences}


DOCUMENT = Path(__file__).parents[1] / "docs" / "capacity.md"
_QUOTED = r"(<!-- table: {name} -->\n\n)(?:\|.*\n)*"


def with_tables(document: str) -> str:
    """*document* with each table after its `<!-- table: NAME -->`. Raises `ValueError` if one has no place."""
    for name, make in TABLES.items():
        text = make() + "\n"
        document, count = re.subn(_QUOTED.format(name=name), lambda found, text=text: found[1] + text, document)
        if count != 1:
            raise ValueError(f"the table {name} has {count} places")
    return document


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/capacity.md")
    if parser.parse_args().write:
        DOCUMENT.write_text(with_tables(DOCUMENT.read_text("utf-8")), "utf-8")
    for name, make in TABLES.items():
        print(f"{name}\n\n{make()}\n")


if __name__ == "__main__":
    main()
