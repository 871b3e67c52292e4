from __future__ import annotations

from tests.chaos import waking


def test_waking() -> None:
    waking.waking()
