"""Turns whose time is up: with nobody asking, and with an action at the very deadline.

No test waits for a deadline to come: it is written into the store.
"""

from __future__ import annotations

import random
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import redis

from service.engine.record import decode_action
from service.store import codec
from service.store.redis import RedisGameStore
from tests.chaos.service import service
from tests.chaos.verify import all_events, check_game, open_store, stored_game
from tests.chaos.wire import Body, Table, Violation, Wire, create, look
from tests.redis_server import RedisServer

TURN_SECONDS = 3_600
ALONE = 20
SEEN_WITHIN_SECONDS = 2.0
ACTIONS = 200
AROUND_SECONDS = 0.02
_AHEAD_SECONDS = 0.06
_SENDERS = 8


def clock() -> list[str]:
    """An overdue turn is acted on within 2 s with no request at all; an act at the deadline has one effect."""
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer())
        client = stack.enter_context(redis.Redis.from_url(server.url))
        live = stack.enter_context(service(server.url))
        with Wire(live.url) as wire:
            tables = [create(wire, turn_seconds=TURN_SECONDS) for _ in range(ALONE + ACTIONS)]
        store = open_store(client)
        return [_nobody_asks(client, store, tables[:ALONE]), _at_the_deadline(live.url, client, store, tables[ALONE:])]


def set_deadline(client: redis.Redis, game_id: str, deadline_ms: int) -> None:
    """In the stored game, which stays at its version, and in the index."""
    key = f"truco:{{{game_id}}}:state"
    stored = client.get(key)
    assert isinstance(stored, bytes)
    game = replace(codec.decode(game_id, stored, None), deadline_ms=deadline_ms)
    client.set(key, codec.encode(replace(game, nonce=secrets.token_hex(4).encode())), keepttl=True)
    client.zadd("truco:deadlines", {game_id: deadline_ms})


def _nobody_asks(client: redis.Redis, store: RedisGameStore, tables: list[Table]) -> str:
    waits: dict[str, float] = {}
    for table in tables:
        set_deadline(client, table.id, int(time.time() * 1000) - 1)
    started = time.monotonic()
    while len(waits) < len(tables):
        waited = time.monotonic() - started
        for table in tables:
            if table.id not in waits and stored_game(store, table.id).version > 1:
                waits[table.id] = waited
        if waited > SEEN_WITHIN_SECONDS:
            raise Violation(
                f"{len(tables) - len(waits)} of {len(tables)} overdue turns still wait after {waited:.1f} s"
            )
        time.sleep(0.01)
    time.sleep(SEEN_WITHIN_SECONDS)  # whatever a second worker might do too
    for table in tables:
        _, log = check_game(store, table.id)
        if len(log) != 1 or _timeouts(store, table) != 1:
            raise Violation(f"an overdue turn had {len(log)} effects")
    return f"{len(tables)} overdue turns, no request: all acted on within {max(waits.values()):.2f} s, once each"


def _at_the_deadline(url: str, client: redis.Redis, store: RedisGameStore, tables: list[Table]) -> str:
    offsets = [random.Random(number).uniform(-AROUND_SECONDS, AROUND_SECONDS) for number in range(len(tables))]
    with ThreadPoolExecutor(_SENDERS) as senders:
        acknowledged = list(senders.map(lambda *pair: _act_at(url, client, *pair), tables, offsets))
    time.sleep(SEEN_WITHIN_SECONDS)  # until the sweeper has seen to what nobody acted on
    for table, body in zip(tables, acknowledged, strict=True):
        _, log = check_game(store, table.id)
        timeouts = _timeouts(store, table)
        if len(log) != 1 or timeouts != (body is None):
            raise Violation(f"a turn had {len(log)} effects, {timeouts} by the clock; acknowledged: {body}")
        if body is not None:
            seat, action = decode_action(log[0])
            if (seat, action.type) != (table.waits_for[0], body["type"]):
                raise Violation(f"{body} was acknowledged, {log[0]} is in the log")
    acted = sum(body is not None for body in acknowledged)
    return (
        f"{len(tables)} actions sent within ±{AROUND_SECONDS * 1000:.0f} ms of the deadline:"
        f" {acted} acknowledged, {len(tables) - acted} timed out and refused, one effect each"
    )


def _act_at(url: str, client: redis.Redis, table: Table, offset_seconds: float) -> Body | None:
    """What was sent, if it was acknowledged; None if the clock was faster."""
    seat = table.waits_for[0]
    with Wire(url) as wire:
        action = random.Random(table.id).choice(look(wire, table, seat)["legal_actions"])
        deadline = time.time() + _AHEAD_SECONDS
        set_deadline(client, table.id, int(deadline * 1000))
        time.sleep(max(0.0, deadline + offset_seconds - time.time()))
        answer = wire.ask("POST", table.actions, action, table.tokens[seat])
    if answer.status == 200:
        return dict(action)
    if answer.code != "version_conflict" or answer.body["game"]["version"] != 2:
        raise Violation(f"an action at the deadline answered {answer.status} {answer.content[:300]!r}")
    return None


def _timeouts(store: RedisGameStore, table: Table) -> int:
    return sum(event.type == "timed_out" for event in all_events(store, table.id))
