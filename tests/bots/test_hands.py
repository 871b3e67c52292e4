"""Bots in every preset, seat count and phase: what they do is legal, and rests on nothing that their seat can't see."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest

import service.bots
from service.bots import BOTS, speaker
from service.engine.actions import Cut, Deal, Raise, Show, legal_actions
from service.engine.view import view_for
from tests.bots.hands import BotHands
from tests.engine.games import STARTS, Start, random_game
from tests.table import table, undealt_table

every_start = pytest.mark.parametrize("start", STARTS, ids=str)


@every_start
def test_a_decision_is_legal_and_the_same_when_unseen_cards_are_dealt_anew(start: Start) -> None:
    """More hands: `python -m tests.bots`."""
    hands = BotHands(start, hands=2)
    hands.play()
    assert hands.decisions_ms


def test_they_know_what_to_do_in_games_that_they_would_not_play() -> None:
    """Penalties are paid and shows missed only by others; a raise out of turn is answered."""
    met: Counter[str] = Counter()
    for start in STARTS:
        _decide_in_a_game_of_others(start, met)
    assert met["raises that cost something"] >= 20
    assert met["wins to be shown"] >= 3


def _decide_in_a_game_of_others(start: Start, met: Counter[str]) -> None:
    rng = Random(start.seed)
    for turn in random_game(start):
        state = turn.after
        if rng.random() > 0.1:
            continue
        for seat in state.table.waited_for:
            view = view_for(state, seat)
            offered = legal_actions(view)
            is_won = any(isinstance(it, Show) for it in offered)
            met["wins to be shown"] += is_won
            met["raises that cost something"] += any(isinstance(it, Raise) and bool(it.penalty) for it in offered)
            for name, bot in BOTS.items():
                action = bot.player.decide(view, Random(rng.random()))
                assert action in offered, name
                assert not (isinstance(action, Raise) and action.penalty), "a raise that costs something"
                assert is_won == isinstance(action, Show), "a win is shown"


@pytest.mark.parametrize("name", BOTS)
def test_out_of_turn_they_do_nothing(name: str) -> None:
    played = table("tradicional", "3C 2C AC / KD JD QD / 6H 7H QH / 6S 7S QS", "4D")
    assert [type(action) for action in played.offered(1)] == [Raise], "which any seat might do at any time"
    with pytest.raises(AssertionError):
        BOTS[name].player.decide(played.view(1), Random(0))


@pytest.mark.parametrize("name", BOTS)
def test_they_cut_and_deal_in_many_ways(name: str) -> None:
    cutting = undealt_table("tradicional")
    dealing = cutting.cuts()
    cuts = {BOTS[name].player.decide(cutting.view(cutting.state.table.cutter), Random(dice)) for dice in range(50)}
    deals = {BOTS[name].player.decide(dealing.view(dealing.hand.dealer), Random(dice)) for dice in range(50)}
    assert len(cuts) > 10
    assert {type(cut) for cut in cuts} == {Cut}
    assert len(deals) == 4
    assert {type(deal) for deal in deals} == {Deal}


@pytest.mark.parametrize("name", BOTS)
def test_the_same_dice_do_the_same_in_another_process(name: str) -> None:
    """Whatever order sets and hashes have there."""
    script = f"""
from random import Random
from service.bots import BOTS
from tests.table import table
for hand in ("3C 2C 4C", "6C QD 5H", "AC KC 4D"):
    for seats in (2, 4):
        played = table("paulista", hand, "7D", seats=seats)
        print([str(BOTS["{name}"].player.decide(played.view(0), Random(dice))) for dice in range(4)])
        asked = played.raises().view(1)
        print([str(BOTS["{name}"].player.decide(asked, Random(dice))) for dice in range(4)])
"""
    told = [
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert told[0].count("\n") == 12


def test_who_speaks_for_a_team_is_the_next_to_play() -> None:
    asked = table("paulista").raises()
    assert speaker(asked.state.table) == 1
    assert speaker(asked.raises(1).state.table) == 0
    assert speaker(asked.accepts(3).plays("4C").state.table) == 1
    assert speaker(table("paulista", score=(0, 11)).state.table) == 1
    assert speaker(table("paulista", score=(11, 0), dealer=0).state.table) == 2


def test_there_is_no_other_choice_to_fall_back_on() -> None:
    """An error in a bot is an error: nothing catches it and plays on."""
    for source in Path(service.bots.__file__).parent.glob("*.py"):
        assert not re.search(r"\b(except|suppress)\b", source.read_text("utf-8")), source.name


def test_each_has_a_sentence() -> None:
    assert list(BOTS) == ["easy", "medium", "hard"]
    for bot in BOTS.values():
        assert re.fullmatch(r"[A-Z].*\.", bot.sentence)
