"""One match between two sides, played in-process through the real engine and the real shuffle."""

from __future__ import annotations

import time
from array import array
from dataclasses import dataclass, field
from random import Random

from service.bots.player import Player
from service.bots.reading import read
from service.dealer import SeededDealer
from service.engine.actions import Fold, Raise, apply
from service.engine.flow import new_game, start_hand
from service.engine.rules import RuleSet
from service.engine.state import GameState, Phase, Seat, team_of
from service.engine.view import view_for

BLUFF_BELOW = 0.4
"""A raise is called a bluff if its seat's own cards promise less than this chance to win the hand."""


@dataclass
class Tally:
    """What one side did."""

    decisions_ms: array[float] = field(default_factory=lambda: array("f"))
    turns: int = 0
    """Those at which it might have raised."""
    raises: int = 0
    bluffs: int = 0
    asked: int = 0
    folds: int = 0
    points: int = 0
    hands: int = 0

    def add(self, other: Tally) -> None:
        self.decisions_ms.extend(other.decisions_ms)
        for name in ("turns", "raises", "bluffs", "asked", "folds", "points", "hands"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def seat_asked(state: GameState) -> Seat:
    """Who acts; of a team that has to answer, the one who comes next after the raiser, or plays first."""
    hand, table = state.table.hand, state.table
    assert hand is not None
    waited_for = table.waited_for
    after = hand.pending.seat if hand.pending is not None else hand.dealer
    return min(waited_for, key=lambda seat: (seat - after - 1) % table.rules.seats)


def play_match(rules: RuleSet, sides: tuple[Player, Player], seed: bytes, tallies: tuple[Tally, Tally]) -> int:
    """The team that wins; team 0 plays as `sides[0]`."""
    dealer = SeededDealer()
    rngs = [Random(seed + bytes([team])) for team in (0, 1)]
    state = new_game(rules, dealer.first_dealer(seed, rules.seats)).state
    number = 0
    while state.table.result is None:
        hand = state.table.hand
        if hand is None or hand.phase is Phase.OVER:
            number += 1
            state = start_hand(state, dealer.pack(seed, rules.deck, number)).state
            continue
        seat = seat_asked(state)
        team = team_of(seat)
        tally = tallies[team]
        view = view_for(state, seat)
        started = time.thread_time()
        action = sides[team].decide(view, rngs[team])
        tally.decisions_ms.append((time.thread_time() - started) * 1000)
        if hand.phase in (Phase.ANSWER, Phase.ELEVEN):
            tally.asked += 1
            tally.folds += isinstance(action, Fold)
        elif hand.phase is Phase.PLAY:
            tally.turns += 1
        if isinstance(action, Raise):
            tally.raises += 1
            if not state.table.is_blind:
                tally.bluffs += read(view).chance() < BLUFF_BELOW
        before = state.table.score
        state = apply(state, seat, action).state
        if state.table.hand is not None and state.table.hand.phase is Phase.OVER:
            for side in (0, 1):
                tallies[side].hands += 1
                tallies[side].points += max(0, state.table.score[side] - before[side])
    return state.table.result.winner
