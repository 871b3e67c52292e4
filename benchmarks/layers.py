"""`make bench-profile`: where the time of one action goes, by layer, inside real requests; beside the bare stack."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import median

import msgspec
import requests

from benchmarks.games import Maker
from benchmarks.load import Load, Order
from benchmarks.report import cpu_seconds, machine, table
from benchmarks.rounds import Rounds
from benchmarks.stack import (
    ACTION,
    CEILING,
    KEPT,
    SERVICE,
    STATES_KEPT,
    UNMEASURED,
    request_to_ceiling,
    typical_answers,
)
from benchmarks.traced import LAYERS
from tests.live_server import LiveServer
from tests.redis_server import RedisServer

ROUNDS = 5
BURST_SECONDS = 1.0
_APPS = {
    SERVICE: "benchmarks.traced:service()",
    KEPT: "benchmarks.traced:service()",
    CEILING: "benchmarks.traced:bare()",
}
OUTSIDE = "sockets, HTTP parsing, event loop"
"""The CPU time of the worker that no layer has."""

_NOTHING = (0, 0)

Spent = dict[str, list[list[float]]]
"""By layer: for each request the microseconds that passed, and those of CPU."""


def measure() -> tuple[dict[str, Spent], dict[str, Rounds]]:
    """What the layers of each server spent, and the whole CPU time of a request in microseconds, by round."""
    chance = Random(1)
    spent: dict[str, Spent] = {name: {} for name in _APPS}
    whole = {name: Rounds() for name in _APPS}
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="truco-bench-")))
        server = running.enter_context(RedisServer())
        maker = Maker(server.url)
        environ = {"REDIS_URL": server.url, "WEB_CONCURRENCY": "1", **UNMEASURED}
        services = {SERVICE: running.enter_context(LiveServer({**environ, STATES_KEPT: "0"}, app=_APPS[SERVICE]))}
        answers = typical_answers(maker, services[SERVICE].url)
        said = directory / "answers"
        said.write_bytes(msgspec.msgpack.encode(answers))
        for name in (KEPT, CEILING):
            service = LiveServer({**environ, "BENCH_ANSWERS": str(said)}, app=_APPS[name])
            services[name] = running.enter_context(service)
        load = running.enter_context(Load())
        load.add(CEILING, [[request_to_ceiling(maker, ACTION, len(answers.stored))]], again=True)
        for _ in range(ROUNDS):
            for name in chance.sample([*services], len(services)):
                if name != CEILING:
                    maker.top_up(load, name, 1, int(3_000 * BURST_SECONDS))
                _burst(load, name, services[name], spent[name], whole[name])
    return spent, whole


def _burst(load: Load, name: str, service: LiveServer, spent: Spent, whole: Rounds) -> None:
    requests.get(f"{service.url}/layers", timeout=10)  # what there was before does not count
    before = cpu_seconds(service.workers)
    burst = load.burst(Order(service.port, name, 1, 200, BURST_SECONDS))
    whole.add((cpu_seconds(service.workers) - before) / burst.answers * 1e6)
    asked = requests.get(f"{service.url}/layers", timeout=10)
    for request in asked.json():
        for layer in LAYERS:
            spent.setdefault(layer, []).append([each / 1e3 for each in request.get(layer, _NOTHING)])


def layers_table(spent: dict[str, Spent], whole: dict[str, Rounds]) -> str:
    """Time that passes, with CPU time in brackets."""
    rows = [[layer, *(_figures(spent[name][layer]) for name in _APPS)] for layer in LAYERS]
    totals = {name: [_sum(spent[name], kind) for kind in (0, 1)] for name in _APPS}
    rows.append(["all layers", *(f"{wall:,.0f} ({cpu:,.0f})" for wall, cpu in totals.values())])
    rows.append([OUTSIDE, *(f"({whole[name].median - totals[name][1]:,.0f})" for name in _APPS)])
    return table(("layer, µs (of CPU)", *_APPS), rows)


def _figures(spent: list[list[float]]) -> str:
    """Empty where most requests do not come."""
    wall, cpu = _median(spent, 0), _median(spent, 1)
    return f"{wall:,.0f} ({cpu:,.0f})" if wall else ""


def _median(spent: list[list[float]], kind: int) -> float:
    return median(each[kind] for each in spent)


def _sum(spent: Spent, kind: int) -> float:
    return sum(_median(each, kind) for each in spent.values())


def main() -> None:
    print(f"{machine()}\n\nOne connection, one worker, medians of all requests in {ROUNDS} rounds.\n")
    print(layers_table(*measure()))


if __name__ == "__main__":
    main()
