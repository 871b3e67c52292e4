"""The arena is fair: both sides of a pair get the same cards and the same dice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.engine.rules import PRESETS
from tests.arena.__main__ import play_some, report


@pytest.mark.parametrize("seats", [2, 4])
def test_a_player_wins_one_match_of_each_pair_against_itself(seats: int) -> None:
    rules = replace(PRESETS["paulista"].rules, seats=seats)
    shares, (ours, theirs) = play_some("medium", "medium", rules, range(3))
    assert shares == [0.5, 0.5, 0.5]
    assert ours.counts == theirs.counts
    assert ours.counts["points"] >= 3 * rules.target


def test_it_tells_who_won_how_surely_and_how_they_played() -> None:
    shares, tallies = play_some("easy", "folder", PRESETS["mano-a-mano"].rules, range(4))
    first, easy, folder = report(("easy", "folder"), shares, tallies)
    assert first.startswith(f"easy wins {sum(shares) / 4:.1%} of the matches (95 %: ")
    assert easy.startswith("easy ")
    folds, asked = tallies[1].counts["folds"], tallies[1].counts["asked"]
    assert f", folds {folds / asked:.0%} of the times it is asked, " in folder
