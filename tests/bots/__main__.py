"""Bot hands over all presets and seat counts, each decision checked with the unseen cards re-dealt.

`python -m tests.bots --hands 10000`; prints how many decisions there were and how long they took (CPU time).
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

from tests.bots.hands import BotHands
from tests.engine.games import STARTS, Start


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bots", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hands", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, help="processes, by default one for each core")
    options = parser.parse_args()
    each = -(-options.hands // len(STARTS))
    decisions: dict[str, list[float]] = defaultdict(list)
    hands = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for played, spent in pool.map(_play, STARTS, [each] * len(STARTS)):
            hands += played
            for kind, times in spent.items():
                decisions[kind].extend(times)
    print(f"{hands} hands of {len(STARTS)} kinds; no decision was illegal or changed with the unseen cards")
    for kind, times in sorted(decisions.items()):
        ms = sorted(times)
        middle, high = ms[len(ms) // 2], ms[len(ms) * 99 // 100]
        print(f"  {kind:8}{len(ms)} decisions, ms: median {middle:.2f}, p99 {high:.2f}, most {ms[-1]:.1f}")


def _play(start: Start, wanted: int) -> tuple[int, dict[str, list[float]]]:
    """*wanted* hands from *start*, in as many games as that takes."""
    played, game = 0, 0
    spent: dict[str, list[float]] = defaultdict(list)
    while played < wanted:
        hands = BotHands(replace(start, game=game), wanted - played)
        hands.play()
        played += hands.played
        game += 1
        for kind, times in hands.decisions_ms.items():
            spent[kind] += times
    return played, spent


if __name__ == "__main__":
    main()
