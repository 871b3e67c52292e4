"""What the others may hold: the unseen cards dealt again and again, and how well each deal fits what was played."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from service.bots.course import BOTH, Standing, first_trick
from service.bots.outlook import Held
from service.bots.reading import Reading
from service.engine.view import Seat, Team, team_of

MISFIT: Final = 0.3
"""What a world counts less for each card that its seat would not have played from the hand that it has there."""


@dataclass(frozen=True, slots=True)
class World:
    hands: tuple[Held, ...]
    """Per seat what it holds now."""
    weight: float


@dataclass(frozen=True, slots=True)
class _Laid:
    """A card that a seat has played and what it saw then; `level` None: it lies covered."""

    first: int
    side: int
    best: int
    left: int
    level: int | None


class Worlds:
    """All that is open to one seat, ready to be filled in."""

    def __init__(self, reading: Reading) -> None:
        self._choice = reading.course.outlook.choice
        self._known = [
            None if cards is None else tuple(sorted(reading.levels[held.card] for held in cards if held.card is not None))
            for cards in reading.view.cards
        ]
        self._left = [reading.table.cards_left(seat) for seat in range(len(self._known))]
        self._laid = _laid(reading)
        self._unseen = _unseen(reading)
        self._wanted = sum(
            left + sum(laid.level is None for laid in plays)
            for known, left, plays in zip(self._known, self._left, self._laid, strict=True)
            if known is None
        )

    def deal(self, rng: Random) -> World:
        """One way in which the unseen cards may lie."""
        drawn = iter(rng.sample(self._unseen, self._wanted))
        hands: list[Held] = []
        weight = 1.0
        for known, left, plays in zip(self._known, self._left, self._laid, strict=True):
            if known is None:
                held = tuple(sorted([next(drawn) for _ in range(left)]))
                hands.append(held)
                for laid in reversed(plays):
                    level = next(drawn) if laid.level is None else laid.level
                    held = tuple(sorted((*held, level)))
                    if len(held) > 1 and not self._fits(laid, level, held):
                        weight *= MISFIT
            else:
                hands.append(known)
        return World(tuple(hands), weight)

    def _fits(self, laid: _Laid, level: int, held: Held) -> bool:
        if laid.level is None:
            return level == held[0]
        return held[self._choice(laid.first, laid.side, laid.best, laid.left, held)] == level


def _unseen(reading: Reading) -> list[int]:
    view = reading.view
    seen = {play.card for trick in reading.hand.tricks for play in trick.plays}
    seen |= {held.card for cards in view.cards if cards is not None for held in cards}
    seen |= {covered.card for covered in view.covered}
    seen.add(reading.hand.vira)
    return [level for card, level in reading.levels.items() if card not in seen]


def _laid(reading: Reading) -> list[list[_Laid]]:
    """Per seat what it has played in this hand."""
    seats = reading.course.outlook.seats
    plays: list[list[_Laid]] = [[] for _ in range(seats)]
    results: list[Team] = []
    for trick in reading.hand.tricks:
        standing = Standing()
        for play in trick.plays:
            team = team_of(play.seat)
            level = None if play.card is None else reading.level(play.card)
            left = seats - standing.played - 1
            plays[play.seat].append(_Laid(first_trick(results, team), standing.side(team), standing.best, left, level))
            standing = standing.after(play.seat, reading.level(play.card))
        results.append(BOTH if trick.winning_team is None else trick.winning_team)
    return plays
