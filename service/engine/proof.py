"""Is a hand won whatever the others hold and play? The proof behind the action `show` (S2, rulebook `eleven_show`).

The seat knows its own cards, the vira and the open cards on the table. All other seats, partners included, are one
adversary that plays any card not yet seen, open or covered. Drawing those cards as they fall is the same as fixing
every hand beforehand: nobody has to follow suit, and more cards are unseen than can be played.

The search is exact, and small because most of the adversary's plays need no look:

* For the adversary a trick won is at least as good as a tie, a tie at least as good as a trick lost, whoever leads
  next: a card that would still save the seat in the worse case, played at its turn, saves it in the better one too.
* A card thrown away is best the weakest unseen one (face down where that is allowed): what is kept is never worth
  less than what is thrown.
* Cards that stand in the same relation to every card the seat holds and to the best on the table are alike; the
  weakest of them is enough, for the same reason.

A test compares it with a search that leaves nothing out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from service.engine.cards import COVERED_STRENGTH
from service.engine.flow import hand_result, trick_result
from service.engine.rules import TieLeader
from service.engine.state import Seat, Team, team_of
from service.engine.values import replace
from service.engine.view import PlayerView


@dataclass(frozen=True, slots=True)
class Position:
    """A hand as one seat knows it, all cards as their strengths.

    `played` is the running trick in the order of play; `own` and `unseen` are sorted, weakest first.
    """

    seats: int
    seat: Seat
    hand_leader: Seat
    tie_leader: TieLeader
    covered_from_trick: int | None
    all_tied_wins: bool
    """The seat's team wins the hand if all three tricks tie."""
    results: tuple[Team | None, ...]
    opener: Seat
    played: tuple[int, ...]
    own: tuple[int, ...]
    unseen: tuple[int, ...]

    @property
    def to_play(self) -> Seat:
        return (self.opener + len(self.played)) % self.seats

    @property
    def may_cover(self) -> bool:
        return self.covered_from_trick is not None and len(self.results) + 1 >= self.covered_from_trick


def wins_for_sure(view: PlayerView) -> bool:
    """Whether the viewer, whose turn it is, has a way to play that wins the hand whatever all others hold and play."""
    return is_won(position_of(view))


def position_of(view: PlayerView) -> Position:
    """What the viewer knows of its hand; the manilhas must be open, the cards not blind, the turn its own."""
    table = view.table
    hand, rules, strength = table.hand, table.rules, table.strengths
    assert hand is not None and view.viewer is not None
    own = [slot.card for slot in view.own if slot.card is not None]
    on_table = [play.card for trick in hand.tricks for play in trick.plays if play.card is not None]
    seen = {*own, *on_table, *(covered.card for covered in view.covered), hand.vira}
    running = hand.tricks[-1] if hand.tricks and not hand.tricks[-1].is_decided else None
    return Position(
        seats=rules.seats,
        seat=view.viewer,
        hand_leader=table.leader,
        tie_leader=rules.tie_leader,
        covered_from_trick=rules.covered_from_trick,
        all_tied_wins=table.winner_if_all_tied == team_of(view.viewer),
        results=hand.results,
        opener=view.viewer if running is None else running.opener,
        played=()
        if running is None
        else tuple(COVERED_STRENGTH if play.card is None else strength[play.card] for play in running.plays),
        own=tuple(sorted(strength[card] for card in own)),
        unseen=tuple(sorted(strength[card] for card in rules.deck.cards if card not in seen)),
    )


@lru_cache(maxsize=100_000)
def is_won(position: Position) -> bool:
    """Whether the position is won for its seat against every play of all others."""
    if len(position.played) == position.seats:
        return _is_won_after_trick(position)
    if position.to_play == position.seat:
        return any(map(is_won, own_plays(position)))
    return all(map(is_won, _telling_plays(position)))


def _is_won_after_trick(position: Position) -> bool:
    seats = [(position.opener + place) % position.seats for place in range(position.seats)]
    winner, opener = trick_result(
        list(zip(seats, position.played, strict=True)),
        position.tie_leader,
        position.hand_leader,
    )
    results = (*position.results, None if winner is None else team_of(winner))
    is_decided, team = hand_result(results)
    if is_decided:
        return position.all_tied_wins if team is None else team == team_of(position.seat)
    return is_won(replace(position, results=results, opener=opener, played=()))


def own_plays(position: Position) -> Iterator[Position]:
    """After each card the seat may lay, strongest first, open before covered."""
    for place in reversed(range(len(position.own))):
        left = position.own[:place] + position.own[place + 1 :]
        yield replace(position, played=(*position.played, position.own[place]), own=left)
        if position.may_cover:
            yield replace(position, played=(*position.played, COVERED_STRENGTH), own=left)


def others_play(position: Position, strength: int) -> Position:
    """After the seat in turn laid an unseen card of *strength*, or a covered one."""
    played = (*position.played, strength)
    if strength == COVERED_STRENGTH:
        return replace(position, played=played)
    place = position.unseen.index(strength)
    return replace(
        position,
        played=played,
        unseen=position.unseen[:place] + position.unseen[place + 1 :],
    )


def _telling_plays(position: Position) -> Iterator[Position]:
    """After each play of another seat that could make a difference, the most dangerous first."""
    best = max(position.played, default=COVERED_STRENGTH)
    if team_of(position.to_play) != team_of(position.seat):
        marks = sorted({*position.own, best})
        telling: dict[tuple[int, bool], int] = {}
        for strength in reversed(position.unseen):
            if strength < best:
                break
            below = sum(mark < strength for mark in marks)
            telling[below, strength in marks] = strength
        for strength in telling.values():
            yield others_play(position, strength)
    yield others_play(position, COVERED_STRENGTH if position.may_cover else position.unseen[0])
