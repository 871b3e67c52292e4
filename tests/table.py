"""Tables set up as a test wants them, and a small language to play at them.

    table("paulista", "3C 2C 4C / KD JD 7D / 6H 7H QH / 6S 7S QS", vira="4D").raises().accepts(1).plays("3C")

Everything goes through the real engine: hands and vira are laid into the pack, and the engine deals them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from service.engine.actions import (
    Accept,
    Action,
    Cut,
    CutKind,
    Deal,
    Fold,
    IllegalActionError,
    Play,
    Raise,
    Resign,
    Show,
    apply,
    legal_actions,
)
from service.engine.cards import HAND_SIZE, Card, Deck, parse_cards
from service.engine.events import Event
from service.engine.flow import new_game, start_hand
from service.engine.rules import PRESETS, Penalty, RuleSet
from service.engine.state import DealFrom, DealStyle, GameState, Hand, Phase, Score, Seat
from service.engine.view import PlayerView, view_for


def completed(deck: Deck, first: Sequence[Card]) -> tuple[Card, ...]:
    """A whole pack, top first: *first*, then the rest of the deck in its order (weakest rank first, C H S D)."""
    return (*first, *(card for card in deck.cards if card not in first))


def pack_for(rules: RuleSet, dealer: Seat, hands: Mapping[Seat, Sequence[Card]], vira: Card | None) -> tuple[Card, ...]:
    """The pack from which *hands* and *vira* come when it is dealt from the top, one by one, after no cut.

    Seats that *hands* leaves out, and the vira if it is None, get the first cards that nobody was given.
    """
    given = {card for cards in hands.values() for card in cards} | {vira}
    spare = (card for card in rules.deck.cards if card not in given)
    full = {seat: tuple(hands.get(seat) or (next(spare) for _ in range(HAND_SIZE))) for seat in range(rules.seats)}
    order = [(dealer + 1 + place) % rules.seats for place in range(rules.seats)]
    dealt = [full[seat][slot] for slot in range(HAND_SIZE) for seat in order]
    return completed(rules.deck, [*dealt, next(spare) if vira is None else vira])


def first_hand(rules: RuleSet, dealer: Seat, pack: Sequence[Card], score: Score = (0, 0)) -> GameState:
    """A game whose first hand has just begun: dealt, or waiting for the cutter."""
    return start_hand(new_game(rules, dealer, score).state, pack).state


@dataclass(frozen=True)
class PlayedTable:
    """A state to play at. Every verb gives a new table; an action that is refused raises."""

    state: GameState
    events: tuple[Event, ...] = ()
    """All since the table was set up."""

    @property
    def hand(self) -> Hand:
        hand = self.state.table.hand
        assert hand is not None
        return hand

    @property
    def score(self) -> Score:
        return self.state.table.score

    @property
    def event_types(self) -> list[str]:
        return [event.type for event in self.events]

    def view(self, viewer: Seat | None) -> PlayerView:
        return view_for(self.state, viewer)

    def offered(self, seat: Seat) -> tuple[Action, ...]:
        return legal_actions(self.view(seat))

    def does(self, seat: Seat, action: Action) -> PlayedTable:
        transition = apply(self.state, seat, action)
        return PlayedTable(transition.state, self.events + transition.events)

    def refusal(self, seat: Seat, action: Action) -> str | None:
        """The code with which *action* is refused; None if it is not."""
        try:
            apply(self.state, seat, action)
        except IllegalActionError as refused:
            return str(refused.reason)
        return None

    def plays(self, *cards: str) -> PlayedTable:
        """Each card by the seat whose turn it is; "*3C" lays it covered, "slot 0" names it by its place."""
        played = self
        for text in cards:
            seat = played.hand.to_play
            assert seat is not None
            if text.startswith("slot "):
                action = Play(slot=int(text.removeprefix("slot ")))
            else:
                action = Play(card=Card.parse(text.removeprefix("*")), covered=text.startswith("*"))
            played = played.does(seat, action)
        return played

    def raises(self, by: Seat | None = None, to: int | None = None, penalty: Penalty | None = None) -> PlayedTable:
        return self.does(self._waited_for(by), Raise(to=to, penalty=penalty))

    def accepts(self, by: Seat | None = None) -> PlayedTable:
        return self.does(self._waited_for(by), Accept())

    def folds(self, by: Seat | None = None) -> PlayedTable:
        return self.does(self._waited_for(by), Fold())

    def shows(self, by: Seat | None = None) -> PlayedTable:
        return self.does(self._waited_for(by), Show())

    def resigns(self, by: Seat) -> PlayedTable:
        return self.does(by, Resign())

    def cuts(self, at: int | None = None, take_for: Seat | None = None) -> PlayedTable:
        cut = Cut(cut=CutKind.NONE, take_for=take_for) if at is None else Cut(cut=CutKind.AT, at=at)
        return self.does(self._waited_for(None), cut)

    def deals(self, deal_from: DealFrom = DealFrom.TOP, deal_style: DealStyle = DealStyle.ONE_BY_ONE) -> PlayedTable:
        return self.does(self._waited_for(None), Deal(deal_from=deal_from, deal_style=deal_style))

    def next_hand(self, pack: Sequence[Card] = ()) -> PlayedTable:
        """The hand after one that is over; without a *pack* the deck in its order."""
        assert self.hand.phase is Phase.OVER
        transition = start_hand(self.state, pack or self.state.table.rules.deck.cards)
        return PlayedTable(transition.state, self.events + transition.events)

    def _waited_for(self, by: Seat | None) -> Seat:
        return self.state.table.waited_for[0] if by is None else by


def table(
    preset: str,
    hands: str = "",
    vira: str | None = None,
    *,
    dealer: Seat | None = None,
    score: Score = (0, 0),
    **overrides: object,
) -> PlayedTable:
    """A dealt hand of *preset*: hands by seat with " / " between them, those left out from the rest of the deck.

    The last seat deals unless *dealer* says otherwise, so seat 0 leads. A cut is skipped and the deal is from the top.
    """
    waiting = undealt_table(preset, hands, vira, dealer=dealer, score=score, **overrides)
    return waiting.cuts().deals() if waiting.hand.phase is Phase.CUT else waiting


def undealt_table(
    preset: str,
    hands: str = "",
    vira: str | None = None,
    *,
    dealer: Seat | None = None,
    score: Score = (0, 0),
    **overrides: object,
) -> PlayedTable:
    """As `table`, but where the rules have a cut it waits for the cutter."""
    rules = replace(PRESETS[preset].rules, **overrides)  # type: ignore[arg-type]
    dealer = rules.seats - 1 if dealer is None else dealer
    given = {seat: parse_cards(cards) for seat, cards in enumerate(hands.split("/")) if cards.strip()}
    pack = pack_for(rules, dealer, given, None if vira is None else Card.parse(vira))
    return PlayedTable(first_hand(rules, dealer, pack, score))
