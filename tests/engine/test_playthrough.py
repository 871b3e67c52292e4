"""One game per preset as text, every view in every state: a change of the rules is read as a diff of tests/golden.

The packs and the actions in a golden file are the script; the rest is written anew from the engine and compared.
`UPDATE_GOLDEN=1 pytest tests/engine/test_playthrough.py` writes the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Final

import pytest

from service.engine.actions import Action, IllegalActionError, apply, legal_actions
from service.engine.cards import Card, parse_cards
from service.engine.events import Event
from service.engine.flow import new_game, start_hand
from service.engine.rules import PRESETS
from service.engine.state import GameState, Hand, Kind, LastHand, Phase, Seat, Trick
from service.engine.view import PlayerView, view_for
from tests.engine.games import Start, Turn, random_game
from tests.scenario_runner import Member, read_action

GOLDEN: Final = Path(__file__).parent.parent / "golden"
UPDATES: Final = "UPDATE_GOLDEN" in os.environ
HEAD: Final = (
    "# Written by tests/engine/test_playthrough.py; `pack` and `>` lines are the script, the rest is the answer."
)


def playthrough(preset: str, first_dealer: Seat, script: Sequence[str]) -> Iterator[str]:
    """The lines of the game that *script* (its `pack` and `>` lines) plays."""
    rules = PRESETS[preset].rules
    yield HEAD
    yield f"{preset} {rules.seats} seats, first dealer {first_dealer}"
    state = new_game(rules, first_dealer).state
    for line in script:
        yield ""
        yield line
        kind, _, said = line.partition(" ")
        if kind == "pack":
            begun = start_hand(state, parse_cards(said))
        else:
            seat, _, action = said.partition(" ")
            try:
                begun = apply(state, int(seat), _read(action))
            except IllegalActionError as refused:
                yield f"  refused: {refused}"
                continue
        state = begun.state
        yield from (f"  {_event(event)}" for event in begun.events)
        yield from _table(state)
        for viewer in (None, *range(rules.seats)):
            yield from _view(view_for(state, viewer))


def _event(event: Event) -> str:
    told = [f"{field.name}={_text(getattr(event, field.name))}" for field in fields(event) if field.name != "seat"]
    return " ".join(["*", event.type, *([] if event.seat is None else [f"by {event.seat}"]), *told])


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    return "-" if value is None else str(value)


def _table(state: GameState) -> Iterator[str]:
    table, hand = state.table, state.table.hand
    assert hand is not None
    yield f"  {hand.phase} {_hand(hand)} score {_text(table.score)} leg {table.leg} manilhas {_text(table.manilhas)}"
    yield from (f"    {_trick(trick)}" for trick in hand.tricks)
    if hand.phase is Phase.OVER and table.last_hand is not None:
        yield f"    last hand {_last(table.last_hand)}"
    if table.result is not None:
        yield f"    team {table.result.winner} wins the game by {table.result.reason}"


def _hand(hand: Hand) -> str:
    waits = "" if hand.pending is None else f" waits {hand.pending.to} by {hand.pending.seat}"
    raised = "" if hand.raised_by is None else f" raised by team {hand.raised_by}"
    taken = "" if hand.take_for is None else f" taken for {hand.take_for}"
    turn = f" to play {_text(hand.to_play)}"
    head = f"hand {hand.number} {hand.kind} dealer {hand.dealer} vira {_text(hand.vira)} value {hand.value}"
    return head + turn + waits + raised + taken


def _trick(trick: Trick) -> str:
    plays = " ".join(f"{play.seat}:{'covered' if play.card is None else play.card}" for play in trick.plays)
    outcome = "tied" if trick.tied else "" if trick.winner is None else f"won by {trick.winner}"
    return f"trick {plays} {outcome}".rstrip()


def _last(hand: LastHand) -> str:
    shown = "" if hand.shown is None else f" shown by {hand.shown.seat}: {_text(hand.shown.cards)}"
    return f"winner {_text(hand.winner)} points {hand.points} value {hand.value} by {hand.reason}{shown}"


def _view(view: PlayerView) -> Iterator[str]:
    """What *view*'s viewer sees beside the table, and what it may do; nothing if there is neither."""
    seen = [
        f"{seat}:" + (",".join(str(slot.card or f"slot{slot.slot}") for slot in cards) or "none")
        for seat, cards in enumerate(view.cards)
        if cards is not None
    ]
    covered = [f"trick {card.trick} covered {card.card}" for card in (*view.covered, *view.last_covered)]
    legal = " ".join(map(_short, _bundled(legal_actions(view))))
    if view.viewer is not None or seen or covered or legal:
        yield "  " + " | ".join([f"{_text(view.viewer)} sees {' '.join([*seen, *covered])}", legal or "nothing to do"])


def _bundled(actions: Sequence[Action]) -> list[Action]:
    """The depths of a cut are too many to list: the first and the last stand for them."""
    depths = [action for action in actions if "at" in action.members()]
    return [action for action in actions if action not in depths[1:-1]]


def _short(action: Action) -> str:
    return ":".join([action.type, *(key if value is True else str(value) for key, value in action.members().items())])


def _written(action: Action) -> str:
    return " ".join([action.type, *(f"{key}={value}" for key, value in action.members().items())])


def _read(action: str) -> Action:
    kind, *said = action.split()
    members: dict[str, Member] = {}
    for part in said:
        key, _, value = part.partition("=")
        members[key] = int(value) if value.isdecimal() else True if value == "True" else value
    return read_action(kind, members)


def _script_of(turns: Sequence[Turn]) -> list[str]:
    return [
        f"pack {' '.join(map(str, turn.pack))}" if turn.action is None else f"> {turn.seat} {_written(turn.action)}"
        for turn in turns
    ]


def _new_script(preset: str) -> tuple[Seat, list[str]]:
    """Of many random games one in which much happens in few turns."""
    games = [random_game(Start(preset, PRESETS[preset].rules.seats, game=game)) for game in range(100, 200)]
    turns = max(games, key=lambda turns: 20 * len({what for turn in turns for what in _happenings(turn)}) - len(turns))
    return turns[0].after.table.first_dealer, _script_of(turns)


def _happenings(turn: Turn) -> Iterator[str]:
    hand = turn.after.table.hand
    assert hand is not None
    yield hand.kind
    yield from (event.type for event in turn.events)
    if turn.action is not None:
        yield " ".join([hand.kind, turn.action.type, *turn.action.members()])
    if hand.phase is Phase.OVER and turn.after.table.last_hand is not None:
        yield f"{hand.kind} {turn.after.table.last_hand.reason}"


def _read_script(lines: Sequence[str]) -> tuple[Seat, list[str]]:
    dealer = int(lines[1].rpartition(" ")[2])
    return dealer, [line for line in lines if line.startswith(("pack ", "> "))]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_game_is_played_as_before(preset: str) -> None:
    path = GOLDEN / f"{preset}.txt"
    golden = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if not golden and not UPDATES:
        pytest.fail(f"{path} is not there; UPDATE_GOLDEN=1 writes it")

    dealer, script = _read_script(golden) if golden else _new_script(preset)
    lines = list(playthrough(preset, dealer, script))

    if UPDATES:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        assert lines == golden


@pytest.mark.skipif(UPDATES, reason="the files are being written")
def test_the_games_come_to_everything() -> None:
    told = "\n".join(path.read_text(encoding="utf-8") for path in sorted(GOLDEN.glob("*.txt")))

    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(PRESETS)
    assert all(f" {kind} dealer" in told for kind in Kind)
    assert all(f"by {reason}" in told for reason in ("tricks", "folded", "shown", "penalty", "target"))
    assert all(f"* {event}" in told for event in ("pack_cut", "accepted", "raised", "cards_shown", "trick_tied"))
    assert "refused" not in told


def test_a_card_is_read_as_it_is_written() -> None:
    assert _written(_read("play card=3C covered=True")) == "play card=3C covered=True"
    assert _read("cut cut=at at=7").members() == {"cut": "at", "at": 7}
    assert parse_cards("3C")[0] == Card.parse("3C")
