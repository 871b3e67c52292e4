"""Every scenario, the shared and our own, at engine level; and what the two files have to hold."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from service.engine.rules import ENUM_FIELDS, RULE_FIELDS, SEATS
from tests.scenario_file import rules_of
from tests.scenario_runner import Case, EngineDriver, Step, main, read_cases, read_hand, run_file

TESTS = Path(__file__).parent.parent
SHARED_COPY = TESTS / "scenarios.yaml"
OWN = TESTS / "own_scenarios.yaml"
SHARED = TESTS.parent.parent / "shared" / "rules" / "scenarios.yaml"


def _named(path: Path) -> list[object]:
    return [pytest.param(case, id=case.id) for case in read_cases(path)]


@pytest.mark.parametrize("case", _named(SHARED_COPY))
def test_shared_scenario(case: Case) -> None:
    assert case.failures(EngineDriver()) == []


@pytest.mark.parametrize("case", _named(OWN))
def test_own_scenario(case: Case) -> None:
    assert case.failures(EngineDriver()) == []


@pytest.mark.skipif(not SHARED.exists(), reason="the shared rules are not beside this repository")
def test_the_copy_is_the_shared_file() -> None:
    assert SHARED_COPY.read_bytes() == SHARED.read_bytes()


def test_the_shared_file_is_run_whole() -> None:
    report = run_file(SHARED_COPY, [EngineDriver()])

    assert report.passed == {("engine", "hands"): 172, ("engine", "tables"): 67, ("engine", "outcomes"): 27}
    assert report.is_clean


def _pairs() -> dict[str, list[dict[str, object]]]:
    """By field and what is the same in them: the cases that differ in the field's value."""
    groups: dict[str, list[dict[str, object]]] = defaultdict(list)
    for case in read_cases(OWN):
        if case.section == "hands" and isinstance(case.value, dict) and "pair" in case.value:
            ((field, _),) = case.value["pair"].items()
            groups[json.dumps([field, _what_is_the_same(case.value, field)], sort_keys=True)].append(case.value)
    return groups


def _what_is_the_same(case: dict[str, object], field: str) -> list[object]:
    overrides, setup = case.get("overrides", {}), case["setup"]
    assert isinstance(overrides, dict) and isinstance(setup, dict)
    actions = [[step.seat, step.action, dict(step.members)] for step in read_hand(case).steps if isinstance(step, Step)]
    return [
        case["preset"],
        {name: value for name, value in overrides.items() if name != field},
        {name: value for name, value in setup.items() if name != field},
        actions,
    ]


def _outcome(case: dict[str, object]) -> str:
    steps = case["steps"]
    assert isinstance(steps, list)
    refusals_and_checks = [step.get("error") or step.get("check") for step in steps]
    return json.dumps([case["expect"], refusals_and_checks], sort_keys=True)


def _value(case: dict[str, object]) -> str:
    """The value of its field with which *case* is played, from its rules and not from what it says of itself."""
    (field,) = case["pair"]  # type: ignore[misc]
    setup = case["setup"]
    assert isinstance(setup, dict)
    value = getattr(rules_of(case, setup["seats"]), field)
    return str([str(card) for card in value]) if field == "manilhas" and value else str(value)


@pytest.mark.parametrize("case", [case for group in _pairs().values() for case in group], ids=lambda case: case["id"])
def test_a_pair_says_its_value(case: dict[str, object]) -> None:
    ((field, value),) = case["pair"].items()  # type: ignore[attr-defined]
    said = tuple(value) if field == "ladder" else value

    assert _value(case) == str(said)


def test_every_value_of_every_rule_changes_an_outcome() -> None:
    """By field: each value is in a pair with another value whose outcome differs."""
    telling: dict[str, set[str]] = defaultdict(set)
    for group in _pairs().values():
        (field,) = group[0]["pair"]  # type: ignore[misc]
        for case in group:
            if any(_value(other) != _value(case) and _outcome(other) != _outcome(case) for other in group):
                telling[field].add(_value(case))

    wanted = {field: {str(value) for value in enum} for field, enum in ENUM_FIELDS.items()}
    wanted |= {name: {"True", "False"} for name in ("eleven_decision", "eleven_partner_cards", "eleven_show")}
    wanted |= {"covered_from_trick": {"2", "3", "None"}, "legs": {"1", "2"}, "seats": {str(seats) for seats in SEATS}}
    assert {field: telling[field] & values for field, values in wanted.items()} == wanted
    assert {field for field in RULE_FIELDS if len(telling[field]) < 2} == set()
    assert "None" in telling["manilhas"]


HAND = """
hands:
- id: ONE
  preset: paulista
  setup: {seats: 2, dealer: 1, vira: 4D, hands: {0: [3C, 2C, 6C], 1: [KD, JD, 7D]}}
  steps:
  - {seat: 0, do: raise}
  - {seat: 0, do: accept, error: not_your_team_to_answer}
  - check: {pending: {team: 0, to: 3}}
  - {seat: 1, do: accept}
  expect: {over: false, value: 3, game_over: false}
"""


def _run(text: str, tmp_path: Path) -> list[str]:
    path = tmp_path / "scenarios.yaml"
    path.write_text(text, encoding="utf-8")
    return run_file(path, [EngineDriver()]).failures


def test_a_right_case_passes(tmp_path: Path) -> None:
    assert _run(HAND, tmp_path) == []


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("value: 3, game", "value: 6, game", "expected value 6, saw 3"),
        ("to: 3}}", "to: 6}}", "expected pending {'team': 0, 'to': 6}, saw {'team': 0, 'to': 3}"),
        ("game_over: false", "game_over: 0", "expected game_over 0, saw False"),
        ("not_your_team_to_answer", "nothing_to_answer", "it was refused with not_your_team_to_answer"),
        (", error: not_your_team_to_answer", "", "expected it accepted"),
        ("do: raise}", "do: raise, error: not_your_turn}", "it was accepted"),
        ("over: false, value: 3", "hands: {0: [3C]}", "expected hands of seat 0 ['3C'], saw ['3C', '2C', '6C']"),
    ],
)
def test_a_wrong_case_fails(tmp_path: Path, right: str, wrong: str, told: str) -> None:
    assert right in HAND

    (line,) = _run(HAND.replace(right, wrong), tmp_path)

    assert line.startswith("ONE (engine): ") and told in line


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("preset: paulista", "preset: paulistano", "preset: must be one of"),
        ("  preset: paulista", "  preset: paulista\n  colour: red", "unknown key colour"),
        ("  preset: paulista\n", "", "lacks preset"),
        ("  preset: paulista", "  preset: paulista\n  overrides: {rank: 1}", "overrides: unknown key rank"),
        ("  preset: paulista", "  preset: paulista\n  overrides: {legs: 2, target: 15}", "legs"),
        ("dealer: 1", "dealer: 2", "setup.dealer: must be a seat from 0 to 1"),
        ("dealer: 1,", "dealer: 1, wind: 3,", "setup: unknown key wind"),
        ("seats: 2", "seats: 3", "setup.seats: must be 2, 4 or 6"),
        ("[3C, 2C, 6C]", "[3C, 2C]", "setup.hands.0: must be 3 cards"),
        ("[3C, 2C, 6C]", "[3C, 2C, KD]", "a card appears twice"),
        ("[3C, 2C, 6C]", "[3C, 2C, 9C]", "'9C' is not a card"),
        ("[3C, 2C, 6C]", "[3C, 2C, 10C]", "10C is not in french40"),
        ("vira: 4D, ", "", "setup.vira: needed"),
        ("do: raise}", "do: shout}", "step 1: do: must be one of"),
        ("do: raise}", "do: raise, loudly: true}", "step 1: unknown key loudly"),
        ("do: raise}", "do: raise, card: 3C}", "step 1: unknown key card"),
        ("do: raise}", "do: raise, to: six}", "step 1: to: must be an integer"),
        ("seat: 0, do: raise", "seat: 2, do: raise", "step 1: there is no seat 2"),
        ("error: not_your_team_to_answer", "error: no_idea", "step 2: error: must be one of"),
        ("- check: {", "- check: {mood: good, ", "step 3: check: unknown key mood"),
        ("expect: {", "expect: {mood: good, ", "expect: unknown key mood"),
    ],
)
def test_what_is_not_in_the_format_fails(tmp_path: Path, right: str, wrong: str, told: str) -> None:
    assert right in HAND

    (line,) = _run(HAND.replace(right, wrong), tmp_path)

    assert line.startswith("ONE (engine): malformed: ") and told in line


def test_unknown_keys_of_tables_and_outcomes_fail(tmp_path: Path) -> None:
    text = """
tables:
- {id: T1, kind: deal, preset: paulista, players: 4, cards_per_player: 3, vira: 1, stock_left: 27, mood: good}
- {id: T2, kind: dealing, preset: paulista}
- {id: T3, kind: deal, preset: paulista, players: 4, cards_per_player: 3, vira: 1, stock_left: 26}
outcomes:
- {tricks: [0, 0, 0], played: 2, winner: 0, mood: good}
- {tricks: [0, 1, 0], played: 3, winner: 1}
"""

    lines = _run(text, tmp_path)

    assert [line.split(" (engine)")[0] for line in lines] == [
        "T1",
        "T2",
        "T3",
        "outcome [0, 0, 0]",
        "outcome [0, 1, 0]",
    ]
    assert "unknown key mood" in lines[0] and "unknown key mood" in lines[3]
    assert "expected stock_left 26, saw 27" in lines[2] and "expected winner 1, saw 0" in lines[4]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hands: [", "is not YAML"),
        ("- 1", "must be a mapping"),
        ("{}", "has none of"),
        ("hand: []", "unknown key hand"),
        ("hands: 3", "must be a list"),
        (HAND + HAND.removeprefix("\nhands:\n"), "ONE stands twice"),
        (HAND.replace("dealer: 1", "dealer: 1, dealer: 0"), "'dealer' stands twice"),
    ],
)
def test_the_command_refuses_what_is_no_scenarios_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")

    assert main([str(path)], [EngineDriver()]) == 1
    assert told in capsys.readouterr().err


def test_the_command_refuses_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.yaml")], [EngineDriver()]) == 1
    assert "No such file" in capsys.readouterr().err


def test_the_command_prints_failures_and_last_the_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(HAND.replace("value: 3, game", "value: 6, game"), encoding="utf-8")

    assert main([str(path)], [EngineDriver()]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "ONE (engine): expected value 6, saw 3",
        "engine: hands 0 passed 1 failed",
    ]


def test_the_command_answers_0_when_all_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(HAND, encoding="utf-8")

    assert main([str(path)], [EngineDriver()]) == 0
    assert capsys.readouterr().out == "engine: hands 1 passed 0 failed\n"
