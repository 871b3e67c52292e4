"""Who can be met in the arena: the bots, and four that show what the bots are good for."""

from __future__ import annotations

from random import Random
from typing import Final

from service.bots.easy import Easy
from service.bots.hard import Hard
from service.bots.medium import Medium
from service.bots.player import Player
from service.bots.reading import Reading
from service.engine.actions import Accept, Action, Fold, Raise, legal_actions
from service.engine.view import PlayerView


class RandomLegal(Player):
    """Any legal action with the same chance; never folds, and sends no raise that costs a penalty."""

    def decide(self, view: PlayerView, rng: Random) -> Action:
        offered = [
            action
            for action in legal_actions(view)
            if not isinstance(action, Fold) and not (isinstance(action, Raise) and action.penalty is not None)
        ]
        return rng.choice(offered)

    plays_at_eleven = answer = turn = None


class Folder(Medium):
    """As medium, but folds to every raise."""

    def answer(self, reading: Reading, raising: Raise | None, rng: Random) -> Action:
        return Fold()


class Caller(Medium):
    """As medium, but accepts every raise."""

    def answer(self, reading: Reading, raising: Raise | None, rng: Random) -> Action:
        return Accept()


class Raiser(Medium):
    """As medium, but raises whenever it may, and accepts when it may not."""

    def answer(self, reading: Reading, raising: Raise | None, rng: Random) -> Action:
        return Accept() if raising is None or raising.penalty is not None else raising

    def turn(self, reading, raising, plays, rng):
        return raising or super().turn(reading, None, plays, rng)


RandomLegal.__abstractmethods__ = frozenset()

PLAYERS: Final[dict[str, Player]] = {
    "easy": Easy(),
    "medium": Medium(),
    "hard": Hard(),
    "random": RandomLegal(),
    "folder": Folder(),
    "caller": Caller(),
    "raiser": Raiser(),
}
