"""What happened at the table, in the past tense.

An event carries no secret, ever: it says only what lies open, so the log is the same for every reader.
`seat` is who did it, None for what the game does by itself. Tricks and hands count from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from service.engine.cards import Card
from service.engine.rules import Penalty
from service.engine.state import (
    DealFrom,
    DealStyle,
    GameReason,
    GameState,
    HandReason,
    Kind,
    Score,
    Seat,
    Team,
)
from service.engine.values import field_names

Member = str | int | None | Sequence[str | int]
Value = Card | str | int | None | tuple[Card, ...] | Score


def _plain(value: Value) -> Member:
    if isinstance(value, tuple):
        return [str(item) if isinstance(item, Card) else item for item in value]
    return str(value) if isinstance(value, Card | StrEnum) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    seat: Seat | None = None
    type: ClassVar[str]

    def members(self) -> dict[str, Member]:
        """What it says beside its type and seat, as JSON values; an unset `slot` is left out."""
        members: dict[str, Member] = {}
        for name in field_names(type(self)):
            value: Value = getattr(self, name)
            if name != "seat" and (value is not None or name != "slot"):
                members[name] = _plain(value)
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatJoined(Event):
    type = "seat_joined"
    name: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatLeft(Event):
    type = "seat_left"


@dataclass(frozen=True, slots=True, kw_only=True)
class GameStarted(Event):
    type = "game_started"
    first_dealer: Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class PackCut(Event):
    type = "pack_cut"
    cut: str
    at: int | None
    take_for: Seat | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandDealt(Event):
    type = "hand_dealt"
    number: int
    kind: Kind
    dealer: Seat
    deal_from: DealFrom
    deal_style: DealStyle


@dataclass(frozen=True, slots=True, kw_only=True)
class ViraShown(Event):
    type = "vira_shown"
    vira: Card
    manilhas: tuple[Card, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised(Event):
    type = "raised"
    to: int
    penalty: Penalty | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted(Event):
    """`of`: "raise" or "eleven"; `value`: what the hand is worth now."""

    type = "accepted"
    of: str
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded(Event):
    """`of`: "raise" or "eleven"; `value`: what the fold pays."""

    type = "folded"
    of: str
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CardPlayed(Event):
    """`slot` is None but in a blind hand; `card` is None when it lies covered."""

    type = "card_played"
    slot: int | None
    card: Card | None
    covered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrickWon(Event):
    type = "trick_won"
    trick: int
    team: Team


@dataclass(frozen=True, slots=True, kw_only=True)
class TrickTied(Event):
    """`next_opener` is None when the hand ends with this trick."""

    type = "trick_tied"
    trick: int
    next_opener: Seat | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardsShown(Event):
    type = "cards_shown"
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HandWon(Event):
    type = "hand_won"
    team: Team
    points: int
    reason: HandReason
    score: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class HandTied(Event):
    type = "hand_tied"
    score: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class PenaltyTaken(Event):
    """`points`: what the raiser's team lost; 0 when it lost the game instead."""

    type = "penalty"
    kind: Penalty
    points: int
    score: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut(Event):
    """The seat's time was up; `acted`: the type of what the service did for it."""

    type = "timed_out"
    acted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoodIn(Event):
    """The seat's time was up; a bot plays for its person from now on."""

    type = "stood_in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned(Event):
    """The seat's person plays again, the stand-in has left."""

    type = "returned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resigned(Event):
    type = "resigned"
    team: Team


@dataclass(frozen=True, slots=True, kw_only=True)
class GameWon(Event):
    type = "game_won"
    team: Team
    reason: GameReason


@dataclass(frozen=True, slots=True, kw_only=True)
class RematchCreated(Event):
    type = "rematch_created"
    id: str


EVENTS: Final = {
    cls.type: cls
    for cls in (
        SeatJoined,
        SeatLeft,
        GameStarted,
        PackCut,
        HandDealt,
        ViraShown,
        Raised,
        Accepted,
        Folded,
        CardPlayed,
        TrickWon,
        TrickTied,
        CardsShown,
        HandWon,
        HandTied,
        PenaltyTaken,
        TimedOut,
        StoodIn,
        Returned,
        Resigned,
        GameWon,
        RematchCreated,
    )
}
"""Every kind of event by its type."""


@dataclass(frozen=True, slots=True)
class Transition:
    """What an action leads to: the state after it, and what happened on the way, in order."""

    state: GameState
    events: tuple[Event, ...] = ()
