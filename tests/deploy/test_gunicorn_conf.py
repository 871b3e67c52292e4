"""How the server is configured by its environment."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest

from tests.live_server import ROOT, LiveServer

GUNICORN = [sys.executable, "-m", "gunicorn", "-c", "python:service.gunicorn_conf"]


def configured(**environ: str) -> dict[str, str]:
    """Gunicorn's settings by name, as it prints them."""
    command = [*GUNICORN, "--print-config"]
    printed = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^(\w+) += (.*)$", printed, re.MULTILINE))


def test_what_is_not_set_has_a_default() -> None:
    settings = configured()
    assert settings["bind"] == "['127.0.0.1:8000']"
    assert settings["workers"] == "1", "games live in the one process"
    assert settings["accesslog"] == "None"
    assert settings["control_socket_disable"] == "True"
    assert (settings["timeout"], settings["keepalive"], settings["graceful_timeout"]) == ("30", "75", "32")


def test_everything_can_be_set() -> None:
    settings = configured(
        HOST="0.0.0.0",
        PORT="8080",
        REDIS_URL="redis://127.0.0.1:1",
        WEB_CONCURRENCY="3",
        TRUCO_STUCK_SECONDS="20",
        TRUCO_KEEPALIVE_SECONDS="120",
        TRUCO_DRAIN_SECONDS="0.5",
        TRUCO_GRACEFUL_SECONDS="10",
    )
    assert settings["bind"] == "['0.0.0.0:8080']"
    assert settings["workers"] == "3"
    assert (settings["timeout"], settings["keepalive"], settings["graceful_timeout"]) == ("20", "120", "11")
    assert configured(HOST="::1")["bind"] == "['[::1]:8000']"


@pytest.mark.parametrize("name", ["PORT", "TRUCO_STUCK_SECONDS", "TRUCO_KEEPALIVE_SECONDS", "TRUCO_GRACEFUL_SECONDS"])
def test_what_cannot_be_used_is_refused(name: str) -> None:
    command = [*GUNICORN, "--check-config"]
    refused = subprocess.run(command, cwd=ROOT, env={name: "many"}, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert f"{name} is 'many'" in refused.stderr


def test_a_drain_is_not_cut_short_by_a_shorter_grace() -> None:
    with LiveServer({"TRUCO_DRAIN_SECONDS": "2", "TRUCO_GRACEFUL_SECONDS": "1"}) as live:
        asked = time.monotonic()
        live.terminate()
        assert live.wait() == 0
    assert time.monotonic() - asked >= 2
