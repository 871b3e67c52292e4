"""Sees to turns whose time is up when nobody asks. Runs in every worker; the store hands each game to one of them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from service.games import Games
from service.store.base import StoreError, UnknownFormatError

_log = logging.getLogger(__name__)

EVERY_SECONDS: Final = 0.5
_AT_ONCE: Final = 50


class Sweeper:
    """A thread that settles overdue turns.

    *late* is told after each sweep how many seconds the turn that was found latest had been over, 0 if none was; and
    while the store does not answer, since when nobody could look.
    """

    def __init__(self, games: Games, late: Callable[[float], None] = lambda _: None) -> None:
        self._games = games
        self._late = late
        self._swept = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)
        self._stopping = threading.Event()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def sweep(self) -> int:
        """Settle what is overdue now; how many games were looked at. One that breaks is in nobody's way."""
        overdue = self._games.overdue(_AT_ONCE)
        found_late = [0.0]
        for game_id in overdue:
            try:
                self._games.settle_overdue(game_id, found_late.append)
            except UnknownFormatError as error:
                _log.warning("an overdue turn waits: %s", error)
            except StoreError:
                raise
            except Exception:
                _log.exception("the overdue turn of game %s waits", game_id)
        self._swept = time.monotonic()
        self._late(max(found_late))
        return len(overdue)

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_SECONDS):
            try:
                while self.sweep() == _AT_ONCE:
                    pass
            except StoreError as error:
                _log.warning("overdue turns wait: %s", error)
                self._late(time.monotonic() - self._swept)
