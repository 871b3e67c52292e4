"""A cluster of three: whole games, each in one slot."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import defaultdict
from contextlib import ExitStack

import redis

from tests.chaos.play import Game
from tests.chaos.redis_groups import cluster_of_three, cluster_url
from tests.chaos.service import service
from tests.chaos.wire import Violation, Wire, create, look
from tests.redis_server import RedisServer

WOKEN_WITHIN_SECONDS = 1.0
_END = "PING the end"
_OF_A_GAME = re.compile(r"truco:\{([0-9a-z]{26})\}:")
_OF_ALL_GAMES = re.compile(r"truco:(deadlines|games:[a-z]+|retry:[A-Za-z0-9_=-]+)")


def cluster() -> list[str]:
    """A whole game of each preset on three nodes; all keys and commands of a game in one slot."""
    with ExitStack() as stack:
        nodes = stack.enter_context(cluster_of_three())
        live = stack.enter_context(service(cluster_url(nodes)))
        monitors = [stack.enter_context(_Monitor(node)) for node in nodes]
        wire = stack.enter_context(Wire(live.url))
        variants = [variant["name"] for variant in wire.get("/v1/variants")["variants"]]
        games = [_play(wire, variant) for variant in variants]
        woken_ms = _woken_within_ms(live.url)
        keys = _check_slots(nodes)
        for monitor in monitors:
            monitor.stop()
        commands = _check_commands(monitors)
    actions = sum(game.counts["actions"] for game in games)
    per_node = ", ".join(str(len(monitor.commands_of_games)) for monitor in monitors)
    return [
        f"{len(games)} games, one of each preset, {actions} actions, every record verifies",
        (
            f"{keys} keys and {commands} commands of {len(games) + 1} games, games per node {per_node};"
            " no game has a key or a command outside its slot"
        ),
        f"a waiter was woken after {woken_ms:.0f} ms",
    ]


def _play(wire: Wire, variant: str) -> Game:
    game = Game(wire, create(wire, variant, turn_seconds=3_600), random.Random(variant))
    while game.play():
        pass
    game.check_record()
    if game.counts["conflicts"] or game.counts["503"]:
        raise Violation(f"a game of {variant} was disturbed: {game.counts}")
    return game


def _woken_within_ms(url: str) -> float:
    """How long after an action another seat's long poll is answered."""
    with Wire(url) as acting, Wire(url) as waiting:
        table = create(acting)
        seat = table.waits_for[0]
        version, action = 1, look(acting, table, seat)["legal_actions"][0]
        waiting.send("GET", f"{table.path}?after_version={version}&wait=20", token=table.tokens[1 - seat])
        time.sleep(0.5)  # until it waits
        acting.post(table.actions, action, table.tokens[seat])
        acted = time.monotonic()
        view = waiting.read().body
        seconds = time.monotonic() - acted
    if view["version"] != version + 1 or seconds > WOKEN_WITHIN_SECONDS:
        raise Violation(f"a waiter was answered with version {view['version']} after {seconds:.1f} s")
    return seconds * 1000


def _check_slots(nodes: list[RedisServer]) -> int:
    """How many keys the games have. Raises `Violation`."""
    places: dict[str, set[tuple[int, int]]] = defaultdict(set)
    keys = 0
    for number, node in enumerate(nodes):
        with redis.Redis.from_url(node.url, decode_responses=True) as client:
            for key in client.scan_iter(count=1_000):
                game = _OF_A_GAME.match(key)
                if game is not None:
                    keys += 1
                    places[game[1]].add((number, client.cluster("KEYSLOT", key)))
                elif not _OF_ALL_GAMES.fullmatch(key):
                    raise Violation(f"key {key} belongs to no game")
    if scattered := [game for game, places in places.items() if len(places) > 1]:
        raise Violation(f"games {scattered} lie in several slots")
    return keys


def _check_commands(monitors: list[_Monitor]) -> int:
    nodes: dict[str, set[int]] = defaultdict(set)
    for number, monitor in enumerate(monitors):
        for game in monitor.commands_of_games:
            nodes[game].add(number)
    if scattered := [game for game, numbers in nodes.items() if len(numbers) > 1]:
        raise Violation(f"commands of the games {scattered} went to several nodes")
    return sum(sum(monitor.commands_of_games.values()) for monitor in monitors)


class _Monitor:
    """Counts the commands that a node carries out, by game, until the block ends; a context manager."""

    def __init__(self, node: RedisServer) -> None:
        self.commands_of_games: dict[str, int] = defaultdict(int)
        self._client = redis.Redis.from_url(node.url)
        self._is_started = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with self._client.monitor() as monitor:
            self._is_started.set()
            while (words := monitor.next_command()["command"]) != _END:
                if "SUBSCRIBE" in words.split(" ", 1)[0].upper():
                    continue  # of a channel, which has no slot
                for game in set(_OF_A_GAME.findall(words)):
                    self.commands_of_games[game] += 1

    def __enter__(self) -> _Monitor:
        self._thread.start()
        self._is_started.wait()
        return self

    def stop(self) -> None:
        """Returns when every command so far has been counted."""
        self._client.execute_command(*_END.split(" ", 1))
        self._thread.join()

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            self.stop()
        self._client.close()
