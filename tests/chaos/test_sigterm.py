from __future__ import annotations

from tests.chaos import sigterm


def test_sigterm() -> None:
    sigterm.sigterm()
