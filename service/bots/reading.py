"""A view as a bot reads it: cards as levels, the hand as its course."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from service.bots.course import BOTH, Course, Standing
from service.bots.outlook import COVERED, LOWEST_MANILHA, Held, outlook_for
from service.engine.view import Card, Deck, Hand, PlayerView, Seat, Table, Team, team_of


@lru_cache(maxsize=256)
def levels_of(deck: Deck, manilhas: tuple[Card, ...]) -> Mapping[Card, int]:
    """The level of each card of *deck* when *manilhas* (strongest first) are."""
    ordinary = [card for card in deck.cards if card not in manilhas]
    ranks = list(dict.fromkeys(card.rank for card in ordinary))
    levels = {card: LOWEST_MANILHA - len(ranks) + ranks.index(card.rank) for card in ordinary}
    return levels | {card: LOWEST_MANILHA + place for place, card in enumerate(reversed(manilhas))}


@dataclass(frozen=True, slots=True)
class Reading:
    """What a seat knows of a hand that is dealt and open to it."""

    view: PlayerView
    hand: Hand
    seat: Seat
    levels: Mapping[Card, int]
    course: Course
    cards: tuple[Card, ...]
    """Those that it holds, weakest first,"""
    held: Held
    """and their levels."""

    @property
    def table(self) -> Table:
        return self.view.table

    @property
    def team(self) -> Team:
        return team_of(self.seat)

    def chance(self) -> float:
        """How likely its team wins the hand, by its own cards and the table."""
        return self.course.chance(self.seat, self.held)

    def level(self, card: Card | None) -> int:
        """Of a card on the table."""
        return COVERED if card is None else self.levels[card]


def read(view: PlayerView) -> Reading:
    """*view* of a seat that sees its own cards."""
    table, hand, manilhas = view.table, view.table.hand, view.table.manilhas
    assert view.viewer is not None and hand is not None and hand.to_play is not None and manilhas is not None
    levels = levels_of(table.rules.deck, manilhas)
    cards = sorted((held.card for held in view.own if held.card is not None), key=levels.__getitem__)
    return Reading(
        view=view,
        hand=hand,
        seat=view.viewer,
        levels=levels,
        course=_course(table, hand, hand.to_play, levels),
        cards=tuple(cards),
        held=tuple(levels[card] for card in cards),
    )


def _course(table: Table, hand: Hand, to_play: Seat, levels: Mapping[Card, int]) -> Course:
    rules = table.rules
    running = hand.tricks[-1] if hand.tricks and not hand.tricks[-1].is_decided else None
    standing = Standing()
    for play in () if running is None else running.plays:
        standing = standing.after(play.seat, COVERED if play.card is None else levels[play.card])
    return Course(
        outlook=outlook_for(len(rules.deck.cards), rules.seats),
        tie_leader=rules.tie_leader,
        leader=table.leader,
        opener=to_play if running is None else running.opener,
        results=tuple(BOTH if team is None else team for team in hand.results),
        standing=standing,
    )
