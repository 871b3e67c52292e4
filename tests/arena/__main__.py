"""Two sides against each other: `python -m tests.arena hard medium --seats 2 --variant paulista --pairs 2000`.

A pair is two matches with the same packs, dealer and dice, sides swapped. The win rate is of matches; since the two of
a pair are alike, the pairs are what its 95 % interval counts. Times are CPU time.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from statistics import fmean, stdev
from typing import Final

from service.engine.rules import PRESETS, SEATS, RuleSet
from tests.arena.match import Tally, play_match
from tests.arena.players import PLAYERS

Tallies = tuple[Tally, Tally]

SOME: Final = 20
"""Pairs that a process plays before it reports."""
SURE: Final = 1.96
"""Standard errors on either side of a 95 % interval."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.arena", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("a", choices=PLAYERS, metavar="A", help=", ".join(PLAYERS))
    parser.add_argument("b", choices=PLAYERS, metavar="B")
    parser.add_argument("--seats", type=int, choices=SEATS, default=2)
    parser.add_argument("--variant", choices=PRESETS, default="paulista")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--jobs", type=int, help="processes, by default one for each core")
    options = parser.parse_args()
    if options.pairs < 2:
        parser.error("an interval takes two pairs at least")
    rules = replace(PRESETS[options.variant].rules, seats=options.seats)
    shares, tallies = play_pairs(options.a, options.b, rules, options.pairs, options.jobs)
    print(f"{options.a} against {options.b}: {options.variant}, {options.seats} seats, {options.pairs} pairs")
    for line in report((options.a, options.b), shares, tallies):
        print(f"  {line}")


def play_pairs(a: str, b: str, rules: RuleSet, pairs: int, jobs: int | None = None) -> tuple[list[float], Tallies]:
    """What of each pair *a* won (0, 0.5 or 1), and what both did. The pairs are the same each time."""
    shares: list[float] = []
    tallies = (Tally(), Tally())
    parts = [range(first, min(first + SOME, pairs)) for first in range(0, pairs, SOME)]
    with ProcessPoolExecutor(jobs) as pool:
        for some, counted in pool.map(partial(play_some, a, b, rules), parts):
            shares += some
            for tally, part in zip(tallies, counted, strict=True):
                tally.add(part)
    return shares, tallies


def play_some(a: str, b: str, rules: RuleSet, numbers: range) -> tuple[list[float], Tallies]:
    """The same for the pairs of these *numbers*."""
    one, two = PLAYERS[a], PLAYERS[b]
    ours, theirs = Tally(), Tally()
    shares = []
    for number in numbers:
        seed = hashlib.sha256(f"pair {number}".encode()).digest()
        won = [
            play_match(rules, (one, two), seed, (ours, theirs)) == 0,
            play_match(rules, (two, one), seed, (theirs, ours)) == 1,
        ]
        shares.append(sum(won) / len(won))
    return shares, (ours, theirs)


def report(names: tuple[str, str], shares: Sequence[float], tallies: Tallies) -> Iterator[str]:
    """The win rate of the first, then a line each."""
    rate, margin = fmean(shares), SURE * stdev(shares) / math.sqrt(len(shares))
    hands = tallies[0].counts["hands"] / len(shares) / 2
    low, high = max(0.0, rate - margin), min(1.0, rate + margin)
    yield f"{names[0]} wins {rate:.1%} of the matches (95 %: {low:.1%} to {high:.1%}), of {hands:.1f} hands each"
    for name, tally in zip(names, tallies, strict=True):
        count, spent = tally.counts, sorted(tally.decisions_ms)
        yield (
            f"{name:8}{count['points'] / count['hands']:.2f} points a hand, "
            f"{count['raises'] / count['hands']:.2f} raises, "
            f"{_share(count['bluffs'], count['raises'])} of them bluffs, "
            f"folds {_share(count['folds'], count['asked'])} of the times it is asked, "
            f"ms a decision: mean {fmean(spent):.2f}, p99 {spent[len(spent) * 99 // 100]:.2f}, most {spent[-1]:.1f}"
        )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "none"


if __name__ == "__main__":
    main()
