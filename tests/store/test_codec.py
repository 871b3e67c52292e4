"""Stored bytes: nothing is lost in them, they stay small, and those of every past format can be played on.

`python -m tests.store.test_codec` writes the file of states of the present format, once: after a release it is history.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from service.dealer import SeededDealer
from service.engine import actions, flow
from service.engine.actions import Abandon
from service.engine.rules import PRESETS
from service.engine.state import GameState, Phase
from service.engine.view import view_for
from service.store import codec
from service.store.base import Chair, Game, LoggedEvent, RetryRecord, UnknownFormatError

STATES = Path(__file__).parent / "states"
NONCE = b"AbCd1234"
ID = "0123456789abcdefghjkmnpqrs"
WIDEST_NAME = "\U0001f0a1" * 24
LARGEST_STATE_BYTES = 1_200
DEALER = SeededDealer()


def new_game(variant: str, seats: int, seed: bytes, name: str = "Ana") -> Game:
    rules = replace(PRESETS[variant].rules, seats=seats)
    return Game(
        id=ID,
        version=1,
        created_at_ms=1_800_000_000_000,
        variant=variant,
        rules=rules,
        is_public=False,
        chairs=tuple(Chair(name, bytes([seat]) * 32) for seat in range(seats)),
        last_seq=seats,
        seed=seed,
        host_hash=b"h" * 32,
        join_code="ABCDEFGH",
    )


def played_on(game: Game, chance: random.Random) -> Iterator[Game]:
    """*game* after each of random actions until it is over."""
    state = game.state or flow.new_game(game.rules, DEALER.first_dealer(game.seed, game.rules.seats)).state
    while True:
        state = with_hand(game, state)
        game = replace(game, version=game.version + 1, last_seq=game.last_seq + 3, state=state)
        yield game
        if state.table.result is not None:
            return
        seat = chance.choice(state.table.waited_for)
        offered = actions.legal_actions(view_for(state, seat))
        state = actions.apply(state, seat, chance.choice(offered)).state


def with_all_there_is(game: Game) -> Game:
    """*game* as one that is a rematch, has a clock that ran out before, and was played again itself."""
    return replace(
        game,
        chairs=tuple(replace(chair, owner_hash=bytes([seat]) * 32) for seat, chair in enumerate(game.chairs)),
        first_dealer=game.rules.seats - 1,
        rematch_id=ID[::-1],
        turn_seconds=3_600,
        deadline_ms=1_800_003_600_000,
        timeouts=(2,) * game.rules.seats,
    )


def reserved(game: Game) -> Game:
    """*game* as a rematch whose last seat alone has come."""
    *others, last = with_all_there_is(game).chairs
    chairs = (*(replace(chair, token_hash=None) for chair in others), last)
    return replace(game, chairs=chairs, first_dealer=1, turn_seconds=30)


def abandoned(game: Game) -> Game:
    """*game* after its last seat has let its time run out for the third time."""
    assert game.state is not None
    state = actions.apply(game.state, game.rules.seats - 1, Abandon()).state
    return replace(
        game, version=game.version + 1, turn_seconds=30, timeouts=(*[0] * (game.rules.seats - 1), 3), state=state
    )


def with_hand(game: Game, state: GameState) -> GameState:
    hand = state.table.hand
    if state.table.result is not None or (hand is not None and hand.phase is not Phase.OVER):
        return state
    number = 1 if hand is None else hand.number + 1
    return flow.start_hand(state, DEALER.pack(game.seed, game.rules.deck, number)).state


@pytest.mark.parametrize("seats", [2, 4, 6])
@pytest.mark.parametrize("variant", PRESETS)
def test_every_state_of_a_game_comes_back_whole(variant: str, seats: int) -> None:
    game = new_game(variant, seats, f"{variant}{seats}".ljust(32).encode())
    for state in (game, reserved(game), *played_on(game, random.Random(seats))):
        assert codec.decode(ID, codec.encode(state, NONCE), None) == state
        full = with_all_there_is(state)
        assert codec.decode(ID, codec.encode(full, NONCE), None) == full


def test_an_abandoned_game_comes_back() -> None:
    over = abandoned(next(played_on(new_game("paulista", 4, b"x" * 32), random.Random(3))))
    assert codec.decode(ID, codec.encode(over, NONCE), None) == over


def test_reserved_seats_stay_with_their_owners() -> None:
    """Not every seat has an owner when one was given away."""
    game = reserved(new_game("paulista", 4, b"x" * 32))
    for open_seat in range(4):
        chairs = tuple(Chair() if seat == open_seat else chair for seat, chair in enumerate(game.chairs))
        partly = replace(game, chairs=chairs)
        assert codec.decode(ID, codec.encode(partly, NONCE), None) == partly


@pytest.mark.parametrize("variant", PRESETS)
def test_a_four_seat_state_is_small_whatever_its_age(variant: str) -> None:
    game = new_game(variant, 4, b"x" * 32, WIDEST_NAME)
    aged = with_all_there_is(replace(game, version=10**6, last_seq=10**7))
    sizes = [len(codec.encode(state, NONCE)) for state in played_on(aged, random.Random(1))]
    assert max(sizes) <= LARGEST_STATE_BYTES


def test_the_head_says_format_and_version() -> None:
    stored = codec.encode(replace(new_game("paulista", 4, b"x" * 32), version=42), NONCE)
    assert stored.startswith(b"2 42 AbCd1234 ")


def test_metadata_comes_back() -> None:
    game = replace(new_game("paulista", 4, b"x" * 32), metadata={"mesa": "número 7"})
    assert codec.decode(ID, codec.encode(game, NONCE), codec.encode_metadata(game)) == game


def test_an_unknown_format_is_left_alone() -> None:
    with pytest.raises(UnknownFormatError):
        codec.decode(ID, b"3 7 AbCd1234 whatever is to come", None)


def test_an_event_comes_back() -> None:
    vira = {"vira": "4C", "manilhas": ["5C", "5H", "5S", "5D"]}
    event = LoggedEvent(3, 2, 1_800_000_000_000, "vira_shown", None, vira)
    assert codec.decode_event(codec.encode_event(event)) == event


def test_the_record_of_a_request_comes_back() -> None:
    for seats in ((), (3,), (0, 1, 2, 3, 4, 5)):
        record = RetryRecord(b"b" * 32, b"n" * 32, seats, 7, 11)
        assert codec.decode_retry(codec.encode_retry(record)) == record


@pytest.mark.parametrize("path", sorted(STATES.glob("format-*.json")), ids=lambda path: path.stem)
def test_states_of_every_format_load_and_finish(path: Path) -> None:
    stored = json.loads(path.read_text("ascii"))
    assert stored
    for place, state in enumerate(stored):
        game = codec.decode(ID, base64.b64decode(state), None)
        *_, last = played_on(game, random.Random(place))
        assert last.state is not None
        assert last.state.table.result is not None


def test_there_are_states_of_every_format() -> None:
    assert {path.stem for path in STATES.glob("*")} == {f"format-{number}" for number in codec._READERS}


def write_states() -> None:
    """States of the present format: of every preset and seat count the lobby and some moments of a game.

    Every third with all that a game can have; among them are rematches that wait for their seats, and abandoned games.
    """
    path = STATES / f"format-{codec.FORMAT}.json"
    if path.exists():
        raise SystemExit(f"{path} is there already, and history is not rewritten")
    chance = random.Random(7)
    states = []
    for variant in PRESETS:
        for seats in (2, 4, 6):
            game = new_game(variant, seats, chance.randbytes(32))
            moments = list(played_on(game, chance))
            states += [game, reserved(game), abandoned(moments[0]), *chance.sample(moments, min(6, len(moments)))]
    states[::3] = map(with_all_there_is, states[::3])
    encoded = [base64.b64encode(codec.encode(state, NONCE)).decode("ascii") for state in states]
    path.write_text(json.dumps(encoded, indent=0) + "\n", "ascii")


if __name__ == "__main__":
    write_states()
