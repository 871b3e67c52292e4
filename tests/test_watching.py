"""What an operator sees of a running service: a log and metrics without a secret, and sums over all its workers."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import uuid4

import pytest
import redis
import requests
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from service.api.exchange import UNKNOWN
from service.api.problems import KINDS
from service.app import create_app
from service.bots import BOTS
from service.engine.actions import ACTIONS
from service.settings import Settings
from service.store.base import GameStore, Status
from service.waiting import WaitKind
from tests import demo
from tests.api.driver import PATIENCE_SECONDS, Body, Live, eventually
from tests.api.knowledge import CARD
from tests.contract import METHODS, SPEC
from tests.live_server import STARTS_WITHIN_SECONDS, LiveServer
from tests.redis_server import RedisServer, free_port

API_KEY: Final = "the-key-of-a-platform"
PASSWORD: Final = "a-word-of-passage"
USER_AGENT: Final = "a-telling-agent/1.0"
NAMES: Final = ("Anacleta", "Belmiro", "Cremilda", "Demostenes")
METADATA: Final = {"room": "a-room-of-its-own"}
STORE_OPERATIONS: Final = {name for name in vars(GameStore) if not name.startswith("_")}
OPERATION_IDS: Final = {
    item[method]["operationId"] for item in SPEC["paths"].values() for method in METHODS if method in item
}
UNLIMITED: Final = {f"TRUCO_RATE_{name}": "none" for name in ("CREATE", "JOIN", "READ", "ACT")}


@cache
def routes() -> set[str]:
    return {rule.rule for rule in create_app(Settings()).url_map.iter_rules()} | {UNKNOWN}


class Watched(LiveServer):
    """The service on two workers, with its metrics and a log of everything it writes."""

    def __init__(self, redis_url: str, directory: Path, **environ: str) -> None:
        self.log, self.temporary = directory / "log", directory / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self.metrics_port = free_port()
        environ = {
            "REDIS_URL": redis_url,
            "WEB_CONCURRENCY": "2",
            "METRICS_PORT": str(self.metrics_port),
            "TMPDIR": str(self.temporary),
            "TRUCO_LOG_LEVEL": "info",
            **UNLIMITED,
            **environ,
        }
        super().__init__(environ, self.log)

    def metrics(self) -> str:
        response = requests.get(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=PATIENCE_SECONDS)
        assert response.status_code == 200
        return response.text

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples that have these labels."""
        return sum(
            sample.value
            for sample in samples(self.metrics())
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def counts(self, pid: int) -> bool:
        """Whether a worker has begun to."""
        return any(self.temporary.glob(f"truco-metrics-*/counter_{pid}.db"))

    def lines(self) -> list[Body]:
        """What has been logged; anything but lines of JSON fails."""
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]


def samples(metrics: str) -> Iterator[Sample]:
    for family in text_string_to_metric_families(metrics):
        yield from family.samples


# ---- no secrets ----


class Recorder(requests.Session):
    """Keeps every secret that it sends or is sent. Each POST has an `Idempotency-Key`, and some are sent twice."""

    def __init__(self, secrets: set[str], chance: Random) -> None:
        super().__init__()
        self.secrets, self._chance = secrets, chance
        self.headers["User-Agent"] = USER_AGENT

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        if request.method == "POST":
            key = request.headers["Idempotency-Key"] = str(uuid4())
            self.secrets.add(key)
        if request.body:
            self.secrets.add(request.body.decode() if isinstance(request.body, bytes) else request.body)
        response = super().send(request, **kwargs)
        if request.method == "POST" and self._chance.random() < 0.1:
            response = super().send(request, **kwargs)
        if "json" in response.headers.get("Content-Type", ""):
            self.secrets.update(secrets_in(response.json()))
        return response


def secrets_in(body: object) -> Iterator[str]:
    """Tokens, join codes and seeds, wherever they stand."""
    if isinstance(body, dict):
        for name, member in body.items():
            if name in ("token", "host_token", "join_code", "seed") and member is not None:
                yield member
            else:
                yield from secrets_in(member)
    elif isinstance(body, list):
        for member in body:
            yield from secrets_in(member)


def play_in_private(url: str, variant: str, new_session: Callable[[], Recorder], chance: Random) -> tuple[str, str]:
    """A whole private game of four, two of whom join with its code, with much that is refused. Its id, and a token."""
    http = new_session()
    order = {"variant": variant, "seats": 4, "metadata": METADATA, "players": [{"name": name} for name in NAMES[:2]]}
    created = http.post(f"{url}/v1/games", json=order, headers={"X-API-Key": API_KEY}).json()
    game_url = f"{url}/v1/games/{created['game']['id']}"
    tokens = [seat["token"] for seat in created["seats"]]
    for name in NAMES[2:]:
        wish = {"name": name, "join_code": created["join_code"]}
        tokens.append(http.post(f"{game_url}/seats", json=wish).json()["token"])
    players = [demo.Client(game_url, seat, token) for seat, token in enumerate(tokens)]
    for player in players:
        headers = player.http.headers["Authorization"]
        player.http = new_session()
        player.http.headers["Authorization"] = headers
        player.look()
    while players[0].view["status"] == "playing":
        player = chance.choice(players)
        action = player.choose(chance)
        if action is None:
            player.http.post(f"{game_url}/actions", json={"type": "play", "card": "4C", "expected_version": 1})
            continue
        player.act(action)
        for player in players:
            player.look()
    host = {"Authorization": f"Bearer {created['host_token']}"}
    assert http.get(f"{game_url}/record", headers=host).json()["seed"] in http.secrets
    assert players[0].http.post(f"{game_url}/rematch").status_code == 201
    return created["game"]["id"], tokens[0]


def ask_amiss(server: Watched, http: Recorder, game_id: str, token: str) -> None:
    """With secrets where they do not belong, and requests that gunicorn itself cannot read."""
    game_url = f"{server.url}/v1/games/{game_id}"
    bearer = {"Authorization": f"Bearer {token}"}
    http.get(f"{server.url}/{token}?token={token}", headers={"Referer": token, "Cookie": token})
    http.get(f"{game_url}?token={token}&wait={token}")
    http.get(game_url, headers={"Authorization": token, "X-Request-Id": token, "traceparent": token})
    http.get(game_url, headers={**bearer, "X-Request-Id": token})
    half = f'{{"type": "{token}", "card": "4C"'
    http.post(f"{game_url}/actions", data=half, headers={**bearer, "Content-Type": "application/json"})
    http.post(f"{game_url}/actions", json={"type": token, "card": "4C", token: 1}, headers=bearer)
    http.request(token[:10].replace("_", "A").upper(), game_url)
    requests_line = f"GET /v1/games/{game_id}?token={token} HTTP/1.1\r\n"
    for raw in (
        f"{requests_line}Authorization : Bearer {token}\r\n\r\n",
        f"{requests_line}Authorization: Bearer {token}\r\n and {token}\r\n\r\n",
        f"{requests_line}X-{token}: \x00{token}\r\nHost: x\r\n\r\n",
        f"{requests_line}Content-Length: {token}\r\n\r\n",
        f"{requests_line}Transfer-Encoding: {token}\r\n\r\n",
        f"{requests_line}Expect: {token}\r\n\r\n",
        f"GET /{token} NOTHTTP/{token}\r\n\r\n",
        f"{token}\r\n\r\n",
        f"GET /{token * 300} HTTP/1.1\r\n\r\n",
        f"POST /v1/games/{game_id} HTTP/1.1\r\nContent-Length: 100\r\n\r\n{token}",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as connection:
            connection.sendall(raw.encode("latin-1"))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass


def break_games(redis_url: str, games: list[tuple[str, str]]) -> None:
    """Of one game the state cannot be read, of another one the events; what stands there instead is secret."""
    (without_state, token), (without_events, _) = games
    with redis.Redis.from_url(redis_url) as client:
        client.set(f"truco:{{{without_state}}}:state", f"1 9 nonce 4C {token}")
        client.delete(f"truco:{{{without_events}}}:events")
        client.xadd(f"truco:{{{without_events}}}:events", {"e": f"4C {token}"}, id="1-0")


def test_a_log_and_the_metrics_hold_no_secret(tmp_path: Path) -> None:
    """Whole games, much that is refused, what breaks, and an outage: of each secret there is no trace."""
    chance, secrets = Random(4), {API_KEY, PASSWORD, USER_AGENT, *NAMES, *METADATA.values()}
    with RedisServer() as store:
        with redis.Redis.from_url(store.url) as client:
            client.config_set("requirepass", PASSWORD)
        url = store.url.replace("://", f"://:{PASSWORD}@")
        with Watched(url, tmp_path, TRUCO_API_KEYS=API_KEY) as server:
            http = Recorder(secrets, chance)
            games = [
                play_in_private(server.url, variant, lambda: Recorder(secrets, chance), chance)
                for variant in ("espanhol", "tradicional")
            ]
            game_id, token = games[0]
            ask_amiss(server, http, game_id, token)
            break_games(url, games)
            for (broken_id, its_token), below, status in zip(games, ("", "/events"), (503, 500), strict=True):
                its = {"Authorization": f"Bearer {its_token}"}
                response = http.get(f"{server.url}/v1/games/{broken_id}{below}", headers=its)
                assert response.status_code == status
            metrics = server.metrics()
            store.kill()
            assert http.get(f"{server.url}/readyz").status_code == 503
            eventually(lambda: "overdue turns wait" in server.log.read_text("utf-8"))
            metrics += server.metrics()
        log, lines = server.log.read_text("utf-8"), server.lines()
    assert len(secrets) > 200
    assert CARD.search(" ".join(secrets)), "cards were sent"
    for text in (log, metrics):
        assert CARD.findall(text) == []
        for secret in secrets:
            assert secret not in text
    for line in lines:
        check_line(line)
    answered = {(line.get("method"), line.get("status"), line.get("code")) for line in lines}
    for expected in (
        *(("POST", 200, None), ("POST", 201, None), ("POST", 409, "version_conflict"), ("POST", 400, "malformed_json")),
        *(("POST", 422, "validation_failed"), ("GET", 401, "invalid_token"), ("GET", 401, "missing_token")),
        *((UNKNOWN, 405, "method_not_allowed"), ("GET", 404, "not_found"), ("GET", 503, "storage_unavailable")),
        ("GET", 500, "internal"),
    ):
        assert expected in answered
    assert sum(line.get("message") == "a request could not be read" for line in lines) >= 5
    assert set(ACTIONS) & {line.get("action") for line in lines} >= {"play", "raise", "accept", "fold", "cut", "deal"}
    check_labels(metrics)


HEX_ID: Final = re.compile(r"[0-9a-f]{32}")
MEMBERS: Final[dict[str, Callable[[Any], bool]]] = {
    "ts": lambda value: re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value) is not None,
    "level": lambda value: value in ("info", "warning", "error"),
    "request_id": lambda value: HEX_ID.fullmatch(value) is not None,
    "method": lambda value: value in ("GET", "POST", UNKNOWN),
    "route": lambda value: value in routes(),
    "status": lambda value: type(value) is int and 200 <= value < 600,
    "code": lambda value: value in KINDS,
    "ms": lambda value: type(value) is float and value >= 0,
    "game": lambda value: re.fullmatch("[0-9a-z]{26}", value) is not None,
    "version": lambda value: type(value) is int and value > 0,
    "seat": lambda value: value in range(4),
    "action": lambda value: value in ACTIONS,
    "logger": lambda value: value in ("gunicorn.error", "service.sweeper"),
    "message": lambda value: MESSAGE.fullmatch(value) is not None,
    "error": lambda value: STORE_ERROR.fullmatch(value) if isinstance(value, str) else all(map(is_told, value)),
}
"""What each member of a line may be."""
STORE_ERROR: Final = re.compile(
    r"game [0-9a-z]{26} is stored as b'1'|(?:[A-Z](?=[a-z])|[a-z]|127\.0\.0\.1:\d+|\(?\d+(?=[ ,])|[ .,:'()])+"
)
"""The second one: what the client library says, in plain words."""
MESSAGE: Final = re.compile(
    r"Starting gunicorn [\d.]+|Listening at: http://127\.0\.0\.1:\d+ \(\d+\)|Using worker: [\w.]+|"
    r"Booting worker with pid: \d+|Worker exiting \(pid: \d+\)|Handling signal: term|Shutting down: Master|"
    rf"a request could not be read|overdue turns wait: (?:{STORE_ERROR.pattern})"
)


def is_told(error: Body) -> bool:
    """Nothing but a type, and where it came through."""
    names = [error["type"], *(name for place in error["at"] for name in re.split("[:. ]", place))]
    return set(error) == {"type", "at"} and all(re.fullmatch(r"\w+|<\w+>", name) for name in names)


def check_line(line: Body) -> None:
    """Nothing is in *line* but what a closed list allows."""
    for name, value in line.items():
        assert name in MEMBERS, line
        assert MEMBERS[name](value), line
    assert ("route" in line) == ("status" in line) == ("request_id" in line) == ("message" not in line)


LABELS: Final[dict[str, set[str]]] = {
    "method": {"GET", "POST", UNKNOWN},
    "code": {"", *KINDS},
    "type": set(ACTIONS),
    "operation": OPERATION_IDS,
    "command": STORE_OPERATIONS,
    "kind": {*WaitKind, *BOTS},
}


def check_labels(metrics: str) -> None:
    """Every label has its value from a closed set, and nothing is named but what is ours."""
    for sample in samples(metrics):
        assert sample.name.startswith("truco_")
        for name, value in sample.labels.items():
            if name == "status":
                assert value in set(Status) if sample.name == "truco_games_total" else re.fullmatch(r"\d{3}", value)
            elif name == "le":
                float(value)
            elif name == "route":
                assert value in routes()
            else:
                assert value in LABELS[name], sample


# ---- the sums ----


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(") ")[2][0]


@contextmanager
def held(pid: int) -> Iterator[None]:
    """The process does nothing, so that the other worker answers whoever connects."""
    os.kill(pid, signal.SIGSTOP)
    try:
        eventually(lambda: state_of(pid) == "T")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_the_sums_are_right_after_a_worker_was_killed(tmp_path: Path) -> None:
    """What it has done still counts, and who waited at it does not any more."""
    with RedisServer() as store, Watched(store.url, tmp_path) as server, ThreadPoolExecutor(5) as pool:
        live, (lives, dies) = Live(server.url, store.url), server.workers
        games = []

        def use(requests_sent: int, polls: int) -> list[Any]:
            """Requests, a game with an action, and polls that stay."""
            for _ in range(requests_sent):
                assert requests.get(f"{server.url}/v1/variants/paulista", timeout=PATIENCE_SECONDS).ok
            game = live.create()
            game.step()
            games.append(game)
            return [pool.submit(game.view, 0, after_version=2, wait=25) for _ in range(polls)]

        def sums() -> tuple[float, ...]:
            return (
                server.value("truco_requests_total", route="/v1/variants/<name>", status="200"),
                server.value("truco_commits_total"),
                server.value("truco_games_total", status="playing"),
                server.value("truco_action_seconds_count", type="play"),
                server.value("truco_action_seconds_bucket", type="play", le="+Inf"),
                server.value("truco_redis_seconds_count", command="commit"),
            )

        def waiters() -> float:
            return server.value("truco_waiters", kind="poll")

        with held(dies):
            stay = use(3, polls=2)
            eventually(lambda: waiters() == 2)
        with held(lives):
            fall = use(5, polls=3)
            eventually(lambda: waiters() == 5)
        assert sums() == (8, 4, 2, 2, 2, 4)

        os.kill(dies, signal.SIGKILL)
        eventually(lambda: dies not in server.workers and len(server.workers) == 2)
        for poll in fall:
            with pytest.raises(requests.ConnectionError):
                poll.result()
        assert waiters() == 2
        assert sums() == (8, 4, 2, 2, 2, 4)
        games[0].step()
        assert {poll.result()["version"] for poll in stay} == {3}
        assert waiters() == 0

        [begins] = set(server.workers) - {lives}
        eventually(lambda: server.counts(begins), within_seconds=3 * STARTS_WITHIN_SECONDS)
        with held(lives):
            use(4, polls=0)
        assert sums() == (12, 7, 3, 4, 4, 7)
    told = [line.get("message") for line in server.lines()]
    assert f"Worker (pid:{dies}) was sent SIGKILL! Perhaps out of memory?" in told


# ---- the port ----


def test_the_metrics_have_a_port_of_their_own(tmp_path: Path) -> None:
    with Watched("", tmp_path, WEB_CONCURRENCY="1") as server:
        assert requests.get(f"{server.url}/metrics", timeout=PATIENCE_SECONDS).status_code == 404
        assert "truco_requests_total" in server.metrics()
        assert len(list(server.temporary.glob("truco-metrics-*"))) == 1
        server.terminate()
        assert server.wait() == 0
        assert list(server.temporary.glob("truco-metrics-*")) == []


def test_without_a_port_there_are_none(tmp_path: Path) -> None:
    with Watched("", tmp_path, METRICS_PORT="") as server:
        with pytest.raises(requests.ConnectionError):
            server.metrics()
        assert list(server.temporary.glob("truco-metrics-*")) == []


def test_a_port_that_is_taken_stops_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = Watched("", tmp_path, METRICS_PORT=str(taken.getsockname()[1]))
        with pytest.raises(RuntimeError, match="did not start"):
            server.start()
        assert server.wait() != 0


@pytest.mark.parametrize(("name", "text"), [("METRICS_PORT", "many"), ("TRUCO_LOG_LEVEL", "debug")])
def test_a_setting_that_cannot_be_used_stops_the_start(tmp_path: Path, name: str, text: str) -> None:
    server = Watched("", tmp_path, **{name: text})
    with pytest.raises(RuntimeError, match="did not start"):
        server.start()
    assert server.wait() != 0
    assert f"{name} is '{text}'" in server.log.read_text("utf-8")
