"""`make bench-footprint`: what a game costs the service and Redis in CPU, commands, bytes and connections.

docs/capacity.md counts with these figures. One worker, so that its core is the limit; a minute in all.
"""

from __future__ import annotations

import gzip
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import mean

import msgspec
import redis

from benchmarks.games import NAMES, Maker, Step, get, post
from benchmarks.load import Load, Order
from benchmarks.report import cpu_seconds, machine, table
from benchmarks.rounds import Rounds
from benchmarks.stack import UNMEASURED
from service.games import Created, NewGame
from service.store.base import Game
from tests.chaos.redis_groups import cluster_of_three
from tests.live_server import LiveServer
from tests.redis_server import DURABLE, RedisServer

ROUNDS = 3
CONNECTIONS = 16
_REQUESTS = 50
"""Of each connection in one burst, at least."""
_GAMES = 12
"""Played whole, to see what they leave."""
_POLLED_GAMES = 60
_POLL_ROUNDS = 6
_SETTLED_SECONDS = 1.5
"""By then all polls of a round wait."""
_PUBLISHED = 30_000
_INDEXED = 300_000
_AT_ONCE = 1_000
_TURN_SECONDS = 60


class _ClockedMaker(Maker):
    """Its games have deadlines."""

    def make(self, rules: Mapping[str, int] | None = None) -> tuple[Created, Game]:
        created = self.games.create(NewGame("paulista", rules or {}, players=NAMES, turn_seconds=_TURN_SECONDS))
        found = self.store.load(created.game.id)
        assert found is not None
        return created, found.game


@dataclass
class Used:
    """What something took of the worker and of Redis."""

    server: LiveServer
    redis: RedisServer
    client: redis.Redis

    def of(self, work: Callable[[], float]) -> dict[str, float]:
        """For each of the things that *work* says it has done."""
        before = self._now()
        count = work()
        return {name: (now - before[name]) / count for name, now in self._now().items()}

    def _now(self) -> dict[str, float]:
        stats = self.client.info("stats")
        return {
            "worker CPU µs": cpu_seconds(self.server.workers) * 1e6,
            "Redis CPU µs": cpu_seconds([self.redis.process_id]) * 1e6,
            "commands": stats["total_commands_processed"],
            "bytes to Redis": stats["total_net_input_bytes"],
            "bytes from Redis": stats["total_net_output_bytes"],
        }


def measure_operations(load: Load) -> str:
    rows: list[list[str]] = []
    head: list[str] = []
    kinds = {"action, no clock": (Maker, ()), "action": (_ClockedMaker, ()), "action, fsync": (_ClockedMaker, DURABLE)}
    with ExitStack() as running:
        for name, (make, options) in kinds.items():
            store = running.enter_context(RedisServer(*options))
            server = running.enter_context(
                LiveServer({"REDIS_URL": store.url, "WEB_CONCURRENCY": "1", **UNMEASURED, "TRUCO_RATE_READ": "none"})
            )
            maker = make(store.url)
            used = Used(server, store, maker.client)
            bursts = {name: (200, lambda lanes, maker=maker: maker.top_up(load, lanes, CONNECTIONS, _REQUESTS))}
            if name == "action":
                bursts |= {"view": (200, lambda lanes, maker=maker: _add_views(load, lanes, maker))}
                bursts |= {"create": (201, lambda lanes: _add_creations(load, lanes))}
            for operation, (status, prepare) in bursts.items():
                per_second, taken = _bursts(load, used, operation, status, prepare)
                head = ["", "a second, one worker", *taken]
                rows.append([operation, per_second.text(), *(rounds.text() for rounds in taken.values())])
    return table(head, rows)


def _bursts(
    load: Load, used: Used, operation: str, status: int, prepare: Callable[[str], None]
) -> tuple[Rounds, dict[str, Rounds]]:
    per_second, taken = Rounds(), dict[str, Rounds]()
    for number in range(ROUNDS):
        lanes = f"{operation}, {used.server.port}, {number}"
        prepare(lanes)
        order = Order(used.server.port, lanes, CONNECTIONS, status)

        def work(order: Order = order) -> float:
            burst = load.burst(order)
            per_second.add(burst.per_second)
            return burst.answers

        for name, figure in used.of(work).items():
            taken.setdefault(name, Rounds()).add(figure)
    return per_second, taken


def _add_views(load: Load, lanes: str, maker: Maker) -> None:
    created, _ = maker.make()
    look = get(f"/v1/games/{created.game.id}", created.tokens[0])
    load.add(lanes, [[look] * _REQUESTS for _ in range(CONNECTIONS)])


def _add_creations(load: Load, lanes: str) -> None:
    body = {"variant": "paulista", "players": [{"name": name} for name in NAMES], "turn_seconds": _TURN_SECONDS}
    load.add(lanes, [[post("/v1/games", msgspec.json.encode(body))] * _REQUESTS for _ in range(CONNECTIONS)])


def measure_polls() -> str:
    """Each seat of some games waits; actions are made beside the worker, which so has the polls alone to do."""
    with ExitStack() as running:
        store = running.enter_context(RedisServer())
        environ = {"REDIS_URL": store.url, "WEB_CONCURRENCY": "1", "TRUCO_WAITS_PER_ADDRESS": "5000", **UNMEASURED}
        server = running.enter_context(LiveServer(environ))
        maker = _ClockedMaker(store.url)
        used = Used(server, store, maker.client)
        tables = [maker.make() for _ in range(_POLLED_GAMES)]
        steps = [list(islice(maker.steps(game), 2 * _POLL_ROUNDS + 1)) for _, game in tables]
        acts = used.of(lambda: sum(_act(maker, tables, steps, number) for number in range(_POLL_ROUNDS)))
        sockets = [
            (running.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30)), created, token)
            for created, _ in tables
            for token in created.tokens.values()
        ]

        def polled() -> float:
            for number in range(_POLL_ROUNDS, 2 * _POLL_ROUNDS):
                for connection, created, token in sockets:
                    connection.sendall(get(f"/v1/games/{created.game.id}?after_version={number + 1}&wait=25", token))
                time.sleep(_SETTLED_SECONDS)  # to ask Redis whether all wait would be counted as theirs
                _act(maker, tables, steps, number)
                for connection, *_ in sockets:
                    receive(connection)
            return _POLL_ROUNDS * len(sockets)

        taken = used.of(polled)
        for name in taken:
            if not name.startswith("worker"):
                taken[name] -= acts[name] / 4  # an action wakes four
        clients = maker.client.info("clients")["connected_clients"]
        resident = Path(f"/proc/{server.workers[0]}/status").read_text("ascii").split("VmRSS:")[1].split()[0]
        rows = [["long poll, woken", *(f"{figure:,.0f}" for figure in taken.values())]]
        connections = f"{clients - 2} connections of the worker to Redis with {len(sockets)} waiters woken at once"
        return table(["", *taken], rows) + f"\n\n{connections}; the worker has {int(resident) / 1024:.0f} MiB."


def _act(maker: Maker, tables: Iterable[tuple[Created, Game]], steps: list[list[Step]], number: int) -> int:
    done = 0
    for (created, _), of_game in zip(tables, steps, strict=True):
        step = of_game[number]
        entry = maker.games.enter_seat(created.game.id, created.tokens[step.seat])
        maker.games.act(entry, step.version, step.action)
        done += 1
    return done


def measure_bytes() -> str:
    """Of whole games, played over HTTP with an idempotency key for each action, as the guide says."""
    wire: dict[str, list[float]] = {}
    keys: dict[str, list[Counter[str]]] = {"playing": [], "finished": []}
    counts: dict[str, list[float]] = {"actions": [], "events": []}
    with ExitStack() as running:
        store = running.enter_context(RedisServer())
        server = running.enter_context(LiveServer({"REDIS_URL": store.url, "WEB_CONCURRENCY": "1", **UNMEASURED}))
        maker = _ClockedMaker(store.url)
        connection = running.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
        for number in range(_GAMES):
            created, game = maker.make()
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as stream:
                follow = get(f"/v1/games/{created.game.id}/events/stream", created.tokens[0])
                stream.sendall(follow.replace(b"application/json", b"text/event-stream"))
                steps = list(maker.steps(game))
                for step in steps:
                    _play(connection, maker, created, step, wire, f"{number:04d}-{step.version:031d}")
                    keys["playing"].append(_key_bytes(maker, created.game.id))
                streamed = _until_retry(stream)
            found = maker.store.load(created.game.id)
            assert found is not None
            keys["finished"].append(_key_bytes(maker, created.game.id))
            for name, figure in (("actions", len(steps)), ("events", found.game.last_seq)):
                counts[name].append(figure)
            wire.setdefault("stream, an event", []).append(len(streamed) / streamed.count(b"event: "))
    sizes = [[name, f"{mean(figures):,.0f}"] for name, figures in sorted(wire.items())]
    names = sorted({name for counted in keys["finished"] for name in counted})
    stored = [
        [
            status,
            *(f"{mean(c[name] for c in counted):,.0f}" for name in names),
            f"{mean(sum(c.values()) for c in counted):,.0f}",
        ]
        for status, counted in keys.items()
    ]
    played = ", ".join(f"{mean(figures):,.0f} {name}" for name, figures in counts.items())
    return "\n\n".join(
        [
            f"{_GAMES} games of paulista, random legal play: {played} a game.",
            table(["bytes on the wire", "mean"], sizes),
            table(["bytes in Redis, mean", *names, "all"], stored),
        ]
    )


def _play(
    connection: socket.socket,
    maker: Maker,
    created: Created,
    step: Step,
    wire: dict[str, list[float]],
    key: str,
) -> None:
    request = maker.request(created, step).replace(b"\r\n\r\n", f"\r\nIdempotency-Key: {key}\r\n\r\n".encode(), 1)
    look = get(f"/v1/games/{created.game.id}?after_version={step.version}&wait=25", created.tokens[(step.seat + 1) % 4])
    for name, asked in (("action", request), ("view", look)):
        connection.sendall(asked)
        head, body = receive(connection)
        assert head.startswith(b"HTTP/1.1 200"), (head, body)
        for part, size in (
            ("request", len(asked)),
            ("answer's head", len(head)),
            ("answer's body", len(body)),
            ("answer's body, gzip", len(gzip.compress(body, 5))),
        ):
            wire.setdefault(f"{name}, {part}", []).append(size)


def receive(connection: socket.socket) -> tuple[bytes, bytes]:
    """Head and body of one answer."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    [length] = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while len(body) < length:
        body += _more(connection)
    return head + b"\r\n\r\n", body


def _until_retry(stream: socket.socket) -> bytes:
    received = b""
    while b"retry: " not in received:
        received += _more(stream)
    return received


def _more(connection: socket.socket) -> bytes:
    content = connection.recv(65_536)
    if not content:
        raise ConnectionError("the service has closed a connection")
    return content


def _key_bytes(maker: Maker, game_id: str) -> Counter[str]:
    names = ("state", "events", "actions", "retries", "presence")
    return Counter({name: maker.client.memory_usage(f"truco:{{{game_id}}}:{name}", samples=0) or 0 for name in names})


def measure_broadcast() -> str:
    """What one message costs the nodes of a cluster of three that nobody is subscribed to it at."""
    rows = []
    with cluster_of_three() as nodes:
        for command in ("PUBLISH", "SPUBLISH"):
            client = redis.Redis.from_url(nodes[0].url)
            channel = next(f"{{{n}}}:commits-of-a-game-with-26" for n in range(1000) if _is_first(client, n))
            before = [cpu_seconds([node.process_id]) for node in nodes]
            bus = _bus_messages(client)
            for _ in range(0, _PUBLISHED, _AT_ONCE):
                pipeline = client.pipeline(transaction=False)
                for _ in range(_AT_ONCE):
                    pipeline.execute_command(command, channel, "1")
                pipeline.execute()
            sent = _bus_messages(client) - bus
            used = [cpu_seconds([node.process_id]) - b for node, b in zip(nodes, before, strict=True)]
            rows.append(
                [
                    command,
                    f"{used[0] / _PUBLISHED * 1e6:.1f}",
                    f"{mean(used[1:]) / _PUBLISHED * 1e6:.1f}",
                    f"{sent / _PUBLISHED:.1f}",
                ]
            )
            client.close()
    return table(["", "CPU µs at the node asked", "CPU µs at each other node", "messages between nodes"], rows)


def _is_first(client: redis.Redis, number: int) -> bool:
    return int(client.execute_command("CLUSTER KEYSLOT", f"{{{number}}}")) < 16_384 // 3


def _bus_messages(client: redis.Redis) -> int:
    found = client.execute_command("CLUSTER INFO")
    return sum(int(found.get(f"cluster_stats_messages_{kind}_sent", 0)) for kind in ("publish", "publishshard"))


def measure_index() -> str:
    """The index of deadlines, grown to many games."""
    with RedisServer() as store:
        client = redis.Redis.from_url(store.url)
        for is_new in ("new", "again"):
            before = cpu_seconds([store.process_id])
            for first in range(0, _INDEXED, _AT_ONCE):
                pipeline = client.pipeline(transaction=False)
                for number in range(first, first + _AT_ONCE):
                    pipeline.zadd(
                        "truco:deadlines", {f"{number * 7919:026d}": number * 31 % 60_000 + (is_new == "new")}, lt=True
                    )
                pipeline.execute()
            used = (cpu_seconds([store.process_id]) - before) / _INDEXED * 1e6
        size = client.memory_usage("truco:deadlines", samples=0) or 0
        client.close()
    return (
        f"A deadline moved in an index of {_INDEXED:,}: {used:.1f} µs of Redis's CPU in a pipeline;"
        f" {size / _INDEXED:,.0f} bytes a game."
    )


def main() -> None:
    print(machine(), end="\n\n")
    with Load() as load:
        print(measure_operations(load), end="\n\n", flush=True)
    for measure in (measure_polls, measure_bytes, measure_broadcast, measure_index):
        print(measure(), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
