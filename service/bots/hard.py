"""A strong player: reckons with what the others may hold and think, with the score, and with being read.

It deals the unseen cards again and again (`worlds`), weighs each deal by how well it fits what the others have done,
and plays it out. A raise is worth what the score would be worth after each answer to it (`match_odds`), and the others
are taken for players who judge their cards by the same tables as medium, and bluff now and then. Of two ways that are
worth about the same each is taken sometimes: so it bluffs as often as it pays and cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from operator import mul
from random import Random
from typing import Final

from service.bots.course import BOTH, play_out
from service.bots.match_odds import match_odds
from service.bots.medium import laid
from service.bots.player import Player
from service.bots.reading import Reading
from service.bots.worlds import Worlds
from service.engine.actions import Accept, Action, Fold, Play, Raise
from service.engine.view import Seat, other_team

WORLDS: Final = 64
"""Deals that it imagines for a decision."""
MARGIN: Final = 0.02
"""What a raise must promise more than other ways, since it is judged by guesses at what others think."""
INDIFFERENCE: Final = 0.008
"""Ways whose chances to win the match differ by less are taken nearly as often as one another."""

BLUFFS: Final = 0.15
"""How often the others raise with any cards at all."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Where a player who thinks that it wins with some chance begins to do something, and how sharply."""

    middle: float
    slope: float

    def share(self, chance: float, more: float = 0.0) -> float:
        """How often it does so with *chance*, when *more* than usual is asked for."""
        return 1 / (1 + exp(min(50.0, (self.middle + more - chance) / self.slope)))


RAISES: Final = Threshold(0.64, 0.07)
RAISES_BACK: Final = Threshold(0.8, 0.06)
ACCEPTS: Final = Threshold(0.1, 0.08)
"""Above what it needs to win to be no worse off than by folding."""


@dataclass(slots=True)
class Deals:
    """Imagined deals, side by side: what each counts, how its hand ends for our team, what an opponent thinks of it."""

    weights: list[float]
    won: list[float]
    """1 won, 0 lost."""
    theirs: list[float]
    """The chance to win that the opponent sees with its own cards."""

    def chance(self) -> float:
        """That our team wins the hand."""
        return float(sum(map(mul, self.weights, self.won))) / sum(self.weights)

    def weighed(self, share: Callable[[float], float]) -> Deals:
        """The same, each counting by how often the opponent would do with its cards what it did."""
        return Deals(list(map(mul, self.weights, map(share, self.theirs))), self.won, self.theirs)


class Hard(Player):
    def plays_at_eleven(self, reading: Reading, rng: Random) -> bool:
        stakes, rules = _Stakes(reading), reading.table.rules
        (deals,) = _imagine(reading, rng, reading.seat, (None,))
        return stakes.played(deals, rules.eleven_value) >= stakes.lose(rules.ladder[0])

    def answer(self, reading: Reading, raising: Raise | None, rng: Random) -> Action:
        pending = reading.hand.pending
        assert pending is not None
        stakes = _Stakes(reading)
        (deals,) = _imagine(reading, rng, pending.seat, (None,))
        began = RAISES if reading.hand.raised_by is None else RAISES_BACK
        deals = deals.weighed(lambda chance: BLUFFS + (1 - BLUFFS) * began.share(chance))
        ways: list[tuple[Action, float]] = [
            (Fold(), stakes.lose(reading.hand.value)),
            (Accept(), stakes.played(deals, pending.to)),
        ]
        if raising is not None and raising.to is not None:
            ways.append((raising, stakes.raised(deals, pending.to, raising.to) - MARGIN))
        return _one_of(ways, rng)

    def turn(self, reading: Reading, raising: Raise | None, plays: Sequence[Play], rng: Random) -> Action:
        if raising is None and len(reading.held) == 1:
            return laid(reading, plays, 0)
        asked = (reading.seat + 1) % reading.table.rules.seats
        ways = _imagine(reading, rng, asked, range(len(reading.held)))
        chances = [deals.chance() for deals in ways]
        place = chances.index(max(chances))
        card, deals = laid(reading, plays, place), ways[place]
        if raising is None or raising.to is None:
            return card
        stakes, value = _Stakes(reading), reading.hand.value
        return _one_of(
            [(card, stakes.played(deals, value)), (raising, stakes.raised(deals, value, raising.to) - MARGIN)], rng
        )


def _imagine(reading: Reading, rng: Random, opponent: Seat, places: Sequence[int | None]) -> list[Deals]:
    """The same deals for each of *places*, the card that the seat plays first; None: its best when its turn comes."""
    worlds, course, ending = Worlds(reading), reading.course, _ending(reading)
    dealt = [worlds.deal(rng) for _ in range(WORLDS)]
    weights = [world.weight for world in dealt]
    theirs = [course.chance(opponent, world.hands[opponent]) for world in dealt]
    forced = [None if place is None else (reading.seat, place) for place in places]
    return [Deals(weights, [ending[play_out(course, world.hands, it)] for world in dealt], theirs) for it in forced]


def _ending(reading: Reading) -> dict[int, float]:
    """What it is to our team who wins the hand; half of it if all tricks tie and nobody scores."""
    tied = reading.table.winner_if_all_tied
    return {
        reading.team: 1.0,
        other_team(reading.team): 0.0,
        BOTH: 0.5 if tied is None else float(tied == reading.team),
    }


def _one_of(ways: Sequence[tuple[Action, float]], rng: Random) -> Action:
    """The best way, or one that is nearly as good."""
    best = max(worth for _, worth in ways)
    (action,) = rng.choices([action for action, _ in ways], [exp((worth - best) / INDIFFERENCE) for _, worth in ways])
    return action


class _Stakes:
    """What becomes of our team's chance to win the match."""

    def __init__(self, reading: Reading) -> None:
        table = reading.table
        self._rules = table.rules
        self._odds = match_odds(table.rules)
        self._ours, self._theirs = table.score[reading.team], table.score[other_team(reading.team)]

    def win(self, points: int) -> float:
        return self._odds(self._ours + points, self._theirs)

    def lose(self, points: int) -> float:
        return self._odds(self._ours, self._theirs + points)

    def played(self, deals: Deals, value: int) -> float:
        """If the hand is played for *value*."""
        chance = deals.chance()
        return chance * self.win(value) + (1 - chance) * self.lose(value)

    def raised(self, deals: Deals, value: int, to: int) -> float:
        """If our team asks for *to* while *value* stands, and they fold, accept, or raise back."""
        folded, won, lost = self.win(value), self.win(to), self.lose(to)
        needed = (won - folded) / (won - lost) if won > lost else 0.0
        step = self._rules.step_after(to)
        total = worth = back = back_won = 0.0
        for weight, ends, theirs in zip(deals.weights, deals.won, deals.theirs, strict=True):
            raises_back = 0.0 if step is None else RAISES_BACK.share(theirs)
            accepts = max(0.0, ACCEPTS.share(theirs, needed) - raises_back)
            total += weight
            worth += weight * (accepts * (lost + ends * (won - lost)) + (1 - accepts - raises_back) * folded)
            back += weight * raises_back
            back_won += weight * raises_back * ends
        if step is not None:
            worth += max(back * lost, back_won * self.win(step) + (back - back_won) * self.lose(step))
        return worth / total
