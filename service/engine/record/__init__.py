"""A finished game, whole: every deck and action, and what came of them. As a value, as JSON, as text; and checked.

It reveals everything, so it is for finished games only.
"""

from service.engine.record.as_json import from_json, to_json
from service.engine.record.game import GameRecord, HandRecord, RecordError, SeatRecord, Shuffle, build_record
from service.engine.record.tokens import SeatAction, decode_action, encode_action

__all__ = [
    "GameRecord",
    "HandRecord",
    "RecordError",
    "SeatAction",
    "SeatRecord",
    "Shuffle",
    "build_record",
    "decode_action",
    "encode_action",
    "from_json",
    "to_json",
]
