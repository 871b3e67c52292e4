"""The load: clients that play many games at once, ask twice, lose answers, give up; and the account of all of it."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import redis

from service.engine.record import decode_action
from service.store.redis import RedisGameStore
from service.tokens import Retry
from tests.chaos.verify import check_game
from tests.chaos.wire import Answer, Body, LostError, Table, Violation, Wire, create, note_turn

CLIENTS = 16
GAMES = 40
ACTIONS = 5_000
TWICE_EVERY = 3
DROP_CHANCE = 0.15
"""Of an answer: half of the time the client hangs up at once, half of the time it does not look at it."""
GIVE_UP_CHANCE = 0.3
"""After a lost answer, that it is never asked for again."""
WEIGHTS = {"raise": 0.05, "fold": 0.2, "resign": 0.0}
LONG = {"target": 98}
"""So that no game ends early."""
_PAUSE_SECONDS = 0.05
"""Before asking again when the service is in trouble."""
_GIVES_UP_AFTER_SECONDS = 60


@dataclass
class Intent:
    """An action that a client means to do once, whatever it takes."""

    table: Table
    seat: int
    body: Body
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    version: int | None = None
    """What an answer said that it has made."""
    is_refused: bool = False
    is_given_up: bool = False

    @property
    def retry_name(self) -> str:
        return Retry(self.key, f"POST {self.table.actions} {self.table.tokens[self.seat]}").name

    def note(self, answer: Answer) -> None:
        """Raises `Violation` if it does not fit what was answered before, or could not be answered at all."""
        if answer.status == 409 and answer.code == "version_conflict":
            self.is_refused = True
        elif answer.status == 200:
            versions = {event["version"] for event in answer.body["events"]}
            if len(versions) != 1 or self.version not in (None, *versions):
                raise Violation(f"action {self.key} is said to be version {versions}, before {self.version}")
            [self.version] = versions
        else:
            raise Violation(f"action {self.body} answered {answer.status} {answer.content[:300]!r}")
        if self.is_refused and self.version is not None:
            raise Violation(f"action {self.key} is refused and is version {self.version}")


class Load:
    """Runs until *is_enough* says so, given how many actions were acknowledged."""

    def __init__(self, url: str, is_enough: Callable[[int], bool], seed: int = 1) -> None:
        self.url = url
        self.tables: list[Table] = []
        self.is_enough = is_enough
        self.counts: Counter[str] = Counter()
        self.intents: list[Intent] = []
        self.longest_outage_seconds = 0.0
        self.seconds = 0.0
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._failure: BaseException | None = None

    def sit_down(self) -> None:
        """Creates the games."""
        with Wire(self.url) as wire:
            variants = [variant["name"] for variant in wire.get("/v1/variants")["variants"]]
            for number in range(GAMES):
                self.tables.append(create(wire, variants[number % len(variants)], rules=LONG))

    def run(self) -> None:
        """Raises what the first client that fails has raised."""
        started = time.monotonic()
        clients = [_Client(self, self._chance.random()) for _ in range(CLIENTS)]
        threads = [threading.Thread(target=self._run, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds = time.monotonic() - started
        if self._failure is not None:
            raise self._failure
        for client in clients:
            self.counts += client.counts
            self.intents += client.intents
        self.longest_outage_seconds = max(client.longest_outage_seconds for client in clients)

    def _run(self, client: _Client) -> None:
        try:
            while self._failure is None and not self.is_enough(self.counts["acknowledged"]):
                if client.play():
                    with self._lock:
                        self.counts["acknowledged"] += 1
        except BaseException as error:
            self._failure = error
        finally:
            client.leave()

    def check(self, client: redis.Redis, store: RedisGameStore) -> list[str]:
        """The account, as lines. Raises `Violation`."""
        pipeline = client.pipeline(transaction=False)
        for intent in self.intents:
            pipeline.exists(f"truco:{{{intent.table.id}}}:retry:{intent.retry_name}")
        committed = [intent for intent, found in zip(self.intents, pipeline.execute(), strict=True) if found]
        commits = sum(_check_table(store, table, self.intents) for table in self.tables)
        acknowledged = [intent for intent in self.intents if intent.version is not None]
        silent = [intent for intent in committed if intent.version is None]
        if len(committed) != commits:
            raise Violation(f"{commits} commits carry the keys of {len(committed)} actions")
        if lost := {intent.key for intent in acknowledged} - {intent.key for intent in committed}:
            raise Violation(f"{len(lost)} acknowledged actions are not stored")
        if any(intent.is_refused or not intent.is_given_up for intent in silent):
            raise Violation("an action was refused, or asked for to the end, and is stored all the same")
        counts = self.counts
        return [
            (
                f"{len(self.intents)} actions in {GAMES} games by {CLIENTS} clients, {self.seconds:.1f} s;"
                f" {counts['requests']} requests, {counts['twice']} actions sent twice,"
                f" {counts['dropped']} answers dropped, {counts['lost']} lost, {counts['unavailable']} times 503"
            ),
            (
                f"acknowledged {len(acknowledged)}, of them {counts['replayed']} by a replay;"
                f" refused {sum(intent.is_refused for intent in self.intents)} (version_conflict);"
                f" given up {sum(intent.is_given_up for intent in self.intents)}"
            ),
            (
                f"commits {commits} - acknowledged {len(acknowledged)} = {commits - len(acknowledged)}"
                f" = given up, yet committed {len(silent)}"
            ),
            "each acknowledged action is the one at its version in the log; seq 1..N; every log makes the stored state",
        ]


def _check_table(store: RedisGameStore, table: Table, intents: list[Intent]) -> int:
    """How many actions were committed. Raises `Violation`."""
    _, log = check_game(store, table.id)
    versions: set[int] = set()
    for intent in intents:
        if intent.table is not table or intent.version is None:
            continue
        if intent.version in versions or intent.version != intent.body["expected_version"] + 1:
            raise Violation(f"version {intent.version} of game {table.id} is claimed twice, or by another action")
        versions.add(intent.version)
        seat, action = decode_action(log[intent.version - 2])
        logged = {"type": action.type, **action.members(), "expected_version": intent.version - 1}
        if (seat, logged) != (intent.seat, intent.body):
            raise Violation(f"version {intent.version} of game {table.id} is {seat} {logged}, not {intent}")
    return len(log)


class _Client:
    """One of those who play; it knows every token, and so may be any seat."""

    def __init__(self, load: Load, seed: float) -> None:
        self._load = load
        self._chance = random.Random(seed)
        self._wires = Wire(load.url), Wire(load.url)
        self.counts: Counter[str] = Counter()
        self.intents: list[Intent] = []
        self.longest_outage_seconds = 0.0
        self._asked_at = 0.0
        self._fails_since: float | None = None

    def leave(self) -> None:
        for wire in self._wires:
            wire.hang_up()

    def play(self) -> bool:
        """One action of a seat whose turn it is; whether it was acknowledged."""
        table = self._chance.choice(self._load.tables)
        if not table.waits_for:
            return False
        seat = self._chance.choice(table.waits_for)
        view = self._look(table, seat)
        note_turn(table, view)
        legal = view["legal_actions"]
        if not legal:
            return False
        weights = [WEIGHTS.get(action["type"], 1.0) for action in legal]
        intent = Intent(table, seat, self._chance.choices(legal, weights)[0])
        self.intents.append(intent)
        self._carry_out(intent)
        return intent.version is not None

    def _look(self, table: Table, seat: int) -> Body:
        while True:
            self._asked_at = time.monotonic()
            try:
                answer = self._arrived(self._wires[0].ask("GET", table.path, token=table.tokens[seat]))
            except LostError:
                self._lost()
                continue
            if answer is not None:
                if answer.status != 200:
                    raise Violation(f"GET answered {answer.status} {answer.content[:300]!r}")
                return answer.body

    def _carry_out(self, intent: Intent) -> None:
        is_sent_twice = len(self.intents) % TWICE_EVERY == 0
        self.counts["twice"] += is_sent_twice
        while True:
            answers = self._send_twice(intent) if is_sent_twice else self._send_once(intent)
            is_sent_twice = False
            for answer in answers:
                if answer is not None:
                    intent.note(answer)
                    note_turn(intent.table, answer.body["game"])
                    self.counts["replayed"] += answer.headers.get("idempotency-replayed") == "true"
            if intent.version is not None or intent.is_refused:
                return
            if self._chance.random() < GIVE_UP_CHANCE:
                intent.is_given_up = True
                return

    def _send_twice(self, intent: Intent) -> list[Answer | None]:
        """At the same time, on two connections."""
        sent = [wire for wire in self._wires if self._send(wire, intent)]
        return [self._read(wire) for wire in sent]

    def _send_once(self, intent: Intent) -> list[Answer | None]:
        return [self._read(self._wires[0])] if self._send(self._wires[0], intent) else []

    def _send(self, wire: Wire, intent: Intent) -> bool:
        self.counts["requests"] += 1
        self._asked_at = time.monotonic()
        try:
            wire.send("POST", intent.table.actions, intent.body, intent.table.tokens[intent.seat], intent.key)
        except LostError:
            self._lost()
            return False
        return True

    def _read(self, wire: Wire) -> Answer | None:
        """The answer; None if it is dropped, or none came."""
        if self._chance.random() < DROP_CHANCE:
            self.counts["dropped"] += 1
            if self._chance.random() < 0.5:
                wire.hang_up()
            else:
                try:
                    self._arrived(wire.read())
                except LostError:
                    self._lost()
            return None
        try:
            answer = wire.read()
        except LostError:
            self._lost()
            return None
        return self._arrived(answer)

    def _arrived(self, answer: Answer) -> Answer | None:
        """None for a 503."""
        if answer.status == 503 and answer.code == "storage_unavailable":
            self.counts["unavailable"] += 1
            self._trouble()
            return None
        if self._fails_since is not None:
            self.longest_outage_seconds = max(self.longest_outage_seconds, time.monotonic() - self._fails_since)
            self._fails_since = None
        return answer

    def _lost(self) -> None:
        self.counts["lost"] += 1
        self._trouble()

    def _trouble(self) -> None:
        if self._fails_since is None:
            self._fails_since = self._asked_at
        if time.monotonic() - self._fails_since > _GIVES_UP_AFTER_SECONDS:
            raise Violation(f"a client had no answer for {_GIVES_UP_AFTER_SECONDS} s")
        time.sleep(_PAUSE_SECONDS)
