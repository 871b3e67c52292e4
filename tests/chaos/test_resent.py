"""A commit whose answer is lost is sent again by the client library, perhaps after another commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import fakeredis
import pytest

from service.dealer import SeededDealer
from service.games import Games, NewGame
from service.store.base import Game, LoggedEvent, RetryRecord
from service.store.redis import RedisGameStore, TimeToLive
from service.tokens import Retry

KEY = Retry("k" * 36, "caller and route")


class LossyStore(RedisGameStore):
    """Every commit is carried out twice; *between* runs once, after the next one's first time."""

    between: Callable[[], object] | None = None

    def commit(
        self,
        game: Game,
        previous: Game | None,
        events: Sequence[LoggedEvent],
        action: str | None = None,
        retry: tuple[str, RetryRecord] | None = None,
    ) -> None:
        super().commit(game, previous, events, action, retry)
        between, self.between = self.between, None
        if between is not None:
            between()
            super().commit(game, previous, events, action, retry)


@pytest.fixture
def store() -> LossyStore:
    return LossyStore(fakeredis.FakeRedis(), TimeToLive(60, 60, 60), events_kept=100)


@pytest.fixture
def games(store: LossyStore) -> Games:
    return Games(store, SeededDealer())


def names(games: Games, game_id: str) -> list[str | None]:
    return [seat.name for seat in games.look(games.enter(game_id, None)).seats]


@pytest.mark.parametrize("retry", [None, KEY])
def test_joining_takes_one_seat(games: Games, store: LossyStore, retry: Retry | None) -> None:
    game_id = games.create(NewGame("paulista", is_public=True)).game.id
    store.between = lambda: games.join(games.enter(game_id, None), "Bia", None, None)
    joined = games.join(games.enter(game_id, None, retry=retry), "Ana", None, None)
    assert names(games, game_id) == ["Ana", "Bia", None, None]
    assert games.enter_seat(game_id, joined.token).viewer.seat == joined.seat == 0


def test_acting_with_a_key_is_acknowledged(games: Games, store: LossyStore) -> None:
    created = games.create(NewGame("mano-a-mano", is_public=True, players=("Ana", "Bia")))
    game_id, player = created.game.id, created.game.player
    assert player is not None
    first = player.table.waited_for[0]

    def acts(seat: int, retry: Retry | None) -> int:
        entry = games.enter_seat(game_id, created.tokens[seat], retry)
        action = games.look(entry).legal_actions[0]
        return games.act(entry, entry.version, action).events[0].version

    store.between = lambda: acts(1 - first, None)
    assert acts(first, KEY) == 2
    assert games.enter(game_id, None).version == 3


def test_leaving_a_lobby_leaves_one_seat(games: Games, store: LossyStore) -> None:
    created = games.create(NewGame("paulista", is_public=True, players=("Ana",)))
    game_id = created.game.id
    store.between = lambda: games.join(games.enter(game_id, None), "Bia", 1, None)
    games.leave(games.enter(game_id, created.tokens[0], leaving=0), 0)
    assert names(games, game_id) == [None, "Bia", None, None]
