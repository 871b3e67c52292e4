"""Rule sets: what cannot be played, the presets as the rulebook's table has them, and where a rule may be written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, asdict, fields, replace
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from service.engine import rules as rules_module
from service.engine.cards import Deck, parse_cards
from service.engine.rules import (
    CALLS,
    PRESETS,
    RULE_FIELDS,
    IronCards,
    RuleSet,
    UnplayableRulesError,
)
from service.engine.state import Table

SERVICE = Path(rules_module.__file__).parent.parent

BASE = {
    "deck": "french40",
    "manilhas": None,
    "ladder": (1, 3, 6, 9, 12),
    "target": 12,
    "legs": 1,
    "raise_timing": "own_turn",
    "all_tied": "dealer_team",
    "tie_leader": "opener",
    "covered_from_trick": 2,
    "eleven_decision": True,
    "eleven_partner_cards": True,
    "eleven_raise": "forbidden",
    "eleven_all_tied": "all_tied",
    "eleven_show": False,
    "iron_cards": "open",
    "iron_raise": "forbidden",
    "dealing": "automatic",
    "seats": 4,
}
"""Rulebook 4, the row of `paulista`."""
TRADICIONAL: dict[str, object] = {
    "raise_timing": "any_time",
    "all_tied": "nobody",
    "eleven_raise": "lose_points",
    "iron_raise": "lose_points",
    "eleven_all_tied": "opponents",
    "eleven_show": True,
    "dealing": "cut",
}
VELHA: dict[str, object] = {"all_tied": "nobody", "manilhas": parse_cards("4C 7H AS 7D")}
DIFFERENCES: dict[str, dict[str, object]] = {
    "espanhol": {"deck": "spanish40", "all_tied": "nobody", "iron_cards": "blind_hidden_vira"},
    "paulista": {},
    "paulista-limpo": {"deck": "french24"},
    "tradicional": TRADICIONAL,
    "sulista": {**TRADICIONAL, "deck": "spanish40", "target": 24, "legs": 2},
    "simples": {"all_tied": "nobody", "iron_cards": "blind"},
    "mano-a-mano": {
        "all_tied": "nobody",
        "eleven_decision": False,
        "eleven_partner_cards": False,
        "eleven_raise": "lose_game",
        "iron_raise": "lose_game",
        "iron_cards": "blind",
        "seats": 2,
    },
    "manilha-velha": VELHA,
    "mineiro": {**VELHA, "ladder": (2, 4, 6, 10, 12), "iron_cards": "blind"},
}
"""Rulebook 4, the other rows: what differs from `paulista`."""
SEATS = {
    "espanhol": (4,),
    "paulista": (4,),
    "paulista-limpo": (4,),
    "tradicional": (4, 6),
    "sulista": (4, 6),
    "simples": (4, 2),
    "mano-a-mano": (2,),
    "manilha-velha": (4,),
    "mineiro": (4,),
}


def test_the_presets_are_the_rulebooks() -> None:
    assert {name: asdict(preset.rules) for name, preset in PRESETS.items()} == {
        name: {**BASE, **differences} | ({"manilhas": _as_dicts(differences)} if "manilhas" in differences else {})
        for name, differences in DIFFERENCES.items()
    }
    assert {name: preset.seats for name, preset in PRESETS.items()} == SEATS
    assert all(name == preset.name for name, preset in PRESETS.items())


def _as_dicts(differences: dict[str, object]) -> tuple[dict[str, object], ...]:
    manilhas: Any = differences["manilhas"]
    return tuple(asdict(card) for card in manilhas)


def test_the_default_seats_are_the_first_of_the_usual_ones() -> None:
    assert all(preset.rules.seats == preset.seats[0] for preset in PRESETS.values())


def test_every_field_is_a_rule() -> None:
    assert set(RULE_FIELDS) == {field.name for field in fields(RuleSet)} == set(BASE)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seats", [2, 4, 6])
def test_every_preset_can_be_played_by_two_four_and_six(preset: str, seats: int) -> None:
    assert replace(PRESETS[preset].rules, seats=seats).seats == seats


def test_a_rule_set_is_a_value() -> None:
    with pytest.raises(FrozenInstanceError):
        PRESETS["paulista"].rules.target = 24  # type: ignore[misc]
    assert RuleSet() == PRESETS["paulista"].rules
    assert hash(RuleSet()) == hash(PRESETS["paulista"].rules)


@pytest.mark.parametrize(
    ("overrides", "at_fault"),
    [
        ({"manilhas": ()}, {"manilhas"}),
        ({"manilhas": parse_cards("4C 7H AS")}, {"manilhas"}),
        ({"manilhas": parse_cards("4C 7H AS 7D 3C")}, {"manilhas"}),
        ({"manilhas": parse_cards("4C 7H AS 4C")}, {"manilhas"}),
        ({"manilhas": parse_cards("4C 7H AS 10D")}, {"manilhas"}),
        ({"manilhas": parse_cards("4C 7H AS 7D"), "deck": Deck.FRENCH24}, {"manilhas", "deck"}),
        ({"manilhas": parse_cards("4C 7H AS 7D"), "deck": Deck.SPANISH40}, {"manilhas", "deck"}),
        (
            {"manilhas": parse_cards("4C 7H AS 7D"), "iron_cards": IronCards.BLIND_HIDDEN_VIRA},
            {"manilhas", "iron_cards"},
        ),
        ({"ladder": ()}, {"ladder"}),
        ({"ladder": (1,)}, {"ladder"}),
        ({"ladder": (1, 2, 3, 4, 5, 6, 7, 8, 9)}, {"ladder"}),
        ({"ladder": (1, 3, 3)}, {"ladder"}),
        ({"ladder": (1, 6, 3)}, {"ladder"}),
        ({"ladder": (0, 3)}, {"ladder"}),
        ({"ladder": (-1, 3)}, {"ladder"}),
        ({"ladder": (1, 100)}, {"ladder"}),
        ({"target": 1}, {"target", "ladder"}),
        ({"target": 0}, {"target", "ladder"}),
        ({"target": -5}, {"target", "ladder"}),
        ({"target": 100}, {"target"}),
        ({"target": 6, "ladder": (6, 12)}, {"target", "ladder"}),
        ({"target": 15, "legs": 2}, {"target", "legs"}),
        ({"target": 101, "legs": 2, "ladder": (3, 1)}, {"target", "legs", "ladder"}),
    ],
)
def test_what_cannot_be_played_names_its_fields(overrides: dict[str, Any], at_fault: set[str]) -> None:
    """Each problem is of a field that is at fault, and at least one field of every fault is named."""
    with pytest.raises(UnplayableRulesError) as refused:
        RuleSet(**overrides)

    named = {problem.field for problem in refused.value.problems}
    assert named and named <= at_fault
    assert named & set(overrides)
    assert all(problem.field in str(refused.value) and problem.detail for problem in refused.value.problems)


def test_every_fault_is_named_at_once() -> None:
    with pytest.raises(UnplayableRulesError) as refused:
        RuleSet(manilhas=(), ladder=(3, 1), target=101, legs=2)

    assert {problem.field for problem in refused.value.problems} == {"manilhas", "ladder", "target", "legs"}


@pytest.mark.parametrize(
    "overrides",
    [
        {"ladder": (1, 2)},
        {"ladder": (1, 2, 3, 4, 5, 6, 7, 8)},
        {"ladder": (98, 99), "target": 99},
        {"target": 2},
        {"target": 99},
        {"target": 14, "legs": 2},
        {"target": 15, "legs": 1},
        {"ladder": (2, 4), "target": 3},
        {"manilhas": parse_cards("QC JC KC AC"), "deck": Deck.FRENCH24},
        {"manilhas": parse_cards("1S 1C 7S 7D"), "deck": Deck.SPANISH40, "iron_cards": IronCards.BLIND},
        {"iron_cards": IronCards.BLIND_HIDDEN_VIRA},
    ],
)
def test_the_edges_can_be_played(overrides: dict[str, Any]) -> None:
    rules = RuleSet(**overrides)

    assert {name: getattr(rules, name) for name in overrides} == overrides


def test_the_steps_of_a_ladder() -> None:
    mineiro = PRESETS["mineiro"].rules

    assert [mineiro.step_after(value) for value in (2, 4, 6, 10, 12)] == [4, 6, 10, 12, None]
    assert (mineiro.one_short, mineiro.eleven_value) == (10, 4)
    assert CALLS == ("truco", "seis", "nove", "doze")


@pytest.mark.parametrize(
    ("legs", "score", "leg"),
    [(1, (0, 0), 1), (1, (11, 11), 1), (2, (11, 0), 1), (2, (11, 11), 1), (2, (12, 0), 2), (2, (3, 23), 2)],
)
def test_the_second_leg_begins_at_half_the_target(legs: int, score: tuple[int, int], leg: int) -> None:
    assert Table(rules=RuleSet(target=24, legs=legs), first_dealer=0, score=score).leg == leg


def _constants(path: Path) -> Iterator[ast.Constant]:
    """Every value that is written in the code of *path*; what a docstring says is no code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in prose)


def _sources(root: Path) -> list[Path]:
    return [path for path in sorted(root.rglob("*.py")) if path.name != "rules.py"]


def test_no_code_asks_for_a_preset_by_name() -> None:
    found = [
        f"{path.relative_to(SERVICE)}:{constant.lineno}: {constant.value}"
        for path in _sources(SERVICE)
        for constant in _constants(path)
        if constant.value in PRESETS
    ]

    assert found == []


NO_RULE = {("cards.py", 3)}
"""Three cards a hand: the same in every rule set."""


def test_no_number_of_the_rules_is_written_in_the_engine_but_in_the_rule_sets() -> None:
    numbers = {step for preset in PRESETS.values() for step in preset.rules.ladder[1:]} | {11, 24}

    found = [
        f"{path.name}:{constant.lineno}: {constant.value}"
        for path in _sources(SERVICE / "engine")
        if path.parent.name == "engine"  # records are about text
        for constant in _constants(path)
        if type(constant.value) is int and constant.value in numbers and (path.name, constant.value) not in NO_RULE
    ]

    assert found == []


def test_all_combinations_of_enums_can_be_played() -> None:
    """No two choices exclude each other but fixed manilhas and a hidden vira."""
    enums = [field.name for field in fields(RuleSet) if isinstance(getattr(RuleSet(), field.name), StrEnum)]
    for one, other in product(enums, enums):
        for value in type(getattr(RuleSet(), one)):
            for other_value in type(getattr(RuleSet(), other)):
                RuleSet(**{one: value, other: other_value})
