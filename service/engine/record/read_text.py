"""The text notation, strictly read; what it is, is told in docs/notation.md."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

from service.engine.actions import Play
from service.engine.cards import ALL_CARDS, HAND_SIZE, Card
from service.engine.record.as_json import FORMAT
from service.engine.record.as_text import FORMAT_TAG, NO_VIRA, calls
from service.engine.record.game import GameRecord, HandRecord, Hands, RecordError, SeatRecord
from service.engine.record.read_json import HEX_256, HIGHEST_SEAT, ID, VARIANT, quoted, read_rules
from service.engine.record.tokens import SeatAction, decode_action
from service.engine.rules import RULE_FIELDS, RuleSet
from service.engine.state import GameReason, HandReason, Kind, Result, Score, Shown, Trick
from service.engine.state import Play as CardOnTable

_NUMBER: Final = r"(0|[1-9][0-9]{0,5})"
_TAG: Final = re.compile(r'\[([A-Za-z0-9_]+) "((?:[^"\\]|\\["\\]|\\u\{[0-9a-f]{1,6}\})*)"\][ \t]*(?:;.*)?')
_ESCAPE: Final = re.compile(r'\\(?:(["\\])|u\{([0-9a-f]+)\})')
_LINE: Final = re.compile(rf"(Deck|Vira|Deal|Eleven|Over|(?:Hand|Seat|Trick|Shown) {_NUMBER}):(.*)")
_WORD: Final = re.compile(r"[^ \t]+")
_DIGITS: Final = re.compile(_NUMBER)
_SEAT: Final = re.compile(r"[0-5]")
_TEAMS: Final = re.compile(r"[01](?: [01])*")
_SCORE: Final = re.compile(f"{_NUMBER}-{_NUMBER}")
_RESULT: Final = re.compile(rf"team ([01]) by ({'|'.join(GameReason)})")
_HAND: Final = re.compile(rf"({'|'.join(Kind)}), dealer ([0-5])")
_TRICK_END: Final = re.compile(r"tied|seat ([0-5])")
_OVER: Final = re.compile(
    rf"(?:nobody|team ([01])) scores {_NUMBER} by ({'|'.join(HandReason)}), "
    rf"value {_NUMBER}, score {_SCORE.pattern}"
)
_CONSTANTS: Final[dict[str, bool | None]] = {"null": None, "true": True, "false": False}


def from_text(text: str) -> GameRecord:
    """The record that *text* holds; whether it is true is not asked here.

    Raises `RecordError` with the line: "line 31: '9Z' is not a card".
    """
    tags, lines = _split(text)
    tags.take(FORMAT_TAG, re.compile(str(FORMAT)))
    rules = read_rules({name: _plain(tags.take(name)[0]) for name in RULE_FIELDS if name in tags}, "")
    result = tags.take("Result", _RESULT)
    record = GameRecord(
        id=tags.take("Game", ID)[0],
        variant=tags.take("Variant", VARIANT)[0],
        rules=rules,
        seats=_read_seats(tags, rules),
        commitment=tags.take("Commitment", HEX_256)[0],
        seed=bytes.fromhex(tags.take("Seed", HEX_256)[0]),
        first_dealer=int(tags.take("FirstDealer", _SEAT)[0]),
        rematch="Rematch" in tags and bool(tags.take("Rematch", re.compile("true"))),
        score=_read_score(tags.take("Score", _SCORE)),
        result=Result(int(result[1]), GameReason(result[2])),
        hands=tuple(_read_hands(lines, rules)),
    )
    tags.refuse_rest()
    return record


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    """In the file, from 1."""
    label: str
    """The first word: "Hand", "Deck"."""
    index: int
    """The number after it, 0 if it has none."""
    content: str

    def fail(self, detail: str) -> NoReturn:
        raise RecordError(f"line {self.number}", detail)

    def match(self, pattern: re.Pattern[str], example: str) -> re.Match[str]:
        match = pattern.fullmatch(self.content)
        if match is None:
            self.fail(f"must read like {example!r}")
        return match

    def cards(self) -> tuple[Card, ...]:
        return tuple(map(self.card, _words(self.content)))

    def card(self, text: str) -> Card:
        card = ALL_CARDS.get(text)
        if card is None:
            self.fail(f"{quoted(text)} is not a card")
        return card


class _Tags:
    """The header, each tag to be taken once."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[int, str]] = {}

    def add(self, number: int, name: str, value: str) -> None:
        if name in self._values:
            raise RecordError(f"line {number}", f"the tag {name} has been there before")
        self._values[name] = number, value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def take(self, name: str, pattern: re.Pattern[str] = re.compile(".*", re.DOTALL)) -> re.Match[str]:
        if name not in self._values:
            raise RecordError("header", f"the tag {name} is missing")
        number, value = self._values.pop(name)
        match = pattern.fullmatch(value)
        if match is None:
            raise RecordError(f"line {number}", f"the tag {name} must match {pattern.pattern}, not {quoted(value)}")
        return match

    def refuse_rest(self) -> None:
        for name, (number, _) in self._values.items():
            raise RecordError(f"line {number}", f"{quoted(name)} is not a tag of a record")


class _Lines:
    """The lines of the hands, read from the first to the last."""

    def __init__(self, lines: list[_Line]) -> None:
        self._lines = deque(lines)
        self._last = lines[-1].number if lines else 0

    def next_is(self, label: str) -> bool:
        return bool(self._lines) and self._lines[0].label == label

    def take(self, label: str) -> _Line:
        if not self._lines:
            raise RecordError(f"line {self._last}", f"is the last; {label!r} should follow")
        line = self._lines.popleft()
        if line.label != label:
            line.fail(f"{label!r} is due here, not {line.label!r}")
        return line

    def optional(self, label: str) -> Iterator[_Line]:
        if self.next_is(label):
            yield self.take(label)

    def numbered(self, label: str, first: int) -> Iterator[_Line]:
        """All that follow with *label*, which must count from *first*."""
        due = first
        while self.next_is(label):
            line = self.take(label)
            if line.index != due:
                line.fail(f"{label} {due} is due here, not {label} {line.index}")
            due += 1
            yield line

    def __bool__(self) -> bool:
        return bool(self._lines)


def _split(text: str) -> tuple[_Tags, _Lines]:
    tags = _Tags()
    lines: list[tuple[int, list[str]]] = []
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole.rstrip(" \t\r")
        if line.startswith("["):
            if lines:
                raise RecordError(f"line {number}", "tags stand before the first hand")
            tags.add(number, *_read_tag(number, line))
            continue
        content = line.partition(";")[0].rstrip(" \t")
        if content.startswith((" ", "\t")) and lines:
            lines[-1][1].append(content)
        elif content:
            lines.append((number, [content]))
    return tags, _Lines([_read_line(number, " ".join(parts)) for number, parts in lines])


def _read_tag(number: int, line: str) -> tuple[str, str]:
    tag = _TAG.fullmatch(line)
    if tag is None:
        raise RecordError(f"line {number}", f'{quoted(line)} is not a tag like [Variant "paulista"]')
    try:
        return tag[1], _ESCAPE.sub(lambda escape: escape[1] or chr(int(escape[2], 16)), tag[2])
    except ValueError:
        raise RecordError(f"line {number}", "no character has such a number") from None


def _read_line(number: int, content: str) -> _Line:
    line = _LINE.fullmatch(content)
    if line is None:
        raise RecordError(f"line {number}", f"{quoted(content)} is not a line of a record")
    return _Line(number, line[1].partition(" ")[0], int(line[2] or 0), line[3].strip(" \t"))


def _words(content: str) -> list[str]:
    return _WORD.findall(content)


def _plain(text: str) -> object:
    """The JSON value that a rule's tag holds."""
    values = [_plain_word(word) for word in text.split(" ")]
    return values[0] if len(values) == 1 else values


def _plain_word(word: str) -> str | int | None:
    if _DIGITS.fullmatch(word):
        return int(word)
    return _CONSTANTS.get(word, word)


def _read_score(parts: re.Match[str]) -> Score:
    return int(parts[1]), int(parts[2])


def _read_seats(tags: _Tags, rules: RuleSet) -> tuple[SeatRecord, ...]:
    teams = tags.take("Teams", _TEAMS)[0].split(" ")
    if len(teams) != rules.seats:
        raise RecordError("header", f"the tag Teams must name the team of each of the {rules.seats} seats")
    return tuple(SeatRecord(int(team), tags.take(f"Seat{seat}")[0]) for seat, team in enumerate(teams))


def _read_hands(lines: _Lines, rules: RuleSet) -> Iterator[HandRecord]:
    while lines:
        yield _read_hand(lines, rules)


def _read_hand(lines: _Lines, rules: RuleSet) -> HandRecord:
    head = lines.take("Hand")
    kind = head.match(_HAND, f"{Kind.NORMAL}, dealer 0")
    deck = lines.take("Deck").cards()
    vira = lines.take("Vira")
    hands = _read_dealt(lines, rules)
    actions, tricks = _read_actions(lines, rules)
    shown = [_read_shown(line) for line in lines.optional("Shown")]
    over = lines.take("Over").match(_OVER, "team 0 scores 3 by tricks, value 3, score 3-0")
    return HandRecord(
        number=head.index,
        kind=Kind(kind[1]),
        dealer=int(kind[2]),
        deck=deck,
        vira=None if vira.content == NO_VIRA else vira.card(vira.content),
        hands=hands,
        actions=actions,
        value=int(over[4]),
        tricks=tricks,
        winner=None if over[1] is None else int(over[1]),
        points=int(over[2]),
        reason=HandReason(over[3]),
        shown=shown[0] if shown else None,
        score=(int(over[5]), int(over[6])),
    )


def _read_dealt(lines: _Lines, rules: RuleSet) -> Hands | None:
    dealt: list[tuple[Card, ...]] = []
    for line in lines.numbered("Seat", 0):
        dealt.append(line.cards())
        if len(dealt[-1]) != HAND_SIZE:
            line.fail(f"a seat has {HAND_SIZE} cards, not {len(dealt[-1])}")
    if len(dealt) not in (0, rules.seats):
        line.fail(f"cards of {len(dealt)} seats, the game has {rules.seats}")
    return tuple(dealt) or None


def _read_shown(line: _Line) -> Shown:
    if line.index > HIGHEST_SEAT:
        line.fail(f"there is no seat {line.index}")
    return Shown(line.index, line.cards())


def _read_actions(lines: _Lines, rules: RuleSet) -> tuple[tuple[SeatAction, ...], tuple[Trick, ...]]:
    actions: list[SeatAction] = []
    tricks: list[Trick] = []
    for label in ("Deal", "Eleven"):
        for line in lines.optional(label):
            steps, plays = _read_steps(line, line.content, rules)
            if plays:
                line.fail("cards are played in tricks")
            actions += steps
    for line in lines.numbered("Trick", 1):
        steps, trick = _read_trick(line, rules)
        actions += steps
        tricks += trick
    return tuple(actions), tuple(tricks)


def _read_trick(line: _Line, rules: RuleSet) -> tuple[list[SeatAction], list[Trick]]:
    """The actions of the line, and the trick they make: [] if they play no card."""
    said, arrow, told = line.content.partition("->")
    steps, plays = _read_steps(line, said, rules)
    end = _TRICK_END.fullmatch(told.strip(" \t"))
    if arrow and (end is None or not plays):
        line.fail("a trick with cards ends '-> seat 0' or '-> tied'")
    if not plays:
        return steps, []
    winner = None if end is None or end[1] is None else int(end[1])
    return steps, [Trick(plays[0].seat, tuple(plays), winner, tied=bool(arrow) and winner is None)]


def _read_steps(line: _Line, said: str, rules: RuleSet) -> tuple[list[SeatAction], list[CardOnTable]]:
    steps: list[SeatAction] = []
    plays: list[CardOnTable] = []
    for word in _words(said):
        token, equals, face = word.partition("=")
        seat, action = _read_step(line, token, rules)
        by_slot = isinstance(action, Play) and action.card is None and not action.covered
        if by_slot != bool(equals):
            line.fail(f"{quoted(word)}: a face follows an open card that is named by its slot, and only that")
        steps.append((seat, action))
        if isinstance(action, Play):
            open_card = line.card(face) if by_slot else action.card
            plays.append(CardOnTable(seat, None if action.covered else open_card))
    return steps, plays


def _read_step(line: _Line, token: str, rules: RuleSet) -> SeatAction:
    seat, _, said = token.partition(":")
    call = calls(rules).get(said)
    if call is not None and _SEAT.fullmatch(seat):
        return int(seat), call
    try:
        return decode_action(token)
    except ValueError as error:
        line.fail(str(error))
