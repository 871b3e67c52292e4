"""What is done for a seat that does not act in time: the least that lets the others play on.

It reads a `PlayerView`, so it cannot use what the seat does not know.
"""

from __future__ import annotations

from service.engine.actions import Action, Cut, CutKind, Deal, Fold, Play
from service.engine.cards import Card
from service.engine.state import DealFrom, DealStyle, Phase
from service.engine.view import PlayerView, Slot


def action_for_absent(view: PlayerView) -> Action:
    """The action for *view*'s viewer, whom the game waits for.

    An answer or a decision: fold. A cut or a deal: the plain one. A card: the weakest, open; in a blind hand, and among
    equals, the lowest slot.
    """
    hand = view.table.hand
    assert hand is not None
    if hand.phase in (Phase.ANSWER, Phase.ELEVEN):
        return Fold()
    if hand.phase is Phase.CUT:
        return Cut(cut=CutKind.NONE)
    if hand.phase is Phase.DEAL:
        return Deal(deal_from=DealFrom.TOP, deal_style=DealStyle.ONE_BY_ONE)
    if view.table.is_blind:
        return Play(slot=view.own[0].slot)
    weakest: Slot = min(view.own, key=lambda held: (_strength(view, held.card), held.slot))
    return Play(card=weakest.card)


def _strength(view: PlayerView, card: Card | None) -> int:
    assert card is not None
    return view.table.strengths[card]
