"""Reads files in the scenarios' format. Strict: a key that nobody reads, or a value of a wrong kind, is an error.

The format is described at the head of scenarios.yaml, what own_scenarios.yaml adds to it at the head of that file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import yaml

from service.engine.cards import HAND_SIZE, Card, parse_cards
from service.engine.rules import ENUM_FIELDS, PRESETS, RuleSet, UnplayableRulesError
from service.engine.state import GameState, Score, Seat
from tests.table import completed, first_hand, pack_for


class ScenarioError(ValueError):
    """A case or a file that is not in the format; the text says where."""


Mapped = Mapping[object, object]


def mapping(value: object, where: str) -> Mapped:
    if not isinstance(value, dict):
        raise ScenarioError(f"{where}: must be a mapping, is {value!r}")
    return value


def members(value: object, where: str, needed: Collection[str], optional: Collection[str] = ()) -> dict[str, object]:
    """*value* as a mapping that has all the *needed* keys and none besides the *optional* ones."""
    found = mapping(value, where)
    unknown = [str(key) for key in found if key not in needed and key not in optional]
    missing = [key for key in needed if key not in found]
    if unknown:
        raise ScenarioError(f"{where}: unknown key {', '.join(unknown)}")
    if missing:
        raise ScenarioError(f"{where}: lacks {', '.join(missing)}")
    return {str(key): part for key, part in found.items()}


def sequence(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise ScenarioError(f"{where}: must be a list, is {value!r}")
    return value


def integer(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ScenarioError(f"{where}: must be an integer, is {value!r}")
    return value


def boolean(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise ScenarioError(f"{where}: must be true or false, is {value!r}")
    return value


def text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ScenarioError(f"{where}: must be text, is {value!r}")
    return value


def one_of(choices: Collection[str]) -> Callable[[object, str], str]:
    def read(value: object, where: str) -> str:
        if value not in choices:
            raise ScenarioError(f"{where}: must be one of {', '.join(choices)}, is {value!r}")
        return str(value)

    return read


def integers(value: object, where: str) -> list[int]:
    return [integer(item, where) for item in sequence(value, where)]


def cards(value: object, where: str) -> tuple[Card, ...]:
    try:
        return parse_cards([text(item, where) for item in sequence(value, where)])
    except ValueError as error:
        raise ScenarioError(f"{where}: {error}") from None


def card(value: object, where: str) -> Card:
    return cards([value], where)[0]


def _rule_value(field: str, value: object) -> object:
    where = f"overrides.{field}"
    if field in ("manilhas", "covered_from_trick") and value is None:
        return None
    if field == "manilhas":
        return cards(value, where)
    if field == "ladder":
        return tuple(integers(value, where))
    if field in ("target", "legs", "covered_from_trick"):
        return integer(value, where)
    if field in ("eleven_decision", "eleven_partner_cards", "eleven_show"):
        return boolean(value, where)
    enum = ENUM_FIELDS[field]
    return enum(one_of([str(choice) for choice in enum])(value, where))


OVERRIDES: Final = (
    *ENUM_FIELDS,
    "manilhas",
    "ladder",
    "target",
    "legs",
    "covered_from_trick",
    "eleven_decision",
    "eleven_partner_cards",
    "eleven_show",
)


def rules_of(case: Mapping[str, object], seats: int | None = None) -> RuleSet:
    """The preset of *case* with its overrides."""
    preset = one_of(list(PRESETS))(case["preset"], "preset")
    overrides = members(case.get("overrides", {}), "overrides", (), OVERRIDES)
    rules = PRESETS[preset].rules
    values = {field: _rule_value(field, value) for field, value in overrides.items()}
    if seats is not None:
        values["seats"] = seats
    try:
        return replace(rules, **values)  # type: ignore[arg-type]
    except UnplayableRulesError as error:
        raise ScenarioError(f"overrides: {error}") from None


@dataclass(frozen=True)
class SetUp:
    """Where a hand starts."""

    state: GameState
    has_hands: bool
    """The hands are given: a cut and a deal that the rules ask for are no steps of the case."""


def set_up(case: Mapping[str, object]) -> SetUp:
    """The state that the `setup` of *case* asks for: the game's first hand, dealt or waiting for the cutter."""
    setup = members(case["setup"], "setup", ("seats", "dealer"), ("score", "hands", "vira", "pack"))
    seats = integer(setup["seats"], "setup.seats")
    if seats not in (2, 4, 6):
        raise ScenarioError(f"setup.seats: must be 2, 4 or 6, is {seats}")
    rules = rules_of(case, seats)
    dealer = _seat(setup["dealer"], "setup.dealer", seats)
    pack = _pack(setup, rules, dealer)
    state = first_hand(rules, dealer, pack, _score(setup.get("score", [0, 0])))
    return SetUp(state, has_hands="hands" in setup)


def _pack(setup: Mapping[str, object], rules: RuleSet, dealer: Seat) -> tuple[Card, ...]:
    if ("hands" in setup) == ("pack" in setup):
        raise ScenarioError("setup: takes either hands or a pack")
    if "pack" in setup:
        if "vira" in setup:
            raise ScenarioError("setup: a pack has its vira in it")
        first = cards(setup["pack"], "setup.pack")
        _refuse_impossible(first, rules, "setup.pack")
        return completed(rules.deck, first)
    hands = {
        _seat(seat, "setup.hands", rules.seats): cards(held, f"setup.hands.{seat}")
        for seat, held in mapping(setup["hands"], "setup.hands").items()
    }
    if sorted(hands) != list(range(rules.seats)):
        raise ScenarioError(f"setup.hands: must name the seats 0 to {rules.seats - 1}")
    for seat, held in hands.items():
        if len(held) != HAND_SIZE:
            raise ScenarioError(f"setup.hands.{seat}: must be {HAND_SIZE} cards")
    vira = setup.get("vira")
    if (vira is None) != (rules.manilhas is not None):
        raise ScenarioError("setup.vira: needed where the vira names the manilhas, and only there")
    turned = None if vira is None else card(vira, "setup.vira")
    given = [card for held in hands.values() for card in held]
    _refuse_impossible([*given, *(() if turned is None else (turned,))], rules, "setup")
    return pack_for(rules, dealer, hands, turned)


def _refuse_impossible(given: Collection[Card], rules: RuleSet, where: str) -> None:
    strange = [str(card) for card in given if card not in rules.deck.cards]
    if strange:
        raise ScenarioError(f"{where}: {', '.join(strange)} is not in {rules.deck}")
    if len(set(given)) < len(given):
        raise ScenarioError(f"{where}: a card appears twice")


def _seat(value: object, where: str, seats: int) -> Seat:
    seat = integer(value, where)
    if not 0 <= seat < seats:
        raise ScenarioError(f"{where}: must be a seat from 0 to {seats - 1}, is {seat}")
    return seat


def _score(value: object) -> Score:
    score = integers(value, "setup.score")
    if len(score) != 2:
        raise ScenarioError(f"setup.score: must be two numbers, is {score}")
    return score[0], score[1]


def dealt_in_order(rules: RuleSet, dealer: Seat, score: Score = (0, 0)) -> GameState:
    """A first hand with the deck in its order; it is dealt, or waits for the cutter."""
    return first_hand(rules, dealer, rules.deck.cards, score)


class _StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Refuses a key that stands twice in a mapping, where YAML would let the last one win in silence."""


def _strict_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[object, object]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for key, (key_node, _) in zip(keys, node.value, strict=True):
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"{key!r} stands twice", key_node.start_mark)
    return loader.construct_mapping(node, deep=True)


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _strict_mapping)

SECTIONS: Final = ("hands", "tables", "outcomes")


def read_sections(path: Path) -> dict[str, list[object]]:
    """The cases of *path* by section, each still to be read. Raises ScenarioError for what is no such file at all."""
    try:
        whole = yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8") from None
    except yaml.YAMLError as error:
        raise ScenarioError(f"{path}: is not YAML: {' '.join(str(error).split())}") from None
    sections = members(whole, str(path), (), SECTIONS)
    if not sections:
        raise ScenarioError(f"{path}: has none of {', '.join(SECTIONS)}")
    return {name: sequence(cases, f"{path}: {name}") for name, cases in sections.items()}
