"""What one viewer may see of a stored game: composed for that viewer, with no state behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from service.engine.actions import Action, legal_actions
from service.engine.record import commitment_of
from service.engine.rules import RuleSet
from service.engine.state import Seat
from service.engine.view import PlayerView, view_for
from service.store.base import Chair, Game, Loaded, Status


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks: a seat, the host (who sees what a spectator sees), or a spectator."""

    seat: Seat | None = None
    is_host: bool = False

    @property
    def tag(self) -> str:
        if self.seat is not None:
            return f"s{self.seat}"
        return "host" if self.is_host else "spec"


@dataclass(frozen=True, slots=True)
class GameView:
    """All that one viewer may know of a game; `player` is None in the lobby."""

    id: str
    version: int
    status: Status
    variant: str
    rules: RuleSet
    metadata: Mapping[str, str]
    created_at_ms: int
    now_ms: int
    commitment: str
    seats: tuple[SeatView, ...]
    deadline_ms: int | None
    rematch_id: str | None
    viewer: Viewer
    player: PlayerView | None
    legal_actions: tuple[Action, ...] = field(repr=False)


class SeatKind(StrEnum):
    HUMAN = "human"
    OPEN = "open"
    RESERVED = "reserved"
    """In a rematch: its owner has not come yet."""


@dataclass(frozen=True, slots=True)
class SeatView:
    name: str | None
    kind: SeatKind
    is_present: bool | None
    """It waits or streams; None where nobody sits."""


def view_of(found: Loaded, viewer: Viewer) -> GameView:
    game = found.game
    player = None if game.state is None else view_for(game.state, viewer.seat)
    return GameView(
        id=game.id,
        version=game.version,
        status=game.status,
        variant=game.variant,
        rules=game.rules,
        metadata=game.metadata,
        created_at_ms=game.created_at_ms,
        now_ms=found.now_ms,
        commitment=commitment_of(game.seed),
        seats=seats_of(game, found.present),
        deadline_ms=game.deadline_ms,
        rematch_id=game.rematch_id,
        viewer=viewer,
        player=player,
        legal_actions=() if player is None else legal_actions(player),
    )


def seats_of(game: Game, present: frozenset[Seat] = frozenset()) -> tuple[SeatView, ...]:
    return tuple(
        SeatView(chair.name, kind, seat in present if kind is SeatKind.HUMAN else None)
        for seat, chair in enumerate(game.chairs)
        for kind in (_kind(chair),)
    )


def _kind(chair: Chair) -> SeatKind:
    if chair.name is None:
        return SeatKind.OPEN
    return SeatKind.RESERVED if chair.token_hash is None else SeatKind.HUMAN
