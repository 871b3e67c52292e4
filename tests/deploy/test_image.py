"""The Dockerfile: what its runtime stage becomes, and that it serves, as nobody in particular and without a disk."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.deploy.image import IS_ROOT, Builder, Image, is_possible, stages
from tests.live_server import ROOT, children, wait_until_ready
from tests.redis_server import RedisServer, free_port

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
METRICS = ROOT / "service" / "metrics.py"
NOT_LOCALHOST = "127.0.0.2"
"""Loopback, but not the address that a service without HOST listens at."""
STOPS_WITHIN_SECONDS = 30


@pytest.fixture
def image() -> Iterator[Image]:
    with tempfile.TemporaryDirectory(prefix="truco-image-") as directory:
        Path(directory).chmod(0o755)
        yield Builder(DOCKERFILE, ROOT, Path(directory)).build("runtime")


def test_stages() -> None:
    found = stages(DOCKERFILE)
    assert [*found] == ["base", "build", "test", "runtime"]
    assert re.fullmatch(r"python:3\.11\.\d+-slim-[a-z]+", found["base"].base), "pinned by a whole version"
    assert {name: stage.base for name, stage in found.items() if name != "base"} == {
        "build": "base",
        "test": "build",
        "runtime": "base",
    }
    runtime = found["runtime"].steps
    assert not [step for step in runtime if step.instruction == "RUN"], "all that is installed comes from build"
    assert [step.value for step in runtime if step.instruction == "COPY"] == ["--from=build /srv/truco /srv/truco"]


@pytest.mark.skipif(not is_possible(), reason="may not make a mount namespace")
def test_it_serves(image: Image) -> None:
    """With every file system read-only but /dev/shm, and nothing in the environment but the image's own."""
    port, metrics_port = free_port(), free_port()
    url = f"http://{NOT_LOCALHOST}:{port}"
    with RedisServer() as redis:
        server = image.start(image.command, PORT=str(port), METRICS_PORT=str(metrics_port), REDIS_URL=redis.url)
        try:
            wait_until_ready(url, server)
            check_processes(server.pid, image)
            assert requests.get(f"{url}/healthz", timeout=5).json() == {"status": "ok"}
            play_a_card(url)
            if METRICS.exists():
                metrics = requests.get(f"http://{NOT_LOCALHOST}:{metrics_port}/metrics", timeout=5)
                assert re.search(r"^truco_commits_total [1-9]", metrics.text, re.MULTILINE)
            assert image.start(image.health_check, PORT=str(port)).wait() == 0
        finally:
            server.terminate()
            exit_code = server.wait(STOPS_WITHIN_SECONDS)
    assert exit_code == 0
    assert image.start(image.health_check, PORT=str(port)).wait() == 1


def check_processes(master: int, image: Image) -> None:
    """All run as the image's user, a number that no password file need know, and cannot become root again."""
    processes = [master, *children(master)]
    assert len(processes) == 1 + int(image.environ["WEB_CONCURRENCY"])
    user, group = re.fullmatch(r"(\d{5,}):(\d{5,})", image.user).groups()
    if not IS_ROOT:
        return
    for process in processes:
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
        assert set(status["Uid"].split()) == {user}
        assert set(status["Gid"].split()) == {group}
        assert not status["Groups"].split()
        assert int(status["CapPrm"], 16) == 0


def play_a_card(url: str) -> None:
    game = {"variant": "mano-a-mano", "players": [{"name": "Ana"}, {"name": "Bia"}]}
    made = requests.post(f"{url}/v1/games", json=game, timeout=5).json()
    [seat] = made["game"]["turn"]["seats"]
    path = f"{url}/v1/games/{made['game']['id']}"
    bearer = {"Authorization": f"Bearer {made['seats'][seat]['token']}"}
    view = requests.get(path, headers=bearer, timeout=5).json()
    answer = requests.post(f"{path}/actions", json=view["legal_actions"][0], headers=bearer, timeout=5)
    assert answer.status_code == 200, answer.text
    assert answer.json()["events"][0]["type"] == "card_played"
