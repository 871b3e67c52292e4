"""Who meets in the arena: the bots, and four that show what a bot is good for."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from service.bots import BOTS, Player
from service.bots.medium import Medium
from service.bots.reading import Reading
from service.engine.actions import Accept, Action, Fold, Play, Raise, legal_actions
from service.engine.view import PlayerView


class RandomLegal(Medium):
    """Any legal action with equal chances; never folds, and sends no raise that costs a penalty."""

    def decide(self, view: PlayerView, rng: Random) -> Action:
        return rng.choice([action for action in legal_actions(view) if not _is_given_up(action)])


def _is_given_up(action: Action) -> bool:
    return isinstance(action, Fold) or (isinstance(action, Raise) and action.penalty is not None)


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
        return raising or Accept()

    def turn(self, reading: Reading, raising: Raise | None, plays: Sequence[Play], rng: Random) -> Action:
        return raising or super().turn(reading, None, plays, rng)


PLAYERS: Final[dict[str, Player]] = {
    **{name: bot.player for name, bot in BOTS.items()},
    "random": RandomLegal(),
    "folder": Folder(),
    "caller": Caller(),
    "raiser": Raiser(),
}
