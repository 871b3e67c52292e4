from __future__ import annotations

from tests.chaos import retries


def test_retries() -> None:
    retries.retries()
