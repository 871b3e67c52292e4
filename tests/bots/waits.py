"""`python -m tests.bots.waits`: how long a person's request waits for all bots together, in games of every preset.

One person sits among bots of a kind; what the bots take between two of the person's actions is added up.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from random import Random
from statistics import quantiles

from service.bots import BOTS
from service.dealer import SeededDealer
from service.engine.actions import Action
from service.engine.rules import PRESETS, SEATS
from service.engine.view import PlayerView
from service.games import BotPlayer, Games, NewGame
from service.progress import decide_as
from service.store.connect import connect
from service.store.redis import RedisGameStore, TimeToLive

WEIGHTS = {"raise": 1, "fold": 1}
"""How often a random person does each; anything else four times as often."""


class Clock:
    """Adds up what bots take to decide."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def decide(self, kind: str, view: PlayerView, chance: Random) -> Action:
        began = time.perf_counter()
        action = decide_as(kind, view, chance)
        self.seconds += time.perf_counter() - began
        return action


def play(games: Games, order: NewGame, chance: Random, acted: Callable[[], None]) -> None:
    """A match of a random person on seat 0; *acted* is called after each of its actions."""
    created = games.create(order)
    entry = games.enter_seat(created.game.id, created.tokens[0])
    view = games.look(entry)
    while view.legal_actions:
        [action] = chance.choices(view.legal_actions, [WEIGHTS.get(it.type, 4) for it in view.legal_actions])
        view = games.act(entry, view.version, action).game
        acted()
        entry = games.look_again(entry)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bot", choices=BOTS, default="hard")
    parser.add_argument("--matches", type=int, default=20, help="of each preset and number of seats")
    asked = parser.parse_args()
    clock, chance = Clock(), Random(1)
    store = RedisGameStore(connect(None), TimeToLive(3_600, 3_600, 3_600), events_kept=10)
    games = Games(store, SeededDealer(), clock.decide)
    waits: defaultdict[int, list[float]] = defaultdict(list)

    for seats, variant in product(SEATS, PRESETS):
        bots = [BotPlayer(asked.bot)] * (seats - 1)

        def acted(waited: list[float] = waits[seats]) -> None:
            waited.append(clock.seconds * 1_000)
            clock.seconds = 0.0

        for _ in range(asked.matches):
            play(games, NewGame(variant, seats=seats, players=("Ana", *bots)), chance, acted)
    for seats, waited in waits.items():
        of_hundred = quantiles(waited, n=100)
        print(
            f"{seats} seats: {len(waited)} actions of a person; all bots together, ms:"
            f" median {of_hundred[49]:.1f}, p99 {of_hundred[98]:.1f}, most {max(waited):.1f}"
        )


if __name__ == "__main__":
    main()
