"""What a record is, and how it is made: the game is played again from its seed and its action log."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from service.engine import flow
from service.engine.actions import (
    Action,
    IllegalActionError,
    MalformedActionError,
    Play,
    Raise,
    apply,
)
from service.engine.cards import Card, Deck
from service.engine.record.tokens import SeatAction, decode_action
from service.engine.rules import Penalty, RuleSet
from service.engine.state import (
    GameState,
    HandReason,
    Kind,
    Phase,
    Result,
    Score,
    Seat,
    Shown,
    Team,
    Trick,
    team_of,
)
from service.engine.view import view_for

Hands = tuple[tuple[Card, ...], ...]
"""Per seat the dealt cards by slot."""


class RecordError(ValueError):
    """A record that cannot be read or written, or a log that is not a whole game; `place` is where it is wrong."""

    def __init__(self, place: str, detail: str) -> None:
        super().__init__(f"{place}: {detail}")
        self.place = place
        self.detail = detail


class Shuffle(Protocol):
    """What a seed decides (api.md section 8)."""

    def first_dealer(self, seed: bytes, seats: int) -> Seat:
        """Who deals the first hand."""
        ...

    def pack(self, seed: bytes, deck: Deck, hand_number: int) -> tuple[Card, ...]:
        """The pack of a hand (counted from 1), top first, before the cut."""
        ...


@dataclass(frozen=True, slots=True)
class SeatRecord:
    """Who sat at a seat; its number is its place in the record."""

    team: Team
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HandRecord:
    """What `LastHand` says of a hand, and what was secret while it ran."""

    number: int
    kind: Kind
    dealer: Seat
    deck: tuple[Card, ...]
    """The pack before the cut, top first."""
    vira: Card | None
    """Also one that lay face down to the end; None with fixed manilhas and before the deal."""
    hands: Hands | None
    """None: the hand ended before the deal."""
    actions: tuple[SeatAction, ...]
    """In the form in which `legal_actions` gives them."""
    value: int
    tricks: tuple[Trick, ...]
    winner: Team | None
    points: int
    reason: HandReason
    shown: Shown | None
    score: Score
    """Of the game after this hand. Not in the JSON, whose reader counts it (`score_after`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GameRecord:
    id: str
    variant: str
    rules: RuleSet
    seats: tuple[SeatRecord, ...]
    commitment: str
    seed: bytes
    first_dealer: Seat
    hands: tuple[HandRecord, ...]
    score: Score
    result: Result
    rematch: bool = False
    """Then the first dealer follows from the game before, and the seed does not say it."""


def commitment_of(seed: bytes) -> str:
    """What the players saw before the first deal: lower-case hex SHA-256 of the seed."""
    return hashlib.sha256(seed).hexdigest()


def score_after(score: Score, rules: RuleSet, hand: HandRecord) -> Score:
    """The score that *hand* makes of *score* by what it says of its winner, points and reason."""
    if hand.winner is not None:
        return flow.add_points(score, hand.winner, hand.points)
    penalty = rules.eleven_raise if hand.kind is Kind.MAO_DE_ONZE else rules.iron_raise
    if hand.reason is HandReason.PENALTY and penalty is Penalty.LOSE_POINTS and hand.actions:
        raiser, _ = hand.actions[-1]
        return flow.add_points(score, team_of(raiser), -min(rules.eleven_value, score[team_of(raiser)]))
    return score


def build_record(
    *,
    id: str,  # noqa: A002 -- the members have the names of the record's
    variant: str,
    rules: RuleSet,
    names: Sequence[str],
    seed: bytes,
    log: Iterable[str],
    dealer: Shuffle,
    first_dealer: Seat | None = None,
) -> GameRecord:
    """The record of the game whose actions, as tokens, are *log*; *names* are those of the seats.

    *first_dealer*: of a rematch; None: the seed draws. Raises `RecordError` if the log is not one whole game, from the
    first hand to its result.
    """
    rematch = first_dealer is not None
    if first_dealer is None:
        first_dealer = dealer.first_dealer(seed, rules.seats)
    state = flow.new_game(rules, first_dealer).state
    tokens = iter(log)
    hands: list[HandRecord] = []
    while state.table.result is None:
        pack = dealer.pack(seed, rules.deck, len(hands) + 1)
        state, hand = _play_hand(flow.start_hand(state, pack).state, pack, tokens)
        hands.append(hand)
    if next(tokens, None) is not None:
        raise RecordError("log", f"goes on after the end of the game in hand {len(hands)}")
    return GameRecord(
        id=id,
        variant=variant,
        rules=rules,
        seats=tuple(SeatRecord(team_of(seat), name) for seat, name in enumerate(names)),
        commitment=commitment_of(seed),
        seed=seed,
        first_dealer=first_dealer,
        hands=tuple(hands),
        score=state.table.score,
        result=state.table.result,
        rematch=rematch,
    )


def _play_hand(state: GameState, pack: tuple[Card, ...], tokens: Iterator[str]) -> tuple[GameState, HandRecord]:
    """The state after the hand that has just begun in *state*, and the hand's record."""
    deal = dealt(state)
    done: list[SeatAction] = []
    while not is_hand_over(state):
        place = f"log, hand {hand_number(state)}, action {len(done) + 1}"
        token = next(tokens, None)
        if token is None:
            raise RecordError(place, "is missing: the game is not over")
        state, step = _act(state, token, place)
        done.append(step)
        deal = deal or dealt(state)
    return state, _hand_record(state, pack, deal, done)


def _act(state: GameState, token: str, place: str) -> tuple[GameState, SeatAction]:
    try:
        seat, action = decode_action(token)
    except ValueError as error:
        raise RecordError(place, str(error)) from error
    if seat >= state.table.rules.seats:
        raise RecordError(place, f"there is no seat {seat}")
    try:
        after = apply(state, seat, action).state
    except (IllegalActionError, MalformedActionError) as error:
        raise RecordError(place, error.detail) from error
    return after, (seat, resolved(state, seat, action))


def _hand_record(
    state: GameState, pack: tuple[Card, ...], deal: tuple[Hands, Card | None] | None, done: list[SeatAction]
) -> HandRecord:
    hand, last = state.table.hand, state.table.last_hand
    assert hand is not None and last is not None
    hands, vira = (None, None) if deal is None else deal
    return HandRecord(
        number=last.number,
        kind=last.kind,
        dealer=hand.dealer,
        deck=pack,
        vira=vira,
        hands=hands,
        actions=tuple(done),
        value=last.value,
        tricks=last.tricks,
        winner=last.winner,
        points=last.points,
        reason=last.reason,
        shown=last.shown,
        score=state.table.score,
    )


def resolved(state: GameState, seat: Seat, action: Action) -> Action:
    """*action*, which *seat* may take now, in the form in which `legal_actions` gives it.

    A card of a seen hand is named, not its slot; a raise says what it asks for, or else what it costs.
    """
    if isinstance(action, Raise):
        return next(iter(Raise.candidates(view_for(state, seat))))
    if isinstance(action, Play) and action.slot is not None and not state.table.is_blind:
        return Play(card=state.secrets.hands[seat][action.slot], covered=action.covered)
    return action


def is_hand_over(state: GameState) -> bool:
    return state.table.hand is not None and state.table.hand.phase is Phase.OVER


def hand_number(state: GameState) -> int:
    assert state.table.hand is not None
    return state.table.hand.number


def dealt(state: GameState) -> tuple[Hands, Card | None] | None:
    """Each seat's cards and the vira, face down or not; None before the deal. Ask before a card is played."""
    hand, secrets = state.table.hand, state.secrets
    if hand is None or not secrets.hands:
        return None
    hands = tuple(tuple(card for card in cards if card is not None) for cards in secrets.hands)
    return hands, hand.vira or secrets.vira
