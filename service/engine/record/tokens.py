"""One action as a token: what the action log holds, and what the text notation is made of."""

from __future__ import annotations

import re
from typing import Final

from service.engine.actions import Abandon, Accept, Action, Cut, CutKind, Deal, Fold, Play, Raise, Resign, Show
from service.engine.cards import Card
from service.engine.rules import Penalty
from service.engine.state import DealFrom, DealStyle, Seat

SeatAction = tuple[Seat, Action]

_CARD: Final = r"(?:1[0-2]|[1-7]|[QJKA])[CHSD]"
_NUMBER: Final = r"[1-9][0-9]?"
_TOKEN: Final = re.compile(
    rf"""(?P<seat>[0-5]):(?:
        (?P<card>{_CARD}) | \((?P<covered_card>{_CARD})\)
        | \#(?P<slot>[0-2]) | \(\#(?P<covered_slot>[0-2])\)
        | (?P<raises>raise)(?P<to>{_NUMBER})?(?:!(?P<penalty>{Penalty.LOSE_POINTS}|{Penalty.LOSE_GAME}))?
        | cut(?P<at>{_NUMBER})
        | cut-(?P<cut>{CutKind.DRY}|{CutKind.NONE})(?:>(?P<take_for>[0-5]))?
        | deal-(?P<deal_from>{"|".join(DealFrom)})-(?P<deal_style>[13])
        | (?P<plain>accept|fold|show|resign|abandon)
    )""",
    re.VERBOSE,
)
_PLAIN: Final = {action.type: action for action in (Accept(), Fold(), Show(), Resign(), Abandon())}
_DEAL_STYLES: Final = {"1": DealStyle.ONE_BY_ONE, "3": DealStyle.THREE_AT_A_TIME}


def encode_action(seat: Seat, action: Action) -> str:
    """*action* as a token: "2:7C", "0:raise3"; a few ASCII bytes without a space, the grammar is docs/notation.md.

    Every action that the engine accepts has a token of its own: what was sent is what is read back.
    """
    return f"{seat}:{_code(action)}"


def _code(action: Action) -> str:
    match action:
        case Play(card=card, slot=slot, covered=covered):
            named = f"#{slot}" if card is None else str(card)
            return f"({named})" if covered else named
        case Raise(to=to, penalty=penalty):
            return "raise" + ("" if to is None else str(to)) + ("" if penalty is None else f"!{penalty}")
        case Cut(cut=CutKind.AT, at=at):
            return f"cut{at}"
        case Cut(cut=cut, take_for=take_for):
            return f"cut-{cut}" + ("" if take_for is None else f">{take_for}")
        case Deal(deal_from=deal_from, deal_style=deal_style):
            return f"deal-{deal_from}-{1 if deal_style is DealStyle.ONE_BY_ONE else 3}"
    return action.type


def decode_action(token: str) -> SeatAction:
    """The seat and the action that `encode_action` made *token* of. Raises ValueError for anything else."""
    parts = _TOKEN.fullmatch(token)
    if parts is None:
        raise ValueError(f"{token[:30]!a} is not an action")
    return int(parts["seat"]), _action(parts)


def _action(parts: re.Match[str]) -> Action:
    card, slot = parts["card"] or parts["covered_card"], parts["slot"] or parts["covered_slot"]
    covered = (parts["covered_card"] or parts["covered_slot"]) is not None
    if card is not None:
        return Play(card=Card.parse(card), covered=covered)
    if slot is not None:
        return Play(slot=int(slot), covered=covered)
    if parts["raises"] is not None:
        return Raise(to=_int(parts["to"]), penalty=None if parts["penalty"] is None else Penalty(parts["penalty"]))
    if parts["at"] is not None:
        return Cut(cut=CutKind.AT, at=int(parts["at"]))
    if parts["cut"] is not None:
        return Cut(cut=CutKind(parts["cut"]), take_for=_int(parts["take_for"]))
    if parts["deal_from"] is not None:
        return Deal(deal_from=DealFrom(parts["deal_from"]), deal_style=_DEAL_STYLES[parts["deal_style"]])
    return _PLAIN[parts["plain"]]


def _int(digits: str | None) -> int | None:
    return None if digits is None else int(digits)
