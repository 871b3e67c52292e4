"""How often one address, or one token, may ask. Counted in each worker process, so Redis is not asked for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from flask import request
from throttled import RateLimiterType, Throttled
from throttled.rate_limiter import Quota, Rate
from throttled.store import MemoryStore

from service.api.problems import ProblemError


@dataclass(frozen=True, slots=True)
class Rates:
    """Written like "30/minute"; an empty one is no limit."""

    create: str
    join: str
    read: str
    act: str


class RateLimits:
    """Refuses with 429 and `Retry-After`."""

    def __init__(self, rates: Rates) -> None:
        self._create = _Limit(rates.create)
        self._join = _Limit(rates.join)
        self._read = _Limit(rates.read)
        self._act = _Limit(rates.act)

    def creating(self) -> None:
        self._create.hit(address())

    def joining(self) -> None:
        self._join.hit(address())

    def reading(self, token: str | None) -> None:
        """Only readers without a token are counted."""
        if token is None:
            self._read.hit(address())

    def acting(self, token: str | None) -> None:
        self._act.hit(token or address())


class _Limit:
    """So many at once, and what was used up comes back bit by bit."""

    def __init__(self, rate: str) -> None:
        self._rate = rate
        if rate:
            count, _, unit = rate.partition("/")
            period = Rate(timedelta(seconds=_SECONDS[unit]), int(count))
            store = MemoryStore(options={"MAX_SIZE": _CALLERS_COUNTED})
            self._throttled = Throttled(
                using=RateLimiterType.GCRA.value, quota=Quota(period, burst=int(count)), store=store
            )

    def hit(self, who: str) -> None:
        if not self._rate:
            return
        result = self._throttled.limit(who)
        if result.limited:
            seconds = max(1, math.ceil(result.state.retry_after))
            detail = f"at most {self._rate}; wait {seconds} s"
            raise ProblemError("rate_limited", detail, headers={"Retry-After": str(seconds)})


_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
_CALLERS_COUNTED: Final = 50_000
"""Of each limit; beyond that the one who has not asked for the longest time starts anew."""


def address() -> str:
    """Of who asks; behind trusted proxies, of whom they name."""
    return request.remote_addr or _UNKNOWN


_UNKNOWN: Final = "unknown"
