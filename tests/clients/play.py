"""A whole match by the generated Python client: `python play.py URL` prints what came of it, as JSON.

Each seat plays in a thread of its own and knows its own token only: it waits for news with the long poll, picks one of
its `legal_actions` and sends it back as it is. Whatever gets lost is sent again, under the same `Idempotency-Key`.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TypeVar
from uuid import uuid4

import httpx
from truco_client import AuthenticatedClient, Client
from truco_client.api.games import create_game
from truco_client.api.play import apply_action, get_game
from truco_client.api.record import get_record
from truco_client.models import (
    Action,
    ActionResult,
    ActionType,
    CreatedGame,
    Game,
    GameRecord,
    GameStatus,
    NewGame,
    Problem,
    ProblemCode,
    SeatedPlayer,
    VariantName,
    Visibility,
)
from truco_client.types import UNSET, Response

Body = TypeVar("Body")

WAIT_SECONDS = 25
TIMEOUT = httpx.Timeout(WAIT_SECONDS + 10)
RARE = {ActionType.RAISE: 0.1, ActionType.FOLD: 0.1}
"""How often beside a card, so that hands are played out."""

happened: Counter[str] = Counter()


def main(url: str) -> None:
    people = [SeatedPlayer("Ana"), SeatedPlayer("Bruno")]
    wanted = NewGame(VariantName.MANO_A_MANO, players=people, visibility=Visibility.PUBLIC)
    key = str(uuid4())
    # the annotation asks for an authenticated client, as if no service did without API keys
    created = ask(
        lambda: create_game.sync_detailed(client=Client(url, timeout=TIMEOUT), body=wanted, idempotency_key=key)
    ).parsed
    assert isinstance(created, CreatedGame), created
    clients = [AuthenticatedClient(url, seat.token, timeout=TIMEOUT) for seat in created.seats]
    with ThreadPoolExecutor() as threads:
        views = list(threads.map(lambda client: play(client, created.game.id), clients))
    record = ask(lambda: get_record.sync_detailed(created.game.id, client=clients[0])).parsed
    assert isinstance(record, GameRecord), record
    print(
        json.dumps(
            {
                "game": created.game.id,
                "version": [view.version for view in views],
                "winner": [view.result and view.result.winner for view in views],
                "score": record.score,
                "recorded": sum(len(hand.actions) for hand in record.hands),
                **happened,
            }
        )
    )


def play(client: AuthenticatedClient, game_id: str) -> Game:
    """Until the game is over; the last view of the seat whose token *client* has."""
    view = look(client, game_id)
    while view.status is not GameStatus.FINISHED:
        if view.turn is not None and view.viewer.seat in view.turn.seats:
            view = act(client, game_id, choose(view.legal_actions))
        else:
            view = wait(client, game_id, view.version)
    return view


def look(client: AuthenticatedClient, game_id: str) -> Game:
    view = ask(lambda: get_game.sync_detailed(game_id, client=client)).parsed
    assert isinstance(view, Game), view
    return view


def wait(client: AuthenticatedClient, game_id: str, version: int) -> Game:
    """The view once it is later than *version*, or as it was, after `WAIT_SECONDS` or when too many wait."""
    asked_at = time.monotonic()
    view = ask(lambda: get_game.sync_detailed(game_id, client=client, after_version=version, wait=WAIT_SECONDS)).parsed
    assert isinstance(view, Game), view
    happened["waits"] += 1
    if view.version == version and time.monotonic() - asked_at < WAIT_SECONDS:
        happened["early"] += 1
        time.sleep(1)
    return view


def choose(legal: list[Action]) -> Action:
    free = [action for action in legal if action.penalty is UNSET]
    return random.choices(free, [RARE.get(action.type_, 1) for action in free])[0]


def act(client: AuthenticatedClient, game_id: str, action: Action) -> Game:
    key = str(uuid4())
    answer = ask(lambda: apply_action.sync_detailed(game_id, client=client, body=action, idempotency_key=key)).parsed
    if isinstance(answer, Problem) and answer.status == HTTPStatus.CONFLICT:
        happened["conflicts"] += 1
        return answer.game or look(client, game_id)
    assert isinstance(answer, ActionResult), answer
    assert answer.events
    happened["actions"] += 1
    return answer.game


def ask(request: Callable[[], Response[Body]]) -> Response[Body]:
    """The answer to *request*, which is sent until one comes that is more than "try again"."""
    seconds = 1
    while True:
        try:
            answer = request()
        except httpx.TransportError:
            happened["lost"] += 1
        else:
            if not is_passing(answer):
                happened["replayed"] += answer.headers.get("Idempotency-Replayed") == "true"
                return answer
            happened["passing"] += 1
            seconds = int(answer.headers.get("Retry-After", seconds))
        time.sleep(seconds)
        seconds = min(2 * seconds, 30)


def is_passing(answer: Response[Body]) -> bool:
    if isinstance(answer.parsed, Problem) and answer.parsed.code is ProblemCode.REQUEST_IN_PROGRESS:
        return True
    return answer.status_code in (
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.SERVICE_UNAVAILABLE,
    )


if __name__ == "__main__":
    main(sys.argv[1])
