"""Hands that bots play, in which each of their decisions is made twice: the second time with the unseen cards re-dealt.

What a seat may know is told by `tests.engine.test_redaction` from the rulebook, not by the engine's views.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final

from service.bots import BOTS, speaker
from service.engine.actions import Action, Raise, apply, legal_actions
from service.engine.flow import new_game, start_hand
from service.engine.rules import RaiseTiming
from service.engine.state import GameState, Phase, Seat
from service.engine.view import view_for
from tests.engine.games import Start, Turn, shuffled
from tests.engine.test_redaction import Step, redealt, tell

SOMEBODY: Final = "somebody"
"""Plays at random, so that bots get into hands that no bot would play, and raises out of turn where that is allowed."""
SEATED: Final = {"easy": 2, "medium": 3, "hard": 4, SOMEBODY: 1}
OUT_OF_TURN: Final = 0.03


@dataclass
class BotHands:
    """The first hands of a game, at every seat one of `SEATED`, drawn for each hand anew."""

    start: Start
    hands: int
    decisions_ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """CPU time by kind of bot."""
    played: int = 0
    """Hands begun."""
    _step: Step | None = None

    def play(self) -> None:
        """Raises AssertionError for an action that is not legal, or another one when only unseen cards differ."""
        for step in tell(self._turns()):
            self._step = step

    def _turns(self) -> Iterator[Turn]:
        rng = Random(f"bots {self.start}")
        rules = self.start.rules
        state = new_game(rules, rng.randrange(rules.seats), self.start.score).state
        seated: list[str] = []
        while state.table.result is None:
            hand = state.table.hand
            if hand is None or hand.phase is Phase.OVER:
                if self.played == self.hands:
                    return
                self.played += 1
                seated = rng.choices(list(SEATED), list(SEATED.values()), k=rules.seats)
                cards = shuffled(rules, rng)
                begun = start_hand(state, cards)
                yield Turn(state, None, None, cards, begun.state, begun.events)
                state = begun.state
                continue
            seat, action = self._choice(state, seated, rng)
            done = apply(state, seat, action)
            yield Turn(state, seat, action, (), done.state, done.events)
            state = done.state

    def _choice(self, state: GameState, seated: list[str], rng: Random) -> tuple[Seat, Action]:
        if state.table.rules.raise_timing is RaiseTiming.ANY_TIME and rng.random() < OUT_OF_TURN:
            for seat in range(len(seated)):
                raises = [it for it in legal_actions(view_for(state, seat)) if isinstance(it, Raise) and not it.penalty]
                if raises and seated[seat] == SOMEBODY:
                    return seat, raises[0]
        seat = speaker(state.table)
        if seated[seat] == SOMEBODY:
            return seat, rng.choice(legal_actions(view_for(state, seat)))
        return seat, self._decided(state, seat, seated[seat], rng)

    def _decided(self, state: GameState, seat: Seat, kind: str, rng: Random) -> Action:
        bot, dice, view = BOTS[kind].player, rng.random(), view_for(state, seat)
        started = time.thread_time()
        action = bot.decide(view, Random(dice))
        self.decisions_ms[kind].append((time.thread_time() - started) * 1000)
        assert action in legal_actions(view), f"{kind} does {action}, which is not legal: {view}"
        assert self._step is not None
        other = view_for(redealt(self._step, seat, rng), seat)
        assert bot.decide(other, Random(dice)) == action, f"{kind} sees more than its view: {view}"
        return action
