"""The other people at the table: they know the public API and play what is legal."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread
from typing import Any, Final

import requests

from tests.api.driver import PATIENCE_SECONDS, bearer

Body = dict[str, Any]
Chooser = Callable[[Sequence[Body], random.Random], Body]
WAIT_SECONDS: Final = 1
"""So that they hear soon that the test is over."""
WEIGHTS: Final[Mapping[str, float]] = {"raise": 0.1, "fold": 0.2}


def any_of(legal: Sequence[Body], chance: random.Random) -> Body:
    """Some action; a raise that costs something never."""
    free = [action for action in legal if "penalty" not in action]
    return chance.choices(free, [WEIGHTS.get(action["type"], 1.0) for action in free])[0]


class Others:
    """People who join a game and play, each in a thread; a context manager that sends them home."""

    def __init__(self, url: str, game_id: str, join_code: str | None, choose: Chooser = any_of, seed: int = 1) -> None:
        self._game = f"{url}/v1/games/{game_id}"
        self._join_code = join_code
        self._choose = choose
        self._seed = seed
        self._home = Event()
        self._threads: list[Thread] = []
        self.errors: list[BaseException] = []

    def sit_down(self, *names: str) -> list[int]:
        """Each on the lowest open seat; they begin to play."""
        return [self._sit_down(name) for name in names]

    def _sit_down(self, name: str) -> int:
        wish = {"name": name, **({} if self._join_code is None else {"join_code": self._join_code})}
        joined = requests.post(f"{self._game}/seats", json=wish, timeout=PATIENCE_SECONDS)
        assert joined.status_code == 201, joined.text
        body = joined.json()
        seat: int = body["seat"]
        thread = Thread(target=self._run, args=(seat, body["token"]), name=name)
        self._threads.append(thread)
        thread.start()
        return seat

    def _run(self, seat: int, token: str) -> None:
        try:
            self._play(seat, token, random.Random(self._seed * 10 + seat))
        except BaseException as error:
            self.errors.append(error)

    def _play(self, seat: int, token: str, chance: random.Random) -> None:
        http = requests.Session()
        http.headers.update(bearer(token))
        view = self._body(http.get(self._game, timeout=PATIENCE_SECONDS))
        while not self._home.is_set() and view["status"] != "finished":
            if view["turn"] is not None and seat in view["turn"]["seats"]:
                action = self._choose(view["legal_actions"], chance)
                answer = http.post(f"{self._game}/actions", json=action, timeout=PATIENCE_SECONDS)
                view = (
                    answer.json()["game"] if answer.ok else self._body(http.get(self._game, timeout=PATIENCE_SECONDS))
                )
            else:
                query = {"after_version": view["version"], "wait": WAIT_SECONDS}
                view = self._body(http.get(self._game, params=query, timeout=PATIENCE_SECONDS))

    @staticmethod
    def _body(response: requests.Response) -> Body:
        assert response.ok, response.text
        body: Body = response.json()
        return body

    def __enter__(self) -> Others:
        return self

    def __exit__(self, *_: object) -> None:
        self._home.set()
        for thread in self._threads:
            thread.join()
        assert not self.errors, self.errors
