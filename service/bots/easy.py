"""A beginner: plays card by card, believes in strong cards only, seldom raises."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from service.bots.outlook import LOWEST_MANILHA, OURS
from service.bots.player import Player
from service.bots.reading import Reading
from service.engine.actions import Accept, Action, Fold, Play, Raise

GOOD = LOWEST_MANILHA - 2
"""The level of the second best ordinary rank."""


class Easy(Player):
    def plays_at_eleven(self, reading: Reading, rng: Random) -> bool:
        return _good_cards(reading) >= 1

    def answer(self, reading: Reading, raising: Raise | None, rng: Random) -> Action:
        return Accept() if _good_cards(reading) + reading.hand.results.count(reading.team) >= 1 else Fold()

    def raises(self, reading: Reading, raising: Raise, rng: Random) -> bool:
        return raising.penalty is None and _good_cards(reading) >= 2 and rng.random() < 0.3

    def card(self, reading: Reading, plays: Sequence[Play], rng: Random) -> Play:
        """The weakest card that takes the trick, or the weakest of all; to an empty table the strongest."""
        standing, cards = reading.standing, reading.cards
        if not standing.played:
            return Play(card=cards[-1])
        if standing.side(reading.team) == OURS:
            return Play(card=cards[0])
        taking = [card for card in cards if reading.levels[card] > standing.best]
        return Play(card=(taking or cards)[0])


def _good_cards(reading: Reading) -> int:
    return sum(level >= GOOD for level in reading.held)
