"""Commands for the shell: `python -m service verify FILE`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from service.dealer import SeededDealer
from service.engine.record import GameRecord, from_json, from_text, verify

OK, DIFFERENT, UNREADABLE = range(3)
"""Exit codes."""

MOST_BYTES: Final = 64 * 2**20
"""Of a file; far above any record."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m service", description="Commands of the Truco service.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    check = commands.add_parser(
        "verify",
        help="check the record of a finished game",
        description="Recompute every deck of a record from its seed and replay every action. Exit code 0: the record "
        "is true; 1: it differs, and the first difference is printed; 2: it cannot be read.",
    )
    check.add_argument("file", metavar="FILE", help="a record as JSON or as text notation; - is standard input")
    options = parser.parse_args(arguments)
    return _verify(options.file)


def _verify(file: str) -> int:
    try:
        record = read_record(_read_bytes(file))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        print(f"{file}: {reason}", file=sys.stderr)
        return UNREADABLE
    difference = verify(record, SeededDealer())
    if difference is not None:
        _say(f"{difference.sentence} ({difference.place})")
        return DIFFERENT
    _say(_summary(record))
    return OK


def _say(line: str) -> None:
    """On the standard output, in whatever it can write."""
    encoding = sys.stdout.encoding
    print(line.encode(encoding, "backslashreplace").decode(encoding))


def _read_bytes(file: str) -> bytes:
    with sys.stdin.buffer if file == "-" else Path(file).open("rb") as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"has over {MOST_BYTES} bytes, no record has")
    return content


def read_record(content: bytes) -> GameRecord:
    """The record in a file, as JSON or as text notation. Raises ValueError, `RecordError` with the place."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 (byte {error.start})") from None
    return from_json(_parse_json(text)) if text.lstrip().startswith("{") else from_text(text)


def _parse_json(text: str) -> object:
    try:
        value: object = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error}") from None
    return value


def _without_duplicates(members: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(members)
    if len(unique) < len(members):
        raise ValueError("is not clear: an object in it has a member twice")
    return unique


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"is not JSON: {name}")


def _summary(record: GameRecord) -> str:
    actions = sum(len(hand.actions) for hand in record.hands)
    one, two = record.score
    return (
        f"ok: {record.variant}, {len(record.seats)} seats, {len(record.hands)} hands, {actions} actions, "
        f"score {one}-{two}, won by team {record.result.winner} ({record.result.reason})"
    )


if __name__ == "__main__":
    sys.exit(main())
