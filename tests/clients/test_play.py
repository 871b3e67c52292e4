"""The generated Python and TypeScript clients each play a whole match, and lose some answers on the way."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from service.dealer import SeededDealer
from service.engine.record import from_json, verify
from tests.clients.generate import BUILD, ENVIRON
from tests.clients.lossy import lossy_door
from tests.live_server import live_server
from tests.redis_server import RedisServer

HERE = Path(__file__).parent
LOSING = {"POST": {1, 4, 9}, "GET": {2, 5}}
"""The creation of the game, two actions, a look and a wait."""
PLAYS_WITHIN_SECONDS = 120

TYPESCRIPT = BUILD / "typescript"


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """Two workers on a real Redis, so that who waits in one is woken by the other."""
    with RedisServer() as server, live_server({"REDIS_URL": server.url, "WEB_CONCURRENCY": "2"}) as url:
        yield url


@pytest.fixture(scope="module")
def compiled() -> Path:
    """The TypeScript player, compiled as its strict tsconfig.json says."""
    shutil.copy(HERE / "play.ts", TYPESCRIPT)
    run("node_modules/.bin/tsc", cwd=TYPESCRIPT)
    return TYPESCRIPT / "compiled" / "play.js"


def run(*command: str | Path, cwd: Path, environ: dict[str, str] | None = None) -> str:
    ran = subprocess.run(
        command,
        cwd=cwd,
        env={**ENVIRON, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=PLAYS_WITHIN_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_python_plays_a_match(service: str) -> None:
    with lossy_door(service, LOSING) as door:
        told = run(
            sys.executable,
            "-W",
            "error",
            HERE / "play.py",
            door.url,
            cwd=HERE,
            environ={"PYTHONPATH": str(BUILD / "python")},
        )
        check(service, json.loads(told), len(door.lost))


def test_typescript_plays_a_match(service: str, compiled: Path) -> None:
    with lossy_door(service, LOSING) as door:
        told = run("node", compiled, door.url, cwd=TYPESCRIPT)
        check(service, json.loads(told), len(door.lost))


def check(service: str, told: dict[str, Any], lost: int) -> None:
    """What the player told is what the service has, and what got lost was done once."""
    finished, playing = (
        requests.get(f"{service}/v1/games?status={status}", timeout=10).json()["games"]
        for status in ("finished", "playing")
    )
    assert finished[0]["id"] == told["game"]
    assert not playing, "the creation that got lost made no other game"
    record = requests.get(f"{service}/v1/games/{told['game']}/record", timeout=10).json()
    actions = sum(len(hand["actions"]) for hand in record["hands"])
    assert verify(from_json(record), SeededDealer()) is None
    assert told["winner"] == [record["result"]["winner"]] * 2
    assert told["score"] == record["score"]
    assert told["actions"] == told["recorded"] == actions
    assert told["version"] == [actions + 1] * 2
    assert told["lost"] == lost == sum(map(len, LOSING.values()))
    assert told["replayed"] == len(LOSING["POST"])
    assert not told.get("conflicts"), "only one acts in a game of two"
    assert told["waits"], "the long poll was used"
    assert not told.get("early"), "and waited"
