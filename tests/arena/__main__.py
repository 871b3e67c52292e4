"""Plays two sides against each other: `python -m tests.arena hard medium --seats 2 --variant paulista --pairs 2000`."""

from __future__ import annotations

import argparse
import hashlib
import math
import multiprocessing
from dataclasses import replace
from statistics import fmean, stdev

from service.engine.rules import PRESETS
from tests.arena.match import Tally, play_match
from tests.arena.players import PLAYERS

AT_ONCE = 10
"""Pairs that a process plays before it tells."""
Z95 = 1.96


def play_pairs(job):
    a, b, seats, variant, pairs = job
    rules = replace(PRESETS[variant].rules, seats=seats)
    one, two = PLAYERS[a], PLAYERS[b]
    tallies = (Tally(), Tally())
    scores = []
    for number in pairs:
        seed = hashlib.sha256(f"pair {number}".encode()).digest()
        won = play_match(rules, (one, two), seed, tallies) == 0
        lost = play_match(rules, (two, one), seed, (tallies[1], tallies[0])) == 0
        scores.append((won + (not lost)) / 2)
    return scores, tallies


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.arena", description=__doc__)
    parser.add_argument("a", choices=PLAYERS)
    parser.add_argument("b", choices=PLAYERS)
    parser.add_argument("--seats", type=int, default=2)
    parser.add_argument("--variant", default="paulista", choices=PRESETS)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first pair: others are other deals")
    asked = parser.parse_args()
    last = asked.first + asked.pairs
    jobs = [
        (asked.a, asked.b, asked.seats, asked.variant, range(at, min(at + AT_ONCE, last)))
        for at in range(asked.first, last, AT_ONCE)
    ]
    scores, tallies = [], (Tally(), Tally())
    with multiprocessing.Pool() as pool:
        for some, counted in pool.imap(play_pairs, jobs):
            scores += some
            for whole, part in zip(tallies, counted, strict=True):
                whole.add(part)
    mean = fmean(scores)
    half = Z95 * stdev(scores) / math.sqrt(len(scores))
    print(
        f"{asked.a} - {asked.b}, {asked.seats} seats, {asked.variant}: {mean:.1%} of the matches,"
        f" 95 % interval {mean - half:.1%} to {mean + half:.1%}, {len(scores)} pairs,"
        f" {tallies[0].hands / 2 / len(scores):.1f} hands a match"
    )
    for name, tally in zip((asked.a, asked.b), tallies, strict=True):
        ms = sorted(tally.decisions_ms)
        print(
            f"  {name:7} a hand: {tally.points / tally.hands:.2f} points, {tally.raises / tally.hands:.2f} raises;"
            f" bluffs among them {tally.bluffs / max(1, tally.raises):.0%};"
            f" folds when asked {tally.folds / max(1, tally.asked):.0%};"
            f" ms a decision: {fmean(ms):.2f}, p99 {ms[int(len(ms) * 0.99)]:.2f}"
        )


if __name__ == "__main__":
    main()
