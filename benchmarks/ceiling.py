"""The bare stack: what the same server, framework and Redis client cost when there is no game.

Served with the service's own gunicorn settings. An action is one read and one compare-and-set of a value as long as a
game's state, an answer is always the same one: status, headers and bytes of one that the service has given.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from flask import Flask, Response, request

from service.store.connect import connect

READ = "return {redis.call('GET', KEYS[1]), redis.call('TIME')}"
COMPARE_AND_SET = """
local stored = redis.call('GET', KEYS[1])
if not stored or string.match(stored, '^%d+ (%d+) ') ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
"""
_TTL_SECONDS = 604_800


@dataclass(frozen=True)
class Answer:
    """What the service has answered, without what the server adds to every answer."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


@dataclass(frozen=True)
class Answers:
    """What is said to everybody, and the body of the value that is read and written."""

    action: Answer
    view: Answer
    not_modified: Answer
    stored: bytes


class _Nothing:
    """The ceiling has nothing to do beside its requests."""

    def start(self) -> None:
        pass

    def drain(self) -> None:
        pass


def key(name: str) -> str:
    return f"ceiling:{{{name}}}:state"


def from_env() -> Flask:
    """With the answers in the file that BENCH_ANSWERS names."""
    answers = msgspec.msgpack.decode(Path(os.environ["BENCH_ANSWERS"]).read_bytes(), type=Answers)
    client = connect(os.environ["REDIS_URL"])
    read, compare_and_set = client.register_script(READ), client.register_script(COMPARE_AND_SET)
    app = Flask(__name__, static_folder=None)
    app.extensions["truco"] = _Nothing()

    @app.get("/readyz")
    def ready() -> Response:
        client.ping()
        return Response()

    @app.post("/v1/games/<name>/actions")
    def act(name: str) -> Response:
        request.get_data()
        stored, _ = read(keys=[key(name)])
        version = stored.split(b" ", 2)[1]
        follows = b"2 %d %b" % (int(version) + 1, answers.stored)
        if not compare_and_set(keys=[key(name)], args=[version, follows, _TTL_SECONDS]):
            return Response(status=409)
        return _response(answers.action)

    @app.get("/v1/games/<name>")
    def look(name: str) -> Response:
        read(keys=[key(name)])
        return _response(answers.not_modified if "If-None-Match" in request.headers else answers.view)

    return app


def _response(answer: Answer) -> Response:
    return Response(answer.body, answer.status, answer.headers)


ADDED_BY_THE_SERVER = frozenset(("server", "date", "connection", "content-length"))


def answer_of(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    kept = [(name, text) for name, text in headers.items() if name.lower() not in ADDED_BY_THE_SERVER]
    return Answer(status, kept, body)
