"""A solid player: knows what its cards are worth and bets by it, never bluffs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from service.bots.player import Player
from service.bots.reading import Reading
from service.bots.worlds import Worlds, winner
from service.engine.actions import Accept, Action, Fold, Play, Raise
from service.engine.view import other_team

ACCEPTS: Final = 0.42
RAISES: Final = 0.68
RAISES_AGAIN: Final = 0.8
"""The chance to win the hand from which it does that."""
PLAYS_AT_ELEVEN: Final = 0.45
WORLDS: Final = 40


class Medium(Player):
    def plays_at_eleven(self, reading: Reading, rng: Random) -> bool:
        worlds = Worlds(reading)
        won = sum(winner(reading, worlds.deal(rng)) == reading.team for _ in range(WORLDS))
        return won >= PLAYS_AT_ELEVEN * WORLDS

    def answer(self, reading: Reading, raising: Raise | None, rng: Random) -> Action:
        chance = self._chance(reading, rng)
        if raising is not None and chance >= RAISES_AGAIN:
            return raising
        return Accept() if chance >= ACCEPTS or _fold_loses_all(reading) else Fold()

    def raises(self, reading: Reading, raising: Raise, rng: Random) -> bool:
        table, hand = reading.table, reading.hand
        if raising.penalty is not None or table.score[reading.team] + hand.value >= table.rules.target:
            return False
        return self._chance(reading, rng) >= RAISES

    def _chance(self, reading: Reading, rng: Random) -> float:
        return reading.chance(reading.seat, reading.held) + rng.uniform(-0.05, 0.05)

    def card(self, reading: Reading, plays: Sequence[Play], rng: Random) -> Play:
        values = reading.card_values()
        best = values.index(max(values))
        return laid(reading, plays, best)


def laid(reading: Reading, plays: Sequence[Play], place: int) -> Play:
    """The card in *place* of those held; covered, where that is allowed, if it can do nothing for the trick."""
    card, standing = reading.cards[place], reading.standing
    covered = Play(card=card, covered=True)
    is_idle = standing.played and reading.levels[card] < standing.best
    return covered if is_idle and covered in plays else Play(card=card)


def _fold_loses_all(reading: Reading) -> bool:
    table = reading.table
    return table.score[other_team(reading.team)] + reading.hand.value >= table.rules.target
