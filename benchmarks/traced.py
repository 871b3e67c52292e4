"""The service and the bare stack with a clock on each layer; what `layers.py` starts.

A layer's time is its own: what it calls that is a layer itself does not count. Beside the time that passes there is
the CPU time of the thread, which says how much of a round trip is waiting. Right for one connection only: with more,
another request would run while one waits.
"""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module, resources
from types import ModuleType
from typing import Any, Final

import msgspec
import redis
from flask import Flask, Response

from benchmarks import ceiling
from service import app as service_app
from service.store.script import Script
from service.worker import DrainingWorker

SERVER, FRAMEWORK, HOOKS = "gunicorn: request to WSGI, answer to socket", "Flask: context, routing", "hooks, CORS"
AUTH, BODY, READ, DECODE = "auth and rate limit", "body: strict JSON, marshmallow", "read: round trip", "decode"
RULES, ENCODE, COMMIT, VIEW = "rules", "encode", "commit: round trip", "view: compose, legal actions"
PRESENT, JSON, USE_CASE = "view and events as dicts", "JSON and response", "use case and store, the rest"
LAYERS: Final = (
    *(SERVER, FRAMEWORK, HOOKS, AUTH, BODY, READ, DECODE, RULES),
    *(ENCODE, COMMIT, VIEW, PRESENT, JSON, USE_CASE),
)

_FUNCTIONS: Final = {
    AUTH: ("service.api.auth.token", "service.api.limits.RateLimits.acting", "service.games._viewer_with"),
    BODY: ("service.api.read.retry", "service.api.read.action", "service.api.read.body_hash"),
    DECODE: ("service.store.codec.decode",),
    RULES: ("service.engine.actions.apply", "service.progress.Progress._next_hand"),
    ENCODE: ("service.store.codec.encode", "service.store.codec.encode_event", "service.progress.encode_action"),
    VIEW: ("service.games.view_of",),
    PRESENT: ("service.api.present.present_view", "service.api.present.present_event"),
    JSON: ("service.api.games._answer",),
}
"""By layer. One that has moved is an error here, not a silent gap."""

_TRIED: Final = 10_000

Function = Callable[..., Any]


class _Clock:
    """Splits the time of each request among its layers."""

    def __init__(self) -> None:
        self._running: list[list[Any]] = []
        self._spent: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.requests: list[dict[str, tuple[int, int]]] = []
        """Of each: by layer the nanoseconds that passed and those of CPU."""
        self._own_cost = 0
        self._own_cost = self._cost_of_a_clock()

    def _cost_of_a_clock(self) -> int:
        """Nanoseconds of a call that the clock on it takes from the layer around it."""
        nothing = self.on("inner", lambda: None)
        around = self.on("outer", lambda: [nothing() for _ in range(_TRIED)])
        around()
        self._spent.clear()
        around()
        return self._spent.pop("outer")[1] // _TRIED

    def on(self, layer: str, function: Function) -> Function:
        def timed(*arguments: Any, **named: Any) -> Any:
            inner = [0, 0]
            self._running.append(inner)
            wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
            try:
                return function(*arguments, **named)
            finally:
                cpu, wall = time.thread_time_ns() - cpu, time.perf_counter_ns() - wall
                self._running.pop()
                own = self._spent[layer]
                own[0] += wall - inner[0]
                own[1] += cpu - inner[1]
                if self._running:
                    self._running[-1][0] += wall + self._own_cost
                    self._running[-1][1] += cpu + self._own_cost

        return timed

    def whole(self, layer: str, function: Function) -> Function:
        """As `on`, for what a request begins and ends with."""
        timed = self.on(layer, function)

        def request(*arguments: Any, **named: Any) -> Any:
            self._spent.clear()
            result = timed(*arguments, **named)
            self.requests.append({layer: (wall, cpu) for layer, (wall, cpu) in self._spent.items()})
            return result

        return request


_clock = _Clock()


def service() -> Flask:
    for layer, names in _FUNCTIONS.items():
        for name in names:
            _replace(name, layer)
    _time_scripts({_lua("load.lua"): READ, _lua("commit.lua"): COMMIT})
    app = service_app.from_env()
    app.view_functions["v1.apply_action"] = _clock.on(USE_CASE, app.view_functions["v1.apply_action"])
    return _traced(app)


def bare() -> Flask:
    _time_scripts({ceiling.READ: READ, ceiling.COMPARE_AND_SET: COMMIT})
    app = ceiling.from_env()
    app.view_functions["act"] = _clock.on(JSON, app.view_functions["act"])
    return _traced(app)


def _traced(app: Flask) -> Flask:
    """With the layers around the app, and its requests so far at /layers."""
    for hooks in (*app.before_request_funcs.values(), *app.after_request_funcs.values()):
        hooks[:] = [_clock.on(HOOKS, hook) for hook in hooks]
    app.wsgi_app = _clock.on(FRAMEWORK, app.wsgi_app)  # type: ignore[method-assign]
    DrainingWorker.handle_request = _clock.whole(SERVER, DrainingWorker.handle_request)

    @app.get("/layers")
    def layers() -> Response:
        asked = [request for request in _clock.requests if COMMIT in request]
        _clock.requests.clear()
        return Response(msgspec.json.encode(asked), mimetype="application/json")

    return app


def _replace(name: str, layer: str) -> None:
    owner, attribute = _owner(name)
    function = vars(owner)[attribute]
    setattr(owner, attribute, _clock.on(layer, function))


def _owner(name: str) -> tuple[ModuleType | type, str]:
    """What the function of that dotted name is an attribute of: a module or a class."""
    path, attribute = name.rsplit(".", 1)
    try:
        return import_module(path), attribute
    except ModuleNotFoundError:
        module, kind = path.rsplit(".", 1)
        owner: type = getattr(import_module(module), kind)
        return owner, attribute


def _time_scripts(layers: dict[str, str]) -> None:
    """Put a clock on the calls of these scripts, by their texts: the client's own and the service's."""
    register, call = redis.Redis.register_script, Script.__call__

    def registered(client: redis.Redis, text: str) -> Function:
        return _clock.on(layers[text], register(client, text))

    clocked = {hashlib.sha1(text.encode()).hexdigest(): _clock.on(layer, call) for text, layer in layers.items()}

    def called(script: Script, *arguments: Any, **named: Any) -> object:
        return clocked.get(script.sha, call)(script, *arguments, **named)

    redis.Redis.register_script = registered  # type: ignore[assignment, method-assign]
    Script.__call__ = called  # type: ignore[method-assign]


def _lua(name: str) -> str:
    return resources.files("service.store").joinpath(name).read_text("utf-8")
