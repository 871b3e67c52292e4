"""What the benchmarks compare is what they say: games that the service accepts, and a ceiling that answers alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from benchmarks import ceiling
from benchmarks.ceiling import Answers, answer_of
from benchmarks.games import Maker, get
from benchmarks.growth import Loader
from service.app import create_app
from tests.api.driver import UNLIMITED
from tests.redis_server import RedisServer


def send(client: FlaskClient, request: bytes) -> TestResponse:
    """*request* as it would go over the wire."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode("ascii").split("\r\n")
    method, path, _ = first.split(" ")
    return client.open(path, method=method, data=body, headers=[tuple(line.split(": ", 1)) for line in lines])


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def maker(redis_server: RedisServer) -> Maker:
    return Maker(redis_server.url)


@pytest.fixture
def client(redis_server: RedisServer) -> FlaskClient:
    return create_app(replace(UNLIMITED, redis_url=redis_server.url)).test_client()


def test_the_actions_of_a_game_are_all_accepted_and_end_it(maker: Maker, client: FlaskClient) -> None:
    requests = maker.actions()
    assert len(requests) > 20
    answers = [send(client, request) for request in requests]
    assert {answer.status_code for answer in answers} == {200}
    assert answers[-1].get_json()["game"]["status"] == "finished"


def test_games_loaded_in_bulk_can_be_played_on(maker: Maker) -> None:
    maker.client.flushall()
    Loader(maker).load(2)
    ids = [key.decode().partition("{")[2].partition("}")[0] for key in maker.client.keys("truco:{*}:state")]
    assert len(ids) == 2
    for game_id in ids:
        found = maker.store.load(game_id)
        assert found is not None and found.game.state is not None
        assert len(maker.store.events(game_id, 0, 500).events) == 10
        maker.store.commit(replace(found.game, version=found.game.version + 1), found.game, ())


def test_the_ceiling_answers_like_the_service(
    maker: Maker, client: FlaskClient, redis_server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created, game = maker.make()
    action = maker.request(created, next(maker.steps(game)))
    look = get(f"/v1/games/{created.game.id}", created.tokens[0])
    unchanged = get(f"/v1/games/{created.game.id}", created.tokens[0], 'W/"v2-s0"')
    ours = [send(client, request) for request in (action, look, unchanged)]
    assert [answer.status_code for answer in ours] == [200, 200, 304]

    said = [answer_of(answer.status_code, answer.headers, answer.get_data()) for answer in ours]
    (tmp_path / "answers").write_bytes(msgspec.msgpack.encode(Answers(*said, stored=b"nonce-00 stored")))
    monkeypatch.setenv("BENCH_ANSWERS", str(tmp_path / "answers"))
    monkeypatch.setenv("REDIS_URL", redis_server.url)
    maker.client.set(ceiling.key(created.game.id), "2 1 nonce-00 stored")
    bare = ceiling.from_env().test_client()
    theirs = [send(bare, request) for request in (action, look, unchanged)]
    for answer, their in zip(ours, theirs, strict=True):
        assert their.status_code == answer.status_code
        assert sorted(their.headers) == sorted(answer.headers)
        assert their.get_data() == answer.get_data()
    assert maker.client.get(ceiling.key(created.game.id)) == b"2 2 nonce-00 stored", "it was set once"
