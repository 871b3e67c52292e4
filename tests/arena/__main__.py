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
    parser = argparse.ArgumentParser()
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--seats", type=int, default=2)
    parser.add_argument("--variant", default="paulista")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    o = parser.parse_args()
    size = 10
    jobs = [
        (o.a, o.b, o.seats, o.variant, range(at, min(at + size, o.first + o.pairs)))
        for at in range(o.first, o.first + o.pairs, size)
    ]
    scores, tallies = [], (Tally(), Tally())
    with multiprocessing.Pool(2) as pool:
        for some, counted in pool.imap(play_pairs, jobs):
            scores += some
            for all_, part in zip(tallies, counted, strict=True):
                all_.add(part)
    mean = fmean(scores)
    half = 1.96 * stdev(scores) / math.sqrt(len(scores))
    print(
        f"{o.a} - {o.b}, {o.seats} seats, {o.variant}: {100 * mean:.1f} % [{100 * (mean - half):.1f}, {100 * (mean + half):.1f}] {len(scores)} pairs"
    )
    for name, t in zip((o.a, o.b), tallies, strict=True):
        ms = sorted(t.decisions_ms)
        print(
            f"  {name:7} points/hand {t.points / t.hands:.2f}, raises/hand {t.raises / t.hands:.2f}, bluffs/raise {t.bluffs / max(1, t.raises):.2f}, "
            f"folds/asked {t.folds / max(1, t.asked):.2f} ({t.asked / t.hands:.2f}/hand), ms mean {fmean(ms):.2f} p99 {ms[int(len(ms) * 0.99)]:.2f} max {ms[-1]:.1f}"
        )
    print(f"  hands/match {tallies[0].hands / 2 / len(scores):.1f}")


main()
