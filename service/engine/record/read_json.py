"""A record's JSON, strictly read."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from typing import Final, NoReturn, TypeVar

from service.engine.actions import HIGHEST_SLOT, LOGGED_ACTIONS, Action, CutKind, MalformedActionError, Member
from service.engine.cards import ALL_CARDS, HAND_SIZE, Card, Deck
from service.engine.record.as_json import FORMAT
from service.engine.record.game import GameRecord, HandRecord, RecordError, SeatRecord, score_after
from service.engine.record.tokens import SeatAction
from service.engine.rules import (
    ENUM_FIELDS,
    MOST_POINTS,
    PAULISTA,
    RULE_FIELDS,
    SEATS,
    VIRA,
    Penalty,
    Plain,
    RuleSet,
    UnplayableRulesError,
    from_plain,
)
from service.engine.state import (
    DealFrom,
    DealStyle,
    GameReason,
    HandReason,
    Kind,
    Play,
    Result,
    Score,
    Shown,
    Trick,
)

HIGHEST_SEAT: Final = max(SEATS) - 1
HIGHEST_NUMBER: Final = 999_999
DEEPEST_CUT: Final = max(len(deck.cards) for deck in Deck) - 1

Choice = TypeVar("Choice", bound=StrEnum)
Item = TypeVar("Item")


_LONGEST_QUOTE: Final = 30
ID: Final = re.compile(r"[0-9A-Za-z_-]{1,64}")
VARIANT: Final = re.compile(r"[a-z0-9-]{1,64}")
HEX_256: Final = re.compile(r"[0-9a-f]{64}")
_GAME_MEMBERS: Final = [field.name for field in fields(GameRecord) if field.name != "rematch"]
_HAND_MEMBERS: Final = [field.name for field in fields(HandRecord) if field.name != "score"]


def from_json(value: object) -> GameRecord:
    """The record that *value*, parsed JSON, holds; whether it is true is not asked here.

    Raises `RecordError` with the place: "hands[2].actions[4].card: '9Z' is not a card".
    """
    record = _Node(value, "").members(("format", *_GAME_MEMBERS), ("rematch",))
    record["format"].integer(FORMAT, FORMAT)
    rules = read_rules(record["rules"].value, "rules")
    result = record["result"].members(("winner", "reason"))
    return GameRecord(
        id=record["id"].text(ID),
        variant=record["variant"].text(VARIANT),
        rules=rules,
        seats=_read_seats(record["seats"], rules),
        commitment=record["commitment"].text(HEX_256),
        seed=bytes.fromhex(record["seed"].text(HEX_256)),
        first_dealer=record["first_dealer"].integer(0, HIGHEST_SEAT),
        hands=_read_hands(record["hands"], rules),
        score=record["score"].score(),
        result=Result(result["winner"].integer(0, 1), result["reason"].choice(GameReason)),
        rematch="rematch" in record and record["rematch"].boolean(),
    )


def quoted(text: str) -> str:
    """*text* as an error may show it: short, printable and ASCII."""
    return ascii(text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}...")


@dataclass(frozen=True, slots=True)
class _Node:
    """A JSON value and where it stands. Every method returns what it asks for or raises `RecordError`."""

    value: object
    place: str

    def fail(self, detail: str) -> NoReturn:
        raise RecordError(self.place or "record", detail)

    @property
    def quoted(self) -> str:
        """The value as an error may show it: scalars short, the rest by kind."""
        if isinstance(self.value, str):
            return quoted(self.value)
        if self.value is None or isinstance(self.value, bool):
            return {None: "null", True: "true", False: "false"}[self.value]
        if isinstance(self.value, int) and abs(self.value) <= HIGHEST_NUMBER:
            return str(self.value)
        kinds: dict[type, str] = {dict: "an object", list: "a list"}
        return kinds.get(type(self.value), "such a number")

    def members(self, required: Collection[str], optional: Collection[str] = ()) -> dict[str, _Node]:
        if not isinstance(self.value, dict):
            self.fail(f"must be an object, not {self.quoted}")
        nodes = {name: self._member(name, member) for name, member in self.value.items()}
        for name, node in nodes.items():
            if name not in required and name not in optional:
                node.fail("is not a member of a record")
        for name in required:
            if name not in nodes:
                self._member(name, None).fail("is missing")
        return nodes

    def _member(self, name: object, value: object) -> _Node:
        shown = name if isinstance(name, str) and name.isidentifier() else _Node(name, "").quoted
        return _Node(value, f"{self.place}.{shown}" if self.place else str(shown))

    def items(self, length: int | None = None) -> list[_Node]:
        if not isinstance(self.value, list):
            self.fail(f"must be a list, not {self.quoted}")
        if length not in (None, len(self.value)):
            self.fail(f"must have {length} entries, has {len(self.value)}")
        return [_Node(item, f"{self.place}[{place}]") for place, item in enumerate(self.value)]

    def integer(self, lowest: int, highest: int) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.fail(f"must be an integer, not {self.quoted}")
        if not lowest <= self.value <= highest:
            allowed = f"{lowest} to {highest}" if lowest < highest else str(lowest)
            self.fail(f"must be {allowed}, not {self.quoted}")
        return self.value

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            self.fail(f"must be true or false, not {self.quoted}")
        return self.value

    def text(self, pattern: re.Pattern[str] | None = None) -> str:
        if not isinstance(self.value, str):
            self.fail(f"must be a string, not {self.quoted}")
        if pattern is not None and pattern.fullmatch(self.value) is None:
            self.fail(f"must match {pattern.pattern}, not {self.quoted}")
        return self.value

    def choice(self, enum: type[Choice]) -> Choice:
        chosen = next((member for member in enum if self.value == member.value), None)
        if chosen is None:
            self.fail(f"must be one of {', '.join(enum)}, not {self.quoted}")
        return chosen

    def card(self) -> Card:
        card = ALL_CARDS.get(self.text())
        if card is None:
            self.fail(f"{self.quoted} is not a card")
        return card

    def cards(self, length: int | None = None) -> tuple[Card, ...]:
        return tuple(node.card() for node in self.items(length))

    def score(self) -> Score:
        one, two = (node.integer(0, HIGHEST_NUMBER) for node in self.items(2))
        return one, two


def read_rules(value: object, place: str) -> RuleSet:
    """The rule set that `to_plain` wrote as *value*. Raises `RecordError`, for unplayable rules too."""
    fields_read = _Node(value, place).members(RULE_FIELDS)
    plain = {name: _read_rule(name, node) for name, node in fields_read.items()}
    try:
        return from_plain(plain)
    except UnplayableRulesError as error:
        problem = error.problems[0]
        fields_read[problem.field].fail(problem.detail)


def _read_rule(name: str, node: _Node) -> Plain:
    if name in ENUM_FIELDS:
        return node.choice(ENUM_FIELDS[name])
    if isinstance(getattr(PAULISTA, name), bool):
        return node.boolean()
    return _RULES[name](node)


def _optional(node: _Node, read: Callable[[_Node], Item]) -> Item | None:
    return None if node.value is None else read(node)


def _one_of(allowed: tuple[int, ...]) -> Callable[[_Node], int]:
    def read(node: _Node) -> int:
        number = node.integer(min(allowed), max(allowed))
        if number not in allowed:
            node.fail(f"must be one of {', '.join(map(str, allowed))}, not {number}")
        return number

    return read


def _read_manilhas(node: _Node) -> Plain:
    return VIRA if node.value == VIRA else list(map(str, node.cards()))


_RULES: Final[dict[str, Callable[[_Node], Plain]]] = {
    "manilhas": _read_manilhas,
    "ladder": lambda node: [step.integer(0, HIGHEST_NUMBER) for step in node.items()],
    "target": lambda node: node.integer(0, HIGHEST_NUMBER),
    "legs": _one_of((1, 2)),
    "covered_from_trick": lambda node: _optional(node, _one_of((2, HAND_SIZE))),
    "seats": _one_of(SEATS),
}


def _read_seats(node: _Node, rules: RuleSet) -> tuple[SeatRecord, ...]:
    seats: list[SeatRecord] = []
    for number, item in enumerate(node.items(rules.seats)):
        seat = item.members(("seat", "team", "name"))
        seat["seat"].integer(number, number)
        seats.append(SeatRecord(seat["team"].integer(0, 1), seat["name"].text()))
    return tuple(seats)


def _read_hands(node: _Node, rules: RuleSet) -> tuple[HandRecord, ...]:
    hands: list[HandRecord] = []
    score: Score = (0, 0)
    for item in node.items():
        hand = _read_hand(item, rules)
        score = score_after(score, rules, hand)
        hands.append(replace(hand, score=score))
    return tuple(hands)


def _read_hand(node: _Node, rules: RuleSet) -> HandRecord:
    hand = node.members(_HAND_MEMBERS)
    return HandRecord(
        number=hand["number"].integer(1, HIGHEST_NUMBER),
        kind=hand["kind"].choice(Kind),
        dealer=hand["dealer"].integer(0, HIGHEST_SEAT),
        deck=hand["deck"].cards(),
        vira=_optional(hand["vira"], _Node.card),
        hands=_optional(hand["hands"], lambda node: _read_dealt(node, rules)),
        actions=tuple(map(_read_action, hand["actions"].items())),
        value=hand["value"].integer(0, HIGHEST_NUMBER),
        tricks=tuple(map(_read_trick, hand["tricks"].items())),
        winner=_optional(hand["winner"], lambda node: node.integer(0, 1)),
        points=hand["points"].integer(0, HIGHEST_NUMBER),
        reason=hand["reason"].choice(HandReason),
        shown=_optional(hand["shown"], _read_shown),
        score=(0, 0),
    )


def _read_dealt(node: _Node, rules: RuleSet) -> tuple[tuple[Card, ...], ...]:
    return tuple(cards.cards(HAND_SIZE) for cards in node.items(rules.seats))


def _read_shown(node: _Node) -> Shown:
    shown = node.members(("seat", "cards"))
    return Shown(shown["seat"].integer(0, HIGHEST_SEAT), shown["cards"].cards())


def _read_trick(node: _Node) -> Trick:
    trick = node.members(("opener", "plays", "winner", "tied"))
    winner, tied = _optional(trick["winner"], lambda node: node.integer(0, HIGHEST_SEAT)), trick["tied"].boolean()
    if tied and winner is not None:
        trick["winner"].fail("must be null in a tied trick")
    return Trick(
        opener=trick["opener"].integer(0, HIGHEST_SEAT),
        plays=tuple(map(_read_card_on_table, trick["plays"].items())),
        winner=winner,
        tied=tied,
    )


def _read_card_on_table(node: _Node) -> Play:
    play = node.members(("seat", "card", "covered"))
    card = _optional(play["card"], _Node.card)
    if play["covered"].boolean() != (card is None):
        play["covered"].fail("must be true where the card is null, and only there")
    return Play(play["seat"].integer(0, HIGHEST_SEAT), card)


def _read_penalty(node: _Node) -> Penalty:
    penalty = node.choice(Penalty)
    if penalty is Penalty.FORBIDDEN:
        node.fail("is never forbidden in an action")
    return penalty


_MEMBERS: Final[dict[str, Callable[[_Node], Card | Member]]] = {
    "card": _Node.card,
    "slot": lambda node: node.integer(0, HIGHEST_SLOT),
    "covered": _Node.boolean,
    "to": lambda node: node.integer(1, MOST_POINTS),
    "penalty": _read_penalty,
    "cut": lambda node: node.choice(CutKind),
    "at": lambda node: node.integer(1, DEEPEST_CUT),
    "take_for": lambda node: node.integer(0, HIGHEST_SEAT),
    "deal_from": lambda node: node.choice(DealFrom),
    "deal_style": lambda node: node.choice(DealStyle),
}


def _read_action(node: _Node) -> SeatAction:
    kind = node.members(("type",), ("seat", *_MEMBERS))["type"]
    cls = LOGGED_ACTIONS.get(kind.text())
    if cls is None:
        kind.fail(f"must be one of {', '.join(LOGGED_ACTIONS)}, not {kind.quoted}")
    needed = [field.name for field in fields(cls) if field.default is MISSING]
    members = node.members(("seat", "type", *needed), [field.name for field in fields(cls)])
    seat = members["seat"].integer(0, HIGHEST_SEAT)
    values = {name: _MEMBERS[name](member) for name, member in members.items() if name in _MEMBERS}
    return seat, _build(node, cls, values)


def _build(node: _Node, cls: type[Action], values: dict[str, Card | Member]) -> Action:
    try:
        return cls(**values)
    except MalformedActionError as error:
        node.fail(str(error))
