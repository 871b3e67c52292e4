"""Who waits for news of a game: within limits, woken by commits, let go at once when the process shuts down."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from service.store.bell import Bell, Listener

LOOKS_AGAIN_AFTER_SECONDS: Final = 15.0
"""Even if no bell rings: a broken subscription delays news by no more."""

News = TypeVar("News")


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """How many may wait or stream at once, in one worker process."""

    per_seat: int
    per_address: int
    per_worker: int


class Waiting:
    """The waiters of one worker process."""

    def __init__(self, bell: Bell, limits: WaitLimits) -> None:
        self._bell = bell
        self._limits = limits
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()
        self._draining = threading.Event()

    @property
    def is_draining(self) -> bool:
        return self._draining.is_set()

    def drain(self) -> None:
        """From now on nobody waits; who does is let go at once."""
        self._draining.set()
        self._bell.ring_all()

    def until(self, game_id: str, who: Waiter, seconds: float, look: Callable[[], News | None]) -> News | None:
        """What *look* finds after a commit of the game; None when the time is up or nobody may wait."""
        news: News | None = None
        deadline = time.monotonic() + seconds
        with self.place(game_id, who) as place:
            while place is not None and news is None and not self.is_draining:
                news = look()
                left = deadline - time.monotonic()
                if news is not None or left <= 0:
                    break
                place.wait(min(left, LOOKS_AGAIN_AFTER_SECONDS))
        return news

    @contextmanager
    def place(self, game_id: str, who: Waiter) -> Iterator[Listener | None]:
        """A place to wait at; None if there are too many waiters already, or the process is shutting down."""
        if not self._take(who):
            yield None
            return
        with ExitStack() as stack:
            stack.callback(self._give_back, who)
            yield stack.enter_context(self._bell.listening(game_id))

    def _take(self, who: Waiter) -> bool:
        limits = {
            _WORKER: self._limits.per_worker,
            who.address: self._limits.per_address,
            who.seat: self._limits.per_seat,
        }
        with self._lock:
            if self.is_draining or any(self._held[key] >= most for key, most in limits.items() if key is not None):
                return False
            self._held.update(key for key in limits if key is not None)
            return True

    def _give_back(self, who: Waiter) -> None:
        with self._lock:
            for key in (_WORKER, who.address, who.seat):
                if key is not None:
                    self._held[key] -= 1
                    if not self._held[key]:
                        del self._held[key]


_WORKER: Final = "worker"


class WaitKind(StrEnum):
    POLL = "poll"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Waiter:
    """Whom the limits count: an address, and a seat of a game if one waits."""

    address: str
    seat: str | None
    kind: WaitKind = WaitKind.POLL
