"""A failover in the middle of a game."""

from __future__ import annotations

import random
import time

from tests.chaos.play import Game
from tests.chaos.redis_groups import DOWN_AFTER_MS, SentinelTrio
from tests.chaos.service import service
from tests.chaos.wire import Violation, Wire, create, look

BEFORE = 10
"""Actions that the replica has too."""
LOST = 3
"""Actions that only the master has when it dies."""


def sentinel() -> list[str]:
    """The master dies in the middle of a game, with commits that its replica never got; play goes on."""
    with SentinelTrio() as trio, service(trio.url) as live, Wire(live.url) as wire:
        old_port = trio.master_port()
        game = Game(wire, create(wire, "paulista", rules={"target": 30}), random.Random(2))
        while game.version < BEFORE:
            game.play()
        time.sleep(0.5)  # until the replica has them all
        kept = game.version
        trio.cut_off_replica()
        while game.version < kept + LOST:
            game.play()
        seat = game.table.waits_for[0]
        stale = look(wire, game.table, seat)["legal_actions"][0]
        trio.kill_master()
        game.act(seat, stale)
        if (game.counts["conflicts"], game.version, game.counts["went back"]) != (1, kept, 1):
            raise Violation(f"after the failover: version {game.version}, not {kept}; {game.counts}")
        outage, unavailable = game.longest_outage_seconds, game.counts["503"]
        while game.play():
            pass
        game.check_record()
        if trio.master_port() == old_port:
            raise Violation("the sentinels did not fail over")
    return [
        (
            f"the master died after version {kept + LOST}, the replica had {kept};"
            f" {unavailable} times 503, {outage:.1f} s without the store (sentinels wait {DOWN_AFTER_MS / 1000:.0f} s)"
        ),
        (
            f"the next action got 409 version_conflict with the view at version {kept}; the game was played to its end,"
            f" version {game.version}, {game.counts['actions']} actions, its record verifies"
        ),
    ]
