"""What is done for a seat whose time is up, in every phase."""

from __future__ import annotations

import random

import pytest

from service.engine import actions
from service.engine.absent import action_for_absent
from service.engine.actions import (
    ACTIONS,
    Abandon,
    Action,
    Cut,
    CutKind,
    Deal,
    Fold,
    IllegalActionError,
    Play,
    Reason,
    legal_actions,
)
from service.engine.cards import Card
from service.engine.events import GameWon
from service.engine.record import decode_action, encode_action
from service.engine.rules import PRESETS, Dealing, IronCards
from service.engine.state import DealFrom, DealStyle, GameReason, GameState, HandReason, Phase, Seat
from service.engine.view import view_for
from tests.table import PlayedTable, completed, table, undealt_table

HANDS = "3C 2C AC / KD JD QD / 6H 7H QH / 6S 7S QS"


def done_for(played: PlayedTable, seat: Seat | None = None) -> Action:
    return action_for_absent(played.view(played.state.table.waited_for[0] if seat is None else seat))


def card(text: str) -> Card:
    return Card.parse(text)


def test_the_weakest_card_is_played_open() -> None:
    assert done_for(table("paulista", "3C 4D KC / QD JD QD / 6H 7H QH / 6S 7S QS", "AC")) == Play(card=card("4D"))


def test_a_manilha_is_stronger_than_any_other_card() -> None:
    """The vira is a 3, so the fours, weakest of the others, are the manilhas."""
    played = table("paulista", "4D 3D 2C / KD JD QD / 6H 7H QH / 6S 7S QS", "3C")
    assert done_for(played) == Play(card=card("2C"))


def test_of_manilhas_the_suit_decides() -> None:
    played = table("paulista", "4C 4D 4S / KD JD QD / 6H 7H QH / 6S 7S QS", "3C")
    assert done_for(played) == Play(card=card("4D"))


@pytest.mark.parametrize(("hand", "weakest"), [("QD QC 3D", "QD"), ("QC QD 3D", "QC"), ("3D QD QC", "QD")])
def test_of_equal_cards_the_lowest_slot_is_played(hand: str, weakest: str) -> None:
    played = table("paulista", f"{hand} / KD JD AD / 6H 7H KH / 6S 7S KS", "4C")
    assert done_for(played) == Play(card=card(weakest))


def test_only_held_cards_are_played() -> None:
    played = table("paulista", "4D 6C 3C / KD JD QD / 6H 7H QH / 6S 7S QS", "AC")
    played = played.plays("4D", "KD", "6H", "6S")
    assert played.hand.to_play == 1
    assert done_for(played) == Play(card=card("QD"))
    played = played.plays("QD", "7H", "7S")
    assert done_for(played) == Play(card=card("6C"))


@pytest.mark.parametrize("hands", [HANDS, "3C 2C AC / KD JD QD / 6H 7H QH / 6S 7S 5S"])
def test_in_a_blind_hand_any_card_will_do(hands: str) -> None:
    played = table("paulista", hands, "4D", score=(11, 11), iron_cards=IronCards.BLIND)
    assert done_for(played) == Play(slot=0)
    played = played.plays("slot 0", "slot 2", "slot 0", "slot 0", "slot 1")
    seat = played.state.table.waited_for[0]
    assert done_for(played) == Play(slot=played.view(seat).own[0].slot)


def test_an_answer_is_a_fold() -> None:
    played = table("paulista", HANDS, "4D").raises()
    assert [done_for(played, seat) for seat in (1, 3)] == [Fold(), Fold()]


def test_the_decision_at_eleven_is_a_fold() -> None:
    played = table("paulista", HANDS, "4D", score=(11, 4))
    assert played.hand.phase is Phase.ELEVEN
    assert [done_for(played, seat) for seat in (0, 2)] == [Fold(), Fold()]


def test_there_is_no_cut_and_the_deal_is_the_plain_one() -> None:
    played = undealt_table("mineiro", dealing=Dealing.CUT)
    assert played.hand.phase is Phase.CUT
    assert done_for(played) == Cut(cut=CutKind.NONE)
    played = played.cuts()
    assert played.hand.phase is Phase.DEAL
    assert done_for(played) == Deal(deal_from=DealFrom.TOP, deal_style=DealStyle.ONE_BY_ONE)


@pytest.mark.parametrize("seats", [2, 4, 6])
@pytest.mark.parametrize("variant", PRESETS)
def test_it_is_always_accepted_and_ends_the_game(variant: str, seats: int) -> None:
    """A game in which every seat is absent now and then comes to its end, whatever the others do."""
    chance = random.Random(f"{variant} {seats}")
    rules = PRESETS[variant].rules
    played = undealt_table(variant, seats=seats, dealer=chance.randrange(seats))
    for _ in range(3_000):
        state = played.state
        if state.table.result is not None:
            return
        if played.hand.phase is Phase.OVER:
            pack = list(rules.deck.cards)
            chance.shuffle(pack)
            played = played.next_hand(completed(rules.deck, pack))
            continue
        seat = state.table.waited_for[0]
        offered = legal_actions(view_for(state, seat))
        absent = action_for_absent(view_for(state, seat))
        assert absent in offered
        played = played.does(seat, absent if chance.random() < 0.7 else chance.choice(offered))
    raise AssertionError("the game does not end")


def test_it_depends_only_on_what_the_seat_knows() -> None:
    """Other hands with the same own cards: the same action."""
    one = table("paulista", "QD QC 3D / KD JD AD / 6H 7H KH / 6S 7S KS", "4C")
    other = table("paulista", "QD QC 3D / 2D 2S 2H / 3H 3S KH / 6S AS KS", "4C")
    assert done_for(one) == done_for(other)


# ---- abandon ----


@pytest.mark.parametrize("seat", range(4))
def test_who_abandons_loses_for_its_team(seat: Seat) -> None:
    over = table("paulista", HANDS, "4D").does(seat, Abandon())
    result, last_hand = over.state.table.result, over.state.table.last_hand
    assert result is not None
    assert last_hand is not None
    assert (result.winner, result.reason) == (1 - seat % 2, GameReason.ABANDONED)
    assert (last_hand.winner, last_hand.points, last_hand.reason) == (None, 0, HandReason.ABANDONED)
    assert over.score == (0, 0)
    assert over.events[-1] == GameWon(team=1 - seat % 2, reason=GameReason.ABANDONED)
    assert "resigned" not in over.event_types


def in_every_phase() -> dict[str, GameState]:
    return {
        "cut": undealt_table("mineiro", dealing=Dealing.CUT).state,
        "deal": undealt_table("mineiro", dealing=Dealing.CUT).cuts().state,
        "play": table("paulista", HANDS, "4D").state,
        "answer": table("paulista", HANDS, "4D").raises().state,
        "eleven": table("paulista", HANDS, "4D", score=(11, 4)).state,
    }


@pytest.mark.parametrize("phase", in_every_phase())
def test_it_ends_the_game_in_every_phase_and_nobody_is_offered_it(phase: str) -> None:
    state = in_every_phase()[phase]
    assert state.table.hand is not None
    assert state.table.hand.phase == phase
    for seat in range(4):
        assert not [action for action in legal_actions(view_for(state, seat)) if isinstance(action, Abandon)]
    over = actions.apply(state, state.table.waited_for[0], Abandon()).state
    assert over.table.result is not None
    assert over.table.waited_for == ()
    with pytest.raises(IllegalActionError) as refused:
        actions.apply(over, 0, Abandon())
    assert refused.value.reason is Reason.GAME_FINISHED


def test_it_is_no_action_of_a_seat_but_stands_in_the_log() -> None:
    assert "abandon" not in ACTIONS
    assert encode_action(2, Abandon()) == "2:abandon"
    assert decode_action("2:abandon") == (2, Abandon())
