"""Hands that the others may hold, how well each fits what they did, and who wins if all play on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from service.bots.outlook import COVERED, DRAWN, LOST, NOBODY, NONE, OURS, THEIRS, TIED, WON, Held
from service.bots.reading import BOTH, NO_CARD, Reading, Standing
from service.engine.view import Seat, Team, team_of

MISFIT = 0.3
"""How much less a world counts for each play that its seat would not have made."""


@dataclass(slots=True)
class World:
    hands: list[Held]
    """Per seat what it holds now."""
    weight: float


@dataclass(frozen=True, slots=True)
class _Seen:
    """A card that another seat has played, with what it saw then; `level` None: covered."""

    first: int
    side: int
    best: int
    left: int
    level: int | None


class Worlds:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._seats = reading.outlook.seats
        self._known = _known_hands(reading)
        self._unseen = _unseen(reading)
        self._seen = _seen(reading)
        self._wanted = [
            0 if hand is not None else reading.table.cards_left(seat) for seat, hand in enumerate(self._known)
        ]
        self._covered = [
            sum(play.level is None for play in plays) if seat != reading.seat else 0
            for seat, plays in enumerate(self._seen)
        ]
        self._total = sum(self._wanted) + sum(self._covered)

    def deal(self, rng: Random) -> World:
        drawn = rng.sample(self._unseen, self._total)
        hands: list[Held] = []
        weight, at = 1.0, 0
        for seat in range(self._seats):
            known = self._known[seat]
            if known is not None:
                hands.append(known)
                continue
            wanted, covered = self._wanted[seat], self._covered[seat]
            held = tuple(sorted(drawn[at : at + wanted]))
            at += wanted
            if self._seen[seat]:
                weight *= self._fit(seat, held, drawn[at : at + covered])
                at += covered
            hands.append(held)
        return World(hands, weight)

    def _fit(self, seat: Seat, held: Held, covered: Sequence[int]) -> float:
        choice = self._reading.outlook.choice
        fit, hidden = 1.0, list(covered)
        for play in reversed(self._seen[seat]):
            level = hidden.pop() if play.level is None else play.level
            held = tuple(sorted((*held, level)))
            if len(held) == 1:
                continue
            if play.level is None:
                if level != held[0]:
                    fit *= MISFIT
            elif held[choice(play.first, play.side, play.best, play.left, held)] != level:
                fit *= MISFIT
        return fit


def _known_hands(reading: Reading) -> list[Held | None]:
    hands: list[Held | None] = []
    for cards in reading.view.cards:
        faces = [] if cards is None else [held.card for held in cards if held.card is not None]
        if cards is None or len(faces) < len(cards):
            hands.append(None)
        else:
            hands.append(tuple(sorted(reading.levels[face] for face in faces)))
    return hands


def _unseen(reading: Reading) -> list[int]:
    hand, view = reading.hand, reading.view
    seen = {play.card for trick in hand.tricks for play in trick.plays}
    seen |= {held.card for cards in view.cards if cards is not None for held in cards}
    seen |= {covered.card for covered in view.covered}
    seen.add(hand.vira)
    return [level for card, level in reading.levels.items() if card not in seen]


def _seen(reading: Reading) -> list[list[_Seen]]:
    """Per seat what it has played so far."""
    seats = reading.outlook.seats
    plays: list[list[_Seen]] = [[] for _ in range(seats)]
    results: tuple[Team | None, ...] = ()
    for trick in reading.hand.tricks:
        standing = Standing()
        for play in trick.plays:
            team = team_of(play.seat)
            first = NONE
            if results:
                first = DRAWN if results[0] is None else WON if results[0] == team else LOST
            level = None if play.card is None else reading.levels[play.card]
            left = seats - standing.played - 1
            plays[play.seat].append(_Seen(first, standing.side(team), standing.best, left, level))
            standing = standing.after(play.seat, COVERED if level is None else level)
        results = (*results, trick.winning_team)
    return plays


def winner(reading: Reading, world: World, place: int | None = None, covered: bool = False) -> Team:
    """Who wins the hand in *world* if everyone plays the best that its own cards tell; `BOTH`: all tricks tie.

    *place*: which of its cards the seat in turn plays first; None: its best.
    """
    outlook, seats = reading.outlook, reading.outlook.seats
    choice = outlook.choice
    hands = list(world.hands)
    results = [BOTH if result is None else result for result in reading.hand.results]
    standing = reading.standing
    opener, best, team, played = reading.opener, standing.best, standing.team, standing.played
    first_best, last_best = standing.first_best, standing.last_best
    tie_leader, leader = reading.table.rules.tie_leader, reading.table.leader
    while True:
        firsts = (
            (NONE, NONE)
            if not results
            else (DRAWN, DRAWN)
            if results[0] == BOTH
            else ((WON, LOST) if results[0] == 0 else (LOST, WON))
        )
        while played < seats:
            seat = (opener + played) % seats
            own = seat & 1
            held = hands[seat]
            if place is not None:
                at, place = place, None
            elif len(held) == 1:
                at = 0
            else:
                side = NOBODY if team is None else TIED if team == BOTH else OURS if team == own else THEIRS
                at = choice(firsts[own], side, best, seats - 1 - played, held)
            level = held[at]
            hands[seat] = held[:at] + held[at + 1 :]
            if covered:
                level, covered = COVERED, False
            if level > best:
                best, team, first_best, last_best = level, own, seat, seat
            elif level == best:
                last_best = seat
                if team != own:
                    team = BOTH
            played += 1
        assert team is not None
        results.append(team)
        if len(results) == 2:
            one, two = results
            if one == BOTH:
                if two != BOTH:
                    return two
            elif two in (one, BOTH):
                return one
        elif len(results) == 3:
            return results[2] if results[2] != BOTH else results[0]
        if team != BOTH or tie_leader == "first_tied":
            opener = first_best
        elif tie_leader == "last_tied":
            opener = last_best
        elif tie_leader == "hand_leader":
            opener = leader
        best, team, played = NO_CARD, None, 0
