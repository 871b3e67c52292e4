"""How often one address, or one token, may ask. Counted in each worker process, so Redis is not asked for it.

Not by the library `limits`: its store in memory looks through everybody whom it has ever counted a hundred times a
second, which takes a whole core at some thousands of tokens.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from flask import request

from service.api.problems import ProblemError

_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
_FORGETS_ABOVE: Final = 1_000
"""Callers; fewer are not worth looking through."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Written like "30/minute"; an empty one is no limit."""

    create: str
    join: str
    read: str
    act: str


class Rate:
    """So many at once, and then as many as fit into the rate: each moves on the time at which all are made up for."""

    def __init__(self, text: str, clock: Callable[[], float] = time.monotonic) -> None:
        count, _, unit = text.partition("/")
        self._text = text
        self._clock = clock
        self._interval = _SECONDS[unit] / int(count)
        self._most_ahead = _SECONDS[unit] - self._interval
        self._made_up_at: dict[str, float] = {}
        self._forgets_above = _FORGETS_ABOVE
        self._lock = threading.Lock()

    def hit(self, who: str) -> None:
        """Raises `ProblemError`: 429 with `Retry-After`."""
        with self._lock:
            now = self._clock()
            made_up_at = max(self._made_up_at.get(who, now), now)
            wait = made_up_at - now - self._most_ahead
            if wait <= 0:
                self._made_up_at[who] = made_up_at + self._interval
                self._forget(now)
                return
        seconds = max(1, math.ceil(wait))
        detail = f"at most {self._text}; wait {seconds} s"
        raise ProblemError("rate_limited", detail, headers={"Retry-After": str(seconds)})

    def _forget(self, now: float) -> None:
        """Those who could begin anew, whenever there have come to be twice as many as are worth counting."""
        if len(self._made_up_at) > self._forgets_above:
            self._made_up_at = {who: at for who, at in self._made_up_at.items() if at > now}
            self._forgets_above = max(_FORGETS_ABOVE, 2 * len(self._made_up_at))


class RateLimits:
    """Refuses with 429 and `Retry-After`."""

    def __init__(self, rates: Rates) -> None:
        self._create = _rate(rates.create)
        self._join = _rate(rates.join)
        self._read = _rate(rates.read)
        self._act = _rate(rates.act)

    def creating(self) -> None:
        if self._create is not None:
            self._create.hit(address())

    def joining(self) -> None:
        if self._join is not None:
            self._join.hit(address())

    def reading(self, token: str | None) -> None:
        """Only readers without a token are counted."""
        if self._read is not None and token is None:
            self._read.hit(address())

    def acting(self, token: str | None) -> None:
        if self._act is not None:
            self._act.hit(token or address())


def _rate(text: str) -> Rate | None:
    return Rate(text) if text else None


def address() -> str:
    """Of who asks; behind trusted proxies, of whom they name."""
    return request.remote_addr or _UNKNOWN


_UNKNOWN: Final = "unknown"
