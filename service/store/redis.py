"""Games in Redis: one Lua commit, every key of a game under one hash tag.

The same code and scripts run on a real server and on the embedded fakeredis. Outside a game's slot lie only hints, the
lists of public games and of each platform's by status: written before the commit that makes them true, checked against
the game when read.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from types import TracebackType
from typing import Final, cast

import redis
from redis.commands.core import Script as ClientScript
from redis.exceptions import RedisClusterException

from service.engine.state import Seat
from service.engine.values import replace
from service.store import codec
from service.store.base import (
    PRESENT_SECONDS,
    EventPage,
    Game,
    GamePage,
    ListPosition,
    Loaded,
    LoggedEvent,
    RetryRecord,
    Status,
    StoreUnavailableError,
    UnknownFormatError,
    VersionConflictError,
)
from service.store.connect import OPERATIONS_AT_ONCE, drop_idle_connections
from service.store.script import Connections, Script

CLIENT_ERRORS: Final = (redis.RedisError, RedisClusterException)
"""All that the client raises; what it says of a whole cluster is no `RedisError`."""
_PLACE_TRIES: Final = 30
_PLACE_TRY_SECONDS: Final = 0.3
_NONCE_BYTES: Final = 6
_CANDIDATES_AT_ONCE: Final = 100
_CANDIDATES_AT_MOST: Final = 500
"""For one page; a rare variant would else be looked for in the whole list."""
_RETRY_SECONDS: Final = 86_400
_LEASE_MS: Final = 1_000
_DEADLINES_KEY: Final = "truco:deadlines"
LISTED_AT_MOST: Final = 10_000
"""The newest games of a list; older ones are played on, but not found."""
_GONE: Final = b"gone"
"""In place of the state of a game that was deleted while its requests may come again."""


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

    def __init__(
        self,
        client: redis.Redis,
        ttl_seconds: TimeToLive,
        events_kept: int,
        clock: Callable[[], int] | None = None,
        states_kept: int = 0,
    ) -> None:
        """*clock*, milliseconds since 1970, in place of Redis's own time: for tests."""
        self._client = client
        self._clock = clock
        self._ttl_seconds = ttl_seconds
        self._events_kept = events_kept
        self._connections = Connections(client) if isinstance(client, redis.Redis) else None
        self._operation = _Operation(client, self._connections)
        self._kept = _Kept(states_kept)
        self._load = self._script("load.lua")
        self._commit = self._script("commit.lua")
        self._delete = self._script("delete.lua")
        self._claim = self._script("claim.lua")
        self._present = self._script("present.lua")

    def _script(self, name: str) -> Script | ClientScript:
        text = resources.files(__package__).joinpath(name).read_text("utf-8")
        if self._connections is None:  # of a cluster, the client knows which server to ask
            return self._client.register_script(text)
        return Script(self._connections, text)

    def load(self, game_id: str, retry_name: str | None = None) -> Loaded | None:
        keys = [_state_key(game_id), _metadata_key(game_id), _presence_key(game_id)]
        if retry_name is not None:
            keys.append(_retries_key(game_id))
        with self._operation:
            found = cast("_Found", self._load(keys, [retry_name or ""]))
        state, metadata, present, retry, now_ms = found
        if state is None or state == _GONE:
            self._kept.drop(game_id)
            return None
        kept = self._kept.get(game_id)
        game = kept if kept is not None and codec.is_of(kept, state) else codec.decode(game_id, state, metadata)
        self._kept.keep(game, int(now_ms))
        return Loaded(
            game=game,
            now_ms=self._time(int(now_ms)),
            present=frozenset(map(int, present)),
            retry=None if retry is None else codec.decode_retry(retry),
        )

    def commit(
        self,
        game: Game,
        previous: Game | None,
        events: Sequence[LoggedEvent],
        actions: Sequence[str] = (),
        retry: tuple[str, RetryRecord] | None = None,
    ) -> Loaded:
        game = replace(game, nonce=secrets.token_urlsafe(_NONCE_BYTES).encode("ascii"))
        keys, arguments = self.commit_call(game, previous, events, actions, retry)
        moves_to_a_list = previous is None or previous.status is not game.status
        with self._operation:
            if moves_to_a_list:
                self._list(game)
            if game.deadline_ms is not None:
                # never later than a deadline that still stands if this commit comes to nothing
                self._client.zadd(_DEADLINES_KEY, {game.id: game.deadline_ms}, lt=True)
            stands, now_ms, present = cast("_Committed", self._commit(keys, arguments))
            if moves_to_a_list and stands:
                self._list(game)  # again: a reader drops a hint that is not true yet
        if not stands:
            self._kept.drop(game.id)
            raise VersionConflictError(f"game {game.id} has moved on or is gone")
        self._kept.keep(game, int(now_ms))
        return Loaded(game, self._time(int(now_ms)), frozenset(map(int, present)))

    def commit_call(
        self,
        game: Game,
        previous: Game | None,
        events: Sequence[LoggedEvent],
        actions: Sequence[str] = (),
        retry: tuple[str, RetryRecord] | None = None,
    ) -> tuple[list[str], list[str | bytes | int]]:
        """The keys and arguments of commit.lua."""
        keys = [*_keys(game.id), _presence_key(game.id)]
        if retry is not None:
            keys.append(_retries_key(game.id))
        return keys, [
            "0" if previous is None else (b"%d %b" % (previous.version, previous.nonce)).strip(),
            codec.encode(game),
            self._ttl_seconds.of(game.status),
            self._events_kept,
            channel(game.id),
            " ".join(actions),
            codec.encode_metadata(game) if previous is None and game.metadata else "",
            "" if retry is None else codec.encode_retry(retry[1]),
            _RETRY_SECONDS,
            "" if retry is None else retry[0],
            game.last_seq - len(events) + 1,
            *map(codec.encode_event, events),
        ]

    def recall(self, game_id: str, version: int) -> Loaded | None:
        game = self._kept.get(game_id)
        if game is None or game.version != version or game.turn_seconds is not None:
            return None
        return Loaded(game, self._time(self._kept.redis_ms))

    def _list(self, game: Game) -> None:
        if keys := _list_keys(game, game.status):
            pipeline = self._client.pipeline(transaction=False)
            for key in keys:
                pipeline.zadd(key, {game.id: game.created_at_ms}, nx=True)
                pipeline.zremrangebyrank(key, 0, -LISTED_AT_MOST - 1)
            pipeline.execute()

    def delete(self, game: Game) -> None:
        keys = [*_keys(game.id), _retries_key(game.id), _presence_key(game.id)]
        with self._operation:
            gone = self._delete(keys, [game.version, channel(game.id), _GONE, _RETRY_SECONDS])
            if gone:
                self._drop_hints(game)
        if not gone:
            raise VersionConflictError(f"game {game.id} has moved on")

    def _drop_hints(self, game: Game) -> None:
        """Readers would, when they come to them; until then the hints of a gone game name its id."""
        pipeline = self._client.pipeline(transaction=False)
        pipeline.zrem(_DEADLINES_KEY, game.id)
        for key in (key for status in Status for key in _list_keys(game, status)):
            pipeline.zrem(key, game.id)
        pipeline.execute()

    def events(self, game_id: str, after: int, limit: int) -> EventPage:
        key = _events_key(game_id)
        with self._operation:
            pipeline = self._client.pipeline(transaction=False)
            pipeline.xrange(key, count=1)
            pipeline.xrange(key, min=f"({after}-0", count=limit)
            oldest, entries = cast("list[list[_Entry]]", pipeline.execute())
        return EventPage(
            tuple(codec.decode_event(fields[b"e"]) for _, fields in entries),
            oldest_seq=codec.decode_event(oldest[0][1][b"e"]).seq if oldest else 1,
        )

    def actions(self, game_id: str) -> tuple[str, ...]:
        with self._operation:
            tokens = cast("list[bytes]", self._client.lrange(_actions_key(game_id), 0, -1))
        return tuple(token.decode("ascii") for token in tokens)

    def list_games(
        self,
        status: Status,
        variant: str | None,
        limit: int,
        position: ListPosition | None,
        platform: bytes | None = None,
    ) -> GamePage:
        games: list[Game] = []
        with self._operation:
            for count, (entry, game) in enumerate(self._candidates(status, platform, position), 1):
                if game is not None and variant in (None, game.variant):
                    if len(games) == limit:
                        return GamePage(tuple(games), position)
                    games.append(game)
                position = entry
                if count == _CANDIDATES_AT_MOST:
                    return GamePage(tuple(games), position)
        return GamePage(tuple(games), None)

    def _candidates(
        self, status: Status, platform: bytes | None, position: ListPosition | None
    ) -> Iterator[tuple[ListPosition, Game | None]]:
        """Every entry of a list after *position*, newest first, with its game; None in place of one not to be shown."""
        key = _list_key(status, platform)
        while entries := self._entries(key, position):
            pipeline = self._client.pipeline(transaction=False)
            for entry in entries:
                pipeline.get(_state_key(entry.id))
            states = cast("list[bytes | None]", pipeline.execute())
            for entry, state in zip(entries, states, strict=True):
                yield entry, self._still_listed(key, entry, state)
            position = entries[-1]

    def _still_listed(self, key: str, entry: ListPosition, state: bytes | None) -> Game | None:
        """The game, unless it has moved on, which drops the hint, or cannot be read, which leaves it to who can."""
        try:
            game = None if state is None or state == _GONE else codec.decode(entry.id, state, None)
        except UnknownFormatError:
            return None
        if game is not None and key in _list_keys(game, game.status):
            return game
        with suppress(redis.ReadOnlyError):
            self._client.zrem(key, entry.id)
        return None

    def _entries(self, key: str, position: ListPosition | None) -> list[ListPosition]:
        """The next ones of a list after *position*; [] at the end."""
        passed = 0
        while found := self._entries_not_after(key, position, passed):
            if entries := [entry for entry in found if position is None or _is_after(entry, position)]:
                return entries
            passed += len(found)  # all of the position's own millisecond
        return []

    def _entries_not_after(self, key: str, position: ListPosition | None, passed: int) -> list[ListPosition]:
        """Those of the position's time or older, newest first, without the first *passed*."""
        found = cast(
            "list[tuple[bytes, float]]",
            self._client.zrange(
                key,
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

    def reserve_id(self, retry_name: str, game_id: str) -> str:
        with self._operation:
            reserved = self._client.set(f"truco:retry:{retry_name}", game_id, nx=True, get=True, ex=_RETRY_SECONDS)
        return game_id if reserved is None else cast("bytes", reserved).decode("ascii")

    def retry_record(self, game_id: str, retry_name: str) -> RetryRecord | None:
        with self._operation:
            stored = cast("bytes | None", self._client.hget(_retries_key(game_id), retry_name))
        return None if stored is None else codec.decode_retry(stored)

    def now_ms(self) -> int:
        with self._operation:
            seconds, microseconds = self._client.time()
        return self._time(seconds * 1000 + microseconds // 1000)

    def _time(self, redis_ms: int) -> int:
        return redis_ms if self._clock is None else self._clock()

    def mark_present(self, game_id: str, seat: Seat) -> None:
        with self._operation:
            self._present(keys=[_presence_key(game_id)], args=[seat, PRESENT_SECONDS])

    def claim_overdue(self, limit: int) -> tuple[str, ...]:
        with self._operation:
            due = cast("list[bytes]", self._claim(keys=[_DEADLINES_KEY], args=[_LEASE_MS, limit]))
        return tuple(game_id.decode("ascii") for game_id in due)

    def set_deadline(self, game_id: str, deadline_ms: int | None) -> None:
        with self._operation:
            if deadline_ms is None:
                self._client.zrem(_DEADLINES_KEY, game_id)
            else:
                self._client.zadd(_DEADLINES_KEY, {game_id: deadline_ms})

    def ping(self) -> None:
        with self._operation:
            self._client.ping()


class _Kept:
    """The games that this process has seen last, and Redis's time since it was last told."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._games: OrderedDict[str, Game] = OrderedDict()
        self._lock = threading.Lock()
        self._ahead_ms = 0.0
        """How far Redis's time is ahead of this process's own steady clock."""

    @property
    def redis_ms(self) -> int:
        return int(self._ahead_ms + 1000 * time.monotonic())

    def keep(self, game: Game, redis_ms: int) -> None:
        self._ahead_ms = redis_ms - 1000 * time.monotonic()
        if self._most:
            with self._lock:
                self._games[game.id] = game
                self._games.move_to_end(game.id)
                if len(self._games) > self._most:
                    self._games.popitem(last=False)

    def get(self, game_id: str) -> Game | None:
        return self._games.get(game_id)

    def drop(self, game_id: str) -> None:
        with self._lock:
            self._games.pop(game_id, None)


class _Operation:
    """What runs while it is entered: one of so many at once, whose failures are those of a store.

    More would ask for more connections than there are. Many waiters that are woken together queue for a while, but
    nobody queues for a server that does not answer.
    """

    def __init__(self, client: redis.Redis, connections: Connections | None) -> None:
        self._client = client
        self._connections = connections
        self._has_failed = False
        self._places: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(OPERATIONS_AT_ONCE):
            self._places.put(None)

    def __enter__(self) -> None:
        for _ in range(_PLACE_TRIES):
            with suppress(queue.Empty):
                return self._places.get(timeout=_PLACE_TRY_SECONDS)
            if self._has_failed:
                break
        raise StoreUnavailableError(f"{OPERATIONS_AT_ONCE} others wait for an answer")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._places.put(None)
        if error is None:
            self._has_failed = False
        if not isinstance(error, CLIENT_ERRORS):
            return
        self._has_failed = True
        if isinstance(error, redis.ReadOnlyError):
            drop_idle_connections(self._client)  # the master has changed; new ones may find the new one
            if self._connections is not None:
                self._connections.disconnect()
        raise StoreUnavailableError(str(error)) from error


_Committed = tuple[bool, bytes, list[bytes]]
_Found = tuple[bytes | None, bytes | None, list[bytes], bytes | None, bytes]
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


def _presence_key(game_id: str) -> str:
    return f"truco:{{{game_id}}}:presence"


def _retries_key(game_id: str) -> str:
    """A hash of the records of requests by name; all of them live on for a while after the latest."""
    return f"truco:{{{game_id}}}:retries"


def _list_key(status: Status, platform: bytes | None) -> str:
    return f"truco:games:{status}" if platform is None else f"truco:games:{platform.hex()}:{status}"


def _list_keys(game: Game, status: Status) -> list[str]:
    """The lists that *game* is on while it is of *status*: of the public games, of its platform's."""
    public = [_list_key(status, None)] if game.is_public else []
    return public if game.platform is None else [*public, _list_key(status, game.platform)]
