"""The service under test, on the embedded store and on a real server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask import Flask

from service.app import create_app
from service.settings import Settings
from tests.api.driver import UNLIMITED, Clock, Live, Site
from tests.contract import ContractClient
from tests.live_server import live_server
from tests.redis_server import RedisServer


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make_app(settings: Settings, clock: Clock | None = None) -> Flask:
    return make_site(settings, clock).app


def make_site(settings: Settings, clock: Clock | None = None) -> Site:
    """The whole service, whose every answer is held against the contract."""
    app = create_app(settings, clock=clock)
    app.test_client_class = ContractClient
    return Site(app)


@pytest.fixture
def _short_turns() -> Iterator[None]:
    """Threads take turns often: a request in this process takes less time than a thread's usual turn."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture
def site(clock: Clock) -> Site:
    """The service on its embedded store."""
    return make_site(UNLIMITED, clock)


@pytest.fixture(params=["embedded", "server"])
def any_site(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Site]:
    """The service on each store, which is empty."""
    if request.param == "embedded":
        yield make_site(UNLIMITED, clock)
        return
    server: RedisServer = request.getfixturevalue("redis_server")
    site = make_site(replace(UNLIMITED, redis_url=server.url), clock)
    site.redis.flushdb()
    yield site
    site.redis.close()


@pytest.fixture(scope="session")
def live() -> Iterator[Live]:
    """The service as it is served, with two workers on a real server, and without limits."""
    unlimited = {f"TRUCO_RATE_{name}": "none" for name in ("CREATE", "JOIN", "READ", "ACT")}
    workers = {"WEB_CONCURRENCY": "2"}
    with RedisServer() as server, live_server({"REDIS_URL": server.url, **workers, **unlimited}) as url:
        yield Live(url, server.url)
