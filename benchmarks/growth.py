"""`make bench-growth`: how an action fares among many stored games, and late in a long one; and the memory of it all.

The stored games are copies of played ones under ids of their own, loaded through the commit script in long pipelines:
each has its state with its tokens, ten events, and an action.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import islice
from random import Random

import redis

from benchmarks.games import Maker
from benchmarks.load import Load, Order
from benchmarks.report import machine, table
from benchmarks.rounds import Rounds
from service.engine.record import encode_action
from service.games import Created
from service.store.base import Game, LoggedEvent
from service.tokens import new_id
from tests.live_server import LiveServer
from tests.redis_server import RedisServer

SIZES = (1_000, 100_000, 1_000_000)
ROUNDS = 5
CONNECTIONS = (1, 16)
BURST_SECONDS = 1.0
_TEMPLATES = 100
_EVENTS = 10
_AT_ONCE = 500
_MIDDLE_OF_A_GAME = 40
_PARTS = {"1–20": (0, 20), "21–60, second hand on": (20, 60), "481–520": (480, 520)}
"""Which actions of a long game are compared, by their numbers."""
_LONG_GAMES = 6
"""A round."""
_LONG = {"target": 99}


@dataclass(frozen=True)
class Template:
    """A stored game as it is loaded again and again, its latest events, and its last action."""

    game: Game
    events: Sequence[LoggedEvent]
    action: str


class Loader:
    """Stores games in bulk."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        script = resources.files("service.store").joinpath("commit.lua").read_text("utf-8")
        self._sha = maker.client.script_load(script)
        self._templates = [_template(maker) for _ in range(_TEMPLATES)]

    def load(self, games: int) -> None:
        for first in range(0, games, _AT_ONCE):
            pipeline = self._maker.client.pipeline(transaction=False)
            for number in range(first, min(first + _AT_ONCE, games)):
                self._add(pipeline, self._templates[number % _TEMPLATES])
            pipeline.execute()

    def _add(self, pipeline: redis.client.Pipeline, template: Template) -> None:
        game = replace(template.game, id=new_id())
        keys, arguments = self._maker.store.commit_call(game, None, template.events, (template.action,))
        pipeline.evalsha(self._sha, len(keys), *keys, *arguments)


def _template(maker: Maker) -> Template:
    """Of a game that has been played for a while."""
    created, game = maker.make()
    last = ""
    for step in islice(maker.steps(game), _MIDDLE_OF_A_GAME):
        entry = maker.games.enter_seat(created.game.id, created.tokens[step.seat])
        maker.games.act(entry, step.version, step.action)
        last = encode_action(step.seat, step.action)
    found = maker.store.load(created.game.id)
    assert found is not None
    game = found.game
    events = maker.store.events(game.id, game.last_seq - _EVENTS, _EVENTS).events
    maker.client.delete(*maker.client.keys(f"truco:{{{game.id}}}:*"))
    return Template(game, events, last)


@dataclass
class Grown:
    """A Redis with many games, and the service on it."""

    size: int
    redis: RedisServer
    service: LiveServer
    maker: Maker
    bytes_per_game: float
    rss_gib: float
    p50_ms: dict[int, Rounds] = field(default_factory=dict)
    """By connections."""
    per_second: dict[int, Rounds] = field(default_factory=dict)


def grown(size: int, running: ExitStack) -> Grown:
    server = running.enter_context(RedisServer())
    maker = Maker(server.url)
    loader = Loader(maker)
    before = int(maker.client.info("memory")["used_memory"])
    loader.load(size)
    memory = maker.client.info("memory")
    service = running.enter_context(LiveServer({"REDIS_URL": server.url, "TRUCO_RATE_ACT": "1000000/minute"}))
    used, rss = int(memory["used_memory"]) - before, int(memory["used_memory_rss"])
    print(f"{size:,} games loaded", file=sys.stderr, flush=True)
    return Grown(size, server, service, maker, used / size, rss / 2**30)


def measure_sizes(sizes: Sequence[int], load: Load) -> list[Grown]:
    chance = Random(1)
    with ExitStack() as running:
        all_grown = [grown(size, running) for size in sizes]
        for _ in range(ROUNDS):
            for connections in CONNECTIONS:
                for each in chance.sample(all_grown, len(all_grown)):
                    _burst(each, connections, load)
    return all_grown


def _burst(each: Grown, connections: int, load: Load) -> None:
    lanes = f"{each.size}, {connections}"
    each.maker.top_up(load, lanes, connections, int(4_000 * BURST_SECONDS / connections))
    burst = load.burst(Order(each.service.port, lanes, connections, 200, BURST_SECONDS, 0.3))
    each.p50_ms.setdefault(connections, Rounds()).add(burst.p50_ms)
    each.per_second.setdefault(connections, Rounds()).add(burst.per_second)


def sizes_table(all_grown: Sequence[Grown]) -> str:
    smallest = all_grown[0]
    head = ["stored games", "bytes a game", "RSS GiB"]
    head += [
        f"{figure}, {number} connections" for number in CONNECTIONS for figure in ("p50 ms", "per second", "p50 ×")
    ]
    rows = []
    for each in all_grown:
        row = [f"{each.size:,}", f"{each.bytes_per_game:,.0f}", f"{each.rss_gib:.2f}"]
        for number in CONNECTIONS:
            ratio = each.p50_ms[number].ratio_to(smallest.p50_ms[number])
            row += [each.p50_ms[number].text(2), each.per_second[number].text(), ratio.text(2)]
        rows.append(row)
    return table(head, rows)


def measure_long_games(load: Load) -> dict[str, Rounds]:
    """The p50 in ms of each part of long games, one connection."""
    shown = {part: Rounds() for part in _PARTS}
    with ExitStack() as running:
        server = running.enter_context(RedisServer())
        environ = {"REDIS_URL": server.url, "TRUCO_RATE_ACT": "1000000/minute", "WEB_CONCURRENCY": "1"}
        service = running.enter_context(LiveServer(environ))
        maker = Maker(server.url)
        for number in range(ROUNDS):
            games = [*islice(_long_games(maker), _LONG_GAMES)]
            done = 0
            for part, (first, end) in _PARTS.items():
                if done < first:
                    _send(load, service, f"before {part}, {number}", [game[done:first] for game in games])
                shown[part].add(_send(load, service, f"{part}, {number}", [game[first:end] for game in games]))
                done = end
    return shown


def _long_games(maker: Maker) -> Iterator[list[bytes]]:
    longest = max(end for _, end in _PARTS.values())
    while True:
        created, game = maker.make(_LONG)
        requests = [maker.request(created, step) for step in islice(maker.steps(game), longest)]
        if len(requests) == longest:
            yield requests


def _send(load: Load, service: LiveServer, lanes: str, games: Sequence[Sequence[bytes]]) -> float:
    load.add(lanes, [[request for game in games for request in game]])
    return load.burst(Order(service.port, lanes, 1, 200)).p50_ms


def memory_table() -> str:
    """What the keys of a game take, after so many actions."""
    with RedisServer() as server:
        maker = Maker(server.url)
        rows = []
        largest = 0
        created, game = maker.make(_LONG)
        for done, step in enumerate(maker.steps(game), 1):
            entry = maker.games.enter_seat(created.game.id, created.tokens[step.seat])
            maker.games.act(entry, step.version, step.action)
            largest = max(largest, _used(maker, created, "state"))
            seq = maker.games.enter(created.game.id, created.tokens[0]).last_seq
            if done in (1, 40, 100, 250, 500) or (rows and int(rows[-1][1]) < 200 <= seq):
                keys = [_used(maker, created, name) for name in ("state", "events", "actions")]
                rows.append([str(done), str(seq), *(f"{used:,}" for used in keys), f"{sum(keys):,}"])
        head = ["actions", "events", "state", "events", "actions", "all keys, bytes"]
        return f"{table(head, rows)}\n\nThe largest state key of this game: {largest:,} bytes (`MEMORY USAGE`)."


def _used(maker: Maker, created: Created, name: str) -> int:
    return int(maker.client.memory_usage(f"truco:{{{created.game.id}}}:{name}", samples=0) or 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="stored games; the sizes above it are left out")
    most = parser.parse_args().most
    print(f"{machine()}\n\nMedian of {ROUNDS} rounds (lowest–highest).")
    print(f"\n### Memory of one game\n\n{memory_table()}", flush=True)
    with Load() as load:
        parts = measure_long_games(load)
        first = next(iter(parts.values()))
        rows = [(part, p50.text(2), p50.ratio_to(first).text(2)) for part, p50 in parts.items()]
        print(f"\n### Early and late in a game\n\n{table(('actions', 'p50 ms', '×'), rows)}", flush=True)
        sizes = measure_sizes([size for size in SIZES if size <= most], load)
    print(f"\n### Among many games\n\n{sizes_table(sizes)}")


if __name__ == "__main__":
    main()
