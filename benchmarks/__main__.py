"""`make bench`: everything in turn, round after round, then the tables and the ratios."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import partial
from random import Random

from benchmarks import engines, peers
from benchmarks.engines import ENGINES, OPEN_SPIEL, OURS, PYTRUCO, RLCARD, Engine, PlayedRounds
from benchmarks.peers import Boardgame, Peer
from benchmarks.report import machine, table
from benchmarks.rounds import Rounds
from benchmarks.stack import (
    ACTION,
    CEILING,
    CREATE,
    KEPT,
    NOT_MODIFIED,
    SERVICE,
    STATES_KEPT,
    VIEW,
    Case,
    Shown,
    Stack,
)
from service.settings import Settings

COMPARED_AT = 16
"""Connections."""

Turn = Callable[[], object]


@dataclass(frozen=True)
class Plan:
    rounds: int
    connections: Sequence[int]
    seconds: float
    """Of one burst of load,"""
    engine_seconds: float
    """and of one turn of an engine."""
    peers: Sequence[Peer]


def _peers(connections: Sequence[int], all_players_at: Sequence[int]) -> list[Peer]:
    stored = [Peer(is_stored, 1, number) for is_stored in (False, True) for number in connections]
    return [*stored, *(Peer(False, 4, number) for number in all_players_at)]


WHOLE = Plan(5, (1, 16, 64), 1.0, 1.0, _peers((1, 16), (16,)))
QUICK = Plan(5, (16,), 0.3, 0.25, _peers((16,), ()))


@dataclass
class Results:
    http: Mapping[Case, Shown]
    peers: dict[Peer, Shown] = field(default_factory=dict)
    engines: dict[str, PlayedRounds] = field(default_factory=dict)


def measure(plan: Plan) -> Results:
    """Every round does everything once: what is compared in turn, in an order of its own."""
    chance = Random(1)
    with ExitStack() as running:
        stack = running.enter_context(Stack(plan.connections))
        boardgames = {is_stored: running.enter_context(Boardgame(is_stored)) for is_stored in (False, True)}
        results = Results(stack.shown)
        groups: dict[object, list[Turn]] = {}
        for case in stack.cases:
            groups.setdefault((case.operation, case.connections), []).append(partial(stack.burst, case, plan.seconds))
        for peer in plan.peers:
            shown = results.peers.setdefault(peer, Shown())
            turn = partial(boardgames[peer.is_stored].burst, peer, plan.seconds, shown)
            groups[ACTION, peer.connections].append(turn)
        for name in ENGINES:
            played = results.engines.setdefault(name, PlayedRounds())
            turn = partial(running.enter_context(Engine(name)).play, plan.engine_seconds, played)
            groups.setdefault("engines", []).append(turn)
        for number in range(plan.rounds):
            began = time.monotonic()
            play_round([chance.sample(group, len(group)) for group in chance.sample([*groups.values()], len(groups))])
            print(f"round {number + 1}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return results


def play_round(groups: Sequence[Sequence[Turn]]) -> None:
    for group in groups:
        for turn in group:
            turn()


def http_table(results: Results, operation: str) -> str:
    """One line for each server and number of connections."""
    rows = []
    for case, shown in sorted(results.http.items(), key=lambda item: item[0].connections):
        if case.operation == operation:
            ceiling = results.http.get(replace(case, server=CEILING))
            row = (case.server, str(case.connections), *_figures(shown))
            if ceiling is None or case.server == CEILING:
                rows.append((*row, "", ""))
            else:
                rows.append((*row, _times(shown, ceiling), ceiling.cpu_us.ratio_to(shown.cpu_us).text(2)))
    return table(("server", "connections", *_FIGURES, "× ceiling", "by CPU"), rows)


def peers_table(results: Results) -> str:
    rows = []
    for peer, shown in sorted(results.peers.items(), key=lambda item: item[0].connections):
        ratios = [
            _times(ours, shown)
            for server in (SERVICE, KEPT)
            for ours in (results.http[Case(ACTION, server, peer.connections)],)
        ]
        rows.append((peer.name, str(peer.connections), *_figures(shown), *ratios))
    return table(("boardgame.io", "connections", *_FIGURES, f"ours {SERVICE} ×", f"ours {KEPT} ×"), rows)


def engines_table(results: Results) -> str:
    ours = results.engines[OURS]
    rows = [
        (
            name,
            played.actions_per_second.text(),
            played.hands_per_second.text(),
            "" if name == OURS else ours.actions_per_second.ratio_to(played.actions_per_second).text(2),
        )
        for name, played in results.engines.items()
    ]
    return table(("engine", "actions/s", "hands/s", "ours ×"), rows)


_FIGURES = ("per second", "p50 ms", "p99 ms", "server CPU µs", "Redis CPU µs", "load CPU µs")


def _figures(shown: Shown) -> tuple[str, ...]:
    used = (shown.server_us, shown.redis_us, shown.load_us)
    return (
        shown.per_second.text(),
        shown.p50_ms.text(2),
        shown.p99_ms.text(2),
        *(f"{rounds.median:,.0f}" if rounds.figures else "" for rounds in used),
    )


def _times(ours: Shown, other: Shown) -> str:
    return ours.per_second.ratio_to(other.per_second).text(2)


def ratios(results: Results) -> dict[str, Rounds]:
    """What must be shown, by name."""

    def of(operation: str, server: str = SERVICE) -> Rounds:
        return results.http[Case(operation, server, COMPARED_AT)].per_second

    def moves(is_stored: bool) -> Rounds:
        return results.peers[Peer(is_stored, 1, COMPARED_AT)].per_second

    actions = {name: played.actions_per_second for name, played in results.engines.items()}
    return {
        "action_vs_ceiling": of(ACTION).ratio_to(of(ACTION, CEILING)),
        "action_cached_vs_ceiling": of(ACTION, KEPT).ratio_to(of(ACTION, CEILING)),
        "get_vs_ceiling": of(VIEW, KEPT).ratio_to(of(VIEW, CEILING)),
        "not_modified_vs_ceiling": of(NOT_MODIFIED, KEPT).ratio_to(of(NOT_MODIFIED, CEILING)),
        "moves_vs_boardgameio_memory": of(ACTION).ratio_to(moves(False)),
        "moves_vs_boardgameio_stored": of(ACTION).ratio_to(moves(True)),
        "engine_vs_pytruco": actions[OURS].ratio_to(actions[PYTRUCO]),
        "engine_vs_rlcard_limit_holdem": actions[OURS].ratio_to(actions[RLCARD]),
        "engine_vs_openspiel_euchre": actions[OURS].ratio_to(actions[OPEN_SPIEL]),
    }


def report(results: Results, plan: Plan) -> None:
    print(f"{machine()}\n{peers.versions()}, {engines.versions()}.")
    print(
        f"\nMedian of {plan.rounds} rounds (lowest–highest); a burst of load lasts {plan.seconds} s. The cores are"
        " shared by server, Redis and load. CPU is for one request; *by CPU* is the ratio of all of it, which a busy"
        " machine disturbs less."
    )
    if "states_kept" not in {setting.name for setting in fields(Settings)}:
        print(f'\n**The service has no setting {STATES_KEPT}: "{KEPT}" is the same as "{SERVICE}".**')
    for operation in (ACTION, VIEW, NOT_MODIFIED, CREATE):
        print(f"\n### {operation}\n\n{http_table(results, operation)}")
    print(f"\n### Moves of boardgame.io\n\n{peers_table(results)}")
    print(f"\n### Engines: legal actions, and one of them applied\n\n{engines_table(results)}\n")
    for name, rounds in ratios(results).items():
        print(f"ratio {name} {rounds.median:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short bursts at one number of connections")
    plan = QUICK if parser.parse_args().quick else WHOLE
    report(measure(plan), plan)


if __name__ == "__main__":
    main()
