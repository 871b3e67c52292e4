"""A player who reckons with what the others hold, with the score, and with being read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from random import Random
from typing import Final

from service.bots.match_odds import match_odds
from service.bots.medium import laid
from service.bots.player import Player
from service.bots.reading import BOTH, Reading
from service.bots.worlds import Worlds, winner
from service.engine.actions import Accept, Action, Fold, Play, Raise
from service.engine.view import Seat, other_team

WORLDS: Final = {2: 48, 4: 32, 6: 24}

CALL_SHIFT = 0.1
CALL_SLOPE = 0.08
RERAISE_AT = 0.8
RERAISE_SLOPE = 0.06
RAISE_AT = 0.64
RAISE_SLOPE = 0.07
BLUFF = 0.15
TEMPERATURE = 0.008
MARGIN = 0.0


def rises(x: float) -> float:
    """0 far below 0, 1 far above."""
    return 1 / (1 + exp(-max(-50.0, min(50.0, x))))


@dataclass(frozen=True, slots=True)
class Weighed:
    """One world: what it counts, whether our team wins the hand in it, what the asked opponent thinks of its cards."""

    weight: float
    won: float
    theirs: float


class Hard(Player):
    def plays_at_eleven(self, reading: Reading, rng: Random) -> bool:
        weighed = _weigh(reading, rng, None, None)
        odds = _Stakes(reading)
        rules = reading.table.rules
        chance = _chance(weighed)
        accept = chance * odds.win(rules.eleven_value) + (1 - chance) * odds.lose(rules.eleven_value)
        return accept >= odds.lose(rules.ladder[0])

    def answer(self, reading: Reading, raising: Raise | None, rng: Random) -> Action:
        pending = reading.hand.pending
        assert pending is not None
        stakes = _Stakes(reading)
        asked = pending.seat
        weighed = _weigh(reading, rng, asked, None)
        weighed = [
            Weighed(w.weight * (BLUFF + (1 - BLUFF) * rises((w.theirs - RAISE_AT) / RAISE_SLOPE)), w.won, w.theirs)
            for w in weighed
        ]
        value, to = reading.hand.value, pending.to
        choices: list[tuple[Action, float]] = [
            (Fold(), stakes.lose(value)),
            (Accept(), stakes.played(weighed, to)),
        ]
        if raising is not None and raising.to is not None and raising.penalty is None:
            choices.append((raising, stakes.raised(reading, weighed, to, raising.to) - MARGIN))
        top = max(value for _, value in choices)
        weights = [exp((value - top) / TEMPERATURE) for _, value in choices]
        (action,) = rng.choices([action for action, _ in choices], weights)
        return action

    def raises(self, reading: Reading, raising: Raise, rng: Random) -> bool:
        raise NotImplementedError

    def card(self, reading: Reading, plays: Sequence[Play], rng: Random) -> Play:
        raise NotImplementedError

    def turn(self, reading: Reading, raising: Raise | None, plays: Sequence[Play], rng: Random) -> Action:
        stakes = _Stakes(reading)
        asked = (reading.seat + 1) % reading.outlook.seats
        place, weighed = _best_card(reading, rng, asked)
        if raising is not None and raising.penalty is None and raising.to is not None:
            value = reading.hand.value
            gain = stakes.raised(reading, weighed, value, raising.to) - stakes.played(weighed, value)
            if rng.random() < rises((gain - MARGIN) / TEMPERATURE):
                return raising
        return laid(reading, plays, place)


def _best_card(reading: Reading, rng: Random, asked: Seat) -> tuple[int, list[Weighed]]:
    held = reading.held
    distinct = [place for place, level in enumerate(held) if level not in held[:place]]
    worlds = Worlds(reading)
    outcomes: list[list[float]] = [[] for _ in distinct]
    weights: list[float] = []
    theirs: list[float] = []
    for _ in range(WORLDS[reading.outlook.seats]):
        world = worlds.deal(rng)
        weights.append(world.weight)
        theirs.append(reading.chance(asked, world.hands[asked]))
        for outcome, place in zip(outcomes, distinct, strict=True):
            outcome.append(_won(reading, winner(reading, world, place)))
    sums = [sum(w * o for w, o in zip(weights, outcome, strict=True)) for outcome in outcomes]
    best = sums.index(max(sums))
    weighed = [Weighed(*it) for it in zip(weights, outcomes[best], theirs, strict=True)]
    return distinct[best], weighed


def _weigh(reading: Reading, rng: Random, asked: Seat | None, place: int | None) -> list[Weighed]:
    worlds = Worlds(reading)
    weighed = []
    for _ in range(WORLDS[reading.outlook.seats]):
        world = worlds.deal(rng)
        theirs = 0.5 if asked is None else reading.chance(asked, world.hands[asked])
        weighed.append(Weighed(world.weight, _won(reading, winner(reading, world, place)), theirs))
    return weighed


def _won(reading: Reading, team: int) -> float:
    if team == BOTH:
        tied = reading.table.winner_if_all_tied
        return 0.5 if tied is None else float(tied == reading.team)
    return float(team == reading.team)


def _chance(weighed: Sequence[Weighed]) -> float:
    return sum(w.weight * w.won for w in weighed) / sum(w.weight for w in weighed)


class _Stakes:
    def __init__(self, reading: Reading) -> None:
        table = reading.table
        self._odds = match_odds(table.rules)
        self._ours, self._theirs = table.score[reading.team], table.score[other_team(reading.team)]

    def win(self, points: int) -> float:
        return self._odds(self._ours + points, self._theirs)

    def lose(self, points: int) -> float:
        return self._odds(self._ours, self._theirs + points)

    def played(self, weighed: Sequence[Weighed], value: int) -> float:
        chance = _chance(weighed)
        return chance * self.win(value) + (1 - chance) * self.lose(value)

    def raised(self, reading: Reading, weighed: Sequence[Weighed], value: int, to: int) -> float:
        """The chance to win the match if our team asks for *to* while *value* stands."""
        fold, won, lost = self.win(value), self.win(to), self.lose(to)
        needed = (won - fold) / (won - lost) if won > lost else 0.0
        step = reading.table.rules.step_after(to)
        total = folded = called = again = called_won = again_won = 0.0
        for w in weighed:
            call = rises((w.theirs - needed - CALL_SHIFT) / CALL_SLOPE)
            more = rises((w.theirs - RERAISE_AT) / RERAISE_SLOPE) if step is not None else 0.0
            call = max(0.0, call - more)
            total += w.weight
            folded += w.weight * max(0.0, 1 - call - more)
            called += w.weight * call
            called_won += w.weight * call * w.won
            again += w.weight * more
            again_won += w.weight * more * w.won
        result = folded * fold + called_won * won + (called - called_won) * lost
        if step is not None and again:
            result += max(again * lost, again_won * self.win(step) + (again - again_won) * self.lose(step))
        return result / total
