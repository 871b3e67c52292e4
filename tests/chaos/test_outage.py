from __future__ import annotations

from tests.chaos import outage


def test_outage() -> None:
    outage.outage()
