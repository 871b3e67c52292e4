"""What one viewer may see, composed from what lies open and what is theirs; nothing is cut out of a whole.

The only door for hidden cards: views, legal actions and every answer are made of a `PlayerView`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from service.engine.cards import Card, Deck
from service.engine.rules import RuleSet, TieLeader
from service.engine.state import (
    CoveredCard,
    GameState,
    Hand,
    Kind,
    Phase,
    Seat,
    Table,
    Team,
    other_team,
    team_of,
)

__all__ = [
    "Card",
    "CoveredCard",
    "Deck",
    "Hand",
    "Kind",
    "Phase",
    "PlayerView",
    "RuleSet",
    "Seat",
    "Slot",
    "Table",
    "Team",
    "TieLeader",
    "other_team",
    "sees",
    "team_of",
    "view_for",
]
"""With the types of what a view holds, so that its readers (the bots) need no other module."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A card still held, by its place in the dealt hand; `card` is None in a blind hand."""

    slot: int
    card: Card | None


@dataclass(frozen=True, slots=True)
class PlayerView:
    """What *viewer* knows; None is a spectator, a viewer like the others."""

    viewer: Seat | None
    table: Table
    cards: tuple[tuple[Slot, ...] | None, ...] = field(repr=False)
    """Per seat the cards it still holds; None: not this viewer's to see."""
    covered: tuple[CoveredCard, ...] = field(repr=False)
    """The viewer's own covered cards of this hand."""
    last_covered: tuple[CoveredCard, ...] = field(repr=False)
    """And of the last hand."""

    @property
    def own(self) -> tuple[Slot, ...]:
        """The viewer's own cards; () for a spectator."""
        if self.viewer is None:
            return ()
        return self.cards[self.viewer] or ()


def sees(table: Table, viewer: Seat | None) -> tuple[Seat, ...]:
    """The seats whose held cards *viewer* sees: its own, and its partners' while its team decides at 11 (S1 2)."""
    hand = table.hand
    if viewer is None or hand is None:
        return ()
    if hand.phase is Phase.ELEVEN and table.rules.eleven_partner_cards and table.eleven_team == team_of(viewer):
        return table.waited_for
    return (viewer,)


def view_for(state: GameState, viewer: Seat | None) -> PlayerView:
    """The view of *viewer*, a seat of the game or None for a spectator."""
    table, secrets = state.table, state.secrets
    seen = sees(table, viewer)
    return PlayerView(
        viewer=viewer,
        table=table,
        cards=tuple([_slots(state, seat) if seat in seen else None for seat in range(table.rules.seats)]),
        covered=_covered_by(viewer, secrets.covered),
        last_covered=_covered_by(viewer, secrets.last_covered),
    )


def _slots(state: GameState, seat: Seat) -> tuple[Slot, ...]:
    if not state.secrets.hands:
        return ()
    blind = state.table.is_blind
    held = enumerate(state.secrets.hands[seat])
    return tuple([Slot(slot, None if blind else card) for slot, card in held if card is not None])


def _covered_by(seat: Seat | None, cards: tuple[CoveredCard, ...]) -> tuple[CoveredCard, ...]:
    return tuple([card for card in cards if card.seat == seat]) if cards else ()
