"""Every block of docs/integrating.md does what the page says, and what the page names is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from service.api.problems import KINDS
from service.settings import Settings
from tests.contract import METHODS, SPEC
from tests.live_server import live_server

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "integrating.md"
TEXT = GUIDE.read_text("utf-8")
BLOCKS = re.findall(r"^```(sh|python|text)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
KEY = "an-api-key-of-this-test"
RUNS_WITHIN_SECONDS = 120


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """Each block of *language*, and what it prints: the text block after it, or nothing."""
    for (kind, code), (next_kind, text) in zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True):
        if kind == language:
            yield code, text if next_kind == "text" else ""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with live_server({"TRUCO_API_KEYS": KEY, "TRUCO_CORS_ORIGINS": "https://play.example"}) as url:
        yield url


def test_the_shell_blocks_print_what_it_says(url: str) -> None:
    check("sh", "echo '{}'\n", ["bash", "-euo", "pipefail", "-c"], url)


def test_the_python_blocks_print_what_it_says(url: str) -> None:
    check("python", "print('{}', flush=True)\n", [sys.executable, "-W", "error", "-c"], url)


def check(language: str, says: str, command: list[str], url: str) -> None:
    """Runs all blocks of *language* as one program."""
    wanted = list(blocks(language))
    assert len(wanted) >= 6
    marks = [f"=== {number} ===" for number in range(len(wanted))]
    program = "".join(says.format(mark) + code for mark, (code, _) in zip(marks, wanted, strict=True))
    program = program.replace("http://127.0.0.1:8000", url).replace("your-api-key", KEY)
    ran = subprocess.run(
        [*command, program],
        env={**os.environ, "URL": url, "KEY": KEY},
        capture_output=True,
        text=True,
        timeout=RUNS_WITHIN_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    printed = re.split(r"=== \d+ ===\n", ran.stdout)[1:]
    assert printed == [text for _, text in wanted]


def test_what_it_names_is_there() -> None:
    operations = {
        item[method]["operationId"] for item in SPEC["paths"].values() for method in METHODS if method in item
    }
    named = set(re.findall(r"`([a-z]+[A-Z]\w*)`", TEXT))
    assert named <= operations | {"postMessage"}, named - operations
    settings = {f"TRUCO_{field.name}".upper() for field in fields(Settings)}
    assert set(re.findall(r"TRUCO_[A-Z_]+", TEXT)) <= settings
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (GUIDE.parent / target).exists(), target


def test_the_problems_it_names_have_these_statuses() -> None:
    rows = re.findall(r"\b([45]\d\d) ((?:`\w+`(?:, )?)+)", TEXT)
    assert len(rows) > 10
    for status, codes in rows:
        for code in re.findall(r"`(\w+)`", codes):
            assert KINDS[code].status == int(status), code
