"""The page in a real browser, on the service as it is served."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from service.app import create_app
from tests.api.driver import UNLIMITED, Site
from tests.live_server import live_server
from tests.redis_server import RedisServer
from tests.web.person import Person

CHROMIUM: Final = (Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium"))
"""Debian's, by preference without all that belongs to a window: then a test takes half the time."""
FLAGS: Final = (
    "--no-sandbox",  # it runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

PATIENCE_MS: Final = 60_000
"""For a busy machine; what is expected comes in a fraction of that."""

Seat = Callable[..., Person]

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = next((path for path in CHROMIUM if path.exists()), None)
    if chromium is None:
        missing = f"there is no {CHROMIUM[0]}: apt-get install {CHROMIUM[0].name}"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def url(redis_server: RedisServer) -> Iterator[str]:
    """The address of the service."""
    unlimited = {f"TRUCO_RATE_{name}": "none" for name in ("CREATE", "JOIN", "READ", "ACT")}
    with live_server({"REDIS_URL": redis_server.url, "WEB_CONCURRENCY": "1", **unlimited}) as url:
        yield url


@pytest.fixture(scope="session")
def site(redis_server: RedisServer) -> Iterator[Site]:
    """Another door to the same games, for states to be put there."""
    site = Site(create_app(replace(UNLIMITED, redis_url=redis_server.url)))
    yield site
    site.redis.close()


@pytest.fixture
def person(browser: Browser, url: str) -> Iterator[Seat]:
    """Makes people, each in a browser of their own."""
    with ExitStack() as people:

        def come(**options: Any) -> Person:
            person = Person(browser, url, **options)
            people.callback(person.close)
            return person

        yield come
