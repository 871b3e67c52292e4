"""JSON lines on the standard output: what is logged, and how an error is told without the values it met.

Knows nothing of games and requests. The message of an exception may hold anything, so it is never written; its type and
the places that it came through are.
"""

from __future__ import annotations

import logging
import logging.config
import sys
import threading
from datetime import UTC, datetime
from typing import Final

import msgspec

LEVELS: Final = ("info", "warning", "error")
"""Gunicorn's own "debug" quotes what clients send."""
_MOST_PLACES: Final = 20
_MOST_CAUSES: Final = 3

_log = logging.getLogger(__name__)


def told(error: BaseException) -> list[dict[str, object]]:
    """*error* and what caused it, as data: types and places, innermost last, and no values."""
    chain: list[dict[str, object]] = []
    cause: BaseException | None = error
    while cause is not None and len(chain) < _MOST_CAUSES:
        places, trace = [], cause.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            places.append(f"{frame.f_globals.get('__name__')}:{trace.tb_lineno} {frame.f_code.co_name}")
            trace = trace.tb_next
        chain.append({"type": type(cause).__name__, "at": places[-_MOST_PLACES:]})
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return chain


def write(line: object) -> None:
    """A line of its own, as JSON. A record of `logging` would cost a request three times as much."""
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


class JsonLines(logging.Formatter):
    """A record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "ts": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().encode(errors="replace").decode(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = told(record.exc_info[1])
        return msgspec.json.encode(line).decode()


def configure(level: str) -> None:
    """Everything that is logged in this process, or written about an error in a thread, becomes JSON lines."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"json": {"()": JsonLines}},
            "handlers": {"stdout": {"class": "logging.StreamHandler", "stream": sys.stdout, "formatter": "json"}},
            "root": {"level": level.upper(), "handlers": ["stdout"]},
        }
    )
    threading.excepthook = _thread_broke


def _thread_broke(broken: threading.ExceptHookArgs) -> None:
    if broken.exc_value is not None and not isinstance(broken.exc_value, SystemExit):
        stray(broken.exc_value)


def stray(error: BaseException) -> None:
    """Log what nobody has caught."""
    _log.error("nobody has caught this", exc_info=error)
