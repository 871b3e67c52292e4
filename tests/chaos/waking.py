"""How soon a waiter hears of an action."""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack

import redis

from tests.chaos.service import service
from tests.chaos.wire import Table, Violation, Wire, create, look, note_turn
from tests.redis_server import RedisServer

ACTIONS = 60
BROKEN = 5
MEDIAN_SECONDS = 0.05
WAIT_SECONDS = 10
_SETTLES_SECONDS = 0.05


def waking() -> list[str]:
    """A waiter gets another's action within 50 ms (median), and within its wait when the subscription breaks."""
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer())
        client = stack.enter_context(redis.Redis.from_url(server.url))
        live = stack.enter_context(service(server.url))
        acting, waiting = (stack.enter_context(Wire(live.url)) for _ in range(2))
        table = create(acting, rules={"target": 98})
        whole = [_woken_after(acting, waiting, table) for _ in range(ACTIONS)]
        broken = [_woken_after(acting, waiting, table, breaks=client) for _ in range(BROKEN)]
    median = statistics.median(whole)
    if median > MEDIAN_SECONDS or max(broken) > WAIT_SECONDS:
        raise Violation(f"woken after {median:.3f} s (median), after a broken subscription {max(broken):.1f} s")
    return [
        (
            f"{ACTIONS} actions: median {median * 1000:.1f} ms from sending the action to the waiter's answer,"
            f" at most {max(whole) * 1000:.0f} ms; subscription killed just before {BROKEN} more: at most"
            f" {max(broken):.2f} s"
        )
    ]


def _woken_after(acting: Wire, waiting: Wire, table: Table, breaks: redis.Redis | None = None) -> float:
    seat = table.waits_for[0]
    view = look(acting, table, seat)
    plays = [action for action in view["legal_actions"] if action["type"] in ("play", "accept")]
    path = f"{table.path}?after_version={view['version']}&wait={WAIT_SECONDS}"
    waiting.send("GET", path, token=table.tokens[1 - seat])
    time.sleep(_SETTLES_SECONDS)  # until it waits
    if breaks is not None:
        breaks.client_kill_filter(_type="pubsub")
    sent = time.monotonic()
    note_turn(table, acting.post(table.actions, plays[0], table.tokens[seat])["game"])
    if waiting.read().body["version"] != view["version"] + 1:
        raise Violation("a waiter was answered with an old view")
    return time.monotonic() - sent
