"""What README tells a stranger to paste does what it says."""

from __future__ import annotations

import re
import subprocess
from dataclasses import fields
from pathlib import Path

from prometheus_client import Counter

from service.engine.rules import PRESETS
from service.metrics import Metrics
from service.settings import Settings
from tests.live_server import live_server

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_block_puts_a_card_on_the_table() -> None:
    [block] = [block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "curl" in block]
    with live_server() as url:
        script = block.replace("http://127.0.0.1:8000", url)
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, check=True)
    assert "'type': 'card_played'" in ran.stdout
    assert '"legal_actions"' in ran.stdout
    assert ran.stdout.count('"card"') >= 4, "the other sees the card played and three of its own"


def test_the_make_targets_it_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"`?make (\w+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_it_lists_every_variant_and_setting() -> None:
    assert set(re.findall(r"^\| `([a-z-]+)` \|", README, re.MULTILINE)) == set(PRESETS)
    documented = set(re.findall(r"^\| `([A-Z_]+)` \| (\S+)", README, re.MULTILINE))
    defaults = {field.name: field.default for field in fields(Settings)}
    for name, default in documented:
        setting = name.removeprefix("TRUCO_").lower()
        if isinstance(defaults.get(setting), int):
            assert default == str(defaults[setting]), name
    named = {f"TRUCO_{name}".upper() for name in set(defaults) - {"redis_url", "metrics_port"}}
    assert named | {"REDIS_URL", "METRICS_PORT"} <= {name for name, _ in documented}


def test_it_lists_every_metric_with_its_labels() -> None:
    rows = "\n".join(re.findall(r"^\| `truco_.*$", README, re.MULTILINE))
    made: dict[str, str] = {}
    for metric in Metrics().registry._collector_to_names:
        suffix = "_total" if isinstance(metric, Counter) else ""
        made[metric._name + suffix] = ",".join(metric._labelnames)
    assert dict(re.findall(r"`(truco_\w+)(?:\{([\w,]+)\})?`", rows)) == made


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
