"""The values a game is made of. `Table` is what lies open to all; `Secrets` is the rest, and is never printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from service.engine.cards import HAND_SIZE, Card, Strengths, manilhas_of, strengths
from service.engine.rules import AllTied, ElevenAllTied, IronCards, Penalty, RuleSet

Seat = int
"""0..n-1 in the order of play."""
Team = int
"""0: the even seats, 1: the odd ones."""
Score = tuple[int, int]


def team_of(seat: Seat) -> Team:
    return seat % 2


def other_team(team: Team) -> Team:
    return 1 - team


class Kind(StrEnum):
    NORMAL = "normal"
    MAO_DE_ONZE = "mao_de_onze"
    MAO_DE_FERRO = "mao_de_ferro"


class Phase(StrEnum):
    """What a hand waits for."""

    CUT = "cut"
    DEAL = "deal"
    ELEVEN = "eleven"
    PLAY = "play"
    ANSWER = "answer"
    OVER = "over"


class HandReason(StrEnum):
    TRICKS = "tricks"
    ALL_TIED = "all_tied"
    FOLDED = "folded"
    PENALTY = "penalty"
    SHOWN = "shown"
    RESIGNED = "resigned"
    ABANDONED = "abandoned"


class GameReason(StrEnum):
    TARGET = "target"
    PENALTY = "penalty"
    RESIGNED = "resigned"
    ABANDONED = "abandoned"


class DealFrom(StrEnum):
    TOP = "top"
    BOTTOM = "bottom"


class DealStyle(StrEnum):
    ONE_BY_ONE = "one_by_one"
    THREE_AT_A_TIME = "three_at_a_time"


@dataclass(frozen=True, slots=True)
class Play:
    """A card on the table; `card` is None when it lies covered."""

    seat: Seat
    card: Card | None

    @property
    def covered(self) -> bool:
        return self.card is None


@dataclass(frozen=True, slots=True)
class Trick:
    """`winner` is the seat that leads next, whose team won; None while the trick runs and when it tied."""

    opener: Seat
    plays: tuple[Play, ...]
    winner: Seat | None = None
    tied: bool = False

    @property
    def is_decided(self) -> bool:
        return self.tied or self.winner is not None

    @property
    def winning_team(self) -> Team | None:
        return None if self.winner is None else team_of(self.winner)


@dataclass(frozen=True, slots=True)
class Raise:
    """A raise that waits for its answer."""

    seat: Seat
    to: int

    @property
    def team(self) -> Team:
        return team_of(self.seat)


@dataclass(frozen=True, slots=True)
class Hand:
    """One deal, as all see it. `value` is what stands now, without a raise that waits."""

    number: int
    kind: Kind
    dealer: Seat
    value: int
    phase: Phase
    to_play: Seat | None = None
    """Owes the next card, also while an answer or a decision is due; None before the deal and when over."""
    vira: Card | None = None
    """None before the deal, face down, and with fixed manilhas."""
    pending: Raise | None = None
    raised_by: Team | None = None
    """Whose raise was accepted last."""
    tricks: tuple[Trick, ...] = ()
    """Those with a card in them, the running one last."""
    take_for: Seat | None = None
    """Who was given the top three cards by the cutter."""

    @property
    def results(self) -> tuple[Team | None, ...]:
        """The winning team of each decided trick, None for a tie."""
        return tuple(trick.winning_team for trick in self.tricks if trick.is_decided)

    @property
    def is_dealt(self) -> bool:
        return self.phase not in (Phase.CUT, Phase.DEAL)

    def cards_played(self, seat: Seat) -> int:
        return [play.seat for trick in self.tricks for play in trick.plays].count(seat)


@dataclass(frozen=True, slots=True)
class Shown:
    """A proven win: the cards that the seat laid open."""

    seat: Seat
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class LastHand:
    """A hand that is over; `winner` None and `points` 0 when nobody scored by it."""

    number: int
    kind: Kind
    vira: Card | None
    value: int
    tricks: tuple[Trick, ...]
    winner: Team | None
    points: int
    reason: HandReason
    shown: Shown | None = None


@dataclass(frozen=True, slots=True)
class Result:
    winner: Team
    reason: GameReason


@dataclass(frozen=True, slots=True)
class Table:
    """Everything open to all. Holds no secret by construction: a face-down card is not in it."""

    rules: RuleSet
    first_dealer: Seat
    score: Score = (0, 0)
    hand: Hand | None = None
    """None only before the first hand starts."""
    last_hand: LastHand | None = None
    result: Result | None = None

    @property
    def leg(self) -> int:
        """Which volta is being played: the second once a team has half the target (legs: 2)."""
        legs = self.rules.legs
        return legs if max(self.score) * legs >= self.rules.target else 1

    @property
    def manilhas(self) -> tuple[Card, ...] | None:
        """Strongest first; None while the vira is not open."""
        if self.rules.manilhas is not None:
            return self.rules.manilhas
        if self.hand is None or self.hand.vira is None:
            return None
        return manilhas_of(self.rules.deck, self.hand.vira)

    @property
    def strengths(self) -> Strengths:
        """Of every card in this hand. Only for a hand whose manilhas are known."""
        manilhas = self.manilhas
        assert manilhas is not None, "nothing is compared before the vira is open"
        return strengths(self.rules.deck, manilhas)

    @property
    def is_blind(self) -> bool:
        """Nobody sees their own cards in this hand."""
        return (
            self.hand is not None
            and self.hand.kind is Kind.MAO_DE_FERRO
            and self.rules.iron_cards is not IronCards.OPEN
        )

    @property
    def raise_penalty(self) -> Penalty | None:
        """What a raise costs in this hand; None: nothing, it is an ordinary raise."""
        if self.hand is None or self.hand.kind is Kind.NORMAL:
            return None
        if self.hand.kind is Kind.MAO_DE_ONZE:
            return self.rules.eleven_raise
        return self.rules.iron_raise

    @property
    def eleven_team(self) -> Team | None:
        """The one team that is a first step short of the target; None if both or neither are."""
        short = [team for team in (0, 1) if self.score[team] == self.rules.one_short]
        return short[0] if len(short) == 1 else None

    @property
    def answering_team(self) -> Team | None:
        """Who owes an answer to a raise or the decision of a mão de onze."""
        if self.hand is None:
            return None
        if self.hand.phase is Phase.ELEVEN:
            return self.eleven_team
        return None if self.hand.pending is None else other_team(self.hand.pending.team)

    @property
    def waited_for(self) -> tuple[Seat, ...]:
        """The seats that the game waits for, lowest first; () when it is over."""
        hand = self.hand
        if hand is None or hand.phase is Phase.OVER:
            return ()
        if hand.phase is Phase.CUT:
            return (self.cutter,)
        if hand.phase is Phase.DEAL:
            return (hand.dealer,)
        if hand.phase is Phase.PLAY:
            assert hand.to_play is not None
            return (hand.to_play,)
        team = self.answering_team
        return () if team is None else tuple(range(team, self.rules.seats, 2))

    @property
    def cutter(self) -> Seat:
        """The seat before the dealer."""
        assert self.hand is not None
        return (self.hand.dealer - 1) % self.rules.seats

    @property
    def leader(self) -> Seat:
        """The seat after the dealer, first to play."""
        assert self.hand is not None
        return (self.hand.dealer + 1) % self.rules.seats

    @property
    def winner_if_all_tied(self) -> Team | None:
        """Who wins the hand if all its tricks tie; None: nobody."""
        assert self.hand is not None
        if self.eleven_team is not None and self.rules.eleven_all_tied is ElevenAllTied.OPPONENTS:
            return other_team(self.eleven_team)
        return {
            AllTied.NOBODY: None,
            AllTied.DEALER_TEAM: team_of(self.hand.dealer),
            AllTied.LEADER_TEAM: team_of(self.leader),
        }[self.rules.all_tied]

    def cards_left(self, seat: Seat) -> int:
        if self.hand is None or not self.hand.is_dealt:
            return 0
        return HAND_SIZE - self.hand.cards_played(seat)


@dataclass(frozen=True, slots=True)
class CoveredCard:
    """The face of a card that its seat played face down; `trick` counts from 0."""

    seat: Seat
    trick: int
    card: Card


@dataclass(frozen=True, slots=True)
class Secrets:
    """What does not lie open. Never in a repr, so never in a log or a traceback."""

    hands: tuple[tuple[Card | None, ...], ...] = field(default=(), repr=False)
    """Per seat the dealt cards by slot, None once played; () before the deal."""
    pack: tuple[Card, ...] = field(default=(), repr=False)
    """Top first, from the shuffle to the deal; () afterwards."""
    vira: Card | None = field(default=None, repr=False)
    """The vira that lies face down (blind_hidden_vira)."""
    covered: tuple[CoveredCard, ...] = field(default=(), repr=False)
    last_covered: tuple[CoveredCard, ...] = field(default=(), repr=False)
    """The covered cards of the last hand."""


@dataclass(frozen=True, slots=True)
class GameState:
    table: Table
    secrets: Secrets
