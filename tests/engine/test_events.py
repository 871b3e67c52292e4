"""What the table is told, in which order: api.md section 5 at engine level."""

from __future__ import annotations

from dataclasses import fields

import pytest

from service.engine.cards import Card, parse_cards
from service.engine.events import (
    EVENTS,
    Accepted,
    CardPlayed,
    CardsShown,
    Event,
    Folded,
    GameStarted,
    GameWon,
    HandDealt,
    HandTied,
    HandWon,
    PackCut,
    PenaltyTaken,
    Raised,
    Resigned,
    TrickTied,
    TrickWon,
    ViraShown,
)
from service.engine.flow import new_game, start_hand
from service.engine.rules import PRESETS, Penalty
from service.engine.state import DealFrom, DealStyle, GameReason, HandReason, Kind
from tests.table import PlayedTable, table, undealt_table

FOUR = "3C 2C 6C / KD JD 7D / 6H 7H QH / 6S 7S QS"
TWO = "3C 2C 6C / KD JD 7D"
TIED = "2C AC 7C / 2H AH 7H"


def played(seat: int, card: str) -> CardPlayed:
    return CardPlayed(seat=seat, slot=None, card=Card.parse(card), covered=False)


def since(before: PlayedTable, after: PlayedTable) -> list[Event]:
    return list(after.events[len(before.events) :])


def test_a_game_starts_with_its_first_dealer() -> None:
    assert new_game(PRESETS["paulista"].rules, 2).events == (GameStarted(first_dealer=2),)


def test_a_hand_is_dealt_and_the_vira_shown() -> None:
    rules = PRESETS["paulista"].rules
    begun = start_hand(new_game(rules, 2).state, rules.deck.cards)

    assert begun.events == (
        HandDealt(number=1, kind=Kind.NORMAL, dealer=2, deal_from=DealFrom.TOP, deal_style=DealStyle.ONE_BY_ONE),
        ViraShown(vira=Card.parse("7C"), manilhas=parse_cards("QC QH QS QD")),
    )


def test_with_fixed_manilhas_no_vira_is_shown() -> None:
    rules = PRESETS["manilha-velha"].rules

    assert [event.type for event in start_hand(new_game(rules, 0).state, rules.deck.cards).events] == ["hand_dealt"]


def test_the_cut_and_the_deal_are_told_without_a_card() -> None:
    waiting = undealt_table("tradicional")
    dealt = waiting.cuts(take_for=0).deals(DealFrom.BOTTOM, DealStyle.THREE_AT_A_TIME)

    assert waiting.events == ()
    assert dealt.events[:2] == (
        PackCut(seat=2, cut="none", at=None, take_for=0),
        HandDealt(
            number=1,
            kind=Kind.NORMAL,
            dealer=3,
            deal_from=DealFrom.BOTTOM,
            deal_style=DealStyle.THREE_AT_A_TIME,
        ),
    )
    assert [event.type for event in dealt.events] == ["pack_cut", "hand_dealt", "vira_shown"]
    assert undealt_table("tradicional").cuts(at=7).events == (PackCut(seat=2, cut="at", at=7, take_for=None),)


def test_a_hand_of_two_tricks() -> None:
    dealt = table("paulista", TWO, "4D", seats=2)

    assert since(dealt, dealt.plays("3C", "KD", "2C", "JD")) == [
        played(0, "3C"),
        played(1, "KD"),
        TrickWon(seat=0, trick=1, team=0),
        played(0, "2C"),
        played(1, "JD"),
        TrickWon(seat=0, trick=2, team=0),
        HandWon(team=0, points=1, reason=HandReason.TRICKS, score=(1, 0)),
    ]


def test_three_ties_and_nobody_scores() -> None:
    dealt = table("simples", TIED, "JD", seats=2)

    tied = [event for event in dealt.plays("2C", "2H", "AC", "AH", "7C", "7H").events if event.type != "card_played"]

    assert tied[-4:] == [
        TrickTied(trick=1, next_opener=0),
        TrickTied(trick=2, next_opener=0),
        TrickTied(trick=3, next_opener=None),
        HandTied(score=(0, 0)),
    ]


def test_three_ties_and_the_dealer_scores() -> None:
    dealt = table("paulista", TIED, "JD", seats=2)

    assert dealt.plays("2C", "2H", "AC", "AH", "7C", "7H").events[-2:] == (
        TrickTied(trick=3, next_opener=None),
        HandWon(team=1, points=1, reason=HandReason.ALL_TIED, score=(0, 1)),
    )


def test_a_second_trick_that_ties_ends_the_hand_of_who_won_the_first() -> None:
    dealt = table("paulista", "3C AC 6C / KD AH 7D", "4D", seats=2)

    assert dealt.plays("3C", "KD", "AC", "AH").events[-2:] == (
        TrickTied(trick=2, next_opener=None),
        HandWon(team=0, points=1, reason=HandReason.TRICKS, score=(1, 0)),
    )


def test_a_covered_card_is_told_without_its_face() -> None:
    dealt = table("paulista", TWO, "4D", seats=2).plays("3C", "KD")

    assert since(dealt, dealt.plays("*2C", "JD")) == [
        CardPlayed(seat=0, slot=None, card=None, covered=True),
        played(1, "JD"),
        TrickWon(seat=1, trick=2, team=1),
    ]


def test_raises_and_their_answers() -> None:
    dealt = table("paulista", FOUR, "4D")
    answered = dealt.raises().raises(3).accepts(2).raises()

    assert since(dealt, answered.folds(3)) == [
        Raised(seat=0, to=3, penalty=None),
        Raised(seat=3, to=6, penalty=None),
        Accepted(seat=2, of="raise", value=6),
        Raised(seat=0, to=9, penalty=None),
        Folded(seat=3, of="raise", value=6),
        HandWon(team=0, points=6, reason=HandReason.FOLDED, score=(6, 0)),
    ]


def test_the_decision_at_eleven() -> None:
    dealt = table("paulista", FOUR, "4D", score=(11, 7))

    assert since(dealt, dealt.accepts(2)) == [Accepted(seat=2, of="eleven", value=3)]
    assert since(dealt, dealt.folds(0)) == [
        Folded(seat=0, of="eleven", value=1),
        HandWon(team=1, points=1, reason=HandReason.FOLDED, score=(11, 8)),
    ]


def test_a_penalty_in_points() -> None:
    dealt = table("tradicional", FOUR, "4D", score=(11, 7)).accepts()

    assert since(dealt, dealt.raises(1)) == [
        Raised(seat=1, to=6, penalty=Penalty.LOSE_POINTS),
        PenaltyTaken(seat=1, kind=Penalty.LOSE_POINTS, points=3, score=(11, 4)),
    ]


def test_a_penalty_of_the_game() -> None:
    dealt = table("mano-a-mano", TWO, "4D", score=(11, 11))

    assert since(dealt, dealt.raises()) == [
        Raised(seat=0, to=3, penalty=Penalty.LOSE_GAME),
        PenaltyTaken(seat=0, kind=Penalty.LOSE_GAME, points=0, score=(11, 11)),
        GameWon(team=1, reason=GameReason.PENALTY),
    ]


def test_a_shown_win_that_wins_the_game() -> None:
    dealt = table("tradicional", "5C 5H 6C / 3D 2D 7D / 6H 7H QH / 6S 7S QS", "4D", score=(11, 7)).accepts()

    shown = dealt.shows()

    assert since(dealt, shown) == [
        CardsShown(seat=0, cards=parse_cards("5C 5H 6C")),
        HandWon(team=0, points=3, reason=HandReason.SHOWN, score=(14, 7)),
        GameWon(team=0, reason=GameReason.TARGET),
    ]
    assert shown.state.table.last_hand is not None and shown.state.table.last_hand.shown is not None


def test_only_the_cards_still_held_are_shown() -> None:
    dealt = table("tradicional", "5C 5H 6C / 3D 2D 7D / 6H 7H QH / 6S 7S QS", "4D", score=(11, 7)).accepts()

    after_a_trick = dealt.plays("5H", "3D", "6H", "6S")

    assert since(after_a_trick, after_a_trick.shows())[0] == CardsShown(seat=0, cards=parse_cards("5C 6C"))


def test_a_hidden_vira_is_shown_after_the_last_first_card() -> None:
    dealt = table("espanhol", "3C 2C 4C / 10D 11D 5D", "7D", seats=2, score=(11, 11))

    assert since(dealt, dealt.plays("slot 0", "slot 0")) == [
        CardPlayed(seat=0, slot=0, card=Card.parse("3C"), covered=False),
        CardPlayed(seat=1, slot=0, card=Card.parse("10D"), covered=False),
        ViraShown(vira=Card.parse("7D"), manilhas=parse_cards("10C 10H 10S 10D")),
        TrickWon(seat=1, trick=1, team=1),
    ]
    assert "vira_shown" not in dealt.plays("slot 0").event_types


def test_resigning() -> None:
    dealt = table("paulista", FOUR, "4D").plays("3C").raises()

    assert since(dealt, dealt.resigns(2)) == [
        Resigned(seat=2, team=0),
        GameWon(team=1, reason=GameReason.RESIGNED),
    ]


@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda event: event.type)
def test_no_event_has_a_member_for_cards_but_those_that_show_some(event: type[Event]) -> None:
    members = {field.name for field in fields(event)} & {"card", "cards", "vira", "manilhas", "hands", "pack", "deck"}

    assert members == {
        "card_played": {"card"},
        "cards_shown": {"cards"},
        "vira_shown": {"vira", "manilhas"},
    }.get(event.type, set())
