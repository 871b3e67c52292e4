"""Hears of commits: one Redis subscription for a whole worker process, however many wait.

A ring means "look again", never what has changed. It may be missed while the subscription is broken, so whoever waits
looks again by itself now and then; when the subscription is back, everybody is rung.

One thread alone uses the subscription: two that find it broken would both mend it. The others call the thread through a
channel of its own.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

import redis

from service.store.redis import CLIENT_ERRORS, channel

_log = logging.getLogger(__name__)

CONFIRMED_WITHIN_SECONDS: Final = 1.0
_READ_SECONDS: Final = 1.0
_PAUSE_SECONDS: Final = 0.2
"""Between two tries to get a broken subscription back."""


class Listener:
    """One who waits for news of one game."""

    def __init__(self) -> None:
        self._rung = threading.Event()

    def ring(self) -> None:
        self._rung.set()

    def wait(self, seconds: float) -> None:
        """Until the next ring, or so long. A ring since the last wait counts."""
        self._rung.wait(seconds)
        self._rung.clear()

    def forget(self) -> None:
        """The rings so far."""
        self._rung.clear()


class Bell:
    """Rings the listeners of a game after each of its commits."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._call = f"truco:bell:{secrets.token_hex(8)}"
        """The channel on which the thread is told that there are `_new` channels."""
        self._lock = threading.Lock()
        self._listeners: dict[bytes, set[Listener]] = {}
        self._confirmed: dict[bytes, threading.Event] = {}
        """Of each channel that is subscribed to, or shall be."""
        self._new: list[bytes] = []
        self._left: set[bytes] = set()
        """Channels without listeners; one that is listened to again before long stays subscribed."""
        self._thread: threading.Thread | None = None

    @contextmanager
    def listening(self, game_id: str) -> Iterator[Listener]:
        """A listener that misses no commit made after this line, if the subscription holds."""
        name, listener = channel(game_id).encode("ascii"), Listener()
        with self._lock:
            if name not in self._confirmed:
                self._confirmed[name] = threading.Event()
                self._new.append(name)
            self._listeners.setdefault(name, set()).add(listener)
            confirmed = self._confirmed[name]
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bell", daemon=True)
                self._thread.start()
        try:
            self._await(confirmed)
            listener.forget()
            yield listener
        finally:
            with self._lock:
                self._listeners[name].discard(listener)
                if not self._listeners[name]:
                    del self._listeners[name]
                    self._left.add(name)

    def ring_all(self) -> None:
        """Everybody looks again."""
        with self._lock:
            listeners = [listener for several in self._listeners.values() for listener in several]
        for listener in listeners:
            listener.ring()

    def _await(self, confirmed: threading.Event) -> None:
        if not confirmed.is_set():
            with suppress(*CLIENT_ERRORS):
                self._client.publish(self._call, b"")
            confirmed.wait(CONFIRMED_WITHIN_SECONDS)

    def _run(self) -> None:
        while True:
            try:
                with self._client.pubsub() as pubsub:  # type: ignore[no-untyped-call]
                    self._begin(pubsub)
                    while True:
                        self._hear(pubsub.get_message(timeout=_READ_SECONDS))
                        self._catch_up(pubsub)
            except (*CLIENT_ERRORS, OSError):
                time.sleep(_PAUSE_SECONDS)
            except Exception:
                _log.exception("the subscription to commits broke")
                time.sleep(_PAUSE_SECONDS)

    def _begin(self, pubsub: redis.client.PubSub) -> None:
        with self._lock:
            self._new.clear()
            names = list(self._confirmed)
        pubsub.subscribe(self._call, *names)

    def _catch_up(self, pubsub: redis.client.PubSub) -> None:
        """Subscribe to what is new, and leave what nobody listens to any more."""
        with self._lock:
            new, self._new = self._new, []
            self._left -= self._listeners.keys()
            left = {name for name in self._left if self._confirmed[name].is_set()}
            self._left -= left
            for name in left:
                del self._confirmed[name]
        if new:
            pubsub.subscribe(*new)
        if left:
            pubsub.unsubscribe(*left)  # type: ignore[no-untyped-call]

    def _hear(self, message: Mapping[str, object] | None) -> None:
        """A commit; or that a subscription has begun, before which commits may have been missed."""
        if message is None or message["type"] not in ("message", "subscribe"):
            return
        with self._lock:
            name = message["channel"]
            assert isinstance(name, bytes)
            if message["type"] == "subscribe" and name in self._confirmed:
                self._confirmed[name].set()
            listeners = list(self._listeners.get(name, ()))
        for listener in listeners:
            listener.ring()
