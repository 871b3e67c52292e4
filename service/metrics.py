"""What is counted and timed, for Prometheus: the only place that knows a metric's name.

Nobody counts by themselves: `app` puts what is here around the store and the waiters, and has it shown every answered
request. Without `METRICS_PORT` none of it is made.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Final, ParamSpec, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from service.api.exchange import Exchange
from service.bots import BOTS
from service.engine.actions import Action
from service.engine.state import Seat
from service.engine.view import PlayerView
from service.progress import Decide
from service.store.base import (
    EventPage,
    Game,
    GamePage,
    GameStore,
    ListPosition,
    Loaded,
    LoggedEvent,
    RetryRecord,
    Status,
    VersionConflictError,
)
from service.store.bell import Bell, Listener
from service.waiting import Waiter, Waiting, WaitKind, WaitLimits

_ROUND_TRIP_BUCKETS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_ACTION_BUCKETS: Final = _ROUND_TRIP_BUCKETS[3:]
_BOT_BUCKETS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064)
_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")
_LAG_SHOWN_SECONDS: Final = 60.0
"""As long as a scrape may be away: what was late is shown for so long."""


class Metrics:
    """The metrics of one worker process; all workers' are added up where they are served."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        """Only for who asks within the process."""
        self._requests = Counter(
            "truco_requests_total",
            "Requests answered; a stream counts when it begins. code is that of the problem, empty if there is none.",
            ("route", "method", "status", "code"),
            registry=self.registry,
        )
        self._by_answer: dict[tuple[str, str, int, str], Counter] = {}
        self._replays = Counter(
            "truco_replays_total",
            "Requests answered from the record that their Idempotency-Key has left, by operation of the contract.",
            ("operation",),
            registry=self.registry,
        )
        self._actions = Histogram(
            "truco_action_seconds",
            "Until an action that was carried out is answered, by its type.",
            ("type",),
            buckets=_ACTION_BUCKETS,
            registry=self.registry,
        )
        self._by_type: dict[str, Histogram] = {}
        self.commits = Counter("truco_commits_total", "Commits that stand.", registry=self.registry)
        self.conflicts = Counter(
            "truco_conflicts_total", "Commits that came to nothing: another one was first.", registry=self.registry
        )
        games = Counter(
            "truco_games_total",
            "Games that came into a status. How many are in it is not known: Redis forgets games by itself.",
            ("status",),
            registry=self.registry,
        )
        self.games = {status: games.labels(status) for status in Status}
        self.redis = Histogram(
            "truco_redis_seconds",
            "Of an operation of the store: its round trips, with reading and writing the bytes.",
            ("command",),
            buckets=_ROUND_TRIP_BUCKETS,
            registry=self.registry,
        )
        bots = Histogram(
            "truco_bot_seconds",
            "Until a bot has decided what to do, by its kind.",
            ("kind",),
            buckets=_BOT_BUCKETS,
            registry=self.registry,
        )
        self._bots = {kind: bots.labels(kind) for kind in BOTS}
        waiters = Gauge(
            "truco_waiters",
            "Requests that wait for news of a game now.",
            ("kind",),
            multiprocess_mode="livesum",
            registry=self.registry,
        )
        self.waiters = {kind: waiters.labels(kind) for kind in WaitKind}
        self._lag = Gauge(
            "truco_sweeper_lag_seconds",
            f"How long the latest overdue turn of the last {_LAG_SHOWN_SECONDS:.0f} seconds had been over when it was "
            "found; or since when overdue turns cannot be looked for.",
            multiprocess_mode="livemax",
            registry=self.registry,
        )
        self._longest_lag = (0.0, 0.0)

    def answered(self, exchange: Exchange) -> None:
        """Count a request. Its labels come from closed sets, so that no client makes a series of its own."""
        answer = (exchange.route, exchange.method, exchange.status, exchange.code)
        counter = self._by_answer.get(answer)
        if counter is None:
            counter = self._by_answer[answer] = self._requests.labels(*answer)
        counter.inc()
        if exchange.is_replayed:
            self._replays.labels(exchange.operation).inc()
        elif exchange.action is not None and exchange.status == 200:
            histogram = self._by_type.get(exchange.action)
            if histogram is None:
                histogram = self._by_type[exchange.action] = self._actions.labels(exchange.action)
            histogram.observe(exchange.seconds)

    def timing(self, decide: Decide) -> Decide:
        """*decide*, with a clock."""

        def timed(kind: str, view: PlayerView, chance: Random) -> Action:
            with self._bots[kind].time():
                return decide(kind, view, chance)

        return timed

    def swept(self, late_seconds: float) -> None:
        """How late the sweeper is."""
        longest, until = self._longest_lag
        now = time.monotonic()
        if late_seconds >= longest or now > until:
            self._longest_lag = (late_seconds, now + _LAG_SHOWN_SECONDS)
            self._lag.set(late_seconds)


class MeasuredStore:
    """A store whose operations are timed and whose commits are counted."""

    def __init__(self, store: GameStore, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics
        names = [name for name in vars(GameStore) if not name.startswith("_") and name != "recall"]  # asks nothing
        self._observe = {name: metrics.redis.labels(name).observe for name in names}

    def _timed(
        self, name: str, operation: Callable[_Asked, _Answer], *args: _Asked.args, **kwargs: _Asked.kwargs
    ) -> _Answer:
        """*operation*'s answer, timed whether it is one or an error."""
        began = time.perf_counter()
        try:
            return operation(*args, **kwargs)
        finally:
            self._observe[name](time.perf_counter() - began)

    def load(self, game_id: str, retry_name: str | None = None) -> Loaded | None:
        return self._timed("load", self._store.load, game_id, retry_name)

    def commit(
        self,
        game: Game,
        previous: Game | None,
        events: Sequence[LoggedEvent],
        actions: Sequence[str] = (),
        retry: tuple[str, RetryRecord] | None = None,
    ) -> Loaded:
        try:
            committed = self._timed("commit", self._store.commit, game, previous, events, actions, retry)
        except VersionConflictError:
            self._metrics.conflicts.inc()
            raise
        self._metrics.commits.inc()
        if previous is None or previous.status is not game.status:
            self._metrics.games[game.status].inc()
        return committed

    def recall(self, game_id: str, version: int) -> Loaded | None:
        return self._store.recall(game_id, version)

    def delete(self, game: Game) -> None:
        self._timed("delete", self._store.delete, game)

    def events(self, game_id: str, after: int, limit: int) -> EventPage:
        return self._timed("events", self._store.events, game_id, after, limit)

    def actions(self, game_id: str) -> tuple[str, ...]:
        return self._timed("actions", self._store.actions, game_id)

    def list_games(
        self,
        status: Status,
        variant: str | None,
        limit: int,
        position: ListPosition | None,
        platform: bytes | None = None,
    ) -> GamePage:
        return self._timed("list_games", self._store.list_games, status, variant, limit, position, platform)

    def reserve_id(self, retry_name: str, game_id: str) -> str:
        return self._timed("reserve_id", self._store.reserve_id, retry_name, game_id)

    def retry_record(self, game_id: str, retry_name: str) -> RetryRecord | None:
        return self._timed("retry_record", self._store.retry_record, game_id, retry_name)

    def now_ms(self) -> int:
        return self._timed("now_ms", self._store.now_ms)

    def mark_present(self, game_id: str, seat: Seat) -> None:
        self._timed("mark_present", self._store.mark_present, game_id, seat)

    def claim_overdue(self, limit: int) -> tuple[str, ...]:
        return self._timed("claim_overdue", self._store.claim_overdue, limit)

    def set_deadline(self, game_id: str, deadline_ms: int | None) -> None:
        self._timed("set_deadline", self._store.set_deadline, game_id, deadline_ms)

    def ping(self) -> None:
        self._timed("ping", self._store.ping)


class CountedWaiting(Waiting):
    """Waiters that are counted while they have a place."""

    def __init__(self, bell: Bell, limits: WaitLimits, metrics: Metrics) -> None:
        super().__init__(bell, limits)
        self._metrics = metrics

    @contextmanager
    def place(self, game_id: str, who: Waiter) -> Iterator[Listener | None]:
        with super().place(game_id, who) as place:
            if place is None:
                yield None
                return
            with self._metrics.waiters[who.kind].track_inprogress():
                yield place
