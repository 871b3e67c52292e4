"""A finished game, whole: every deck and action, and what came of them. As a value, as JSON, as text; and checked.

It reveals everything, so it is for finished games only.
"""

from service.engine.record.as_json import to_json
from service.engine.record.as_text import to_text
from service.engine.record.check import Difference, verify
from service.engine.record.game import (
    GameRecord,
    HandRecord,
    RecordError,
    SeatRecord,
    Shuffle,
    build_record,
    commitment_of,
)
from service.engine.record.read_json import from_json
from service.engine.record.read_text import from_text
from service.engine.record.tokens import SeatAction, decode_action, encode_action

__all__ = [
    "Difference",
    "GameRecord",
    "HandRecord",
    "RecordError",
    "SeatAction",
    "SeatRecord",
    "Shuffle",
    "build_record",
    "commitment_of",
    "decode_action",
    "encode_action",
    "from_json",
    "from_text",
    "to_json",
    "to_text",
    "verify",
]
