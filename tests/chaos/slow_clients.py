"""Clients that send half a request, or nothing, and stay."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack

from tests.chaos.service import service
from tests.chaos.wire import Violation, Wire, create, request_bytes
from tests.redis_server import RedisServer

HALF_SENT = 20
IDLE = 20
ASKED = 50
WITHIN_SECONDS = 0.1
_TRIES = 3
"""On a busy machine any answer may be late once; a starved worker is late each time."""


def slow_clients() -> list[str]:
    """/healthz answers within 100 ms each time, in spite of 20 half-sent requests and 20 idle sockets."""
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer())
        live = stack.enter_context(service(server.url))
        with Wire(live.url) as wire:
            table = create(wire)
        action = {"type": "resign", "expected_version": 1}
        request = request_bytes("POST", table.actions, action, table.tokens[0])
        for number in range(HALF_SENT + IDLE):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", live.port)))
            if number < HALF_SENT:
                # half of the headers, or half of the body
                slow.sendall(request[:60] if number % 2 else request[:-20])
        longest = [_longest_answer(live.url)]
        while longest[-1] > WITHIN_SECONDS and len(longest) < _TRIES:
            longest.append(_longest_answer(live.url))
        if longest[-1] > WITHIN_SECONDS:
            raise Violation(f"/healthz took up to {longest} s")
    return [
        (
            f"{ASKED} times with {HALF_SENT} half-sent requests and {IDLE} idle sockets:"
            f" at most {longest[-1] * 1000:.0f} ms (try {len(longest)})"
        )
    ]


def _longest_answer(url: str) -> float:
    taken = []
    for _ in range(ASKED):
        started = time.monotonic()
        with Wire(url) as wire:
            wire.get("/healthz")
        taken.append(time.monotonic() - started)
    return max(taken)
