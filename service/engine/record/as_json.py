"""A record as JSON, as api.md section 5 has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from service.engine.cards import Card
from service.engine.record.game import GameRecord, HandRecord
from service.engine.rules import to_plain
from service.engine.state import Trick

FORMAT: Final = 1
"""Of records, as JSON and as text: raised when an older reader would misread a newer one."""

Json = str | int | None | Sequence["Json"] | Mapping[str, "Json"]


def to_json(record: GameRecord) -> dict[str, Json]:
    return {
        "format": FORMAT,
        "id": record.id,
        "variant": record.variant,
        "rules": to_plain(record.rules),
        "seats": [{"seat": number, "team": seat.team, "name": seat.name} for number, seat in enumerate(record.seats)],
        "commitment": record.commitment,
        "seed": record.seed.hex(),
        "first_dealer": record.first_dealer,
        "rematch": record.rematch,
        "hands": [_hand_to_json(hand) for hand in record.hands],
        "score": list(record.score),
        "result": {"winner": record.result.winner, "reason": str(record.result.reason)},
    }


def _hand_to_json(hand: HandRecord) -> dict[str, Json]:
    return {
        "number": hand.number,
        "kind": str(hand.kind),
        "dealer": hand.dealer,
        "deck": _names(hand.deck),
        "vira": None if hand.vira is None else str(hand.vira),
        "hands": None if hand.hands is None else [_names(cards) for cards in hand.hands],
        "actions": [{"seat": seat, "type": action.type, **action.members()} for seat, action in hand.actions],
        "value": hand.value,
        "tricks": [_trick_to_json(trick) for trick in hand.tricks],
        "winner": hand.winner,
        "points": hand.points,
        "reason": str(hand.reason),
        "shown": None if hand.shown is None else {"seat": hand.shown.seat, "cards": _names(hand.shown.cards)},
    }


def _trick_to_json(trick: Trick) -> dict[str, Json]:
    plays: list[Json] = [
        {"seat": play.seat, "card": None if play.card is None else str(play.card), "covered": play.covered}
        for play in trick.plays
    ]
    return {"opener": trick.opener, "plays": plays, "winner": trick.winner, "tied": trick.tied}


def _names(cards: Iterable[Card]) -> list[str]:
    return [str(card) for card in cards]
