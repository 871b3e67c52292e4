"""Whatever is logged is a line of JSON, and errors are told without the values they met."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import Any

from service.logs import JsonLines
from tests.api.driver import Body


def line_of(**members: Any) -> Body:
    text = JsonLines().format(logging.makeLogRecord(members))
    assert "\n" not in text
    line: Body = json.loads(text)
    return line


def test_any_record_becomes_a_line() -> None:
    line = line_of(name="a.b", levelname="WARNING", msg="%s\nis \udc80 left", args=("what",), created=0.5)
    assert line == {
        "ts": "1970-01-01T00:00:00.500000Z",
        "level": "warning",
        "logger": "a.b",
        "message": "what\nis ? left",
    }


def test_an_exception_is_told_without_its_message() -> None:
    def inner(secret: str) -> None:
        raise KeyError(secret)

    try:
        try:
            inner("4C")
        except KeyError as error:
            error.add_note("4C")
            raise ValueError("the seat held 4C") from error
    except ValueError as error:
        line = line_of(name="a", levelname="ERROR", msg="it broke", exc_info=(type(error), error, error.__traceback__))
    assert "4C" not in str(line)
    here = __name__
    [value_error, key_error] = line["error"]
    assert value_error["type"] == "ValueError"
    assert key_error["type"] == "KeyError"
    assert [place.partition(":")[0] for place in key_error["at"]] == [here, here]
    assert key_error["at"][-1].endswith(" inner")


def test_what_nobody_catches_is_a_line_too() -> None:
    """In a thread, and in a greenlet of a worker."""
    ran = subprocess.run([sys.executable, "-c", BREAKING], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [(line["level"], [error["type"] for error in line["error"]]) for line in lines] == [
        ("error", ["KeyError"])
    ] * 2
    assert "4C" not in ran.stdout
    assert ran.stderr == ""


BREAKING = """
import threading
import gevent
from service import gunicorn_conf, logs

def breaks(card):
    raise KeyError(card)

logs.configure("info")
gevent.get_hub().print_exception = gunicorn_conf._log_stray
thread = threading.Thread(target=breaks, args=("4C",))
thread.start()
thread.join()
gevent.spawn(breaks, "4C").join()
"""
