from __future__ import annotations

from tests.chaos import slow_clients


def test_slow_clients() -> None:
    slow_clients.slow_clients()
