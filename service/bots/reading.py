"""A view as a bot reads it: cards as levels, the running trick and the tricks before it as one team sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from service.bots.outlook import (
    COVERED,
    DRAWN,
    LOST,
    LOWEST_MANILHA,
    NOBODY,
    NONE,
    OURS,
    THEIRS,
    TIED,
    WON,
    Held,
    Outlook,
    outlook_for,
)
from service.engine.view import Card, Deck, Hand, PlayerView, Seat, Table, Team, team_of

NO_CARD = COVERED - 1
"""The level of an empty table."""
BOTH: Team = 2
"""In place of a team: the trick is tied."""


@lru_cache(maxsize=256)
def levels_of(deck: Deck, manilhas: tuple[Card, ...]) -> Mapping[Card, int]:
    """The level of each card: manilhas 13 to 10, then the ranks from the best ordinary one down, none below 0."""
    ordinary = [rank for rank in deck.ranks if any(card.rank == rank and card not in manilhas for card in deck.cards)]
    below = {rank: max(0, LOWEST_MANILHA - len(ordinary) + place) for place, rank in enumerate(ordinary)}
    levels = {card: below[card.rank] for card in deck.cards if card not in manilhas}
    return levels | {card: LOWEST_MANILHA + place for place, card in enumerate(reversed(manilhas))}


@dataclass(frozen=True, slots=True)
class Standing:
    """A running trick: its best level, whose it is (None: nobody has played; `BOTH`: tied), who is to lead after it."""

    best: int = NO_CARD
    team: Team | None = None
    first_best: Seat = 0
    last_best: Seat = 0
    played: int = 0

    def after(self, seat: Seat, level: int) -> Standing:
        if level > self.best:
            return Standing(level, team_of(seat), seat, seat, self.played + 1)
        if level < self.best:
            return Standing(self.best, self.team, self.first_best, self.last_best, self.played + 1)
        team = self.team if self.team == team_of(seat) else BOTH
        return Standing(level, team, self.first_best, seat, self.played + 1)

    def side(self, team: Team) -> int:
        """Whose the trick is as *team* sees it."""
        if self.team is None:
            return NOBODY
        if self.team == BOTH:
            return TIED
        return OURS if self.team == team else THEIRS


@dataclass(frozen=True, slots=True)
class Reading:
    view: PlayerView
    table: Table
    hand: Hand
    seat: Seat
    levels: Mapping[Card, int]
    outlook: Outlook
    standing: Standing
    opener: Seat
    """Of the running trick, or of the next one."""

    @property
    def team(self) -> Team:
        return team_of(self.seat)

    @property
    def cards(self) -> tuple[Card, ...]:
        """Those that the viewer holds, weakest first."""
        cards = [held.card for held in self.view.own if held.card is not None]
        return tuple(sorted(cards, key=self.levels.__getitem__))

    @property
    def held(self) -> Held:
        return tuple(self.levels[card] for card in self.cards)

    def first(self, team: Team) -> int:
        """What became of the first trick, as *team* sees it."""
        results = self.hand.results
        if not results:
            return NONE
        return DRAWN if results[0] is None else WON if results[0] == team else LOST

    def level(self, card: Card | None) -> int:
        return COVERED if card is None else self.levels[card]

    def chance(self, seat: Seat, held: Held) -> float:
        """How likely *seat* would think that its team wins the hand if it held *held*, knowing no other hand."""
        team, standing, seats = team_of(seat), self.standing, self.outlook.seats
        first, place = self.first(team), (seat - self.opener) % seats
        if not standing.played:
            return self.outlook.worth(first, place, held)
        side, left = standing.side(team), seats - standing.played
        if place < standing.played:
            leads = standing.first_best == seat
            return self.outlook.waiting(first, side, standing.best, left, held, leads)
        return max(self.outlook.values(first, side, standing.best, left - 1, held))

    def card_values(self) -> list[float]:
        """The chance to win the hand with each of `held`, played now, open."""
        standing = self.standing
        left = self.outlook.seats - standing.played - 1
        return self.outlook.values(self.first(self.team), standing.side(self.team), standing.best, left, self.held)


def read(view: PlayerView) -> Reading:
    """The view of a seat in a dealt hand whose manilhas are known."""
    table, hand, manilhas = view.table, view.table.hand, view.table.manilhas
    assert view.viewer is not None and hand is not None and manilhas is not None
    rules = table.rules
    levels = levels_of(rules.deck, manilhas)
    running = hand.tricks[-1] if hand.tricks and not hand.tricks[-1].is_decided else None
    standing = Standing()
    for play in () if running is None else running.plays:
        standing = standing.after(play.seat, COVERED if play.card is None else levels[play.card])
    assert hand.to_play is not None
    return Reading(
        view=view,
        table=table,
        hand=hand,
        seat=view.viewer,
        levels=levels,
        outlook=outlook_for(len(rules.deck.cards), rules.seats),
        standing=standing,
        opener=hand.to_play if running is None else running.opener,
    )
