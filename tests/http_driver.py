"""Drives scenarios over HTTP: the state is put into a store, every step is a request to a service made anew for it.

So between any two steps everything is saved and loaded again, and nothing can live on in the process.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import cycle
from typing import Any, Final

import fakeredis
import redis
from flask.testing import FlaskClient

from service.app import create_app
from service.engine.state import GameState, Seat
from service.store.base import Chair, Game
from service.store.redis import RedisGameStore, TimeToLive
from tests.api.driver import UNLIMITED
from tests.contract import ContractClient
from tests.scenario_runner import Facts, Member

GAME_ID: Final = "0" * 26
_TTL: Final = TimeToLive(lobby=60, playing=60, finished=60)


def token_of(seat: Seat) -> str:
    return f"{seat}" * 43


def stored(state: GameState) -> Game:
    """A game in *state*, with a known token for each seat."""
    rules = state.table.rules
    return Game(
        id=GAME_ID,
        version=1,
        created_at_ms=1_800_000_000_000,
        variant="paulista",
        rules=rules,
        is_public=True,
        chairs=tuple(
            Chair(f"Seat {seat}", hashlib.sha256(token_of(seat).encode()).digest()) for seat in range(rules.seats)
        ),
        state=state,
        seed=b"scenario".ljust(32),
        host_hash=b"h" * 32,
    )


class HttpDriver:
    """Two services on one Redis take turns, so that no request finds anything in its process."""

    name = "http"
    also_right: Final[Mapping[str, frozenset[str]]] = {
        # the next hand is dealt in the same commit, so there is no hand that is over
        "hand_over": frozenset(("nothing_to_answer", "not_your_turn")),
    }

    def __init__(self) -> None:
        self.redis: redis.Redis = fakeredis.FakeRedis()
        self.clients = cycle([self._client(), self._client()])

    def store(self) -> RedisGameStore:
        return RedisGameStore(self.redis, _TTL, events_kept=1000)

    def _client(self) -> FlaskClient:
        app = create_app(UNLIMITED, store=self.store())
        app.test_client_class = ContractClient
        return app.test_client()

    def table(self, state: GameState) -> HttpTable:
        """The only table of this driver from now on."""
        self.redis.flushall()
        self.store().commit(stored(state), None, [])
        return HttpTable(self, state)


class HttpTable:
    def __init__(self, driver: HttpDriver, state: GameState) -> None:
        self._driver = driver
        assert state.table.hand is not None
        self._hand_number = state.table.hand.number
        self._seats = range(state.table.rules.seats)
        self._version = 1

    def _send(self, method: str, path: str, seat: Seat, body: object = None) -> tuple[int, dict[str, Any]]:
        response = next(self._driver.clients).open(
            f"/v1/games/{GAME_ID}{path}",
            method=method,
            json=body,
            headers={"Authorization": f"Bearer {token_of(seat)}"},
        )
        return response.status_code, json.loads(response.get_data())

    def _view(self, seat: Seat) -> dict[str, Any]:
        _, view = self._send("GET", "", seat)
        return view

    def act(self, seat: Seat, action: str, members: Mapping[str, Member]) -> str | None:
        body = {"type": action, "expected_version": self._version, **members}
        status, answer = self._send("POST", "/actions", seat, body)
        if status != 200:
            return str(answer["code"])
        self._version = answer["game"]["version"]
        return None

    def snapshot(self) -> object:
        return {key: self._driver.redis.dump(key) for key in self._driver.redis.keys("*")}

    def facts(self) -> Facts:
        views = [self._view(seat) for seat in self._seats]
        view = views[0]
        last = view["last_hand"]
        if last is not None and last["number"] == self._hand_number:
            return self._facts_of_last_hand(view, last)
        hand = view["hand"]
        pending = hand["raise"]
        return Facts(
            kind=hand["kind"],
            phase=hand["phase"],
            value=hand["value"],
            turn=hand["to_play"],
            pending=None if pending is None else {"team": pending["team"], "to": pending["to"]},
            tricks=_results(hand["tricks"]),
            vira=hand["vira"],
            score=view["score"]["teams"],
            leg=view["score"]["leg"],
            over=False,
            manilhas=hand["manilhas"],
            raised_by=hand["raised_by"],
            hands={seat: [held["card"] for held in views[seat]["seats"][seat]["cards"]] for seat in self._seats},
            sees={
                seat: [held for held in self._seats if views[seat]["seats"][held]["cards"] is not None]
                for seat in self._seats
            },
        )

    @staticmethod
    def _facts_of_last_hand(view: dict[str, Any], last: dict[str, Any]) -> Facts:
        result = view["result"]
        return Facts(
            kind=last["kind"],
            phase="over",
            value=last["value"],
            turn=None,
            pending=None,
            tricks=_results(last["tricks"]),
            vira=last["vira"],
            score=view["score"]["teams"],
            leg=view["score"]["leg"],
            over=True,
            hand_winner=last["winner"],
            points=last["points"],
            reason=last["reason"],
            game_over=result is not None,
            game_winner=None if result is None else result["winner"],
        )


def _results(tricks: list[dict[str, Any]]) -> list[int | None]:
    return [
        None if trick["tied"] else trick["winner"] % 2
        for trick in tricks
        if trick["tied"] or trick["winner"] is not None
    ]
