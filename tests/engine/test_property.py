"""What holds in every state of every game: random legal games of all presets with 2, 4 and 6 seats.

Some games start where a team, or both, are one step short of the target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from itertools import groupby
from random import Random

import pytest

from service.engine.actions import ACTIONS, Action, Play, Raise, Resign, legal_actions
from service.engine.cards import HAND_SIZE, Card
from service.engine.rules import Penalty, RaiseTiming
from service.engine.state import GameReason, GameState, Hand, HandReason, Kind, Phase, Seat, Table
from service.engine.view import view_for
from tests.engine.games import STARTS, Start, Turn, every_action, first_hands, random_game, refusal

every_start = pytest.mark.parametrize("start", STARTS, ids=str)

ENDINGS = {"hand_won", "hand_tied", "penalty", "resigned"}
"""Events of which every hand has exactly one."""


def _hand(state: GameState) -> Hand:
    assert state.table.hand is not None
    return state.table.hand


def _by_hand(start: Start) -> Iterator[list[Turn]]:
    for _, turns in groupby(random_game(start), lambda turn: _hand(turn.after).number):
        yield list(turns)


def _dealt(state: GameState) -> list[Card]:
    """The cards that the seats were dealt, wherever they are now."""
    held = [card for cards in state.secrets.hands for card in cards if card is not None]
    covered = [covered.card for covered in state.secrets.covered]
    laid = [play.card for trick in _hand(state).tricks for play in trick.plays if play.card is not None]
    return sorted([*held, *covered, *laid], key=str)


@every_start
def test_cards_are_conserved(start: Start) -> None:
    deck = set(start.rules.deck.cards)
    for turns in _by_hand(start):
        dealt = [turn.after for turn in turns if turn.after.secrets.hands]
        for state in dealt:
            vira = {card for card in (_hand(state).vira, state.secrets.vira) if card is not None}
            assert _dealt(state) == _dealt(dealt[0])
            assert len(set(_dealt(state)) | vira) == HAND_SIZE * start.seats + len(vira)
            assert set(_dealt(state)) | vira <= deck
        for turn in turns:
            if not turn.after.secrets.hands:
                assert set(turn.after.secrets.pack) == deck and len(turn.after.secrets.pack) == len(deck)


@every_start
def test_every_seat_holds_what_the_table_says(start: Start) -> None:
    for turn in random_game(start):
        for seat, cards in enumerate(turn.after.secrets.hands):
            assert sum(card is not None for card in cards) == turn.after.table.cards_left(seat)


@every_start
def test_whoever_is_waited_for_can_act_and_others_only_raise(start: Start) -> None:
    for turn in random_game(start):
        table = turn.after.table
        for seat in range(start.seats):
            kinds = {type(action) for action in legal_actions(view_for(turn.after, seat))}
            if seat in table.waited_for:
                assert kinds
            else:
                assert kinds <= ({Raise} if start.rules.raise_timing is RaiseTiming.ANY_TIME else set())
        assert legal_actions(view_for(turn.after, None)) == ()
        assert (table.waited_for == ()) == (_hand(turn.after).phase is Phase.OVER)


@every_start
def test_legal_actions_are_what_is_accepted(start: Start) -> None:
    """In some states of each phase, of all that one could send."""
    rng = Random(start.seed)
    universe = every_action(start.rules)
    turns = sorted(first_hands(start, 6), key=lambda turn: _hand(turn.after).phase)
    for _, alike in groupby(turns, lambda turn: _hand(turn.after).phase):
        states = [turn.after for turn in alike]
        for state in rng.sample(states, min(2, len(states))):
            for seat in range(start.seats):
                offered = legal_actions(view_for(state, seat))
                accepted = [action for action in universe if refusal(state, seat, action) is None]
                shortest = {_shortest(state, seat, action) for action in accepted} - {Resign()}
                assert Counter(offered) == Counter(shortest)
                assert (Resign() in accepted) == (_hand(state).phase is not Phase.OVER)


def _shortest(state: GameState, seat: Seat, action: Action) -> Action:
    """How *action*, an accepted one, is listed: by card unless blind, by penalty where there is one, else by step."""
    if isinstance(action, Play) and action.slot is not None and not _is_blind(state.table):
        return Play(card=state.secrets.hands[seat][action.slot], covered=action.covered)
    if isinstance(action, Raise):
        penalty = _penalty(state.table)
        return Raise(to=_next_step(state.table)) if penalty is None else Raise(penalty=penalty)
    return action


def _is_blind(table: Table) -> bool:
    return table.hand is not None and table.hand.kind == "mao_de_ferro" and table.rules.iron_cards != "open"


def _penalty(table: Table) -> Penalty | None:
    kind = table.hand and table.hand.kind
    return {"mao_de_onze": table.rules.eleven_raise, "mao_de_ferro": table.rules.iron_raise}.get(str(kind))


def _next_step(table: Table) -> int:
    assert table.hand is not None
    stands = table.hand.value if table.hand.pending is None else table.hand.pending.to
    return min(step for step in table.rules.ladder if step > stands)


@pytest.mark.parametrize("start", [start for start in STARTS if start.seats == 4], ids=str)
def test_nothing_is_changed_in_place(start: Start) -> None:
    universe = every_action(start.rules)
    for turn in first_hands(start, 2):
        before, after = deepcopy(turn.before), deepcopy(turn.after)
        list(legal_actions(view_for(turn.before, turn.seat)))
        if turn.seat is not None and turn.action is not None:
            assert refusal(turn.before, turn.seat, turn.action) is None
        for action in Random(start.seed).sample(universe, 12):
            refusal(turn.after, 0, action)
        assert turn.before == before
        assert turn.after == after


@every_start
def test_a_hand_ends_once(start: Start) -> None:
    for turns in _by_hand(start):
        ends = [event.type for turn in turns for event in turn.events if event.type in ENDINGS]
        is_last = turns[-1].after.table.result is not None or _hand(turns[-1].after).phase is Phase.OVER
        assert len(ends) == is_last == 1
        assert all(_hand(turn.after).phase is not Phase.OVER for turn in turns[:-1])
        over = _hand(turns[-1].after)
        assert over.to_play is None and over.pending is None


@every_start
def test_scores_only_rise_but_by_penalties(start: Start) -> None:
    for turn in random_game(start):
        old, new = turn.before.table.score, turn.after.table.score
        change = [after - before for before, after in zip(old, new, strict=True)]
        if "penalty" in {event.type for event in turn.events}:
            assert sorted(change) in ([-start.rules.ladder[1], 0], [0, 0])
        elif "hand_won" in {event.type for event in turn.events}:
            last = turn.after.table.last_hand
            assert last is not None and last.winner is not None
            assert change[last.winner] == last.points > 0 and change[1 - last.winner] == 0
        else:
            assert change == [0, 0]
        assert min(new) >= 0


@every_start
def test_the_game_ends_at_the_target_or_by_a_penalty(start: Start) -> None:
    last = None
    for last in random_game(start):
        won = max(last.after.table.score) >= start.rules.target
        by_penalty = any(event.type == "game_won" and event.reason == "penalty" for event in last.events)  # type: ignore[attr-defined]
        assert (last.after.table.result is not None) == (won or by_penalty)
    assert last is not None
    result, score = last.after.table.result, last.after.table.score
    assert result is not None
    if result.reason is GameReason.TARGET:
        assert score[result.winner] >= start.rules.target > score[1 - result.winner]
    assert last.events[-1].type == "game_won"


@every_start
def test_each_hand_is_of_its_kind_and_the_deal_passes_on(start: Start) -> None:
    rules = start.rules
    dealer, number = None, 0
    for turn in random_game(start):
        if turn.action is not None:
            continue
        hand, score = _hand(turn.after), turn.after.table.score
        short = score.count(rules.target - rules.ladder[0])
        assert hand.kind is (Kind.NORMAL, Kind.MAO_DE_ONZE, Kind.MAO_DE_FERRO)[short]
        assert hand.value == rules.ladder[1 if short == 1 else 0]
        assert hand.raised_by is None and hand.pending is None and hand.tricks == ()
        assert dealer is None or hand.dealer == (dealer + 1) % rules.seats
        assert hand.number == number + 1
        dealer, number = hand.dealer, hand.number


def test_the_games_come_to_everything() -> None:
    """Else the tests above would say little."""
    turns = [turn for start in STARTS for turn in random_game(start)]

    actions = Counter(turn.action.type for turn in turns if turn.action is not None)
    reasons = Counter(
        str(turn.after.table.last_hand.reason)
        for turn in turns
        if turn.after.table.last_hand is not None and _hand(turn.after).phase is Phase.OVER
    )
    assert {action for action, times in actions.items() if times >= 8} == set(ACTIONS) - {"resign"}
    assert {reason for reason, times in reasons.items() if times >= 8} == set(HandReason) - {"resigned", "abandoned"}
    assert any(turn.after.secrets.covered for turn in turns)
