"""What a stored game is, and what a store must promise. Knows no Redis and no HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

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

    @property
    def status(self) -> Status:
        if self.state is None:
            return Status.LOBBY
        return Status.PLAYING if self.state.table.result is None else Status.FINISHED


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


class GameStore(Protocol):
    """Keeps games. Every method raises `StoreUnavailableError` when the store cannot do its work."""

    def load(self, game_id: str) -> Game | None:
        """The game as last committed; None if there is none (never made, cancelled, expired)."""
        ...

    def commit(
        self,
        game: Game,
        previous: Game | None,
        events: Sequence[LoggedEvent],
        action: str | None = None,
    ) -> None:
        """Store *game* in place of *previous* (None: it must not exist yet), and renew its time to live.

        Its new *events* and its *action* are appended in the same step: all or nothing, and harmless when it is
        carried out twice. Raises `VersionConflictError` if another commit came first or the game is gone.
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

    def ping(self) -> None:
        """Raises `StoreUnavailableError` unless the store answers."""
        ...
