"""Runs the cases of a scenarios file against whatever has a driver: the engine, the service over HTTP.

    python -m tests.scenario_runner FILE

prints a line per failure and last the counts; exit code 1 on any failure or a file that cannot be read.

A driver is the port to what is tested. It sets up a table in a given state; at the table a seat acts and the facts are
read. Hands are run by every driver; tables and outcomes ask the rules themselves, so they run once, as the engine's.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, Protocol

from service.engine.actions import (
    ACTIONS,
    Action,
    CutKind,
    IllegalActionError,
    MalformedActionError,
    Reason,
    apply,
)
from service.engine.cards import Card
from service.engine.rules import Penalty
from service.engine.state import DealFrom, DealStyle, GameState, LastHand, Phase, Seat, Table
from service.engine.view import view_for
from tests.scenario_file import (
    ScenarioError,
    boolean,
    card,
    integer,
    mapping,
    members,
    one_of,
    read_sections,
    sequence,
    set_up,
    text,
)
from tests.scenario_tables import run_outcome, run_table

Member = str | int | bool

BODY_REFUSED: Final = "validation_failed"
"""The code of an action that can never be right in this game."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a case can ask of a table, in JSON's types. Of a hand that is over: what the last hand tells."""

    kind: str
    phase: str
    value: int
    turn: Seat | None
    """Owes the next card, also while an answer is due."""
    pending: Mapping[str, int] | None
    """The raise that waits for its answer: {team, to}."""
    tricks: Sequence[int | None]
    """The winning team of each decided trick, None for a tie."""
    vira: str | None
    score: Sequence[int]
    leg: int
    over: bool
    hand_winner: int | None = None
    points: int | None = None
    """None while the hand runs."""
    reason: str | None = None
    game_over: bool = False
    game_winner: int | None = None
    manilhas: Sequence[str] | None = None
    """Strongest first; like the next three only while the hand runs."""
    raised_by: int | None = None
    hands: Mapping[Seat, Sequence[str | None]] | None = None
    """What each seat sees of its own cards, by slot: those it still holds, None for one it may not see."""
    sees: Mapping[Seat, Sequence[Seat]] | None = None
    """The seats, lowest first, whose held cards each seat sees."""

    @property
    def vira_visible(self) -> bool:
        return self.vira is not None


class TableDriver(Protocol):
    """One table under test."""

    def act(self, seat: Seat, action: str, members: Mapping[str, Member]) -> str | None:
        """*seat* does *action* ("play", …): the code of the refusal, None if it was accepted."""
        ...

    def facts(self) -> Facts: ...

    def snapshot(self) -> object:
        """Everything about the game; equal before and after a refused action."""
        ...


class Driver(Protocol):
    """Sets up tables. It may deal the next hand in the same go as a hand ends, if its facts stay with the hand."""

    @property
    def name(self) -> str: ...

    @property
    def also_right(self) -> Mapping[str, frozenset[str]]:
        """By the code a case expects: codes that mean the same here."""
        ...

    def table(self, state: GameState) -> TableDriver: ...


class EngineDriver:
    name = "engine"
    also_right: Final[Mapping[str, frozenset[str]]] = {}

    def table(self, state: GameState) -> EngineTable:
        return EngineTable(state)


class EngineTable:
    def __init__(self, state: GameState) -> None:
        self._state = state

    def act(self, seat: Seat, action: str, members: Mapping[str, Member]) -> str | None:
        try:
            self._state = apply(self._state, seat, read_action(action, members)).state
        except IllegalActionError as refused:
            return str(refused.reason)
        except MalformedActionError:
            return BODY_REFUSED
        return None

    def snapshot(self) -> object:
        return self._state

    def facts(self) -> Facts:
        table = self._state.table
        hand = table.hand
        assert hand is not None
        if hand.phase is Phase.OVER:
            assert table.last_hand is not None
            return _facts_of_last_hand(table, table.last_hand)
        seats = range(table.rules.seats)
        views = [view_for(self._state, seat) for seat in seats]
        pending = hand.pending
        return Facts(
            kind=hand.kind,
            phase=hand.phase,
            value=hand.value,
            turn=hand.to_play,
            pending=None if pending is None else {"team": pending.team, "to": pending.to},
            tricks=hand.results,
            vira=_written(hand.vira),
            score=table.score,
            leg=table.leg,
            over=False,
            manilhas=None if table.manilhas is None else [str(card) for card in table.manilhas],
            raised_by=hand.raised_by,
            hands={seat: [_written(slot.card) for slot in views[seat].own] for seat in seats},
            sees={seat: [held for held in seats if views[seat].cards[held] is not None] for seat in seats},
        )


def _facts_of_last_hand(table: Table, hand: LastHand) -> Facts:
    return Facts(
        kind=hand.kind,
        phase=Phase.OVER,
        value=hand.value,
        turn=None,
        pending=None,
        tricks=[trick.winning_team for trick in hand.tricks if trick.is_decided],
        vira=_written(hand.vira),
        score=table.score,
        leg=table.leg,
        over=True,
        hand_winner=hand.winner,
        points=hand.points,
        reason=hand.reason,
        game_over=table.result is not None,
        game_winner=None if table.result is None else table.result.winner,
    )


def _written(card: Card | None) -> str | None:
    return None if card is None else str(card)


def read_action(action: str, members: Mapping[str, Member]) -> Action:
    """The engine's action of the same name and members. Raises MalformedActionError as its class does."""
    readers: dict[str, Callable[[str], object]] = {
        "card": Card.parse,
        "penalty": Penalty,
        "cut": CutKind,
        "deal_from": DealFrom,
        "deal_style": DealStyle,
    }
    values = {name: readers[name](str(value)) if name in readers else value for name, value in members.items()}
    return ACTIONS[action](**values)  # type: ignore[arg-type]


STEP_MEMBERS: Final[dict[str, dict[str, Callable[[object, str], Member]]]] = {
    "play": {"card": lambda value, where: str(card(value, where)), "slot": integer, "covered": boolean},
    "raise": {"to": integer, "penalty": one_of([str(penalty) for penalty in Penalty])},
    "accept": {},
    "fold": {},
    "show": {},
    "cut": {"cut": one_of([str(kind) for kind in CutKind]), "at": integer, "take_for": integer},
    "deal": {
        "deal_from": one_of([str(end) for end in DealFrom]),
        "deal_style": one_of([str(style) for style in DealStyle]),
    },
    "resign": {},
}
"""What a step may say beside `seat`, `do` and `error`, by its `do`."""

CODES: Final = (*(str(reason) for reason in Reason), BODY_REFUSED)

FACTS: Final = (*(fact.name for fact in fields(Facts)), "vira_visible")
WHILE_IT_RUNS: Final = ("manilhas", "raised_by", "hands", "sees")
"""Facts that are gone once the hand is over."""


@dataclass(frozen=True)
class Step:
    """Something that a seat does, to be refused with `error` if there is one."""

    seat: Seat
    action: str
    members: Mapping[str, Member]
    error: str | None

    def __str__(self) -> str:
        said = " ".join(str(value) if name != "covered" else "covered" for name, value in self.members.items())
        return f"seat {self.seat} {self.action} {said}".rstrip()


@dataclass(frozen=True)
class Check:
    facts: Mapping[str, object]


@dataclass(frozen=True)
class HandCase:
    id: str
    case: Mapping[str, object]
    steps: Sequence[Step | Check]
    expect: Mapping[str, object]

    def run(self, driver: Driver) -> list[str]:
        """A line for each thing that is not as the case says; [] is a pass."""
        start = set_up(self.case)
        table = driver.table(start.state)
        if start.has_hands and table.facts().phase == Phase.CUT:
            self._deal(table, start.state.table)
        failures: list[str] = []
        for number, step in enumerate(self.steps, start=1):
            if isinstance(step, Check):
                failures += _differences(f"step {number}: ", step.facts, table.facts())
            else:
                failure = _failed_step(step, table, driver)
                if failure is not None:
                    return [*failures, f"step {number} ({step}): {failure}"]
        return failures + _differences("", self.expect, table.facts())

    @staticmethod
    def _deal(driven: TableDriver, table: Table) -> None:
        assert table.hand is not None
        cut = driven.act(table.cutter, "cut", {"cut": CutKind.NONE.value})
        deal = driven.act(
            table.hand.dealer,
            "deal",
            {"deal_from": DealFrom.TOP.value, "deal_style": DealStyle.ONE_BY_ONE.value},
        )
        if cut is not None or deal is not None:
            raise ScenarioError(f"the hand could not be dealt: {cut or deal}")


def _failed_step(step: Step, table: TableDriver, driver: Driver) -> str | None:
    """What is wrong with how *step* was taken, None if nothing is."""
    before = table.snapshot()
    refusal = table.act(step.seat, step.action, step.members)
    expected = "accepted" if step.error is None else f"refused with {step.error}"
    if refusal is None and step.error is not None:
        return f"expected it {expected}, it was accepted"
    also_right = driver.also_right.get(step.error or "", frozenset())
    if refusal is not None and refusal != step.error and refusal not in also_right:
        return f"expected it {expected}, it was refused with {refusal}"
    if refusal is not None and table.snapshot() != before:
        return f"it was refused with {refusal}, but something changed"
    return None


def _differences(where: str, expected: Mapping[str, object], facts: Facts) -> list[str]:
    lines = []
    for name, value in expected.items():
        seen = _plain(getattr(facts, name))
        if name in WHILE_IT_RUNS and facts.over:
            lines.append(f"{where}expected {name} {value!r}, but the hand is over")
        elif name in ("hands", "sees") and isinstance(value, dict) and isinstance(seen, dict):
            lines += [
                f"{where}expected {name} of seat {seat} {part!r}, saw {seen.get(seat)!r}"
                for seat, part in value.items()
                if seen.get(seat) != part
            ]
        elif seen != value or isinstance(seen, bool) != isinstance(value, bool):
            lines.append(f"{where}expected {name} {value!r}, saw {seen!r}")
    return lines


def _plain(value: object) -> object:
    """*value* as YAML would give it, so that the two compare."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, Sequence):
        return [_plain(part) for part in value]
    return value


def read_hand(value: object) -> HandCase:
    """Raises ScenarioError if a key is unknown or a value of the wrong kind."""
    known = ("title", "source", "basis", "overrides", "pair")
    case = members(value, "case", ("id", "preset", "setup", "steps", "expect"), known)
    seats = set_up(case).state.table.rules.seats
    steps = [
        _read_step(step, f"step {number}", seats)
        for number, step in enumerate(sequence(case["steps"], "steps"), start=1)
    ]
    return HandCase(text(case["id"], "id"), case, steps, members(case["expect"], "expect", (), FACTS))


def _read_step(value: object, where: str, seats: int) -> Step | Check:
    if "check" in mapping(value, where):
        return Check(members(members(value, where, ("check",))["check"], f"{where}: check", (), FACTS))
    action = one_of(list(STEP_MEMBERS))(mapping(value, where).get("do"), f"{where}: do")
    readers = STEP_MEMBERS[action]
    step = members(value, where, ("seat", "do"), ("error", *readers))
    seat = integer(step["seat"], f"{where}: seat")
    if not 0 <= seat < seats:
        raise ScenarioError(f"{where}: there is no seat {seat}")
    said = {name: read(step[name], f"{where}: {name}") for name, read in readers.items() if name in step}
    error = one_of(CODES)(step["error"], f"{where}: error") if "error" in step else None
    return Step(seat, action, said, error)


@dataclass(frozen=True)
class Case:
    """A case of any section, read or not: `read` raises ScenarioError if it is not in the format."""

    section: str
    id: str
    value: object

    def failures(self, driver: Driver) -> list[str]:
        """A line for each failure, without the id; [] is a pass. What is not in the format is a failure."""
        try:
            if self.section == "hands":
                return read_hand(self.value).run(driver)
            return (run_table if self.section == "tables" else run_outcome)(self.value)
        except ScenarioError as error:
            return [f"malformed: {error}"]


def read_cases(path: Path) -> list[Case]:
    """Every case of *path*. Raises ScenarioError for what is no scenarios file, or an id that stands twice."""
    cases: list[Case] = []
    for section, values in read_sections(path).items():
        for number, value in enumerate(values, start=1):
            named = value.get("id") if isinstance(value, dict) else None
            if section == "outcomes" and isinstance(value, dict):
                named = f"outcome {value.get('tricks')}"
            cases.append(Case(section, str(named or f"{section} {number}"), value))
    twice = [name for name, times in Counter(case.id for case in cases).items() if times > 1]
    if twice:
        raise ScenarioError(f"{path}: {', '.join(twice)} stands twice")
    return cases


@dataclass
class Report:
    failures: list[str] = field(default_factory=list)
    """One line each, the case's id first."""
    passed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By driver and section."""
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def is_clean(self) -> bool:
        return not self.failures

    def add(self, driver: str, case: Case, failures: Sequence[str]) -> None:
        (self.failed if failures else self.passed)[driver, case.section] += 1
        self.failures += [f"{case.id} ({driver}): {failure}" for failure in failures]

    def counts(self) -> list[str]:
        """A line per driver: "engine: hands 172 passed 0 failed, tables …"."""
        done = self.passed + self.failed
        lines: dict[str, list[str]] = {}
        for driver, section in done:
            counted = f"{section} {self.passed[driver, section]} passed {self.failed[driver, section]} failed"
            lines.setdefault(driver, []).append(counted)
        return [f"{driver}: {', '.join(parts)}" for driver, parts in lines.items()]


def run_file(path: Path, drivers: Sequence[Driver]) -> Report:
    """Every case of *path* by every driver. Raises ScenarioError for what is no scenarios file."""
    report = Report()
    cases = read_cases(path)
    for driver in drivers:
        for case in cases:
            if case.section == "hands" or driver.name == EngineDriver.name:
                report.add(driver.name, case, _failures_or_crash(case, driver))
    return report


def _failures_or_crash(case: Case, driver: Driver) -> list[str]:
    """One case that crashes must not hide what the others say."""
    try:
        return case.failures(driver)
    except Exception as error:
        return [f"crashed with {type(error).__name__}: {' '.join(str(error).split())}"]


def main(arguments: Sequence[str], drivers: Sequence[Driver]) -> int:
    """The command: the exit code."""
    if len(arguments) != 1:
        print("usage: python -m tests.scenario_runner FILE", file=sys.stderr)
        return 2
    try:
        report = run_file(Path(arguments[0]), drivers)
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 1
    for line in (*report.failures, *report.counts()):
        print(line)
    return 0 if report.is_clean else 1


if __name__ == "__main__":
    from tests.http_driver import HttpDriver

    sys.exit(main(sys.argv[1:], [EngineDriver(), HttpDriver()]))
