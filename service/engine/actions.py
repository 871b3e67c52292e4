"""What a seat can do: one class an action, with its members, its candidates, its check and its effect.

What refuses an action reads a `PlayerView`, never the state: by its signature, legality cannot depend on what the seat
does not know. `legal_actions` is the candidates that nothing refuses, so it cannot disagree with `check`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple

from service.engine import flow
from service.engine.cards import HAND_SIZE, Card
from service.engine.events import (
    Accepted,
    CardsShown,
    Folded,
    PackCut,
    PenaltyTaken,
    Raised,
    Resigned,
    Transition,
)
from service.engine.proof import wins_for_sure
from service.engine.rules import Dealing, Penalty, RaiseTiming, RuleSet
from service.engine.state import (
    DealFrom,
    DealStyle,
    GameReason,
    GameState,
    Hand,
    HandReason,
    Kind,
    Phase,
    Seat,
    Shown,
    Table,
    Team,
    other_team,
    team_of,
)
from service.engine.state import Raise as PendingRaise
from service.engine.values import field_names, replace
from service.engine.view import PlayerView, view_for


class Reason(StrEnum):
    """Why an action is refused; the API answers 409 with the same code (`HAND_OVER` never leaves the engine)."""

    GAME_FINISHED = "game_finished"
    HAND_OVER = "hand_over"
    NOT_YOUR_TURN = "not_your_turn"
    ANSWER_PENDING = "answer_pending"
    NOTHING_TO_ANSWER = "nothing_to_answer"
    NOT_YOUR_TEAM_TO_ANSWER = "not_your_team_to_answer"
    SAME_TEAM_RAISE = "same_team_raise"
    LADDER_EXHAUSTED = "ladder_exhausted"
    WRONG_STEP = "wrong_step"
    RAISE_FORBIDDEN = "raise_forbidden"
    COVERED_FORBIDDEN = "covered_forbidden"
    CARD_NOT_HELD = "card_not_held"
    SHOW_FORBIDDEN = "show_forbidden"
    SHOW_NOT_PROVEN = "show_not_proven"


class IllegalActionError(Exception):
    """An action that the rules refuse now. Nothing has changed."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Refusal(NamedTuple):
    """Why not, as data."""

    reason: Reason
    detail: str


class MalformedActionError(ValueError):
    """An action that can never be right in this game; `member` is the one at fault."""

    def __init__(self, member: str, detail: str) -> None:
        super().__init__(f"{member}: {detail}")
        self.member = member
        self.detail = detail


class CutKind(StrEnum):
    AT = "at"
    DRY = "dry"
    NONE = "none"


Member = str | int | bool
"""An action's member as it is written in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing a seat does. The fields of a subclass are its members in JSON, by the same names."""

    type: ClassVar[str]
    phases: ClassVar[frozenset[Phase]] = frozenset()
    """Of a hand, in which it can be legal and is offered; in others nobody need ask."""

    @classmethod
    def can_occur(cls, rules: RuleSet) -> bool:
        """Whether a game by *rules* can come to it."""
        return True

    @classmethod
    def candidates(cls, view: PlayerView) -> Iterable[Action]:
        """All of this kind that *view*'s viewer might do, each once in its shortest form, legal or not."""
        raise NotImplementedError

    @classmethod
    def refused_kind(cls, view: PlayerView) -> Refusal | None:
        """Why the viewer may do nothing of this kind now."""
        raise NotImplementedError

    def refused(self, view: PlayerView) -> Refusal | None:
        """Why the viewer may not do just this, where the kind is allowed. Raises `MalformedActionError`."""
        return None

    def apply(self, state: GameState, seat: Seat) -> Transition:
        """What follows when *seat* does this. Only after `check`."""
        raise NotImplementedError

    def members(self) -> dict[str, Member]:
        """Its members as JSON values, without those that are not set."""
        members: dict[str, Member] = {}
        for name in field_names(type(self)):
            value: Card | Member | None = getattr(self, name)
            if value is not None and value is not False:
                members[name] = str(value) if isinstance(value, Card | StrEnum) else value
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class Play(Action):
    """Lay a card, named by itself or by its slot; in a blind hand by its slot only."""

    type = "play"
    phases = frozenset((Phase.PLAY,))
    card: Card | None = None
    slot: int | None = None
    covered: bool = False

    def __post_init__(self) -> None:
        if self.card is None and self.slot is None:
            raise MalformedActionError("card", "play needs a card or a slot")
        if self.card is not None and self.slot is not None:
            raise MalformedActionError("slot", "play takes a card or a slot, not both")

    @classmethod
    def candidates(cls, view: PlayerView) -> Iterable[Play]:
        may_cover = _refused_cover(view.table) is None
        for held in view.own:
            slot = held.slot if held.card is None else None
            yield cls(card=held.card, slot=slot)
            if may_cover:
                yield cls(card=held.card, slot=slot, covered=True)

    @classmethod
    def refused_kind(cls, view: PlayerView) -> Refusal | None:
        seat, hand = _seat_and_hand(view)
        return _refused_while_answer_is_due(view.table, hand, "card") or _refused_out_of_turn(hand, seat)

    def refused(self, view: PlayerView) -> Refusal | None:
        if self.covered and (refusal := _refused_cover(view.table)):
            return refusal
        for held in view.own:
            if self._names(held.slot, held.card):
                return None
        what = f"the card {self.card}" if self.slot is None else f"a card in slot {self.slot}"
        how = "; in a blind hand cards are named by slot" if view.table.is_blind else ""
        return Refusal(Reason.CARD_NOT_HELD, f"seat {view.viewer} cannot name {what}{how}")

    def _names(self, slot: int, card: Card | None) -> bool:
        return slot == self.slot if self.card is None else card == self.card

    def apply(self, state: GameState, seat: Seat) -> Transition:
        slot = next(
            slot for slot, card in enumerate(state.secrets.hands[seat]) if card is not None and self._names(slot, card)
        )
        return flow.play_card(state, seat, slot, self.covered)


def _refused_cover(table: Table) -> Refusal | None:
    first = table.rules.covered_from_trick
    if table.is_blind:
        return Refusal(Reason.COVERED_FORBIDDEN, "no card is covered in a blind hand")
    if first is None:
        return Refusal(Reason.COVERED_FORBIDDEN, "these rules allow no covered card")
    assert table.hand is not None
    running = len(table.hand.results) + 1
    if running < first:
        return Refusal(Reason.COVERED_FORBIDDEN, f"this is trick {running}, cards may be covered from trick {first}")
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise(Action):
    """Ask for the next step of the ladder. Where that is not allowed it costs `penalty`, or is refused."""

    type = "raise"
    phases = frozenset(
        (
            Phase.PLAY,
            Phase.ANSWER,
        )
    )
    to: int | None = None
    """The next step; None means just that."""
    penalty: Penalty | None = None

    @classmethod
    def candidates(cls, view: PlayerView) -> Iterable[Raise]:
        penalty = view.table.raise_penalty
        step = _next_step(view.table)
        if penalty is not None:
            yield cls(penalty=penalty)
        elif step is not None:
            yield cls(to=step)

    @classmethod
    def refused_kind(cls, view: PlayerView) -> Refusal | None:
        seat, hand = _seat_and_hand(view)
        table, team = view.table, team_of(seat)
        is_answer = hand.phase is Phase.ANSWER and table.answering_team == team
        unasked = None if is_answer else cls._refused_unasked(table, hand, seat)
        if refusal := unasked or cls._refused_here(table, team):
            return refusal
        if _next_step(table) is None:
            return Refusal(Reason.LADDER_EXHAUSTED, f"there is no step above {table.rules.ladder[-1]}")
        if not is_answer and hand.raised_by == team:
            return Refusal(
                Reason.SAME_TEAM_RAISE,
                f"seat {seat} may not raise: its team made the last raise (worth {hand.value} now)",
            )
        return None

    @staticmethod
    def _refused_unasked(table: Table, hand: Hand, seat: Seat) -> Refusal | None:
        refusal = _refused_while_answer_is_due(table, hand, "raise")
        if table.rules.raise_timing is RaiseTiming.OWN_TURN or hand.phase is not Phase.PLAY:
            refusal = refusal or _refused_out_of_turn(hand, seat)
        return refusal

    @staticmethod
    def _refused_here(table: Table, team: Team) -> Refusal | None:
        penalty, cost = table.raise_penalty, table.rules.eleven_value
        if penalty is Penalty.FORBIDDEN:
            return Refusal(Reason.RAISE_FORBIDDEN, "nobody may raise in this hand")
        if penalty is Penalty.LOSE_POINTS and table.score[team] < cost:
            detail = f"a raise costs {cost} points here, team {team} has {table.score[team]}"
            return Refusal(Reason.RAISE_FORBIDDEN, detail)
        return None

    def refused(self, view: PlayerView) -> Refusal | None:
        table = view.table
        step, penalty = _next_step(table), table.raise_penalty
        if self.to not in (None, step):
            return Refusal(Reason.WRONG_STEP, f"the next step is {step}, not {self.to}")
        if self.penalty not in (None, penalty):
            return Refusal(Reason.WRONG_STEP, f"a raise costs {penalty or 'nothing'} here, not {self.penalty}")
        return None

    def apply(self, state: GameState, seat: Seat) -> Transition:
        table, hand = state.table, state.table.hand
        step, penalty = _next_step(table), table.raise_penalty
        assert hand is not None and step is not None
        raised = Raised(seat=seat, to=step, penalty=penalty)
        if penalty is not None:
            taken = _take_penalty(state, seat, penalty)
            return Transition(taken.state, (raised, *taken.events))
        if hand.pending is not None:
            hand = replace(hand, value=hand.pending.to, raised_by=hand.pending.team)
        hand = replace(hand, phase=Phase.ANSWER, pending=PendingRaise(seat, step))
        return Transition(replace(state, table=replace(table, hand=hand)), (raised,))


def _next_step(table: Table) -> int | None:
    """What a raise would ask for now; None at the top of the ladder."""
    assert table.hand is not None
    pending = table.hand.pending
    return table.rules.step_after(table.hand.value if pending is None else pending.to)


def _take_penalty(state: GameState, seat: Seat, penalty: Penalty) -> Transition:
    """The raiser's team pays and the hand is void (S2 "perderá três tentos", S4 "perde o jogo")."""
    table, team = state.table, team_of(seat)
    points = table.rules.eleven_value if penalty is Penalty.LOSE_POINTS else 0
    score = flow.add_points(table.score, team, -points)
    closed = flow.close_hand(replace(state, table=replace(table, score=score)), HandReason.PENALTY)
    paid = PenaltyTaken(seat=seat, kind=penalty, points=points, score=score)
    if penalty is Penalty.LOSE_POINTS:
        return Transition(closed, (paid,))
    won = flow.win_game(closed, other_team(team), GameReason.PENALTY)
    return Transition(won.state, (paid, *won.events))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer(Action):
    """Accept or fold: the answer to a raise, or the decision of a mão de onze."""

    @classmethod
    def candidates(cls, view: PlayerView) -> Iterable[Action]:
        yield cls()

    @classmethod
    def refused_kind(cls, view: PlayerView) -> Refusal | None:
        seat, hand = _seat_and_hand(view)
        if hand.phase not in (Phase.ELEVEN, Phase.ANSWER):
            return Refusal(Reason.NOTHING_TO_ANSWER, f"no raise waits and the hand is in phase {hand.phase}")
        answers = view.table.answering_team
        if answers != team_of(seat):
            detail = f"team {answers} answers, seat {seat} is of team {team_of(seat)}"
            return Refusal(Reason.NOT_YOUR_TEAM_TO_ANSWER, detail)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept(_Answer):
    type = "accept"
    phases = frozenset(
        (
            Phase.ELEVEN,
            Phase.ANSWER,
        )
    )

    def apply(self, state: GameState, seat: Seat) -> Transition:
        hand = state.table.hand
        assert hand is not None
        accepted = replace(hand, phase=Phase.PLAY, pending=None)
        if hand.pending is not None:
            accepted = replace(accepted, value=hand.pending.to, raised_by=hand.pending.team)
        return Transition(
            replace(state, table=replace(state.table, hand=accepted)),
            (Accepted(seat=seat, of=_answered(hand), value=accepted.value),),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold(_Answer):
    type = "fold"
    phases = frozenset(
        (
            Phase.ELEVEN,
            Phase.ANSWER,
        )
    )

    def apply(self, state: GameState, seat: Seat) -> Transition:
        hand = state.table.hand
        assert hand is not None
        points = state.table.rules.ladder[0] if hand.phase is Phase.ELEVEN else hand.value
        won = flow.win_hand(state, other_team(team_of(seat)), points, HandReason.FOLDED)
        folded = Folded(seat=seat, of=_answered(hand), value=points)
        return Transition(won.state, (folded, *won.events))


def _answered(hand: Hand) -> str:
    return "eleven" if hand.phase is Phase.ELEVEN else "raise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Show(Action):
    """Lay the held cards open as a proven win; the hand ends at once (S2, "Mão de 11")."""

    type = "show"
    phases = frozenset((Phase.PLAY,))

    @classmethod
    def can_occur(cls, rules: RuleSet) -> bool:
        return rules.eleven_show

    @classmethod
    def candidates(cls, view: PlayerView) -> Iterable[Show]:
        yield cls()

    @classmethod
    def refused_kind(cls, view: PlayerView) -> Refusal | None:
        seat, hand = _seat_and_hand(view)
        if not view.table.rules.eleven_show or hand.kind is Kind.NORMAL or view.table.is_blind:
            return Refusal(Reason.SHOW_FORBIDDEN, "cards are shown only in an open mão de onze that allows it")
        if refusal := _refused_while_answer_is_due(view.table, hand, "show") or _refused_out_of_turn(hand, seat):
            return refusal
        if not wins_for_sure(view):
            return Refusal(Reason.SHOW_NOT_PROVEN, f"the cards of seat {seat} do not win against everything")
        return None

    def apply(self, state: GameState, seat: Seat) -> Transition:
        hand = state.table.hand
        assert hand is not None
        cards = tuple(card for card in state.secrets.hands[seat] if card is not None)
        won = flow.win_hand(state, team_of(seat), hand.value, HandReason.SHOWN, Shown(seat, cards))
        return Transition(won.state, (CardsShown(seat=seat, cards=cards), *won.events))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut(Action):
    """Cut the pack, or leave it as it is and perhaps take its top three cards for a seat of the team (S2)."""

    type = "cut"
    phases = frozenset((Phase.CUT,))
    cut: CutKind
    at: int | None = None
    """How many cards go from top to bottom."""
    take_for: Seat | None = None

    @classmethod
    def can_occur(cls, rules: RuleSet) -> bool:
        return rules.dealing is Dealing.CUT

    def __post_init__(self) -> None:
        if (self.cut is CutKind.AT) != (self.at is not None):
            raise MalformedActionError("at", "goes with cut: at, and only with it")
        if self.cut is CutKind.AT and self.take_for is not None:
            raise MalformedActionError("take_for", "cards are taken only after a dry cut or none")

    @classmethod
    def candidates(cls, view: PlayerView) -> Iterable[Cut]:
        rules = view.table.rules
        for at in range(1, len(rules.deck.cards)):
            yield cls(cut=CutKind.AT, at=at)
        for cut in (CutKind.DRY, CutKind.NONE):
            yield cls(cut=cut)
            for seat in range(rules.seats):
                if view.viewer is not None and team_of(seat) == team_of(view.viewer):
                    yield cls(cut=cut, take_for=seat)

    @classmethod
    def refused_kind(cls, view: PlayerView) -> Refusal | None:
        seat, hand = _seat_and_hand(view)
        if hand.phase is not Phase.CUT or view.table.cutter != seat:
            return Refusal(Reason.NOT_YOUR_TURN, f"seat {seat} has no pack to cut in phase {hand.phase}")
        return None

    def refused(self, view: PlayerView) -> Refusal | None:
        seat, _ = _seat_and_hand(view)
        deepest = len(view.table.rules.deck.cards) - 1
        if self.at is not None and not 1 <= self.at <= deepest:
            raise MalformedActionError("at", f"must be 1 to {deepest} in this deck")
        if self.take_for is not None and (
            not 0 <= self.take_for < view.table.rules.seats or team_of(self.take_for) != team_of(seat)
        ):
            raise MalformedActionError("take_for", f"must be a seat of team {team_of(seat)}")
        return None

    def apply(self, state: GameState, seat: Seat) -> Transition:
        hand, pack = state.table.hand, state.secrets.pack
        assert hand is not None
        depth = self.at or 0
        hand = replace(hand, phase=Phase.DEAL, take_for=self.take_for)
        return Transition(
            GameState(
                replace(state.table, hand=hand),
                replace(state.secrets, pack=pack[depth:] + pack[:depth]),
            ),
            (PackCut(seat=seat, cut=self.cut, at=self.at, take_for=self.take_for),),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Deal(Action):
    """Deal from one end of the pack; the choice cannot change after the first card, so it is one action (S2)."""

    type = "deal"
    phases = frozenset((Phase.DEAL,))
    deal_from: DealFrom
    deal_style: DealStyle

    @classmethod
    def can_occur(cls, rules: RuleSet) -> bool:
        return rules.dealing is Dealing.CUT

    @classmethod
    def candidates(cls, view: PlayerView) -> Iterable[Deal]:
        for deal_from in DealFrom:
            for deal_style in DealStyle:
                yield cls(deal_from=deal_from, deal_style=deal_style)

    @classmethod
    def refused_kind(cls, view: PlayerView) -> Refusal | None:
        seat, hand = _seat_and_hand(view)
        if hand.phase is not Phase.DEAL or hand.dealer != seat:
            return Refusal(Reason.NOT_YOUR_TURN, f"seat {seat} has no cards to deal in phase {hand.phase}")
        return None

    def apply(self, state: GameState, seat: Seat) -> Transition:
        return flow.deal(state, self.deal_from, self.deal_style)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resign(Action):
    """Give the game up for the whole team. Always legal, never offered."""

    type = "resign"

    @classmethod
    def candidates(cls, view: PlayerView) -> Iterable[Resign]:
        return ()

    @classmethod
    def refused_kind(cls, view: PlayerView) -> Refusal | None:
        """Nothing stands against it while the game runs."""
        return None

    def apply(self, state: GameState, seat: Seat) -> Transition:
        won = _give_up(state, seat, HandReason.RESIGNED, GameReason.RESIGNED)
        return Transition(won.state, (Resigned(seat=seat, team=team_of(seat)), *won.events))


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandon(Resign):
    """What the service does for a seat that has let its time run out too often: its team loses the game."""

    type = "abandon"

    def apply(self, state: GameState, seat: Seat) -> Transition:
        return _give_up(state, seat, HandReason.ABANDONED, GameReason.ABANDONED)


def _give_up(state: GameState, seat: Seat, of_hand: HandReason, of_game: GameReason) -> Transition:
    return flow.win_game(flow.close_hand(state, of_hand), other_team(team_of(seat)), of_game)


ACTIONS: Final = {cls.type: cls for cls in (Play, Raise, Accept, Fold, Show, Cut, Deal, Resign)}
"""Every kind of action that a seat can take, by its type."""

LOGGED_ACTIONS: Final = {**ACTIONS, Abandon.type: Abandon}
"""And the one that only the service takes for it."""

HIGHEST_SLOT: Final = HAND_SIZE - 1


_OFFERED: Final = {phase: tuple(cls for cls in ACTIONS.values() if phase in cls.phases) for phase in Phase}


def legal_actions(view: PlayerView) -> tuple[Action, ...]:
    """Every action that the viewer may take now, each once in its shortest form; () for a spectator."""
    hand = view.table.hand
    if view.viewer is None or hand is None or view.table.result is not None:
        return ()
    legal: list[Action] = []
    for cls in _OFFERED[hand.phase]:
        if cls.refused_kind(view) is None:
            legal += [action for action in cls.candidates(view) if action.refused(view) is None]
    return tuple(legal)


def check(view: PlayerView, action: Action) -> None:
    """Raises `IllegalActionError` or `MalformedActionError` if *view*'s viewer may not do *action* now."""
    refusal = _refused(view, action)
    if refusal is not None:
        raise IllegalActionError(*refusal)


def _refused(view: PlayerView, action: Action) -> Refusal | None:
    result, (_, hand) = view.table.result, _seat_and_hand(view)
    if result is not None:
        return Refusal(Reason.GAME_FINISHED, f"team {result.winner} has won the game")
    if hand.phase is Phase.OVER:
        return Refusal(Reason.HAND_OVER, f"hand {hand.number} is over")
    return action.refused_kind(view) or action.refused(view)


def apply(state: GameState, seat: Seat, action: Action) -> Transition:
    """What follows when *seat* does *action*; raises `IllegalActionError`, `MalformedActionError`, changing nothing.

    When a hand ends and the game goes on, the state is in phase `over` and `flow.start_hand` is next.
    """
    check(view_for(state, seat), action)
    return action.apply(state, seat)


def _seat_and_hand(view: PlayerView) -> tuple[Seat, Hand]:
    assert view.viewer is not None and view.table.hand is not None
    return view.viewer, view.table.hand


def _refused_while_answer_is_due(table: Table, hand: Hand, what: str) -> Refusal | None:
    if hand.phase in (Phase.ELEVEN, Phase.ANSWER):
        return Refusal(Reason.ANSWER_PENDING, f"no {what} before team {table.answering_team} has answered")
    return None


def _refused_out_of_turn(hand: Hand, seat: Seat) -> Refusal | None:
    if hand.phase is not Phase.PLAY:
        return Refusal(Reason.NOT_YOUR_TURN, f"the hand is in phase {hand.phase}")
    if hand.to_play != seat:
        return Refusal(Reason.NOT_YOUR_TURN, f"it is the turn of seat {hand.to_play}, not of seat {seat}")
    return None
