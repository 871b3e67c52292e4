"""A solid player: knows what cards are worth and bets by it; an honest one, who never bluffs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from service.bots.course import play_out
from service.bots.player import Player
from service.bots.reading import Reading
from service.bots.worlds import Worlds
from service.engine.actions import Accept, Action, Fold, Play, Raise
from service.engine.view import other_team

ACCEPTS: Final = 0.42
"""The chance to win the hand from which it accepts,"""
RAISES: Final = 0.68
"""raises on its turn,"""
RAISES_BACK: Final = 0.8
"""answers a raise with the next,"""
PLAYS_AT_ELEVEN: Final = 0.45
"""and plays a mão de onze."""
MOOD: Final = 0.05
"""How far it may be off, either way."""
WORLDS: Final = 40
"""Deals that it imagines when it sees its partners' cards."""


class Medium(Player):
    def plays_at_eleven(self, reading: Reading, rng: Random) -> bool:
        worlds = Worlds(reading)
        won = sum(play_out(reading.course, worlds.deal(rng).hands) == reading.team for _ in range(WORLDS))
        return won >= PLAYS_AT_ELEVEN * WORLDS

    def answer(self, reading: Reading, raising: Raise | None, rng: Random) -> Action:
        chance = _chance(reading, rng)
        if raising is not None and chance >= RAISES_BACK:
            return raising
        table = reading.table
        is_lost_by_folding = table.score[other_team(reading.team)] + reading.hand.value >= table.rules.target
        return Accept() if chance >= ACCEPTS or is_lost_by_folding else Fold()

    def turn(self, reading: Reading, raising: Raise | None, plays: Sequence[Play], rng: Random) -> Action:
        table = reading.table
        is_enough = table.score[reading.team] + reading.hand.value >= table.rules.target
        if raising is not None and not is_enough and _chance(reading, rng) >= RAISES:
            return raising
        values = reading.course.values(reading.seat, reading.held)
        return laid(reading, plays, values.index(max(values)))


def _chance(reading: Reading, rng: Random) -> float:
    return reading.chance() + rng.uniform(-MOOD, MOOD)


def laid(reading: Reading, plays: Sequence[Play], place: int) -> Play:
    """The card in *place* of those held: face down, if one of *plays* is that, when it can do nothing for the trick."""
    card, standing = reading.cards[place], reading.course.standing
    covered = Play(card=card, covered=True)
    is_idle = reading.held[place] < standing.best
    return covered if is_idle and covered in plays else Play(card=card)
