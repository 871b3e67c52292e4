"""What a stored game is, and what a store must promise. Knows no Redis and no HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from service.engine.events import Member
from service.engine.rules import RuleSet
from service.engine.state import GameState, Seat


class Status(StrEnum):
    LOBBY = "lobby"
    PLAYING = "playing"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Chair:
    """A seat of the game: who sits there, and the hash of the token that opens it.

    The hash outlives its player in a lobby (name None), until somebody else sits down.
    """

    name: str | None = None
    token_hash: bytes | None = field(default=None, repr=False)
    owner_hash: bytes | None = field(default=None, repr=False)
    """Of the token, of the game before this rematch, that takes this seat over; a name without a token is reserved."""


@dataclass(frozen=True, slots=True)
class Game:
    """A game as it is stored. `state` is None in the lobby; `version` counts commits, `last_seq` events."""

    id: str
    version: int
    created_at_ms: int
    variant: str
    rules: RuleSet
    is_public: bool
    chairs: tuple[Chair, ...]
    last_seq: int = 0
    state: GameState | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    seed: bytes = field(default=b"", repr=False)
    host_hash: bytes = field(default=b"", repr=False)
    join_code: str | None = field(default=None, repr=False)
    first_dealer: Seat | None = None
    """Of a rematch: who deals first; None: the seed draws."""
    rematch_id: str | None = None
    """The next game, once somebody has asked for one."""
    turn_seconds: int | None = None
    """How long a turn may take; None: no clock."""
    deadline_ms: int | None = None
    """When the present turn is over; None without a clock, before the start and after the end."""
    timeouts: tuple[int, ...] = ()
    """Per seat how many of its turns in a row ran out."""

    @property
    def status(self) -> Status:
        if self.state is None:
            return Status.LOBBY
        return Status.PLAYING if self.state.table.result is None else Status.FINISHED


@dataclass(frozen=True, slots=True)
class RetryRecord:
    """What a committed request with an Idempotency-Key leaves behind, to be answered again.

    The key itself is not in it: only who sends it again can say its tokens again.
    """

    body_hash: bytes
    nonce: bytes
    seats: tuple[Seat, ...]
    """Whose tokens the request was answered with."""
    first_seq: int
    last_seq: int
    """The events that the request caused."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A game as one request finds it."""

    game: Game
    now_ms: int
    """The store's time, the only clock that counts."""
    present: frozenset[Seat] = frozenset()
    """The seats that wait or stream, or did until a moment ago."""
    retry: RetryRecord | None = None
    """Of the request that was carried out under the same key."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event with its place in the game's log; `seq` counts from 1 without gaps."""

    seq: int
    version: int
    at_ms: int
    type: str
    seat: Seat | None
    data: Mapping[str, Member]


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in order, oldest first; `oldest_seq` is the first one still kept, whatever was asked for."""

    events: tuple[LoggedEvent, ...]
    oldest_seq: int


@dataclass(frozen=True, slots=True)
class ListPosition:
    """Where a list of games goes on: after the game *id* of that time."""

    created_at_ms: int
    id: str


@dataclass(frozen=True, slots=True)
class GamePage:
    """Public games, newest first; `next` is None at the end."""

    games: tuple[Game, ...]
    next: ListPosition | None


class StoreError(Exception):
    """The store could not do its work."""


class StoreUnavailableError(StoreError):
    """It cannot be reached or cannot write now. What was acknowledged is kept; try again later."""


class UnknownFormatError(StoreUnavailableError):
    """The stored bytes are of a newer format than this process knows; they are left as they are."""


class VersionConflictError(StoreError):
    """The game is not at the version before this commit any more, or is gone."""


PRESENT_SECONDS: Final = 35
"""Longer than the longest wait, so that a client that waits again at once stays present."""


class GameStore(Protocol):
    """Keeps games. Every method raises `StoreUnavailableError` when the store cannot do its work."""

    def load(self, game_id: str, retry_name: str | None = None) -> Loaded | None:
        """The game as last committed; None if there is none (never made, cancelled, expired).

        *retry_name*: of the `RetryRecord` that a commit may have left.
        """
        ...

    def commit(
        self,
        game: Game,
        previous: Game | None,
        events: Sequence[LoggedEvent],
        action: str | None = None,
        retry: tuple[str, RetryRecord] | None = None,
    ) -> None:
        """Store *game* in place of *previous* (None: it must not exist yet), and renew its time to live.

        Its new *events*, its *action* and the record of a *retry*, by name, are written in the same step: all or
        nothing, and harmless when it is carried out twice. Raises `VersionConflictError` if another commit came first
        or the game is gone.
        """
        ...

    def delete(self, game: Game) -> None:
        """Forget *game* if it is still at its version; raises `VersionConflictError` otherwise."""
        ...

    def events(self, game_id: str, after: int, limit: int) -> EventPage:
        """At most *limit* events with a seq above *after*; it starts at the oldest kept one if that is younger."""
        ...

    def actions(self, game_id: str) -> tuple[str, ...]:
        """The game's action log from the first action on."""
        ...

    def list_public(self, status: Status, variant: str | None, limit: int, position: ListPosition | None) -> GamePage:
        """At most *limit* public games of one status, newest first, from *position* on."""
        ...

    def reserve_id(self, retry_name: str, game_id: str) -> str:
        """*game_id* for the request of that name, or the id that the same request has reserved before."""
        ...

    def retry_record(self, game_id: str, retry_name: str) -> RetryRecord | None:
        """What a commit has left of the request of that name, also when its game is gone by now."""
        ...

    def now_ms(self) -> int:
        """The store's time, milliseconds since 1970."""
        ...

    def mark_present(self, game_id: str, seat: Seat) -> None:
        """*seat* is there for the next `PRESENT_SECONDS`."""
        ...

    def claim_overdue(self, limit: int) -> tuple[str, ...]:
        """At most *limit* ids of games whose deadline may have passed, for this caller alone to see to.

        Each comes up again after a short lease, unless a commit or `set_deadline` moves it.
        """
        ...

    def set_deadline(self, game_id: str, deadline_ms: int | None) -> None:
        """When `claim_overdue` shall give out the game next; None: never."""
        ...

    def ping(self) -> None:
        """Raises `StoreUnavailableError` unless the store answers."""
        ...
