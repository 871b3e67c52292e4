"""Checks objects of the Prometheus operator, which Kubernetes' own schemas do not know: `FILE` as kustomize renders it.

By the operator's published schema, closed: a member that it does not know would be dropped by a cluster without a word.
Runs in the venv of the linters.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from cloudcoil.models.prometheus_operator import v1
from jsonschema.exceptions import best_match

GROUP = "monitoring.coreos.com/v1"


def main() -> int:
    manifests = list(yaml.safe_load_all(Path(sys.argv[1]).read_text("utf-8")))
    theirs = [manifest for manifest in manifests if manifest["apiVersion"] == GROUP]
    mistakes = [mistake for manifest in theirs if (mistake := _mistake(manifest))]
    for mistake in mistakes:
        print(mistake)
    return 0 if theirs and not mistakes else 1


def _mistake(manifest: dict[str, Any]) -> str | None:
    schema = getattr(v1, manifest["kind"]).model_json_schema()
    _close(schema)
    error = best_match(jsonschema.Draft202012Validator(schema).iter_errors(manifest))
    return None if error is None else f"{manifest['kind']} {error.json_path}: {error.message}"


def _close(schema: object) -> None:
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for inner in schema.values():
            _close(inner)
    elif isinstance(schema, list):
        for inner in schema:
            _close(inner)


if __name__ == "__main__":
    sys.exit(main())
