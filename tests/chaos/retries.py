"""The load, first as it is, then while machines break."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable

import redis

from tests.chaos.load import ACTIONS, Load
from tests.chaos.service import service
from tests.chaos.verify import open_store
from tests.chaos.wire import Violation
from tests.live_server import LiveServer
from tests.redis_server import DURABLE, RedisServer

WORKER_KILLS = 20
REDIS_KILLS = 3
REDIS_STOPS_SECONDS = 3.0
Fault = Callable[[LiveServer, RedisServer], str]


def retries() -> list[str]:
    """5,000 actions, every third sent twice, answers dropped at random."""
    return _under_load(RedisServer(), None)


def killed_workers() -> list[str]:
    """The same while a worker is killed every second."""
    return _under_load(RedisServer(), _kill_workers)


def killed_redis() -> list[str]:
    """The same while Redis, which writes through to disk, is killed and started again three times."""
    return _under_load(RedisServer(*DURABLE), _kill_redis)


def stopped_redis() -> list[str]:
    """The same while Redis answers nobody for three seconds."""
    return _under_load(RedisServer(), _stop_redis)


def _under_load(server: RedisServer, fault: Fault | None) -> list[str]:
    done: list[str] = []
    with server:
        with service(server.url, TRUCO_EVENTS_KEPT="100000") as live:
            breaker = threading.Thread(target=lambda: done.append(fault(live, server)) if fault else None)
            load = Load(live.url, lambda count: count >= ACTIONS and not breaker.is_alive())
            load.sit_down()
            breaker.start()
            load.run()
            breaker.join()
        with redis.Redis.from_url(server.url) as client:
            lines = load.check(client, open_store(client))
    if fault is None and (load.counts["lost"] or load.counts["unavailable"]):
        raise Violation(f"answers were lost although nothing broke: {load.counts}")
    if fault is not None:
        lines.append(f"{done[0]}; the longest outage that a client saw: {load.longest_outage_seconds:.2f} s")
    return lines


def _kill_workers(live: LiveServer, _: RedisServer) -> str:
    chance, killed = random.Random(1), 0
    for _second in range(WORKER_KILLS):
        time.sleep(1)
        if workers := live.workers:
            os.kill(chance.choice(workers), signal.SIGKILL)
            killed += 1
    return f"{killed} workers killed"


def _kill_redis(_: LiveServer, server: RedisServer) -> str:
    for _time in range(REDIS_KILLS):
        time.sleep(2)
        server.kill()
        time.sleep(1)
        server.start()
    return f"Redis killed and started again {REDIS_KILLS} times, each time down for 1 s"


def _stop_redis(_: LiveServer, server: RedisServer) -> str:
    time.sleep(2)
    server.pause()
    time.sleep(REDIS_STOPS_SECONDS)
    server.resume()
    return f"Redis stopped for {REDIS_STOPS_SECONDS:.0f} s"
