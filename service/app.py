"""The one place that knows all parts and puts them together."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import redis
from flask import Flask, Response, request
from flask_cors import CORS
from flask_cors.core import FLASK_CORS_EVALUATED
from werkzeug.middleware.proxy_fix import ProxyFix

from service.api import exchange, health, problems, web
from service.api import games as game_routes
from service.api.limits import RateLimits, Rates
from service.dealer import Dealer, SeededDealer
from service.games import Games
from service.metrics import CountedWaiting, MeasuredStore, Metrics
from service.progress import decide_as
from service.settings import Settings
from service.store.base import GameStore
from service.store.bell import Bell
from service.store.connect import connect
from service.store.redis import RedisGameStore, TimeToLive
from service.sweeper import Sweeper
from service.waiting import Waiting, WaitLimits

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Background:
    """What a worker process runs beside its requests."""

    sweeper: Sweeper
    waiting: Waiting
    metrics: Metrics | None

    def start(self) -> None:
        self.sweeper.start()

    def drain(self) -> None:
        """The process is going to stop: readiness fails, and nobody waits any more."""
        self.waiting.drain()


Function = TypeVar("Function")


class _App(Flask):
    def ensure_sync(self, func: Function) -> Function:
        """Nothing here is a coroutine; Flask would look at every function for each request."""
        return func


def create_app(
    settings: Settings,
    store: GameStore | None = None,
    dealer: Dealer | None = None,
    clock: Callable[[], int] | None = None,
) -> Flask:
    """The WSGI application; its `Background`, not started, is `extensions["truco"]`.

    *clock*, milliseconds since 1970, takes the place of Redis's own; not with a *store*, which has its clock.
    """
    client = _client(settings)
    metrics = None if settings.metrics_port is None else Metrics()
    if store is None:
        store = RedisGameStore(client, _ttl_seconds(settings), settings.events_kept, clock, settings.states_kept)
    games = Games(
        store=store if metrics is None else MeasuredStore(store, metrics),
        dealer=SeededDealer() if dealer is None else dealer,
        decide=decide_as if metrics is None else metrics.timing(decide_as),
    )
    waits = WaitLimits(settings.waits_per_seat, settings.waits_per_address, settings.waits_per_worker)
    waiting = Waiting(Bell(client), waits) if metrics is None else CountedWaiting(Bell(client), waits, metrics)
    limits = RateLimits(Rates(settings.rate_create, settings.rate_join, settings.rate_read, settings.rate_act))
    app = _App(__name__, static_folder=None)
    app.url_map.merge_slashes = False
    app.url_map.strict_slashes = False
    exchange.register(app, None if metrics is None else metrics.answered)
    app.register_blueprint(game_routes.routes(games, waiting, limits, settings.api_keys))
    app.register_blueprint(health.routes(games, waiting))
    app.register_blueprint(health.docs())
    app.register_blueprint(web.table())
    problems.register(app)
    _open_doors(app, settings)
    sweeper = Sweeper(games) if metrics is None else Sweeper(games, metrics.swept)
    app.extensions["truco"] = Background(sweeper, waiting, metrics)
    return app


def from_env() -> Flask:
    """What the server runs: everything from the environment."""
    return create_app(Settings.from_env(os.environ))


def _client(settings: Settings) -> redis.Redis:
    if settings.redis_url is None:
        _log.warning("REDIS_URL is not set: games are kept in this process and end with it")
    return connect(settings.redis_url)


def _ttl_seconds(settings: Settings) -> TimeToLive:
    return TimeToLive(
        lobby=settings.lobby_ttl_seconds,
        playing=settings.game_ttl_seconds,
        finished=settings.finished_ttl_seconds,
    )


def _open_doors(app: Flask, settings: Settings) -> None:
    """Who may come from where: trusted proxies, browsers of other origins, and what pages may load."""
    if settings.trusted_proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=settings.trusted_proxies)  # type: ignore[method-assign]

    @app.after_request
    def _(response: Response) -> Response:
        is_preflight = request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
        if is_preflight and response.status_code == 200:
            response.status_code = 204
            del response.headers["Content-Type"]
        response.headers.add("X-Content-Type-Options", "nosniff")
        if response.mimetype == "text/html":
            is_table = request.blueprint == "web"
            response.headers["Content-Security-Policy"] = web.POLICY if is_table else _DOCS_POLICY
            response.headers["X-Frame-Options"] = "DENY"
            response.headers["Referrer-Policy"] = "no-referrer"
        return response

    CORS(
        app,
        resources={r"/(v1/.*|openapi\.yaml)": {"origins": list(settings.cors_origins)}},
        allow_headers=[
            "Authorization",
            "Content-Type",
            "Idempotency-Key",
            "If-None-Match",
            "Last-Event-ID",
            "X-API-Key",
            "X-Request-Id",
            "traceparent",
            "tracestate",
        ],
        expose_headers=["ETag", "Idempotency-Replayed", "Location", "Retry-After", "X-Request-Id"],
        max_age=86_400,
        send_wildcard=True,
    )

    @app.after_request  # so it comes before the one of CORS
    def _(response: Response) -> Response:
        # no page of another origin asks, and none will be given this answer out of a cache
        if "Origin" not in request.headers and "private" in response.headers.get("Cache-Control", ""):
            setattr(response, FLASK_CORS_EVALUATED, True)
        return response


_DOCS_POLICY = (
    "default-src 'self'; img-src 'self' data:; script-src 'self' 'unsafe-inline'; "
    "style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
)
"""The reference page has its configuration inline."""
