"""What differs between the variants: one immutable `RuleSet` a game, and the presets as data.

The fields and their values are rulebook section 3, the presets section 4. A preset's name is read nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from service.engine.cards import Card, Deck, Suit, parse_cards


class RaiseTiming(StrEnum):
    OWN_TURN = "own_turn"
    ANY_TIME = "any_time"


class AllTied(StrEnum):
    """Who wins a hand whose three tricks all tied."""

    NOBODY = "nobody"
    DEALER_TEAM = "dealer_team"
    LEADER_TEAM = "leader_team"


class TieLeader(StrEnum):
    """Who opens the trick after a tied one."""

    OPENER = "opener"
    FIRST_TIED = "first_tied"
    LAST_TIED = "last_tied"
    HAND_LEADER = "hand_leader"


class Penalty(StrEnum):
    """What a raise costs where it is not allowed; `FORBIDDEN`: it is refused instead."""

    FORBIDDEN = "forbidden"
    LOSE_POINTS = "lose_points"
    LOSE_GAME = "lose_game"


class ElevenAllTied(StrEnum):
    ALL_TIED = "all_tied"
    OPPONENTS = "opponents"


class IronCards(StrEnum):
    OPEN = "open"
    BLIND = "blind"
    BLIND_HIDDEN_VIRA = "blind_hidden_vira"


class Dealing(StrEnum):
    AUTOMATIC = "automatic"
    CUT = "cut"


SEATS: Final = (2, 4, 6)
CALLS: Final = ("truco", "seis", "nove", "doze")
STEPS_ALLOWED: Final = (2, 8)
MOST_POINTS: Final = 99


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """Why one field of a rule set makes it unplayable."""

    field: str
    detail: str


class UnplayableRulesError(ValueError):
    """A combination of rules that no game can be played by; `problems` names every field at fault."""

    def __init__(self, problems: tuple[FieldProblem, ...]) -> None:
        super().__init__("; ".join(f"{problem.field}: {problem.detail}" for problem in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The rules of one game; the defaults are the preset `paulista` (S1, dirty deck).

    Raises `UnplayableRulesError` for a combination that cannot be played (rulebook 4).
    """

    deck: Deck = Deck.FRENCH40
    manilhas: tuple[Card, ...] | None = None
    """Fixed ones, strongest first; None: the vira names them."""
    ladder: tuple[int, ...] = (1, 3, 6, 9, 12)
    target: int = 12
    legs: int = 1
    raise_timing: RaiseTiming = RaiseTiming.OWN_TURN
    all_tied: AllTied = AllTied.DEALER_TEAM
    tie_leader: TieLeader = TieLeader.OPENER
    covered_from_trick: int | None = 2
    """Counted from 1; None: never."""
    eleven_decision: bool = True
    eleven_partner_cards: bool = True
    eleven_raise: Penalty = Penalty.FORBIDDEN
    eleven_all_tied: ElevenAllTied = ElevenAllTied.ALL_TIED
    eleven_show: bool = False
    iron_cards: IronCards = IronCards.OPEN
    iron_raise: Penalty = Penalty.FORBIDDEN
    dealing: Dealing = Dealing.AUTOMATIC
    seats: int = 4

    def __post_init__(self) -> None:
        problems = (
            *_manilha_problems(self),
            *_ladder_problems(self),
            *_target_problems(self),
        )
        if problems:
            raise UnplayableRulesError(problems)

    @property
    def one_short(self) -> int:
        """The score of a team in its mão de onze: one first step below the target."""
        return self.target - self.ladder[0]

    @property
    def eleven_value(self) -> int:
        """What a mão de onze is worth, and what `lose_points` costs."""
        return self.ladder[1]

    def step_after(self, value: int) -> int | None:
        """The next step of the ladder above *value*; None at the top."""
        for step in self.ladder:
            if step > value:
                return step
        return None


def _manilha_problems(rules: RuleSet) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    if rules.manilhas is None:
        return problems
    in_deck = set(rules.manilhas) & set(rules.deck.cards)
    if not len(rules.manilhas) == len(in_deck) == len(Suit):
        problems.append(FieldProblem("manilhas", f"must be four different cards of {rules.deck}, strongest first"))
    if rules.iron_cards is IronCards.BLIND_HIDDEN_VIRA:
        problems += [
            FieldProblem("manilhas", "fixed manilhas turn no vira that could be hidden"),
            FieldProblem("iron_cards", "blind_hidden_vira needs manilhas that the vira names"),
        ]
    return problems


def _ladder_problems(rules: RuleSet) -> list[FieldProblem]:
    ladder = rules.ladder
    fewest, most = STEPS_ALLOWED
    if not fewest <= len(ladder) <= most:
        return [FieldProblem("ladder", f"has {len(ladder)} steps, must have {fewest} to {most}")]
    if any(not 1 <= step <= MOST_POINTS for step in ladder):
        return [FieldProblem("ladder", f"every step must be 1 to {MOST_POINTS}")]
    if any(low >= high for low, high in pairwise(ladder)):
        return [FieldProblem("ladder", "every step must be above the one before")]
    return []


def _target_problems(rules: RuleSet) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    if rules.target > MOST_POINTS:
        problems.append(FieldProblem("target", f"is {rules.target}, must be at most {MOST_POINTS}"))
    if rules.ladder and rules.target <= rules.ladder[0]:
        problems.append(
            FieldProblem("target", f"is {rules.target}, must be above the ladder's start {rules.ladder[0]}")
        )
    if rules.target % rules.legs:
        problems += [
            FieldProblem("legs", f"{rules.legs} legs cannot share the target {rules.target}"),
            FieldProblem("target", f"must be divisible by {rules.legs}, the number of legs"),
        ]
    return problems


@dataclass(frozen=True, slots=True)
class Preset:
    """A named variant; `seats` are the usual numbers, the default first (any of 2, 4, 6 may be asked for)."""

    name: str
    title: str
    description: str
    source: str
    seats: tuple[int, ...]
    rules: RuleSet


PAULISTA: Final = RuleSet()
_TRADICIONAL: Final = RuleSet(
    raise_timing=RaiseTiming.ANY_TIME,
    all_tied=AllTied.NOBODY,
    eleven_raise=Penalty.LOSE_POINTS,
    iron_raise=Penalty.LOSE_POINTS,
    eleven_all_tied=ElevenAllTied.OPPONENTS,
    eleven_show=True,
    dealing=Dealing.CUT,
)
_MANILHA_VELHA: Final = RuleSet(all_tied=AllTied.NOBODY, manilhas=parse_cards("4C 7H AS 7D"))

PRESETS: Final = {
    preset.name: preset
    for preset in (
        Preset(
            "paulista",
            "Truco Paulista",
            "The most common form: forty cards, the vira names the manilhas, a full tie goes to the dealer's team.",
            "S1, dirty deck",
            (4,),
            PAULISTA,
        ),
        Preset(
            "paulista-limpo",
            "Truco Paulista, baralho limpo",
            "Paulista with the clean deck of twenty-four cards.",
            "S1, clean deck",
            (4,),
            replace(PAULISTA, deck=Deck.FRENCH24),
        ),
        Preset(
            "espanhol",
            "Truco com baralho espanhol",
            "Spanish deck; at 11 x 11 nobody sees their cards and the vira lies face down through the first trick.",
            "S0",
            (4,),
            RuleSet(
                deck=Deck.SPANISH40,
                all_tied=AllTied.NOBODY,
                iron_cards=IronCards.BLIND_HIDDEN_VIRA,
            ),
        ),
        Preset(
            "tradicional",
            "Truco tradicional",
            "Cut and deal by hand, truco at any time, penalties and shown wins in the mão de onze; pairs or trios.",
            "S2",
            (4, 6),
            _TRADICIONAL,
        ),
        Preset(
            "sulista",
            "Truco do Sul",
            "Tradicional with the Spanish deck, to 24 points in two legs of 12.",
            "S2, regional",
            (4, 6),
            replace(_TRADICIONAL, deck=Deck.SPANISH40, target=24, legs=2),
        ),
        Preset(
            "simples",
            "Truco simples",
            "The shortest rules: a fully tied hand scores nothing, 11 x 11 is played blind.",
            "S3",
            (4, 2),
            RuleSet(all_tied=AllTied.NOBODY, iron_cards=IronCards.BLIND),
        ),
        Preset(
            "mano-a-mano",
            "Truco mano a mano",
            "Two players; no decision at 11, and asking truco there loses the game.",
            "S4",
            (2,),
            RuleSet(
                all_tied=AllTied.NOBODY,
                eleven_decision=False,
                eleven_partner_cards=False,
                eleven_raise=Penalty.LOSE_GAME,
                iron_raise=Penalty.LOSE_GAME,
                iron_cards=IronCards.BLIND,
                seats=2,
            ),
        ),
        Preset(
            "manilha-velha",
            "Truco com manilha velha",
            "No vira: zap 4C, copeta 7H, espadilha AS and pica-fumo 7D are always the manilhas.",
            "miniTruco, pagat",
            (4,),
            _MANILHA_VELHA,
        ),
        Preset(
            "mineiro",
            "Truco mineiro",
            "Fixed manilhas, a ladder of 2, 4, 6, 10, 12: the hand of 11 comes at 10, is worth 4, folding it gives 2.",
            "pagat, Copag",
            (4,),
            replace(_MANILHA_VELHA, ladder=(2, 4, 6, 10, 12), iron_cards=IronCards.BLIND),
        ),
    )
}

RULE_FIELDS: Final = tuple(field.name for field in fields(RuleSet))

ENUM_FIELDS: Final[Mapping[str, type[StrEnum]]] = {
    "deck": Deck,
    "raise_timing": RaiseTiming,
    "all_tied": AllTied,
    "tie_leader": TieLeader,
    "eleven_raise": Penalty,
    "eleven_all_tied": ElevenAllTied,
    "iron_cards": IronCards,
    "iron_raise": Penalty,
    "dealing": Dealing,
}

VIRA: Final = "vira"
"""How `manilhas` is written when the vira names them."""

Plain = str | int | None | Sequence[str | int]
"""A rule's value as JSON has it."""


def to_plain(rules: RuleSet) -> dict[str, Plain]:
    """Every field by its name, as JSON values."""
    plain: dict[str, Plain] = {name: getattr(rules, name) for name in RULE_FIELDS}
    plain["manilhas"] = VIRA if rules.manilhas is None else list(map(str, rules.manilhas))
    plain["ladder"] = list(rules.ladder)
    return plain


def from_plain(plain: Mapping[str, Plain], base: RuleSet = PAULISTA) -> RuleSet:
    """*base* with the fields of *plain*, which must be of their types.

    Raises `UnplayableRulesError` if the whole cannot be played, ValueError for a value that its field does not have.
    """
    values = {name: _value(name, value) for name, value in plain.items()}
    return replace(base, **values)  # type: ignore[arg-type]


def _value(name: str, value: Plain) -> object:
    if name in ENUM_FIELDS:
        return ENUM_FIELDS[name](str(value))
    if name == "manilhas":
        return None if value == VIRA else _fixed_manilhas(value)
    if name == "ladder":
        return tuple(value) if isinstance(value, Sequence) else ()
    return value


def _fixed_manilhas(value: Plain) -> tuple[Card, ...]:
    try:
        return parse_cards(map(str, value)) if isinstance(value, Sequence) else ()
    except ValueError as error:
        raise UnplayableRulesError((FieldProblem("manilhas", str(error)),)) from None
