"""What cards are worth before they are played: the chance that a seat's team wins the hand.

Cards are *levels* here, 0 to 13: 13 the strongest manilha, 10 the weakest, 9 the best ordinary rank, and so on down.
A seat about to play looks at its cards one by one: how likely does each win, tie or lose the trick, and what is a hand
worth that goes on from there with the others? The first is reckoned, the second looked up in `outlook_table`, which
`learn` makes.
"""

from __future__ import annotations

from base64 import b85decode
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import combinations_with_replacement, product
from typing import Final

from service.bots.outlook_table import TABLES

Held = tuple[int, ...]
"""Levels of the cards that a seat holds, weakest first."""

LEVELS: Final = 14
LOWEST_MANILHA: Final = 10
COVERED: Final = -1
"""The level of a card lying face down,"""
NO_CARD: Final = -2
"""and of an empty table."""

NOBODY, OURS, TIED, THEIRS = range(4)
"""Whose the running trick is, as one team sees it."""

NONE, WON, LOST, DRAWN = range(4)
"""What became of the first trick, as one team sees it; NONE: it is not decided."""

Key = tuple[int, int, Held]
"""A trick that begins: what became of the first, how many seats play before this one, what it holds."""

_CHOICES_KEPT: Final = 50_000


def keys(seats: int) -> Iterator[Key]:
    """In the order of the tables."""
    for cards, firsts in ((3, (NONE,)), (2, (WON, LOST, DRAWN)), (1, (WON, LOST, DRAWN))):
        yield from product(firsts, range(seats), combinations_with_replacement(range(LEVELS), cards))


class Outlook:
    """What a seat can expect among *seats* with a deck of *size* cards; *worth*: the chance to win by each key."""

    def __init__(self, size: int, seats: int, worth: dict[Key, float]) -> None:
        self.seats = seats
        self._worth = worth
        self._share = [(1 if level < LOWEST_MANILHA else 1 / 4) * 4 / size for level in range(LEVELS)]
        self._fate = cache(self._reckoned_fate)
        self.choice: Callable[[int, int, int, int, Held], int] = lru_cache(_CHOICES_KEPT)(self._best)
        """The place of the best card in what is held, given the arguments of `values`; of equal ones the weakest."""

    def worth(self, first: int, place: int, held: Held) -> float:
        """The chance to win the hand when a trick begins and *place* seats play before this one."""
        return self._worth[first, place, held]

    def _best(self, first: int, side: int, level: int, left: int, held: Held) -> int:
        values = self.values(first, side, level, left, held)
        return values.index(max(values))

    def values(self, first: int, side: int, level: int, left: int, held: Held) -> list[float]:
        """The chance to win the hand with each card of *held*, played open now.

        The trick is *side*'s with a card of *level* (`NO_CARD` on an empty table); *left* seats play afterwards.
        """
        return [
            self._after(first, side, level, left, card, held[:place] + held[place + 1 :])
            for place, card in enumerate(held)
        ]

    def _after(self, first: int, side: int, level: int, left: int, card: int, rest: Held) -> float:
        if card > level:
            return self.waiting(first, OURS, card, left, rest, leads=True)
        if card == level and side == THEIRS:
            side = TIED
        return self.waiting(first, side, level, left, rest, leads=False)

    def waiting(self, first: int, side: int, level: int, left: int, rest: Held, *, leads: bool) -> float:
        """The chance to win the hand for a seat that has played to the running trick and holds *rest*.

        *leads*: the best card so far is its own, so that it would lead the next trick.
        """
        won, tied, lost = self._fate(side, level, left, len(rest) + 1)
        worth, seats = self._worth, self.seats
        led_by_us, led_again = (0 if leads or seats == 2 else 2), seats - 1 - left
        if len(rest) == 2:
            if_lost = (worth[LOST, 1, rest] + worth[LOST, seats - 1, rest]) / 2
            return won * worth[WON, led_by_us, rest] + tied * worth[DRAWN, led_again, rest] + lost * if_lost
        if not rest:
            return won + tied * (0.0, 1.0, 0.0, 0.5)[first]
        if first == WON:
            return won + tied + lost * worth[WON, 1, rest]
        if first == LOST:
            return won * worth[LOST, led_by_us, rest]
        return won + tied * worth[DRAWN, led_again, rest]

    def _reckoned_fate(self, side: int, level: int, left: int, cards: int) -> tuple[float, float, float]:
        """How likely the trick is won, tied and lost when *left* seats with *cards* each follow, an opponent first."""
        chances = {(side, level): 1.0}
        for place in range(left):
            follower = OURS if place % 2 else THEIRS
            following: dict[tuple[int, int], float] = {}
            for (holder, best), chance in chances.items():
                for outcome, share in self._replies(follower, holder, best, cards):
                    following[outcome] = following.get(outcome, 0.0) + chance * share
            chances = following
        won, tied, lost = (
            sum(chance for (holder, _), chance in chances.items() if holder == fate) for fate in (OURS, TIED, THEIRS)
        )
        return won, tied, lost

    def _replies(self, follower: int, holder: int, best: int, cards: int) -> Iterator[tuple[tuple[int, int], float]]:
        """What lies there after a seat of *follower*: it takes the trick as cheaply as it can, or ties, or gives in."""
        if holder == follower:
            yield (holder, best), 1.0
            return
        share, has_none = 0.0, 1.0
        for level in range(best + 1, LEVELS):
            share += self._share[level]
            has_none_here = max(0.0, 1 - share) ** cards
            yield (follower, level), has_none - has_none_here
            has_none = has_none_here
        ties = 0.0
        if holder != TIED and best > COVERED:
            ties = has_none - max(0.0, 1 - share - self._share[best]) ** cards
            yield (TIED, best), ties
        yield (holder, best), has_none - ties


@cache
def outlook_for(size: int, seats: int) -> Outlook:
    """The one learnt for *seats* and a deck of *size* cards."""
    percents = b85decode(TABLES[size, seats])
    return Outlook(size, seats, {key: percent / 100 for key, percent in zip(keys(seats), percents, strict=True)})
