from __future__ import annotations

from tests.chaos import sentinel


def test_sentinel() -> None:
    sentinel.sentinel()
