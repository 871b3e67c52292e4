"""What points are worth: the chance to win the match from a score, if both sides play equally well."""

from __future__ import annotations

from functools import lru_cache

from service.engine.view import RuleSet

STEP_SHARES = (0.56, 0.30, 0.09, 0.03, 0.02)
"""How often a hand ends at each step of the ladder, start value first; further steps are as rare as the last."""

FOLDED_AT_ELEVEN = 0.3
"""How often a team at 11 gives its hand up,"""
WON_AT_ELEVEN = 0.57
"""and how often it wins the hands that it plays."""


class MatchOdds:
    def __init__(self, rules: RuleSet) -> None:
        self._target = rules.target
        self._rules = rules
        self._odds: dict[tuple[int, int], float] = {}
        shares = [STEP_SHARES[min(step, len(STEP_SHARES) - 1)] for step in range(len(rules.ladder))]
        self._steps = [(value, share / sum(shares)) for value, share in zip(rules.ladder, shares, strict=True)]
        for ours in range(rules.target - 1, -1, -1):
            for theirs in range(rules.target - 1, -1, -1):
                self._odds[ours, theirs] = self._reckoned(ours, theirs)

    def __call__(self, ours: int, theirs: int) -> float:
        if ours >= self._target:
            return 1.0
        if theirs >= self._target:
            return 0.0
        return self._odds[max(0, ours), max(0, theirs)]

    def _reckoned(self, ours: int, theirs: int) -> float:
        short = self._rules.one_short
        if ours == short and theirs == short:
            return 0.5
        if ours == short:
            return self._at_eleven(ours, theirs)
        if theirs == short:
            # the mirror of what the other team has there
            first, value = self._rules.ladder[0], self._rules.eleven_value
            if not self._rules.eleven_decision:
                return (self(ours + value, theirs)) / 2
            played = (1 - WON_AT_ELEVEN) * self(ours + value, theirs)
            return FOLDED_AT_ELEVEN * self(ours + first, theirs) + (1 - FOLDED_AT_ELEVEN) * played
        return sum(
            share * (self(ours + value, theirs) + self(ours, theirs + value)) / 2 for value, share in self._steps
        )

    def _at_eleven(self, ours: int, theirs: int) -> float:
        first, value = self._rules.ladder[0], self._rules.eleven_value
        if not self._rules.eleven_decision:
            return (1 + self(ours, theirs + value)) / 2
        played = WON_AT_ELEVEN + (1 - WON_AT_ELEVEN) * self(ours, theirs + value)
        return FOLDED_AT_ELEVEN * self(ours, theirs + first) + (1 - FOLDED_AT_ELEVEN) * played


@lru_cache(maxsize=64)
def match_odds(rules: RuleSet) -> MatchOdds:
    return MatchOdds(rules)
