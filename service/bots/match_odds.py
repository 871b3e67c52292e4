"""What points are worth: the chance to win the match from a score when both sides play equally well."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from service.engine.view import RuleSet

STEP_SHARES: Final = (0.7, 0.2, 0.05, 0.02, 0.03)
"""How often a hand brings each step of the ladder, the start value first. A shorter ladder keeps the proportions."""


class MatchOdds:
    """Of one rule set; call it with our points and theirs."""

    def __init__(self, rules: RuleSet) -> None:
        self._rules = rules
        shares = STEP_SHARES[: len(rules.ladder)]
        self._steps = [(points, share / sum(shares)) for points, share in zip(rules.ladder, shares, strict=False)]
        self._odds: dict[tuple[int, int], float] = {}
        for ours in reversed(range(rules.target)):
            for theirs in reversed(range(rules.target)):
                self._odds[ours, theirs] = self._reckoned(ours, theirs)

    def __call__(self, ours: int, theirs: int) -> float:
        if ours >= self._rules.target:
            return 1.0
        return 0.0 if theirs >= self._rules.target else self._odds[ours, theirs]

    def _reckoned(self, ours: int, theirs: int) -> float:
        short = self._rules.one_short
        if ours == theirs:
            return 0.5
        if ours == short:
            return self._at_eleven(theirs)
        if theirs == short:
            return 1 - self._at_eleven(ours)
        return sum(
            share * (self(ours + points, theirs) + self(ours, theirs + points)) / 2 for points, share in self._steps
        )

    def _at_eleven(self, theirs: int) -> float:
        """Of the team that decides on a mão de onze, its chance to win that being anything from 0 to 1."""
        rules = self._rules
        lost = self(rules.one_short, theirs + rules.eleven_value)
        if not rules.eleven_decision:
            return (1 + lost) / 2
        folded = self(rules.one_short, theirs + rules.ladder[0])
        least = (folded - lost) / (1 - lost)
        played = (1 + least) / 2
        return least * folded + (1 - least) * (played + (1 - played) * lost)


@lru_cache(maxsize=64)
def match_odds(rules: RuleSet) -> MatchOdds:
    return MatchOdds(rules)
