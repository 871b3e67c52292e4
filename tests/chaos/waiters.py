"""A thousand long polls and a thousand streams of idle games, while others play."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.chaos.service import service
from tests.chaos.wire import Body, Table, Violation, Wire, create, look, note_turn, request_bytes
from tests.live_server import ROOT, LiveServer
from tests.redis_server import RedisServer

POLLS = STREAMS = 1_000
SEATS = 4
WAIT_SECONDS = 25
GAMES = 20
ACTIONS_A_SECOND = 5
"""Of each game: a person's pace, and more than the machine needs to be busy."""
ROUNDS = 4
ROUND_SECONDS = 15.0
SLOWER_AT_MOST = 1.5
KIB_AT_MOST = 60.0
_CPU_OVER_SECONDS = 4.0


def waiters() -> list[str]:
    """1,000 idle long polls and 1,000 streams: action p99 at most 1.5 times that without them, 60 KB a waiter."""
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer())
        live = stack.enter_context(service(server.url, TRUCO_WAITS_PER_ADDRESS="5000"))
        with Wire(live.url) as wire:
            idle = [create(wire, "paulista") for _ in range(POLLS // SEATS)]
            tables = [create(wire, rules={"target": 98}) for _ in range(GAMES)]
        _play(live.url, tables, 5.0)  # warm
        empty_kib = _resident_kib(live)
        without: list[list[float]] = []
        held: list[list[float]] = []
        heaviest_kib = 0.0
        idle_cpu: list[float] = []
        for _ in range(ROUNDS):
            without.append(_play(live.url, tables, ROUND_SECONDS))
            with _held(live, idle):
                idle_cpu.append(_cpu_share(live))
                held.append(_play(live.url, tables, ROUND_SECONDS))
                heaviest_kib = max(heaviest_kib, _resident_kib(live))
    a_waiter_kib = (heaviest_kib - empty_kib) / (POLLS + STREAMS)
    before, after = _p99_ms(without), _p99_ms(held)
    lines = [
        (
            f"{POLLS} long polls and {STREAMS} streams; {GAMES} games, {sum(map(len, without))} actions without them"
            f" and {sum(map(len, held))} with them, {ROUNDS} rounds in turns"
        ),
        (
            f"action p99, median of rounds: {before:.1f} ms without, {after:.1f} ms with, {after / before:.2f} times;"
            f" action median {_median_ms(without):.1f} and {_median_ms(held):.1f} ms"
        ),
        f"{a_waiter_kib:.1f} KiB a waiter; idle, all use {statistics.median(idle_cpu):.2f} of a core",
    ]
    if after > SLOWER_AT_MOST * before or a_waiter_kib > KIB_AT_MOST:
        raise Violation("; ".join(lines))
    return lines


def _p99_ms(rounds: list[list[float]]) -> float:
    return statistics.median(statistics.quantiles(taken, n=100)[98] for taken in rounds) * 1000


def _median_ms(rounds: list[list[float]]) -> float:
    return statistics.median(statistics.median(taken) for taken in rounds) * 1000


@contextmanager
def _held(live: LiveServer, idle: list[Table]) -> Iterator[None]:
    """Every seat of every idle game has a long poll and a stream, in a process of their own."""
    polls = [
        request_bytes("GET", f"{table.path}?after_version=1&wait={WAIT_SECONDS}", token=token)
        for table in idle
        for token in table.tokens
    ]
    streams = [
        request_bytes("GET", f"{table.path}/events/stream", token=token) for table in idle for token in table.tokens
    ]
    order: Body = {
        "port": live.port,
        "polls": [request.decode("ascii") for request in polls],
        "streams": [request.decode("ascii") for request in streams],
    }
    holder = subprocess.Popen(
        [sys.executable, "-m", "tests.chaos.hold"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdin.write(json.dumps(order) + "\n")
        holder.stdin.flush()
        if holder.stdout.readline() != "held\n":
            raise Violation("the waiters could not be held")
        yield
        if holder.poll() is not None:
            raise Violation("a waiter was let go")
        holder.stdin.close()


def _play(url: str, tables: list[Table], seconds: float) -> list[float]:
    """How long each action took."""
    taken: list[float] = []
    threads = [threading.Thread(target=_play_one, args=(url, table, seconds, taken)) for table in tables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def _play_one(url: str, table: Table, seconds: float, taken: list[float]) -> None:
    chance = random.Random(table.id)
    with Wire(url) as wire:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and table.waits_for:
            time.sleep(chance.uniform(0, 2 / ACTIONS_A_SECOND))
            seat = table.waits_for[0]
            legal = look(wire, table, seat)["legal_actions"]
            plays = [action for action in legal if action["type"] in ("play", "accept")]
            started = time.monotonic()
            view = wire.post(table.actions, plays[0], table.tokens[seat])["game"]
            taken.append(time.monotonic() - started)
            note_turn(table, view)


def _resident_kib(live: LiveServer) -> float:
    total = 0
    for pid in live.workers:
        status = Path(f"/proc/{pid}/status").read_text("ascii")
        total += int(status.split("VmRSS:")[1].split()[0])
    return total


def _cpu_share(live: LiveServer) -> float:
    """Of one core, by all workers."""
    before = _cpu_seconds(live)
    time.sleep(_CPU_OVER_SECONDS)
    return (_cpu_seconds(live) - before) / _CPU_OVER_SECONDS


def _cpu_seconds(live: LiveServer) -> float:
    ticks = 0
    for pid in live.workers:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(") ")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
