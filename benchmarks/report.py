"""Tables, and what is said of the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from tests.redis_server import server_binary

_PACKAGES = ("flask", "werkzeug", "gunicorn", "gevent", "redis", "hiredis", "marshmallow", "msgspec")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown; the first column is text, the others are figures."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def machine() -> str:
    """What it ran on, in a line or two."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    load = ", ".join(f"{figure:.1f}" for figure in os.getloadavg())
    return (
        f"{os.cpu_count()} cores of {model}, {platform.system()} {platform.release()}, load before the run {load}.\n"
        f"Python {platform.python_version()}, {redis_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
        + "."
    )


def redis_version() -> str:
    said = subprocess.run([server_binary(), "--version"], capture_output=True, text=True, check=True).stdout.split()
    return f"{said[0]} {said[2].removeprefix('v=')}"


def cpu_seconds(processes: Iterable[int]) -> float:
    """What *processes* with all their threads have used so far."""
    used = 0
    for process in processes:
        for thread in Path(f"/proc/{process}/task").iterdir():
            used += int((thread / "schedstat").read_text("utf-8").split()[0])
    return used / 1e9
