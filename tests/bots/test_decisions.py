"""What bots decide: something legal, the same each time, and nothing by what they do not know."""

from __future__ import annotations

from random import Random

import pytest

from service.bots import BOTS
from service.engine.actions import Play, Raise, legal_actions
from service.engine.state import Phase
from service.engine.view import view_for
from tests.engine.games import STARTS, Start
from tests.engine.test_redaction import redealt, told_game

STEPS_OF_A_GAME = 40


@pytest.mark.parametrize("kind", BOTS)
@pytest.mark.parametrize("start", STARTS, ids=str)
def test_a_decision_is_legal_and_does_not_depend_on_hidden_cards(start: Start, kind: str) -> None:
    """Every waited-for seat, in every phase of games of all presets and seat counts; unseen cards dealt again."""
    decide, chance = BOTS[kind].player.decide, Random(f"{start}{kind}")
    for number, step in enumerate(told_game(start)[:STEPS_OF_A_GAME]):
        state = step.turn.after
        for seat in state.table.waited_for:
            view = view_for(state, seat)
            decided = decide(view, Random(number))
            assert decided in legal_actions(view)
            assert decide(view, Random(number)) == decided
            other = redealt(step, seat, chance)
            assert decide(view_for(other, seat), Random(number)) == decided


@pytest.mark.parametrize("kind", BOTS)
def test_no_bot_pays_for_a_raise(kind: str) -> None:
    """It never takes a raise that costs points or the game (S4; tradicional at 11)."""
    offered = 0
    for start in STARTS:
        for step in told_game(start)[:STEPS_OF_A_GAME]:
            state = step.turn.after
            hand = state.table.hand
            if state.table.result is not None or hand is None or hand.phase is not Phase.PLAY:
                continue
            view = view_for(state, state.table.waited_for[0])
            costly = [action for action in legal_actions(view) if isinstance(action, Raise) and action.penalty]
            if costly:
                offered += 1
                decided = BOTS[kind].player.decide(view, Random(offered))
                assert isinstance(decided, Play) or decided not in costly
    assert offered >= 10
