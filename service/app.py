"""The one place that knows all parts and puts them together."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable

import fakeredis
import redis
from flask import Flask
from redis.backoff import NoBackoff
from redis.retry import Retry

from service.api import games as game_routes
from service.api import health, problems
from service.dealer import Dealer, SeededDealer
from service.games import Games
from service.settings import Settings
from service.store.base import GameStore
from service.store.redis import RedisGameStore, TimeToLive

_log = logging.getLogger(__name__)


def create_app(
    settings: Settings,
    store: GameStore | None = None,
    dealer: Dealer | None = None,
    clock: Callable[[], int] | None = None,
) -> Flask:
    """The WSGI application. *clock* gives milliseconds since 1970."""
    games = Games(
        store=open_store(settings) if store is None else store,
        dealer=SeededDealer() if dealer is None else dealer,
        clock=_wall_clock_ms if clock is None else clock,
    )
    app = Flask(__name__, static_folder=None)
    app.url_map.merge_slashes = False
    app.url_map.strict_slashes = False
    app.register_blueprint(game_routes.routes(games, settings.api_keys))
    app.register_blueprint(health.routes(games))
    app.register_blueprint(health.docs())
    problems.register(app)
    return app


def from_env() -> Flask:
    """What the server runs: everything from the environment."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    return create_app(Settings.from_env(os.environ))


def open_store(settings: Settings) -> GameStore:
    """The store that the settings name; without a URL an embedded one, whose games end with the process."""
    if settings.redis_url is None:
        _log.warning("REDIS_URL is not set: games are kept in this process and end with it")
        client: redis.Redis = fakeredis.FakeRedis()
    else:
        client = redis.Redis.from_url(
            settings.redis_url,
            socket_connect_timeout=1,
            socket_timeout=1,
            retry=Retry(NoBackoff(), 0),
            health_check_interval=30,
        )
    ttl_seconds = TimeToLive(
        lobby=settings.lobby_ttl_seconds,
        playing=settings.game_ttl_seconds,
        finished=settings.finished_ttl_seconds,
    )
    return RedisGameStore(client, ttl_seconds, settings.events_kept)


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000
