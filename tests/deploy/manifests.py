"""The Kubernetes objects of an overlay, as `kubectl kustomize` renders them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.live_server import ROOT

Manifest = dict[str, Any]

OVERLAYS: Final = ("dev", "prod")


@cache
def rendered(overlay: str) -> tuple[Manifest, ...]:
    kubectl = shutil.which("kubectl", path=str(Path(sys.executable).parent))
    assert kubectl is not None, "kubectl comes with the dev dependencies"
    command = [kubectl, "kustomize", str(ROOT / "k8s" / "overlays" / overlay)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not printed.stderr, "kustomize warns"
    return tuple(yaml.safe_load_all(printed.stdout))


def of_kind(overlay: str, *kinds: str) -> list[Manifest]:
    return [manifest for manifest in rendered(overlay) if manifest["kind"] in kinds]


def named(overlay: str, kind: str, name: str) -> Manifest:
    """The one of that name, which may end in a hash of what it holds."""
    [manifest] = [
        manifest
        for manifest in of_kind(overlay, kind)
        if re.fullmatch(rf"{name}(-[a-z0-9]{{10}})?", manifest["metadata"]["name"])
    ]
    return manifest


def pods(overlay: str) -> list[Manifest]:
    """The templates that pods are made from."""
    return [manifest["spec"]["template"] for manifest in of_kind(overlay, "Deployment", "StatefulSet")]


def container(overlay: str, kind: str, name: str) -> Manifest:
    """The one container of its pods."""
    [only] = named(overlay, kind, name)["spec"]["template"]["spec"]["containers"]
    return only
