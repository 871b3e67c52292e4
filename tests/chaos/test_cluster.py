from __future__ import annotations

from tests.chaos import cluster


def test_cluster() -> None:
    cluster.cluster()
