"""Views and events as JSON, key by key. What is not written here does not leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from service.bots import Bot
from service.engine.actions import ACTIONS, Action
from service.engine.cards import ALL_CARDS, Card
from service.engine.rules import CALLS, SEATS, Preset, RuleSet, to_plain
from service.engine.state import (
    CoveredCard,
    Hand,
    LastHand,
    Seat,
    Table,
    Trick,
    team_of,
)
from service.engine.view import PlayerView
from service.games import Created, Joined, Listed
from service.store.base import EventPage, LoggedEvent
from service.views import GameView, SeatView

Json = str | int | bool | None | Sequence["Json"] | Mapping[str, "Json"]

_RULE_SETS_KEPT: Final = 256
"""Most games have the rules of a preset."""

_TEXTS: Final[Mapping[Card | None, str | None]] = {None: None} | {card: text for text, card in ALL_CARDS.items()}

_Faces = Mapping[tuple[int, Seat], Card]
"""The viewer's own covered cards, by trick (from 0) and seat."""


def present_view(view: GameView) -> dict[str, Json]:
    """The view of api.md section 3."""
    player = view.player
    table = None if player is None else player.table
    return {
        "id": view.id,
        "version": view.version,
        "status": view.status,
        "variant": view.variant,
        "rules": _rules(view.rules),
        "metadata": view.metadata,
        "created_at": timestamp(view.created_at_ms),
        "viewer": {
            "seat": view.viewer.seat,
            "team": None if view.viewer.seat is None else team_of(view.viewer.seat),
        },
        "seats": [_seat(seat, chair, player) for seat, chair in enumerate(view.seats)],
        "score": {
            "teams": [0, 0] if table is None else table.score,
            "target": view.rules.target,
            "leg": 1 if table is None else table.leg,
        },
        "hand": None
        if player is None or player.table.hand is None
        else _hand(player.table, player.table.hand, _faces(player.covered)),
        "turn": None if table is None else _turn(table, view.deadline_ms),
        "legal_actions": [present_action(action, view.version) for action in view.legal_actions],
        "last_hand": None
        if player is None or player.table.last_hand is None
        else _last_hand(player.table.last_hand, _faces(player.last_covered)),
        "shuffle": {"commitment": view.commitment},
        "result": None
        if table is None or table.result is None
        else {"winner": table.result.winner, "reason": table.result.reason},
        "rematch_id": view.rematch_id,
        "server_time": timestamp(view.now_ms),
    }


@lru_cache(_RULE_SETS_KEPT)
def _rules(rules: RuleSet) -> Json:
    return to_plain(rules)


def _seat(seat: Seat, chair: SeatView, player: PlayerView | None) -> Json:
    cards = None if player is None else player.cards[seat]
    return {
        "seat": seat,
        "team": team_of(seat),
        "name": chair.name,
        "kind": chair.kind,
        "stand_in": chair.has_stand_in,
        "presence": _PRESENCE[chair.is_present],
        "cards_left": 0 if player is None else player.table.cards_left(seat),
        "cards": None if cards is None else [{"slot": held.slot, "card": _TEXTS[held.card]} for held in cards],
    }


_PRESENCE: Final = {True: "here", False: "away", None: None}


def _hand(table: Table, hand: Hand, faces: _Faces) -> Json:
    pending = hand.pending
    return {
        "number": hand.number,
        "kind": hand.kind,
        "phase": hand.phase,
        "dealer": hand.dealer,
        "value": hand.value,
        "vira": _TEXTS[hand.vira],
        "manilhas": None if table.manilhas is None else [_TEXTS[card] for card in table.manilhas],
        "to_play": hand.to_play,
        "raise": None if pending is None else {"seat": pending.seat, "team": pending.team, "to": pending.to},
        "raised_by": hand.raised_by,
        "tricks": _tricks(hand.tricks, faces),
    }


def _turn(table: Table, deadline_ms: int | None) -> Json:
    if table.hand is None or not table.waited_for:
        return None
    return {
        "kind": table.hand.phase,
        "seats": table.waited_for,
        "deadline": None if deadline_ms is None else timestamp(deadline_ms),
    }


def _last_hand(hand: LastHand, faces: _Faces) -> Json:
    return {
        "number": hand.number,
        "kind": hand.kind,
        "vira": _TEXTS[hand.vira],
        "value": hand.value,
        "tricks": _tricks(hand.tricks, faces),
        "winner": hand.winner,
        "points": hand.points,
        "shown": None if hand.shown is None else {"seat": hand.shown.seat, "cards": list(map(str, hand.shown.cards))},
        "reason": hand.reason,
    }


def _tricks(tricks: Sequence[Trick], faces: _Faces) -> Json:
    return [
        {
            "opener": trick.opener,
            "plays": [
                {
                    "seat": play.seat,
                    "card": _TEXTS[play.card or faces.get((place, play.seat))],
                    "covered": play.card is None,
                }
                for play in trick.plays
            ],
            "winner": trick.winner,
            "tied": trick.tied,
        }
        for place, trick in enumerate(tricks)
    ]


def _faces(covered: Sequence[CoveredCard]) -> _Faces:
    return {(card.trick, card.seat): card.card for card in covered}


def present_action(action: Action, version: int) -> dict[str, Json]:
    """A complete body for applyAction."""
    return {"type": action.type, "expected_version": version, **action.members()}


def present_event(event: LoggedEvent) -> dict[str, Json]:
    return {
        "seq": event.seq,
        "version": event.version,
        "at": timestamp(event.at_ms),
        "type": event.type,
        "seat": event.seat,
        "data": event.data,
    }


def present_events(page: EventPage, after: int) -> dict[str, Json]:
    return {
        "events": [present_event(event) for event in page.events],
        "oldest_seq": page.oldest_seq,
        "next_after": page.events[-1].seq if page.events else after,
    }


def present_created(created: Created) -> dict[str, Json]:
    return {
        "game": present_view(created.game),
        "seats": [{"seat": seat, "token": token} for seat, token in created.tokens.items()],
        "host_token": created.host_token,
        "join_code": created.join_code,
    }


def present_joined(joined: Joined) -> dict[str, Json]:
    return {"seat": joined.seat, "token": joined.token, "game": present_view(joined.game)}


def present_listed(game: Listed) -> dict[str, Json]:
    return {
        "id": game.id,
        "variant": game.variant,
        "seats": [{"seat": seat, "name": chair.name, "kind": chair.kind} for seat, chair in enumerate(game.seats)],
        "turn_seconds": game.turn_seconds,
        "status": game.status,
        "created_at": timestamp(game.created_at_ms),
    }


def present_bot(kind: str, bot: Bot) -> dict[str, Json]:
    return {"kind": kind, "description": bot.sentence}


def present_variant(preset: Preset) -> dict[str, Json]:
    rules = preset.rules
    return {
        "name": preset.name,
        "title": preset.title,
        "description": preset.description,
        "source": preset.source,
        "seats": {"default": rules.seats, "usual": preset.seats, "allowed": SEATS},
        "rules": to_plain(rules),
        "deck": rules.deck.ranks,
        "ladder": [{"step": step, "call": call_of(step), "value": value} for step, value in enumerate(rules.ladder)],
        "action_types": [kind.type for kind in ACTIONS.values() if kind.can_occur(rules)],
    }


def call_of(step: int) -> str | None:
    """How a step of the ladder is asked for: its name, or its number past the named ones; the start has none."""
    if step == 0:
        return None
    return CALLS[step - 1] if step <= len(CALLS) else str(step)


def timestamp(at_ms: int) -> str:
    """RFC 3339 in UTC with milliseconds."""
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
