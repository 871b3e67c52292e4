"""What k8s/README.md points to is there."""

from __future__ import annotations

import re

from tests.live_server import ROOT

GUIDE = ROOT / "k8s" / "README.md"


def test_links_and_paths() -> None:
    text = GUIDE.read_text("utf-8")
    links = re.findall(r"\]\(([^)#]+)", text)
    applied = re.findall(r"kubectl \w+ -[fk] (\S+)", text)
    folders = re.findall(r"^\| `([a-z]+(?:/[a-z]+)?)` \|", text, re.MULTILINE)
    assert links
    assert applied
    for path in [*(GUIDE.parent / link for link in links), *(ROOT / path for path in applied)]:
        assert path.exists(), path
    kustomizations = {str(path.parent.relative_to(GUIDE.parent)) for path in GUIDE.parent.rglob("kustomization.yaml")}
    assert kustomizations <= set(folders)
