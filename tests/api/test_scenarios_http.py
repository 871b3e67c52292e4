"""Every hand of the rulebook's scenarios, and of our own, over HTTP with a reload between any two steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.http_driver import HttpDriver
from tests.scenario_runner import Case, read_cases

TESTS = Path(__file__).parents[1]
HANDS = [
    pytest.param(case, id=f"{name}-{case.id}")
    for name in ("scenarios", "own_scenarios")
    for case in read_cases(TESTS / f"{name}.yaml")
    if case.section == "hands"
]


@pytest.fixture(scope="module")
def driver() -> HttpDriver:
    return HttpDriver()


@pytest.mark.parametrize("case", HANDS)
def test_hand_over_http(case: Case, driver: HttpDriver) -> None:
    assert case.failures(driver) == []
