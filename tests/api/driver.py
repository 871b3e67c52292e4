"""Short words for tests of the API: a site, a game on it, and one player with a token."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Barrier, Lock
from typing import Any

import redis
import requests
from flask import Flask
from werkzeug.test import TestResponse

from service.app import Background
from service.engine.rules import PRESETS
from service.engine.state import GameState
from service.settings import Settings
from service.store.base import Game, Loaded, RetryRecord
from service.store.redis import RedisGameStore
from tests.table import PlayedTable

Body = dict[str, Any]
Request = Callable[[], TestResponse]
PATIENCE_SECONDS = 10
NAMES = ("Ana", "Bia", "Caio", "Davi", "Eva", "Fábio")
UNLIMITED = Settings(rate_create="", rate_join="", rate_read="", rate_act="")
API_KEYS = {"chave-da-mesa": "mesa", "nova-da-mesa": "mesa", "chave-da-roda": "roda", "sem-nome": "sem-nome"}
API_KEY, NEXT_API_KEY, OTHER_API_KEY, LONE_API_KEY = API_KEYS
"""The first two are of one platform."""


class Clock:
    """Milliseconds since 1970 that stand still until they are moved."""

    def __init__(self) -> None:
        self.now_ms = 1_800_000_000_123

    def __call__(self) -> int:
        return self.now_ms


def body_of(response: TestResponse) -> Body:
    loaded: Body = json.loads(response.get_data())
    return loaded


def code_of(response: TestResponse) -> str | None:
    """The problem's code; None for a success."""
    if response.status_code < 400:
        return None
    code: str = body_of(response)["code"]
    return code


def answer(response: TestResponse) -> tuple[int, str | None]:
    """The status and the problem's code."""
    return response.status_code, code_of(response)


def pointers(response: TestResponse) -> list[str]:
    """The members at fault."""
    return [error["pointer"] for error in body_of(response).get("errors", [])]


def bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def platform(api_key: str | None) -> dict[str, str]:
    return {} if api_key is None else {"X-API-Key": api_key}


def at_once(*requests: Request) -> list[TestResponse]:
    """The answers to *requests*, sent at the same time."""
    barrier = Barrier(len(requests), timeout=PATIENCE_SECONDS)

    def send(request: Request) -> TestResponse:
        barrier.wait()
        return request()

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(send, requests))


def eventually(is_so: Callable[[], bool], within_seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + within_seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.002)


class MeetingStore(RedisGameStore):
    """Its next reads of a game wait for each other, so that all see the same before any of them commits."""

    _expected = 0

    @classmethod
    def of(cls, site: Site) -> MeetingStore:
        """The store of *site*, which is one from now on."""
        store = site.store
        store.__class__ = cls
        assert isinstance(store, cls)
        store.expect(0)
        return store

    def expect(self, reads: int) -> None:
        self._lock, self._expected = Lock(), reads
        self._barrier = Barrier(max(reads, 1), timeout=PATIENCE_SECONDS)

    def load(self, game_id: str, retry_name: str | None = None) -> Loaded | None:
        found = super().load(game_id, retry_name)
        self._meet()
        return found

    def recall(self, game_id: str, version: int) -> None:
        """Everybody reads."""

    def retry_record(self, game_id: str, retry_name: str) -> RetryRecord | None:
        record = super().retry_record(game_id, retry_name)
        self._meet()
        return record

    def _meet(self) -> None:
        with self._lock:
            is_expected = self._expected > 0
            self._expected -= is_expected
        if is_expected:
            self._barrier.wait()


@dataclass
class Site:
    app: Flask
    api_key: str | None = None
    """With which games are made."""

    @property
    def background(self) -> Background:
        background: Background = self.app.extensions["truco"]
        return background

    @property
    def store(self) -> RedisGameStore:
        store: Any = self.background.sweeper._games._store  # an embedded one has no other door
        found: RedisGameStore = store if self.background.metrics is None else store._store
        return found

    def send(
        self, method: str, path: str, body: object = None, token: str | None = None, **kwargs: Any
    ) -> TestResponse:
        headers = {**bearer(token), **kwargs.pop("headers", {})}
        if body is not None:
            kwargs["json"] = body
        return self.app.test_client().open(path, method=method, headers=headers, buffered=True, **kwargs)

    def get(self, path: str, **kwargs: Any) -> Body:
        response = self.send("GET", path, **kwargs)
        assert response.status_code == 200, response.get_data()
        return body_of(response)

    def create(
        self, variant: str = "mano-a-mano", players: int | list[Body | None] | None = None, **order: Any
    ) -> Started:
        """A game of *players*, or of so many named people (all seats if None)."""
        seats = order.get("seats") or PRESETS[variant].rules.seats
        if not isinstance(players, list):
            players = [{"name": name} for name in NAMES[: seats if players is None else players]]
        order = {"variant": variant, "players": players, **order}
        response = self.send("POST", "/v1/games", order, headers=platform(self.api_key))
        assert response.status_code == 201, response.get_data()
        created = body_of(response)
        tokens = {seat["seat"]: seat["token"] for seat in created["seats"]}
        return Started(self, created["game"]["id"], tokens, created["host_token"], created["join_code"])

    def seated(self, played: PlayedTable, **order: Any) -> Started:
        """A public game in which *played* lies on the table, its hands and score included."""
        rules = played.state.table.rules
        game = self.create("paulista", seats=rules.seats, **{"visibility": "public", **order})
        game.put(played.state)
        return game

    @property
    def redis(self) -> redis.Redis:
        return self.store._client

    def stored(self) -> Mapping[bytes, object]:
        """Everything in the store, by key."""
        readers = {
            b"string": self.redis.get,
            b"list": lambda key: self.redis.lrange(key, 0, -1),
            b"stream": self.redis.xrange,
            b"zset": lambda key: self.redis.zrange(key, 0, -1, withscores=True),
            b"hash": self.redis.hgetall,
        }
        return {key: readers[self.redis.type(key)](key) for key in sorted(self.redis.keys())}


@dataclass
class Started:
    site: Site
    id: str
    tokens: dict[int, str]
    host_token: str
    join_code: str | None
    path: str = field(init=False)

    def __post_init__(self) -> None:
        self.path = f"/v1/games/{self.id}"

    def get(self, token: str | None, **kwargs: Any) -> TestResponse:
        return self.site.send("GET", self.path, token=token, **kwargs)

    def view(self, seat: int | None) -> Body:
        """As *seat* sees it; None: as a spectator, of a public game."""
        response = self.get(None if seat is None else self.tokens[seat])
        assert response.status_code == 200, response.get_data()
        return body_of(response)

    @property
    def version(self) -> int:
        version: int = body_of(self.get(self.host_token))["version"]
        return version

    def send(
        self, method: str, below: str, body: object = None, token: str | None = None, **kwargs: Any
    ) -> TestResponse:
        """A request to what lies *below* the game: "/actions"."""
        return self.site.send(method, self.path + below, body, token, **kwargs)

    def post(self, seat: int, action: Body, **kwargs: Any) -> TestResponse:
        """*action* of *seat*, at the present version unless it names one."""
        if "expected_version" not in action:
            action = {**action, "expected_version": self.view(seat)["version"]}
        return self.send("POST", "/actions", action, self.tokens[seat], **kwargs)

    def act(self, seat: int, action: Body) -> Body:
        response = self.post(seat, action)
        assert response.status_code == 200, response.get_data()
        return body_of(response)

    def refusal(self, seat: int, type: str, **members: Any) -> tuple[int, str | None]:  # noqa: A002
        return answer(self.post(seat, {"type": type, **members}))

    def join(self, name: str = "Gil", seat: int | None = None, **members: Any) -> TestResponse:
        """Somebody sits down, with the join code if the game has one."""
        return self.send("POST", "/seats", self.wish(name, seat, **members))

    def wish(self, name: str = "Gil", seat: int | None = None, **members: Any) -> Body:
        """joinGame's body, with the join code if the game has one."""
        wish = {"name": name, **({} if seat is None else {"seat": seat}), **members}
        return wish if self.join_code is None else {"join_code": self.join_code, **wish}

    def joined(self, name: str = "Gil", seat: int | None = None) -> int:
        """As `join`; keeps the token and gives the seat."""
        response = self.join(name, seat)
        assert response.status_code == 201, response.get_data()
        body = body_of(response)
        self.tokens[body["seat"]] = body["token"]
        taken: int = body["seat"]
        return taken

    def leave(self, seat: int, token: str | None) -> TestResponse:
        return self.send("DELETE", f"/seats/{seat}", token=token)

    def events(self, token: str | None = None, **query: Any) -> Body:
        return self.site.get(f"{self.path}/events", token=token, query_string=query)

    def to_act(self) -> int:
        """The first of the seats that the game waits for."""
        seat: int = self.view(0)["turn"]["seats"][0]
        return seat

    def step(self) -> Body:
        """The first seat that the game waits for takes the first action it is offered."""
        seat = self.to_act()
        return self.act(seat, self.view(seat)["legal_actions"][0])

    def resign(self, seat: int = 0) -> None:
        self.act(seat, {"type": "resign"})

    def rematch(self, seat: int, **kwargs: Any) -> TestResponse:
        return self.send("POST", "/rematch", token=self.tokens[seat], **kwargs)

    def reissue(self, seat: int | str, api_key: str | None = API_KEY, **kwargs: Any) -> TestResponse:
        """A platform asks for another token of *seat*."""
        headers = {**platform(api_key), **kwargs.pop("headers", {})}
        return self.send("POST", f"/seats/{seat}/token", headers=headers, **kwargs)

    def reissued(self, seat: int) -> str:
        """As `reissue`; keeps the new token and gives the old one."""
        response = self.reissue(seat)
        assert response.status_code == 201, response.get_data()
        old, self.tokens[seat] = self.tokens[seat], body_of(response)["token"]
        return old

    def delete(self, api_key: str | None = API_KEY, token: str | None = None) -> TestResponse:
        """A platform deletes the game; or somebody with a token, or both."""
        return self.send("DELETE", "", token=token, headers=platform(api_key))

    def load(self) -> Game:
        """As it is stored."""
        found = self.site.store.load(self.id)
        assert found is not None
        return found.game

    def change(self, **members: Any) -> None:
        """Store the game with other members, as its next version."""
        game = self.load()
        self.site.store.commit(replace(game, version=game.version + 1, **members), game, ())

    def put(self, state: GameState) -> None:
        """*state*, with its rules, in place of the stored one."""
        self.change(rules=state.table.rules, state=state)


@dataclass(frozen=True)
class Live:
    """A service that runs in processes of its own."""

    url: str
    redis_url: str

    def create(self, **order: Any) -> LiveGame:
        """A public game of two."""
        players = [{"name": name} for name in NAMES[:2]]
        order = {"variant": "mano-a-mano", "players": players, "visibility": "public", **order}
        response = requests.post(f"{self.url}/v1/games", json=order, timeout=PATIENCE_SECONDS)
        assert response.status_code == 201, response.text
        created = response.json()
        tokens = {seat["seat"]: seat["token"] for seat in created["seats"]}
        return LiveGame(self.url + response.headers["Location"], created["game"]["id"], tokens)


@dataclass(frozen=True)
class LiveGame:
    url: str
    id: str
    tokens: dict[int, str]

    def view(self, seat: int, **query: int) -> Body:
        patience = PATIENCE_SECONDS + query.get("wait", 0)
        response = requests.get(self.url, params=query, headers=bearer(self.tokens[seat]), timeout=patience)
        assert response.status_code == 200, response.text
        view: Body = response.json()
        return view

    def step(self) -> Body:
        """The first seat that the game waits for takes the first action it is offered."""
        seat = self.view(0)["turn"]["seats"][0]
        return self.act(seat, self.view(seat)["legal_actions"][0])

    def act(self, seat: int, action: Body) -> Body:
        headers = bearer(self.tokens[seat])
        response = requests.post(f"{self.url}/actions", json=action, headers=headers, timeout=PATIENCE_SECONDS)
        assert response.status_code == 200, response.text
        acted: Body = response.json()
        return acted
