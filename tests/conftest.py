"""What the whole run tells at its end."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The sums of what tests recorded as numbers, over all workers."""
    sums: dict[str, int] = {}
    for report in terminalreporter.stats.get("", []):
        if report.when == "teardown":
            for name, value in report.user_properties:
                sums[name] = sums.get(name, 0) + value
    for name, value in sums.items():
        terminalreporter.write_line(f"{name}: {value}")
