"""Games for the load: made in the store as the service makes them, and played on paper to their end.

The actions are drawn from `legal_actions`, which is what a view lists, and are written as the view writes them. So each
request is the one that a client would send, and is known before the clock runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

import msgspec
import redis

from benchmarks.load import Load
from service.api.present import present_action
from service.dealer import SeededDealer
from service.engine.actions import Action, apply, legal_actions
from service.engine.flow import start_hand
from service.engine.state import GameState, Phase, Seat
from service.engine.view import view_for
from service.games import Created, Games, NewGame
from service.store.base import Game
from service.store.connect import connect
from service.store.redis import RedisGameStore, TimeToLive

NAMES = ("Ana", "Bia", "Caio", "Davi")
_WEIGHTS = {"raise": 0.2, "fold": 0.4}
"""Of actions in a choice, others weigh 1: hands are mostly played out, as people do."""
_TTL = TimeToLive(lobby=3_600, playing=604_800, finished=604_800)
_EVENTS_KEPT = 500


@dataclass(frozen=True)
class Step:
    """One action of a prepared game, and the state before and after it."""

    seat: Seat
    action: Action
    version: int
    before: GameState
    after: GameState


class Maker:
    """Makes games of *variant* in the store at *url*."""

    def __init__(self, url: str, seed: int = 1, variant: str = "paulista") -> None:
        self.client: redis.Redis = connect(url)
        self.store = RedisGameStore(self.client, _TTL, _EVENTS_KEPT)
        self._variant = variant
        self.dealer = SeededDealer()
        self.games = Games(self.store, self.dealer)
        self._chance = Random(seed)

    def make(self, rules: Mapping[str, int] | None = None) -> tuple[Created, Game]:
        """A game of four that has begun."""
        created = self.games.create(NewGame(self._variant, rules or {}, players=NAMES))
        found = self.store.load(created.game.id)
        assert found is not None
        return created, found.game

    def steps(self, game: Game) -> Iterator[Step]:
        """How *game*, which has just begun, goes on to its end; nothing of it is stored."""
        state, version, hands = game.state, game.version, 1
        assert state is not None
        while state.table.result is None:
            seat = self._chance.choice(state.table.waited_for)
            choices = legal_actions(view_for(state, seat))
            [action] = self._chance.choices(choices, [_WEIGHTS.get(choice.type, 1) for choice in choices])
            after = apply(state, seat, action).state
            assert after.table.hand is not None
            if after.table.result is None and after.table.hand.phase is Phase.OVER:
                hands += 1
                after = start_hand(after, self.dealer.pack(game.seed, game.rules.deck, hands)).state
            yield Step(seat, action, version, state, after)
            state, version = after, version + 1

    def actions(self) -> list[bytes]:
        """A new game as requests, one for each action up to its end."""
        created, game = self.make()
        return [self.request(created, step) for step in self.steps(game)]

    def top_up(self, load: Load, lanes: str, connections: int, needed: int) -> None:
        """Make actions until every connection of *lanes* has as many as *needed*."""
        while load.left(lanes) < needed:
            load.add(lanes, [self.actions() for _ in range(connections)])

    @staticmethod
    def request(created: Created, step: Step) -> bytes:
        body = msgspec.json.encode(present_action(step.action, step.version))
        return post(f"/v1/games/{created.game.id}/actions", body, created.tokens[step.seat])


def post(path: str, body: bytes, token: str | None = None) -> bytes:
    head = [*_head("POST", path, token), "Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, "", ""]).encode() + body


def get(path: str, token: str, etag: str | None = None) -> bytes:
    head = [*_head("GET", path, token), *([] if etag is None else [f"If-None-Match: {etag}"])]
    return "\r\n".join([*head, "", ""]).encode()


def _head(method: str, path: str, token: str | None) -> list[str]:
    head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "User-Agent: load", "Accept: application/json"]
    return head if token is None else [*head, f"Authorization: Bearer {token}"]
