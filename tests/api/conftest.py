"""The service under test, on the embedded store and on a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask

from service.app import create_app, open_store
from service.settings import Settings
from service.store.redis import RedisGameStore
from tests.api.driver import Clock, Site
from tests.contract import ContractClient
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
    store = open_store(settings)
    assert isinstance(store, RedisGameStore)
    app = create_app(settings, store=store, clock=clock)
    app.test_client_class = ContractClient
    return Site(app, store)


@pytest.fixture
def site(clock: Clock) -> Site:
    """The service on its embedded store."""
    return make_site(Settings(), clock)


@pytest.fixture(params=["embedded", "server"])
def any_site(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Site]:
    """The service on each store, which is empty."""
    if request.param == "embedded":
        yield make_site(Settings(), clock)
        return
    server: RedisServer = request.getfixturevalue("redis_server")
    site = make_site(Settings(redis_url=server.url), clock)
    site.redis.flushdb()
    yield site
    site.redis.close()
