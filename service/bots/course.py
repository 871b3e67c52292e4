"""How a hand runs, in levels: the rules of `engine.flow` once more, for thousands of imagined hands a second.

A test plays hands both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from service.bots.outlook import DRAWN, LOST, NO_CARD, NOBODY, NONE, OURS, THEIRS, TIED, WON, Held, Key, Outlook
from service.engine.view import Seat, Team, TieLeader, team_of

BOTH: Final[Team] = 2
"""In place of a team: a trick, or all three, tied."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A running trick: its best level, whose that is (None: nobody has played), and who played such a card."""

    best: int = NO_CARD
    team: Team | None = None
    first_best: Seat = 0
    last_best: Seat = 0
    played: int = 0
    """Cards on the table."""

    def after(self, seat: Seat, level: int) -> Standing:
        played = self.played + 1
        if level > self.best:
            return Standing(level, team_of(seat), seat, seat, played)
        if level < self.best:
            return Standing(self.best, self.team, self.first_best, self.last_best, played)
        team = self.team if self.team == team_of(seat) else BOTH
        return Standing(level, team, self.first_best, seat, played)

    def side(self, team: Team) -> int:
        """Whose the trick is as *team* sees it."""
        return _side(self.team, team)


def _side(holder: Team | None, team: Team) -> int:
    if holder is None:
        return NOBODY
    if holder == BOTH:
        return TIED
    return OURS if holder == team else THEIRS


def first_trick(results: Sequence[Team], team: Team) -> int:
    """What became of the first trick, as *team* sees it."""
    if not results:
        return NONE
    if results[0] == BOTH:
        return DRAWN
    return WON if results[0] == team else LOST


@dataclass(frozen=True, slots=True)
class Course:
    """A hand as far as it has come."""

    outlook: Outlook
    tie_leader: TieLeader
    leader: Seat
    """Of the hand."""
    opener: Seat
    """Of the running trick, or of the next one."""
    results: tuple[Team, ...] = ()
    standing: Standing = Standing()

    def chance(self, seat: Seat, held: Held) -> float:
        """How likely *seat* thinks that its team wins the hand when it holds *held* and knows no other hand."""
        team, standing, seats = team_of(seat), self.standing, self.outlook.seats
        first, place = first_trick(self.results, team), (seat - self.opener) % seats
        if not standing.played:
            return self.outlook.worth(first, place, held)
        side, left = standing.side(team), seats - standing.played
        if place < standing.played:
            return self.outlook.waiting(first, side, standing.best, left, held, leads=standing.first_best == seat)
        return max(self.outlook.values(first, side, standing.best, left - 1, held))

    def values(self, seat: Seat, held: Held) -> list[float]:
        """The same for each card of *held*, played open now."""
        team, standing = team_of(seat), self.standing
        left = self.outlook.seats - standing.played - 1
        return self.outlook.values(first_trick(self.results, team), standing.side(team), standing.best, left, held)

    def opener_after_tie(self, opener: Seat, first_best: Seat, last_best: Seat) -> Seat:
        """Who opens after a tied trick that *opener* opened; *first_best* and *last_best* tied it."""
        return {
            TieLeader.OPENER: opener,
            TieLeader.FIRST_TIED: first_best,
            TieLeader.LAST_TIED: last_best,
            TieLeader.HAND_LEADER: self.leader,
        }[self.tie_leader]


def play_out(
    course: Course,
    hands: Sequence[Held],
    forced: tuple[Seat, int] | None = None,
    begun: list[tuple[Seat, Key]] | None = None,
) -> Team:
    """Who wins when each seat goes on with the best card that it knows of; `BOTH`: all tricks tied.

    *forced*: a seat, and the place of the card that it plays first whatever it thinks. *begun* takes down what each
    seat holds when a trick begins.
    """
    outlook, standing = course.outlook, course.standing
    choice, seats = outlook.choice, outlook.seats
    held_by, results, opener = list(hands), list(course.results), course.opener
    best, holder, played = standing.best, standing.team, standing.played
    first_best, last_best = standing.first_best, standing.last_best
    while True:
        firsts = first_trick(results, 0), first_trick(results, 1)
        if begun is not None:
            begun += [(seat, (firsts[seat % 2], (seat - opener) % seats, held)) for seat, held in enumerate(held_by)]
        while played < seats:
            seat = (opener + played) % seats
            team, held = seat % 2, held_by[seat]
            if forced is not None and forced[0] == seat:
                place, forced = forced[1], None
            elif len(held) == 1:
                place = 0
            else:
                place = choice(firsts[team], _side(holder, team), best, seats - 1 - played, held)
            level = held[place]
            held_by[seat] = held[:place] + held[place + 1 :]
            if level > best:
                best, holder, first_best, last_best = level, team, seat, seat
            elif level == best:
                holder, last_best = (holder if holder == team else BOTH), seat
            played += 1
        assert holder is not None
        results.append(holder)
        winner = _winner(results)
        if winner is not None:
            return winner
        opener = first_best if holder != BOTH else course.opener_after_tie(opener, first_best, last_best)
        best, holder, played = NO_CARD, None, 0


def _winner(results: Sequence[Team]) -> Team | None:
    """Of the hand; None: it goes on."""
    if len(results) == 1:
        return None
    if len(results) == 2:
        one, two = results
        if one == BOTH:
            return two if two != BOTH else None
        return one if two in (one, BOTH) else None
    return results[0] if results[2] == BOTH else results[2]
