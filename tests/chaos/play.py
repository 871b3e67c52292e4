"""Playing one game to its end, with patience if the store is away for a while."""

from __future__ import annotations

import random
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field

from service.dealer import SeededDealer
from service.engine.record import from_json, verify
from tests.chaos.wire import Body, Table, Violation, Wire, note_turn

WEIGHTS = {"raise": 0.3, "fold": 0.3}
PATIENCE_SECONDS = 30
_PAUSE_SECONDS = 0.1


@dataclass
class Game:
    """One who plays all seats of a table."""

    wire: Wire
    table: Table
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    version: int = 0
    """Of the newest view."""
    longest_outage_seconds: float = 0.0

    def play(self) -> bool:
        """One action; False if the game is over."""
        seat = self._seat()
        view = self._patiently("GET", self.table.path, None, seat)
        if view["status"] == "finished":
            return False
        if seat in view["turn"]["seats"]:
            legal = view["legal_actions"]
            weights = [WEIGHTS.get(action["type"], 1.0) for action in legal]
            self.act(seat, self.chance.choices(legal, weights)[0])
        return True

    def act(self, seat: int, action: Body) -> None:
        """Sent with a key until it is answered; a conflict is counted."""
        self.counts["actions"] += 1
        answer = self._patiently("POST", self.table.actions, action, seat, uuid.uuid4().hex)
        self.counts["conflicts"] += "code" in answer
        self.hear(answer["game"])

    def hear(self, view: Body) -> None:
        self.counts["went back"] += view["version"] < self.version
        self.version = view["version"]
        note_turn(self.table, view)

    def _seat(self) -> int:
        return self.chance.choice(self.table.waits_for or range(len(self.table.tokens)))

    def _patiently(self, method: str, path: str, body: Body | None, seat: int, key: str | None = None) -> Body:
        """The answer once it is no 503; a view, or what an action is answered with, or a conflict."""
        started = time.monotonic()
        while True:
            answer = self.wire.ask(method, path, body, self.table.tokens[seat], key)
            waited = time.monotonic() - started
            if answer.status != 503:
                break
            self.counts["503"] += 1
            if answer.code != "storage_unavailable" or "retry-after" not in answer.headers:
                raise Violation(f"answered {answer.content!r} {dict(answer.headers)}")
            if waited > PATIENCE_SECONDS:
                raise Violation(f"the store was away for {waited:.0f} s")
            time.sleep(_PAUSE_SECONDS)
        if self.counts["503"]:
            self.longest_outage_seconds = max(self.longest_outage_seconds, waited)
        if answer.status != 200 and answer.code != "version_conflict":
            raise Violation(f"{method} {path} answered {answer.status} {answer.content[:300]!r}")
        if method == "GET":
            self.hear(answer.body)
        return answer.body

    def check_record(self) -> None:
        record = self.wire.get(f"{self.table.path}/record")
        difference = verify(from_json(record), SeededDealer())
        if difference is not None:
            raise Violation(f"the record of game {self.table.id} does not verify: {difference}")
