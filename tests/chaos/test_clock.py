from __future__ import annotations

from dataclasses import replace

import fakeredis
import pytest

from service.store.base import VersionConflictError
from tests.chaos import clock
from tests.chaos.verify import open_store
from tests.store.test_store import after, lobby


def test_clock() -> None:
    clock.clock()


def test_a_commit_that_fails_does_not_postpone_a_deadline() -> None:
    client = fakeredis.FakeRedis()
    store = open_store(client)
    game = replace(lobby(), turn_seconds=5, deadline_ms=5_000)
    store.commit(game, None, ())
    late = replace(after(game), deadline_ms=60_000)
    with pytest.raises(VersionConflictError):
        store.commit(after(late), late, ())
    assert client.zscore("truco:deadlines", game.id) == 5_000
