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
from service.engine.rules import PRESETS
from service.engine.state import GameState, Phase
from service.engine.view import view_for
from service.store import codec
from service.store.base import Chair, Game, LoggedEvent, UnknownFormatError

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
    for state in (game, *played_on(game, random.Random(seats))):
        assert codec.decode(ID, codec.encode(state, NONCE), None) == state


@pytest.mark.parametrize("variant", PRESETS)
def test_a_four_seat_state_is_small_whatever_its_age(variant: str) -> None:
    game = new_game(variant, 4, b"x" * 32, WIDEST_NAME)
    aged = replace(game, version=10**6, last_seq=10**7)
    sizes = [len(codec.encode(state, NONCE)) for state in played_on(aged, random.Random(1))]
    assert max(sizes) <= LARGEST_STATE_BYTES


def test_the_head_says_format_and_version() -> None:
    stored = codec.encode(replace(new_game("paulista", 4, b"x" * 32), version=42), NONCE)
    assert stored.startswith(b"1 42 AbCd1234 ")


def test_metadata_comes_back() -> None:
    game = replace(new_game("paulista", 4, b"x" * 32), metadata={"mesa": "número 7"})
    assert codec.decode(ID, codec.encode(game, NONCE), codec.encode_metadata(game)) == game


def test_an_unknown_format_is_left_alone() -> None:
    with pytest.raises(UnknownFormatError):
        codec.decode(ID, b"2 7 AbCd1234 whatever is to come", None)


def test_an_event_comes_back() -> None:
    vira = {"vira": "4C", "manilhas": ["5C", "5H", "5S", "5D"]}
    event = LoggedEvent(3, 2, 1_800_000_000_000, "vira_shown", None, vira)
    assert codec.decode_event(codec.encode_event(event)) == event


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
    """States of the present format: of every preset and seat count the lobby and some moments of a game."""
    path = STATES / f"format-{codec.FORMAT}.json"
    if path.exists():
        raise SystemExit(f"{path} is there already, and history is not rewritten")
    chance = random.Random(7)
    states = []
    for variant in PRESETS:
        for seats in (2, 4, 6):
            game = new_game(variant, seats, chance.randbytes(32))
            moments = list(played_on(game, chance))
            states += [game, *chance.sample(moments, min(6, len(moments)))]
    encoded = [base64.b64encode(codec.encode(state, NONCE)).decode("ascii") for state in states]
    path.write_text(json.dumps(encoded, indent=0) + "\n", "ascii")


if __name__ == "__main__":
    write_states()
