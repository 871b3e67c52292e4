"""One match between two sides, in-process, through the real engine and the real shuffle."""

from __future__ import annotations

import time
from array import array
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Final

from service.bots import Player, speaker
from service.bots.reading import read
from service.dealer import SeededDealer
from service.engine.actions import Action, Fold, Raise, apply
from service.engine.flow import new_game, start_hand
from service.engine.rules import RuleSet
from service.engine.state import GameState, Phase, Team, team_of
from service.engine.view import PlayerView, view_for

BLUFF_BELOW: Final = 0.4
"""A raise is a bluff if the cards of its seat alone promise less than this chance to win the hand."""


@dataclass
class Tally:
    """What one side did."""

    counts: Counter[str] = field(default_factory=Counter)
    """hands, points, raises, bluffs, asked (for an answer, a mão de onze too), folds."""
    decisions_ms: array[float] = field(default_factory=lambda: array("f"))
    """CPU time, so that a busy machine does not count."""

    def decide(self, player: Player, view: PlayerView, rng: Random) -> Action:
        started = time.thread_time()
        action = player.decide(view, rng)
        self.decisions_ms.append((time.thread_time() - started) * 1000)
        table = view.table
        self.counts["asked"] += table.answering_team is not None
        self.counts["folds"] += isinstance(action, Fold)
        if isinstance(action, Raise):
            self.counts["raises"] += 1
            self.counts["bluffs"] += not table.is_blind and read(view).chance() < BLUFF_BELOW
        return action

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.decisions_ms.extend(other.decisions_ms)


def play_match(rules: RuleSet, sides: tuple[Player, Player], seed: bytes, tallies: tuple[Tally, Tally]) -> Team:
    """Who wins; the even seats play as `sides[0]`. The *seed* decides everything: packs, first dealer, the dice."""
    dealer, dice = SeededDealer(), (Random(seed + b"0"), Random(seed + b"1"))
    state = new_game(rules, dealer.first_dealer(seed, rules.seats)).state
    number = 0
    while state.table.result is None:
        if state.table.hand is None or state.table.hand.phase is Phase.OVER:
            number += 1
            state = start_hand(state, dealer.pack(seed, rules.deck, number)).state
            continue
        seat = speaker(state.table)
        team = team_of(seat)
        action = tallies[team].decide(sides[team], view_for(state, seat), dice[team])
        state = apply(state, seat, action).state
        _count_hand(state, tallies)
    return state.table.result.winner


def _count_hand(state: GameState, tallies: tuple[Tally, Tally]) -> None:
    hand, last_hand = state.table.hand, state.table.last_hand
    if hand is None or last_hand is None or hand.phase is not Phase.OVER:
        return
    for team, tally in enumerate(tallies):
        tally.counts["hands"] += 1
        tally.counts["points"] += last_hand.points if last_hand.winner == team else 0
