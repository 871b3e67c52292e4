"""Why a use case is refused, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.engine.actions import Reason
from service.views import GameView


class Code(StrEnum):
    """Why a use case is refused, beside the engine's reasons; stable, and the same in the API."""

    GAME_NOT_FOUND = "game_not_found"
    NOT_FOUND = "not_found"
    MISSING_TOKEN = "missing_token"
    INVALID_TOKEN = "invalid_token"
    WRONG_SEAT = "wrong_seat"
    INVALID_JOIN_CODE = "invalid_join_code"
    VERSION_CONFLICT = "version_conflict"
    GAME_NOT_STARTED = "game_not_started"
    GAME_STARTED = "game_started"
    GAME_FINISHED = Reason.GAME_FINISHED.value
    GAME_NOT_FINISHED = "game_not_finished"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    REQUEST_IN_PROGRESS = "request_in_progress"
    GAME_FULL = "game_full"
    SEAT_TAKEN = "seat_taken"
    VALIDATION_FAILED = "validation_failed"
    UNPLAYABLE_RULES = "unplayable_rules"


@dataclass(frozen=True, slots=True)
class MemberProblem:
    """What is wrong with one member of a body; `pointer` is a JSON pointer."""

    pointer: str
    code: str
    detail: str


class RefusedError(Exception):
    """A use case that is not carried out. Nothing has changed."""

    def __init__(
        self,
        code: Code,
        detail: str,
        problems: tuple[MemberProblem, ...] = (),
        game: GameView | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.problems = problems
        self.game = game
