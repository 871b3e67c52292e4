"""A beginner: plays card by card, trusts strong cards only, seldom raises."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from service.bots.outlook import LOWEST_MANILHA, OURS
from service.bots.player import Player
from service.bots.reading import Reading
from service.engine.actions import Accept, Action, Fold, Play, Raise

GOOD: Final = LOWEST_MANILHA - 2
"""The level from which a card is good: the two best ordinary ranks and the manilhas."""
RAISES: Final = 0.3
"""How often it raises with two good cards."""


class Easy(Player):
    def plays_at_eleven(self, reading: Reading, rng: Random) -> bool:
        return _good_cards(reading) >= 1

    def answer(self, reading: Reading, raising: Raise | None, rng: Random) -> Action:
        is_hopeful = _good_cards(reading) >= 1 or reading.team in reading.hand.results
        return Accept() if is_hopeful else Fold()

    def turn(self, reading: Reading, raising: Raise | None, plays: Sequence[Play], rng: Random) -> Action:
        if raising is not None and _good_cards(reading) >= 2 and rng.random() < RAISES:
            return raising
        return Play(card=reading.cards[_place(reading)])


def _good_cards(reading: Reading) -> int:
    return sum(level >= GOOD for level in reading.held)


def _place(reading: Reading) -> int:
    """Opens with the strongest card; then the weakest that takes the trick, or the weakest of all."""
    standing = reading.course.standing
    if not standing.played:
        return len(reading.held) - 1
    if standing.side(reading.team) == OURS:
        return 0
    return next((place for place, level in enumerate(reading.held) if level > standing.best), 0)
