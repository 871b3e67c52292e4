"""Random games from fixed seeds, and every action one could think of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from random import Random
from typing import Final

from service.engine.actions import (
    Accept,
    Action,
    Cut,
    CutKind,
    Deal,
    Fold,
    IllegalActionError,
    MalformedActionError,
    Play,
    Raise,
    Resign,
    Show,
    apply,
    legal_actions,
)
from service.engine.cards import HAND_SIZE, Card
from service.engine.events import Event
from service.engine.flow import new_game, start_hand
from service.engine.rules import PRESETS, Dealing, Penalty, RuleSet
from service.engine.state import DealFrom, DealStyle, GameState, Phase, Score, Seat
from service.engine.view import view_for

WEIGHTS: Final[dict[type[Action], float]] = {Play: 12, Accept: 4, Show: 40, Fold: 1.2, Raise: 1, Cut: 1, Deal: 1}
"""How often a random player does each, so that hands are played out more often than folded."""
PENALTY_WEIGHT: Final = 0.4

TYING: Final = 0.8
STACKED: Final = 0.3
"""How often a random player ties if it can, and a pack makes that likely: full ties would be too rare otherwise."""


@dataclass(frozen=True)
class Start:
    """Where a random game begins."""

    preset: str
    seats: int
    ahead: str = "nobody"
    """Who is one step short of the target: nobody, team 0, team 1, or both."""
    game: int = 0
    """Which of several games with the same start."""

    def __str__(self) -> str:
        return f"{self.preset}-{self.seats}-{self.ahead.replace(' ', '')}-{self.game}"

    @property
    def rules(self) -> RuleSet:
        return replace(PRESETS[self.preset].rules, seats=self.seats)

    @property
    def score(self) -> Score:
        short = self.rules.one_short
        return {
            "nobody": (0, 0),
            "team 0": (short, short // 2),
            "team 1": (short - self.rules.ladder[1], short),
            "both": (short, short),
        }[self.ahead]

    @property
    def seed(self) -> str:
        return str(self)


STARTS: Final = [
    Start(preset, seats, ahead)
    for preset, seats, ahead in product(PRESETS, (2, 4, 6), ("nobody", "team 0", "team 1", "both"))
]
"""Every preset with every number of seats, from an even score and from its special hands."""


@dataclass(frozen=True)
class Turn:
    """One step of a game: *seat* did *action*, or, if both are None, a hand began with *pack*."""

    before: GameState
    seat: Seat | None
    action: Action | None
    pack: tuple[Card, ...]
    after: GameState
    events: tuple[Event, ...]


@cache
def random_game(start: Start) -> tuple[Turn, ...]:
    """A game played at random to its end; the same for everyone who asks."""
    return tuple(_turns(start))


def first_hands(start: Start, hands: int) -> list[Turn]:
    """The first *hands* hands of the game."""
    return [turn for turn in random_game(start) if turn.after.table.hand and turn.after.table.hand.number <= hands]


def _turns(start: Start) -> Iterator[Turn]:
    rng = Random(start.seed)
    rules = start.rules
    state = new_game(rules, rng.randrange(rules.seats), start.score).state
    while state.table.result is None:
        hand = state.table.hand
        if hand is None or hand.phase is Phase.OVER:
            cards = shuffled(rules, rng)
            begun = start_hand(state, cards)
            yield Turn(state, None, None, cards, begun.state, begun.events)
            state = begun.state
        else:
            seat, action = _choice(state, rng)
            done = apply(state, seat, action)
            yield Turn(state, seat, action, (), done.state, done.events)
            state = done.state


def shuffled(rules: RuleSet, rng: Random) -> tuple[Card, ...]:
    """A shuffled pack; some give the leader and the next seat the same ranks, so that three tricks may tie."""
    pack = rng.sample(rules.deck.cards, len(rules.deck.cards))
    if rng.random() < STACKED:
        for first in range(0, HAND_SIZE * rules.seats, rules.seats):
            later = range(first + 1, len(pack))
            same = next((place for place in later if pack[place].rank == pack[first].rank), first + 1)
            pack[first + 1], pack[same] = pack[same], pack[first + 1]
    return tuple(pack)


def _choice(state: GameState, rng: Random) -> tuple[Seat, Action]:
    options: dict[type[Action], list[tuple[Seat, Action]]] = {}
    for seat in range(state.table.rules.seats):
        for action in legal_actions(view_for(state, seat)):
            options.setdefault(type(action), []).append((seat, action))
    assert options, f"nobody can do anything: {state}"
    weights = [
        PENALTY_WEIGHT if kind is Raise and state.table.raise_penalty is not None else WEIGHTS[kind] for kind in options
    ]
    (kind,) = rng.choices(list(options), weights)
    ties = [(seat, action) for seat, action in options[kind] if _might_tie(state, action)]
    return rng.choice(ties if ties and rng.random() < TYING else options[kind])


def _might_tie(state: GameState, action: Action) -> bool:
    """Whether *action* lays a card as strong as the best of the running trick."""
    hand = state.table.hand
    if not isinstance(action, Play) or action.card is None or action.covered or hand is None or not hand.tricks:
        return False
    strength = state.table.strengths
    laid = [strength[play.card] for play in hand.tricks[-1].plays if play.card is not None]
    return not hand.tricks[-1].is_decided and strength[action.card] == max(laid, default=None)


def every_action(rules: RuleSet) -> list[Action]:
    """What anyone might send in a game of *rules*: cards, slots, steps, depths and seats, right and wrong ones."""
    foreign = [Card.parse(text) for text in ("QC", "10C", "AD", "1D")]
    named: list[Action] = [Play(card=card) for card in dict.fromkeys((*rules.deck.cards, *foreign))]
    named += [Play(slot=slot) for slot in range(-1, HAND_SIZE + 1)]
    plays = [*named, *(replace(play, covered=True) for play in named if isinstance(play, Play))]
    steps = [None, *rules.ladder, rules.ladder[0] + 1, rules.ladder[-1] + 1, 0]
    raises = [Raise(to=to, penalty=penalty) for to, penalty in product(steps, [None, *Penalty])]
    size = len(rules.deck.cards)
    depths = range(-1, size + 2) if rules.dealing is Dealing.CUT else (0, 1, size)
    cuts = [Cut(cut=CutKind.AT, at=at) for at in depths]
    takers = [None, *range(-1, rules.seats + 2)]
    cuts += [Cut(cut=cut, take_for=seat) for cut, seat in product((CutKind.DRY, CutKind.NONE), takers)]
    deals = [Deal(deal_from=end, deal_style=style) for end, style in product(DealFrom, DealStyle)]
    return [*plays, *raises, Accept(), Fold(), Show(), *cuts, *deals, Resign()]


def refusal(state: GameState, seat: Seat, action: Action) -> tuple[str, str] | None:
    """The code and the text with which *action* is refused, None if it is accepted."""
    try:
        apply(state, seat, action)
    except IllegalActionError as refused:
        return str(refused.reason), refused.detail
    except MalformedActionError as refused:
        return refused.member, refused.detail
    return None
