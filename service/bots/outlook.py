"""What cards are worth before they are played: the chance that a seat's team wins the hand, by table.

Cards are *levels* here, 0 to 13: 13 the highest manilha, 10 the lowest, 9 the best ordinary rank and so on down. A seat
that is about to play looks at its cards one by one: how likely does each win, tie or lose the trick, and what are the
cards that stay worth then? The first is reckoned, the second looked up in `outlook_table`, which `learn` makes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import combinations_with_replacement
from typing import Final

from service.bots.outlook_table import TABLES

Held = tuple[int, ...]
"""Levels of the cards that a seat holds, weakest first."""

LEVELS: Final = 14
LOWEST_MANILHA: Final = 10
COVERED: Final = -1
"""The level of a card lying face down."""

NOBODY, OURS, TIED, THEIRS = range(4)
"""Whose the trick is so far, as one team sees it."""

NONE, WON, LOST, DRAWN = range(4)
"""What became of the first trick, as one team sees it."""

HOLDINGS: Final = {cards: tuple(combinations_with_replacement(range(LEVELS), cards)) for cards in (1, 2, 3)}

Key = tuple[int, int, Held]
"""What became of the first trick, how many seats lead before this one, and what it holds: where a trick begins."""


def keys(seats: int) -> Iterable[Key]:
    """In the order of the tables."""
    for cards, firsts in ((3, (NONE,)), (2, (WON, LOST, DRAWN)), (1, (WON, LOST, DRAWN))):
        for first in firsts:
            for place in range(seats):
                for held in HOLDINGS[cards]:
                    yield first, place, held


class Outlook:
    """The chances of a seat among *seats* with cards of a deck of *size*."""

    def __init__(self, size: int, seats: int, worth: dict[Key, float]) -> None:
        self.seats = seats
        self._worth = worth
        self._share = [4 / size if level < LOWEST_MANILHA else 1 / size for level in range(LEVELS)]
        self._fates: dict[tuple[int, int, int, int], tuple[float, float, float]] = {}
        self._choices: dict[tuple[int, int, int, int, Held], int] = {}

    def worth(self, first: int, place: int, held: Held) -> float:
        """The chance to win the hand when a trick begins and *place* seats play before this one."""
        return self._worth[first, place, held]

    def choice(self, first: int, side: int, level: int, left: int, held: Held) -> int:
        """The place in *held* of the best card; of equal ones the weakest."""
        key = (first, side, level, left, held)
        try:
            return self._choices[key]
        except KeyError:
            values = self.values(first, side, level, left, held)
            best = self._choices[key] = values.index(max(values))
            return best

    def values(self, first: int, side: int, level: int, left: int, held: Held) -> list[float]:
        """The chance to win the hand with each card of *held*, when *left* seats play after this one."""
        if len(held) == 1:
            return [self.after(first, side, level, left, held[0], ())]
        return [
            self.after(first, side, level, left, card, held[:place] + held[place + 1 :])
            for place, card in enumerate(held)
        ]

    def after(self, first: int, side: int, level: int, left: int, card: int, rest: Held) -> float:
        """The same for one card, open or `COVERED`, and what is held besides."""
        leads = False
        if side == NOBODY or card > level:
            side, level, leads = OURS, card, True
        elif card == level and side == THEIRS:
            side = TIED
        return self.waiting(first, side, level, left, rest, leads)

    def waiting(self, first: int, side: int, level: int, left: int, rest: Held, leads: bool) -> float:
        """The chance to win the hand for a seat that has played to the trick; *leads*: its card is the best so far."""
        won, tied, lost = self._fate(side, level, left, len(rest) + 1)
        cards, seats = len(rest), self.seats
        if cards == 0:
            return won + (tied if first == WON else tied / 2 if first == DRAWN else 0.0)
        ours = 0 if leads or seats == 2 else 2
        if cards == 2:
            worth = self._worth
            theirs = worth[LOST, 1, rest]
            if seats > 2:
                theirs = (theirs + worth[LOST, seats - 1, rest]) / 2
            return won * worth[WON, ours, rest] + tied * worth[DRAWN, seats - 1 - left, rest] + lost * theirs
        if first == WON:
            return won + tied + lost * self._worth[WON, 1, rest]
        if first == LOST:
            return won * self._worth[LOST, ours, rest]
        return won + tied * self._worth[DRAWN, seats - 1 - left, rest]

    def _fate(self, side: int, level: int, left: int, cards: int) -> tuple[float, float, float]:
        """How likely the trick is won, tied, lost when *left* seats with *cards* each follow, the others first."""
        key = (side, level, left, cards)
        if key not in self._fates:
            self._fates[key] = self._reckoned_fate(side, level, left, cards)
        return self._fates[key]

    def _reckoned_fate(self, side: int, level: int, left: int, cards: int) -> tuple[float, float, float]:
        """Each seat that follows beats what lies there with its weakest card that does, ties if it can't, or gives in."""
        chances = {(side, level): 1.0}
        for place in range(left):
            own = THEIRS if place % 2 == 0 else OURS
            following: dict[tuple[int, int], float] = {}
            for (holder, best), chance in chances.items():
                for outcome, share in self._replies(own, holder, best, cards):
                    following[outcome] = following.get(outcome, 0.0) + chance * share
            chances = following
        totals = {OURS: 0.0, TIED: 0.0, THEIRS: 0.0}
        for (holder, _), chance in chances.items():
            totals[holder] += chance
        return totals[OURS], totals[TIED], totals[THEIRS]

    def _replies(self, own: int, holder: int, best: int, cards: int) -> Iterable[tuple[tuple[int, int], float]]:
        if holder == own:
            yield (holder, best), 1.0
            return
        none_below = 1.0  # the chance that no card lies in best+1..level-1
        covered_share = 0.0
        for level in range(best + 1, LEVELS):
            covered_share += self._share[level]
            none_here = max(0.0, 1 - covered_share) ** cards
            yield (own, level), none_below - none_here
            none_below = none_here
        ties = 0.0
        if holder != TIED and best >= 0:
            ties = none_below - max(0.0, 1 - covered_share - self._share[best]) ** cards
            yield (TIED, best), ties
        yield (holder, best), none_below - ties


@cache
def outlook_for(size: int, seats: int) -> Outlook:
    """The one for a deck of *size* cards, made once."""
    table = TABLES[size, seats]
    return Outlook(size, seats, {key: chance / 100 for key, chance in zip(keys(seats), table, strict=True)})
