"""Rules alone: legal actions, one drawn at random, applied; hand after hand, in one thread.

`python -m benchmarks.engines NAME` reads a number of seconds from each line of its input, plays so long, and answers
with a line of JSON. Each engine runs in a process of its own, so that none pays for what another has loaded.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from benchmarks.rounds import Rounds
from service.dealer import SeededDealer
from service.engine.actions import apply, legal_actions
from service.engine.flow import new_game, start_hand
from service.engine.rules import PRESETS
from service.engine.state import Phase
from service.engine.view import view_for

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv" / "bench" / "bin" / "python"
"""Of the venv with the other engines."""


def _ours() -> Iterator[int]:
    """How many actions each hand takes. A match to 12, `paulista`, four seats."""
    dealer, rules = SeededDealer(), PRESETS["paulista"].rules
    while True:
        seed, hands = dealer.new_seed(), 0
        state = new_game(rules, dealer.first_dealer(seed, rules.seats)).state
        while state.table.result is None:
            hands += 1
            state = start_hand(state, dealer.pack(seed, rules.deck, hands)).state
            actions = 0
            while state.table.hand is not None and state.table.hand.phase is not Phase.OVER:
                seat = state.table.waited_for[0]
                state = apply(state, seat, random.choice(legal_actions(view_for(state, seat)))).state
                actions += 1
            yield actions


def _pytruco() -> Iterator[int]:
    """Uruguayan truco, four players; drawn as its own `random_action` draws, from what all players may do."""
    from pytruco.pdt.chi import random_action
    from pytruco.pdt.partida import Partida

    class Game(Partida):
        is_new_hand = False

        def nueva_ronda(self, *arguments: int) -> None:
            self.is_new_hand = True
            super().nueva_ronda(*arguments)

    while True:
        game, actions = Game(20, ["Ana", "Caio"], ["Bia", "Davi"], verbose=False), 0
        while not game.terminada():
            random_action(game).hacer(game)
            actions += 1
            if game.is_new_hand or game.terminada():
                yield actions
                game.is_new_hand, actions = False, 0


def _rlcard() -> Iterator[int]:
    """Limit hold'em, two players; a step returns the next player's state with its legal actions."""
    import rlcard

    table = rlcard.make("limit-holdem")
    while True:
        state, _ = table.reset()
        actions = 0
        while not table.is_over():
            state, _ = table.step(random.choice(list(state["legal_actions"])))
            actions += 1
        yield actions


def _open_spiel() -> Iterator[int]:
    """Euchre, four players; the rules are C++, driven from here. Its deal is drawn card by card, and not counted."""
    import pyspiel

    euchre = pyspiel.load_game("euchre")
    while True:
        state, actions = euchre.new_initial_state(), 0
        while not state.is_terminal():
            actions += not state.is_chance_node()
            state.apply_action(random.choice(state.legal_actions()))
        yield actions


OURS, PYTRUCO, RLCARD, OPEN_SPIEL = "this service, paulista", "pytruco", "rlcard limit hold'em", "OpenSpiel euchre"
ENGINES: dict[str, Callable[[], Iterator[int]]] = {
    OURS: _ours,
    PYTRUCO: _pytruco,
    RLCARD: _rlcard,
    OPEN_SPIEL: _open_spiel,
}
_PACKAGES = ("pytruco", "rlcard", "open_spiel")


@dataclass
class PlayedRounds:
    actions_per_second: Rounds = field(default_factory=Rounds)
    hands_per_second: Rounds = field(default_factory=Rounds)


class Engine:
    """An engine in its process; a context manager."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> Engine:
        self._process = subprocess.Popen(
            [PYTHON, "-m", "benchmarks.engines", self.name],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    def play(self, seconds: float, played: PlayedRounds) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(seconds, file=self._process.stdin, flush=True)
        actions, hands = json.loads(self._process.stdout.readline())
        played.actions_per_second.add(actions)
        played.hands_per_second.add(hands)


def versions() -> str:
    code = f"from importlib.metadata import version; print(*map(version, {_PACKAGES}))"
    said = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return ", ".join(f"{name} {number}" for name, number in zip(_PACKAGES, said, strict=True))


def _play(hands: Iterator[int], seconds: float) -> tuple[float, float]:
    """Actions and hands a second."""
    actions = played = 0
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        actions += next(hands)
        played += 1
    took = time.perf_counter() - begin
    return actions / took, played / took


def main() -> None:
    hands = ENGINES[sys.argv[1]]()
    _play(hands, 0.1)
    for line in sys.stdin:
        print(json.dumps(_play(hands, float(line))), flush=True)


if __name__ == "__main__":
    main()
