"""What is stored, held against what the clients were told."""

from __future__ import annotations

import redis

from service.dealer import SeededDealer
from service.engine import actions, flow
from service.engine.record import decode_action
from service.engine.state import GameState, Phase
from service.store.base import Game, LoggedEvent
from service.store.redis import RedisGameStore, TimeToLive
from tests.chaos.wire import Violation

_AT_ONCE = 500


def open_store(client: redis.Redis) -> RedisGameStore:
    return RedisGameStore(client, TimeToLive(lobby=3_600, playing=3_600, finished=3_600), events_kept=100_000)


def stored_game(store: RedisGameStore, game_id: str) -> Game:
    loaded = store.load(game_id)
    if loaded is None:
        raise Violation(f"game {game_id} is gone")
    return loaded.game


def replayed(game: Game, log: tuple[str, ...]) -> GameState:
    """The state that the action log of *game* makes."""
    dealer = SeededDealer()
    state = flow.new_game(game.rules, dealer.first_dealer(game.seed, game.rules.seats)).state
    state = flow.start_hand(state, dealer.pack(game.seed, game.rules.deck, 1)).state
    for token in log:
        seat, action = decode_action(token)
        state = actions.apply(state, seat, action).state
        hand = state.table.hand
        assert hand is not None
        if hand.phase is Phase.OVER and state.table.result is None:
            state = flow.start_hand(state, dealer.pack(game.seed, game.rules.deck, hand.number + 1)).state
    return state


def check_game(store: RedisGameStore, game_id: str) -> tuple[Game, tuple[str, ...]]:
    """The game and its action log. Raises `Violation` unless versions, events, log and state belong together.

    For a game without a clock, in which every version but the first is an action.
    """
    game = stored_game(store, game_id)
    log = store.actions(game_id)
    if len(log) != game.version - 1:
        raise Violation(f"game {game_id} is at version {game.version}, its log has {len(log)} actions")
    if replayed(game, log) != game.state:
        raise Violation(f"game {game_id}: the log does not make the stored state")
    events = all_events(store, game_id)
    if [event.seq for event in events] != list(range(1, game.last_seq + 1)):
        raise Violation(f"game {game_id}: the events are not 1 to {game.last_seq}")
    versions = [event.version for event in events]
    if versions != sorted(versions) or set(versions) != set(range(1, game.version + 1)):
        raise Violation(f"game {game_id}: the events do not carry the versions 1 to {game.version}")
    return game, log


def all_events(store: RedisGameStore, game_id: str) -> list[LoggedEvent]:
    events: list[LoggedEvent] = []
    while page := store.events(game_id, events[-1].seq if events else 0, _AT_ONCE).events:
        events += page
    return events
