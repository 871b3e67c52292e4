"""How often one address, or one token, may ask. Counted in each worker process, so Redis is not asked for it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Final

from flask import request
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from service.api.problems import ProblemError


@dataclass(frozen=True, slots=True)
class Rates:
    """As the library writes them: "30/minute"; an empty one is no limit."""

    create: str
    join: str
    read: str
    act: str


class RateLimits:
    """Refuses with 429 and `Retry-After`."""

    def __init__(self, rates: Rates) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._create = _item(rates.create)
        self._join = _item(rates.join)
        self._read = _item(rates.read)
        self._act = _item(rates.act)

    def creating(self) -> None:
        self._hit(self._create, "create", address())

    def joining(self) -> None:
        self._hit(self._join, "join", address())

    def reading(self, token: str | None) -> None:
        """Only readers without a token are counted."""
        if token is None:
            self._hit(self._read, "read", address())

    def acting(self, token: str | None) -> None:
        self._hit(self._act, "act", token or address())

    def _hit(self, limit: RateLimitItem | None, what: str, who: str) -> None:
        if limit is None or self._limiter.hit(limit, what, who):
            return
        reset = self._limiter.get_window_stats(limit, what, who).reset_time
        seconds = max(1, math.ceil(reset - time.time()))
        raise ProblemError("rate_limited", f"at most {limit}; wait {seconds} s", headers={"Retry-After": str(seconds)})


def _item(rate: str) -> RateLimitItem | None:
    return parse(rate) if rate else None


def address() -> str:
    """Of who asks; behind trusted proxies, of whom they name."""
    return request.remote_addr or _UNKNOWN


_UNKNOWN: Final = "unknown"
