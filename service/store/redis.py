"""Games in Redis: one Lua commit, every key of a game under one hash tag.

The same code and scripts run on a real server and on the embedded fakeredis. Outside a game's slot lie only hints, the
lists of public games by status: written before the commit that makes them true, checked against the game when read.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Final, cast

import redis
from redis.commands.core import Script

from service.store import codec
from service.store.base import (
    EventPage,
    Game,
    GamePage,
    ListPosition,
    LoggedEvent,
    Status,
    StoreUnavailableError,
    UnknownFormatError,
    VersionConflictError,
)

_NONCE_BYTES: Final = 6
_CANDIDATES_AT_ONCE: Final = 100
_LISTED_AT_MOST: Final = 10_000
"""The newest games of a status that can be listed; older ones are played on, but not found."""


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """Seconds after its last commit until a game is forgotten, by status."""

    lobby: int
    playing: int
    finished: int

    def of(self, status: Status) -> int:
        return {
            Status.LOBBY: self.lobby,
            Status.PLAYING: self.playing,
            Status.FINISHED: self.finished,
        }[status]


class RedisGameStore:
    """The `GameStore` on a Redis client that returns bytes."""

    def __init__(self, client: redis.Redis, ttl_seconds: TimeToLive, events_kept: int) -> None:
        self._client = client
        self._ttl_seconds = ttl_seconds
        self._events_kept = events_kept
        self._commit = _script(client, "commit.lua")
        self._delete = _script(client, "delete.lua")

    def load(self, game_id: str) -> Game | None:
        with _unavailable_on_failure():
            state, metadata = cast(
                "list[bytes | None]",
                self._client.mget(_state_key(game_id), _metadata_key(game_id)),
            )
        return None if state is None else codec.decode(game_id, state, metadata)

    def commit(
        self,
        game: Game,
        previous: Game | None,
        events: Sequence[LoggedEvent],
        action: str | None = None,
    ) -> None:
        arguments: list[str | bytes | int] = [
            0 if previous is None else previous.version,
            codec.encode(game, secrets.token_urlsafe(_NONCE_BYTES).encode("ascii")),
            self._ttl_seconds.of(game.status),
            self._events_kept,
            channel(game.id),
            action or "",
            codec.encode_metadata(game) if previous is None and game.metadata else "",
            game.last_seq - len(events) + 1,
            *map(codec.encode_event, events),
        ]
        moves_to_a_list = game.is_public and (previous is None or previous.status is not game.status)
        with _unavailable_on_failure():
            if moves_to_a_list:
                self._list(game)
            stands = self._commit(keys=_keys(game.id), args=arguments)
            if moves_to_a_list and stands:
                self._list(game)  # again: a reader drops a hint that is not true yet
        if not stands:
            raise VersionConflictError(f"game {game.id} has moved on or is gone")

    def _list(self, game: Game) -> None:
        key = _list_key(game.status)
        self._client.zadd(key, {game.id: game.created_at_ms}, nx=True)
        self._client.zremrangebyrank(key, 0, -_LISTED_AT_MOST - 1)

    def delete(self, game: Game) -> None:
        with _unavailable_on_failure():
            gone = self._delete(keys=_keys(game.id), args=[game.version])
        if not gone:
            raise VersionConflictError(f"game {game.id} has moved on")

    def events(self, game_id: str, after: int, limit: int) -> EventPage:
        key = _events_key(game_id)
        with _unavailable_on_failure():
            pipeline = self._client.pipeline(transaction=False)
            pipeline.xrange(key, count=1)
            pipeline.xrange(key, min=f"({after}-0", count=limit)
            oldest, entries = cast("list[list[_Entry]]", pipeline.execute())
        return EventPage(
            tuple(codec.decode_event(fields[b"e"]) for _, fields in entries),
            oldest_seq=codec.decode_event(oldest[0][1][b"e"]).seq if oldest else 1,
        )

    def actions(self, game_id: str) -> tuple[str, ...]:
        with _unavailable_on_failure():
            tokens = cast("list[bytes]", self._client.lrange(_actions_key(game_id), 0, -1))
        return tuple(token.decode("ascii") for token in tokens)

    def list_public(self, status: Status, variant: str | None, limit: int, position: ListPosition | None) -> GamePage:
        games: list[Game] = []
        with _unavailable_on_failure():
            for entry, game in self._candidates(status, position):
                if game is None or variant not in (None, game.variant):
                    continue
                if len(games) == limit:
                    return GamePage(tuple(games), position)
                games.append(game)
                position = entry
        return GamePage(tuple(games), None)

    def _candidates(self, status: Status, position: ListPosition | None) -> Iterator[tuple[ListPosition, Game | None]]:
        """Every listed game of *status* after *position*, newest first; None in place of one not to be shown."""
        while entries := self._entries(status, position):
            pipeline = self._client.pipeline(transaction=False)
            for entry in entries:
                pipeline.get(_state_key(entry.id))
            states = cast("list[bytes | None]", pipeline.execute())
            for entry, state in zip(entries, states, strict=True):
                yield entry, self._still_listed(status, entry, state)
            position = entries[-1]

    def _still_listed(self, status: Status, entry: ListPosition, state: bytes | None) -> Game | None:
        """The game, unless it has moved on, which drops the hint, or cannot be read, which leaves it to who can."""
        try:
            game = None if state is None else codec.decode(entry.id, state, None)
        except UnknownFormatError:
            return None
        if game is not None and game.status is status:
            return game
        self._client.zrem(_list_key(status), entry.id)
        return None

    def _entries(self, status: Status, position: ListPosition | None) -> list[ListPosition]:
        """The next ones after *position*; [] at the end."""
        passed = 0
        while found := self._entries_not_after(status, position, passed):
            if entries := [entry for entry in found if position is None or _is_after(entry, position)]:
                return entries
            passed += len(found)  # all of the position's own millisecond
        return []

    def _entries_not_after(self, status: Status, position: ListPosition | None, passed: int) -> list[ListPosition]:
        """Those of the position's time or older, newest first, without the first *passed*."""
        found = cast(
            "list[tuple[bytes, float]]",
            self._client.zrange(
                _list_key(status),
                "+inf" if position is None else position.created_at_ms,
                "-inf",
                desc=True,
                byscore=True,
                withscores=True,
                offset=passed,
                num=_CANDIDATES_AT_ONCE,
            ),
        )
        return [ListPosition(int(score), member.decode("ascii")) for member, score in found]

    def ping(self) -> None:
        with _unavailable_on_failure():
            self._client.ping()


_Entry = tuple[bytes, dict[bytes, bytes]]


def _is_after(entry: ListPosition, position: ListPosition) -> bool:
    """Newest first, and of the same time the greater id first, as Redis orders them."""
    return (entry.created_at_ms, entry.id) < (position.created_at_ms, position.id)


def channel(game_id: str) -> str:
    """Where each commit of the game publishes its version."""
    return f"truco:{{{game_id}}}:commits"


def _keys(game_id: str) -> list[str]:
    """All keys of a game, in the order of the scripts."""
    return [
        _state_key(game_id),
        _events_key(game_id),
        _actions_key(game_id),
        _metadata_key(game_id),
    ]


def _state_key(game_id: str) -> str:
    return f"truco:{{{game_id}}}:state"


def _events_key(game_id: str) -> str:
    return f"truco:{{{game_id}}}:events"


def _actions_key(game_id: str) -> str:
    return f"truco:{{{game_id}}}:actions"


def _metadata_key(game_id: str) -> str:
    return f"truco:{{{game_id}}}:metadata"


def _list_key(status: Status) -> str:
    return f"truco:games:{status}"


def _script(client: redis.Redis, name: str) -> Script:
    return client.register_script(resources.files(__package__).joinpath(name).read_text("utf-8"))


@contextmanager
def _unavailable_on_failure() -> Iterator[None]:
    try:
        yield
    except redis.RedisError as error:
        raise StoreUnavailableError(str(error)) from error
