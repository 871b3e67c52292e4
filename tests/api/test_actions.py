"""What an action is answered, and which of several refusals comes first; and bugs that other Truco servers shipped."""

from __future__ import annotations

import random
from typing import Any

import pytest

from service.engine.rules import PRESETS
from tests.api.driver import Body, Site, Started, answer, body_of
from tests.table import PlayedTable, table, undealt_table

HANDS = "3C 2C AC / KD JD QD / 6H 7H QH / 6S 7S QS"
"""Seat 0 leads and has the best of them; with vira 4D the fives are manilhas, which nobody has."""


def dealt(preset: str = "paulista", **kwargs: Any) -> PlayedTable:
    return table(preset, HANDS, "4D", **kwargs)


def refused(game: Started, seat: int, type: str, **members: Any) -> str | None:  # noqa: A002
    """The code of a 409, after which nothing has changed; None for a success."""
    before = game.site.stored()
    status, code = game.refusal(seat, type, **members)
    assert status == (200 if code is None else 409)
    if code is not None:
        assert game.site.stored() == before
    return code


# ---- token, body, key, game_not_started, version_conflict, game_finished ----

A_PLAY: Body = {"type": "play", "card": "3C"}


def test_who_may_not_act_at_all(site: Site) -> None:
    game, other = site.seated(dealt()), site.create("paulista")
    for body in ({**A_PLAY, "expected_version": game.version}, {"wrong": 1}, {**A_PLAY, "expected_version": 99}):
        for token, status, code in (
            (None, 401, "missing_token"),
            (game.host_token, 403, "wrong_seat"),
            (other.tokens[0], 401, "invalid_token"),
            (other.host_token, 401, "invalid_token"),
        ):
            assert answer(game.send("POST", "/actions", body, token)) == (status, code)


def test_another_seats_token_plays_for_its_own_seat_only(site: Site) -> None:
    game = site.seated(dealt())
    assert refused(game, 1, "play", card="3C") == "not_your_turn"
    assert refused(game, 2, "play", card="3C") == "not_your_turn"


@pytest.mark.parametrize("kind", ["play", "raise", "accept", "fold", "show", "cut", "deal", "resign"])
def test_a_lobby_takes_no_action(site: Site, kind: str) -> None:
    game = site.create("tradicional", 3)
    members: Body = {"play": {"card": "3C"}, "cut": {"cut": "none"}}.get(kind, {})
    if kind == "deal":
        members = {"deal_from": "top", "deal_style": "one_by_one"}
    for version in (1, 7):
        assert refused(game, 0, kind, expected_version=version, **members) == "game_not_started"
    assert answer(game.post(0, {"type": kind, "x": 1, **members})) == (422, "validation_failed")


def test_the_version_comes_before_the_rules(site: Site) -> None:
    game = site.seated(dealt())
    for seat, kind, members in ((1, "play", {"card": "3C"}), (0, "accept", {}), (0, "raise", {"to": 99})):
        assert refused(game, seat, kind, expected_version=1, **members) == "version_conflict"


def test_the_version_comes_before_the_end(site: Site) -> None:
    game = site.create("paulista")
    game.resign(2)
    assert refused(game, 0, "play", card="3C", expected_version=1) == "version_conflict"
    for kind, members in (("play", {"card": "3C"}), ("resign", {}), ("accept", {}), ("raise", {"to": 9})):
        for seat in range(4):
            assert refused(game, seat, kind, **members) == "game_finished"


def test_a_conflict_shows_the_askers_own_view(any_site: Site) -> None:
    game = any_site.create("paulista")
    for seat in range(4):
        response = game.post(seat, {"type": "resign", "expected_version": 5})
        assert answer(response) == (409, "version_conflict")
        assert body_of(response)["game"] == game.view(seat)
        shown = [held["seat"] for held in body_of(response)["game"]["seats"] if held["cards"] is not None]
        assert shown == [seat]


def test_a_conflict_can_be_answered_from_its_view(site: Site) -> None:
    game = site.seated(dealt())
    conflict = body_of(game.post(0, {**A_PLAY, "expected_version": 1}))
    chosen = conflict["game"]["legal_actions"][0]
    assert answer(game.send("POST", "/actions", chosen, game.tokens[0])) == (200, None)


def test_a_body_that_fits_no_game_comes_before_the_conflict(site: Site) -> None:
    game = site.seated(dealt())
    assert answer(game.post(0, {"type": "play", "expected_version": 99})) == (422, "validation_failed")
    cut = site.seated(undealt_table("tradicional", HANDS, "4D"))
    too_deep = {"type": "cut", "cut": "at", "at": 40, "expected_version": 99}
    assert answer(cut.post(2, too_deep)) == (422, "validation_failed")


# ---- play ----


def test_play_in_order_of_its_refusals(site: Site) -> None:
    waiting = site.seated(dealt().raises())
    for seat in range(4):
        assert refused(waiting, seat, "play", card="5C", covered=True) == "answer_pending"
    game = site.seated(dealt())
    assert refused(game, 1, "play", card="5C", covered=True) == "not_your_turn"
    assert refused(game, 0, "play", card="5C", covered=True) == "covered_forbidden"
    assert refused(game, 0, "play", card="5C") == "card_not_held"
    assert refused(game, 0, "play", card="12S") == "card_not_held"
    assert refused(game, 0, "play", card="3C") is None
    assert refused(game, 0, "play", card="3C") == "not_your_turn"


def test_play_before_the_cards_are_dealt(site: Site) -> None:
    game = site.seated(undealt_table("tradicional", HANDS, "4D"))
    for seat in range(4):
        assert refused(game, seat, "play", card="3C") == "not_your_turn"


def test_play_while_a_team_decides(site: Site) -> None:
    game = site.seated(dealt(score=(11, 4)))
    for seat in range(4):
        assert refused(game, seat, "play", card="3C") == "answer_pending"


@pytest.mark.parametrize("slot", [0, 1, 2])
def test_a_seen_card_may_be_named_by_its_slot(site: Site, slot: int) -> None:
    game = site.seated(dealt())
    held = game.view(0)["seats"][0]["cards"][slot]["card"]
    acted = game.act(0, {"type": "play", "slot": slot})
    assert acted["game"]["hand"]["tricks"][0]["plays"] == [{"seat": 0, "card": held, "covered": False}]
    assert acted["events"][0]["data"] == {"card": held, "covered": False}


def test_a_slot_once_played_is_empty(site: Site) -> None:
    game = site.seated(dealt().plays("3C", "KD", "6H", "6S"))
    slot = next(slot for slot in range(3) if slot not in [held["slot"] for held in game.view(0)["seats"][0]["cards"]])
    assert refused(game, 0, "play", slot=slot) == "card_not_held"
    assert refused(game, 0, "play", card="3C") == "card_not_held"


def test_a_blind_hand_is_played_by_slot_only(site: Site) -> None:
    game = site.seated(dealt("simples", score=(11, 11)))
    view = game.view(0)
    assert [action["slot"] for action in view["legal_actions"]] == [0, 1, 2]
    assert [held["card"] for held in view["seats"][0]["cards"]] == [None] * 3
    for card in ("3C", "2C", "AC", "5D", "KD"):
        assert refused(game, 0, "play", card=card) == "card_not_held"
    assert refused(game, 0, "play", slot=1, covered=True) == "covered_forbidden"
    acted = game.act(0, {"type": "play", "slot": 1})
    assert acted["events"][0]["data"] == {"slot": 1, "card": acted["events"][0]["data"]["card"], "covered": False}
    assert acted["events"][0]["data"]["card"] in ("3C", "2C", "AC")


# ---- raise ----


def test_raise_in_order_of_its_refusals(site: Site) -> None:
    own = site.seated(dealt().raises())
    assert refused(own, 0, "raise", to=12) == refused(own, 2, "raise", to=12) == "answer_pending"
    deciding = site.seated(dealt(score=(11, 4)))
    for seat in range(4):
        assert refused(deciding, seat, "raise", to=9) == "answer_pending"
    game = site.seated(dealt())
    assert refused(game, 1, "raise", to=9) == "not_your_turn"
    forbidden = site.seated(dealt(score=(11, 11)))
    assert refused(forbidden, 1, "raise", to=3) == "not_your_turn"
    assert refused(forbidden, 0, "raise", to=99) == "raise_forbidden"
    top = site.seated(dealt().raises().raises().raises().raises().accepts())
    assert refused(top, 0, "raise", to=99) == "ladder_exhausted"
    same = site.seated(dealt().raises().accepts())
    assert refused(same, 0, "raise", to=99) == "same_team_raise"
    for wrong in ({"to": 1}, {"to": 6}, {"to": 99}, {"penalty": "lose_points"}, {"to": 3, "penalty": "lose_game"}):
        assert refused(game, 0, "raise", **wrong) == "wrong_step"
    assert refused(game, 0, "raise", to=3) is None


@pytest.mark.parametrize("members", [{}, {"to": 3}])
def test_a_raise_may_leave_its_step_out(site: Site, members: Body) -> None:
    game = site.seated(dealt())
    acted = game.act(0, {"type": "raise", **members})
    assert acted["game"]["hand"]["raise"] == {"seat": 0, "team": 0, "to": 3}
    assert acted["events"][0]["data"] == {"to": 3, "penalty": None}


def test_in_the_cut_and_the_deal_nobody_raises(site: Site) -> None:
    for waiting in (undealt_table("tradicional", HANDS, "4D"), undealt_table("tradicional", HANDS, "4D").cuts()):
        game = site.seated(waiting)
        for seat in range(4):
            assert refused(game, seat, "raise", to=3) == "not_your_turn"


def test_any_seat_raises_at_any_time_where_the_rules_allow_it(site: Site) -> None:
    for seat in range(4):
        game = site.seated(dealt("tradicional").plays("3C", "KD"))
        assert refused(game, seat, "raise", to=3) is None
        assert game.view(seat)["hand"]["to_play"] == 2


def test_a_raise_that_costs_points_says_so(site: Site) -> None:
    game = site.seated(dealt("tradicional", score=(11, 4)).accepts())
    offered = [action for action in game.view(0)["legal_actions"] if action["type"] == "raise"]
    assert offered == [{"type": "raise", "expected_version": game.version, "penalty": "lose_points"}]
    assert refused(game, 0, "raise", penalty="lose_game") == "wrong_step"
    assert refused(game, 0, "raise", to=99, penalty="lose_points") == "wrong_step"
    acted = game.act(0, offered[0])
    assert acted["game"]["score"]["teams"] == [8, 4]
    assert acted["game"]["last_hand"]["reason"] == "penalty"
    assert [event["type"] for event in acted["events"][:2]] == ["raised", "penalty"]
    assert acted["events"][1]["data"] == {"kind": "lose_points", "points": 3, "score": [8, 4]}


def test_a_team_that_cannot_pay_may_not_raise(site: Site) -> None:
    game = site.seated(dealt("tradicional", score=(11, 2)).accepts().plays("3C"))
    assert refused(game, 1, "raise") == "raise_forbidden"
    assert not [action for action in game.view(1)["legal_actions"] if action["type"] == "raise"]


def test_truco_at_eleven_all_loses_the_game_where_it_does(site: Site) -> None:
    game = site.seated(table("mano-a-mano", score=(11, 11)))
    acted = game.act(0, {"type": "raise"})
    assert acted["game"]["result"] == {"winner": 1, "reason": "penalty"}
    assert acted["game"]["score"]["teams"] == [11, 11]


def test_truco_at_eleven_all_is_forbidden_elsewhere(site: Site) -> None:
    for preset in ("paulista", "simples", "espanhol", "manilha-velha"):
        game = site.seated(table(preset, score=(11, 11)))
        assert refused(game, 0, "raise", to=3) == "raise_forbidden"


# ---- accept and fold ----


@pytest.mark.parametrize("kind", ["accept", "fold"])
def test_an_answer_in_order_of_its_refusals(site: Site, kind: str) -> None:
    game = site.seated(dealt())
    for seat in range(4):
        assert refused(game, seat, kind) == "nothing_to_answer"
    undealt = site.seated(undealt_table("tradicional", HANDS, "4D"))
    assert refused(undealt, 2, kind) == "nothing_to_answer"
    raised = site.seated(dealt().raises())
    assert refused(raised, 0, kind) == refused(raised, 2, kind) == "not_your_team_to_answer"
    deciding = site.seated(dealt(score=(11, 4)))
    assert refused(deciding, 1, kind) == refused(deciding, 3, kind) == "not_your_team_to_answer"


@pytest.mark.parametrize("seat", [1, 3])
@pytest.mark.parametrize("kind", ["accept", "fold"])
def test_either_partner_answers_and_only_once(site: Site, seat: int, kind: str) -> None:
    game = site.seated(dealt().raises())
    partner, version = 4 - seat, game.version
    assert game.view(seat)["turn"] == {"kind": "answer", "seats": [1, 3], "deadline": None}
    assert refused(game, seat, kind) is None
    assert refused(game, partner, kind, expected_version=version) == "version_conflict"
    assert refused(game, partner, kind) == "nothing_to_answer"


@pytest.mark.parametrize("kind", ["accept", "fold"])
def test_the_hand_of_eleven_is_decided_once_and_by_that_team(site: Site, kind: str) -> None:
    game = site.seated(dealt(score=(4, 11)))
    assert game.view(0)["turn"] == {"kind": "eleven", "seats": [1, 3], "deadline": None}
    assert refused(game, 0, kind) == refused(game, 2, kind) == "not_your_team_to_answer"
    acted = game.act(3, {"type": kind})
    value = 3 if kind == "accept" else 1
    assert acted["events"][0]["data"] == {"of": "eleven", "value": value}
    if kind == "accept":
        assert refused(game, 1, kind) == "nothing_to_answer"
    else:
        assert acted["game"]["score"]["teams"] == [5, 11]
        assert game.view(0)["hand"]["kind"] == "mao_de_onze"


# ---- show, cut, deal ----


def test_show_in_order_of_its_refusals(site: Site) -> None:
    game = site.seated(dealt("tradicional"))
    assert refused(game, 0, "show") == "show_forbidden"
    other_rules = site.seated(dealt(score=(11, 4)).accepts())
    assert refused(other_rules, 0, "show") == "show_forbidden"
    deciding = site.seated(dealt("tradicional", score=(11, 4)))
    assert refused(deciding, 0, "show") == "answer_pending"
    playing = site.seated(dealt("tradicional", score=(11, 4)).accepts())
    assert refused(playing, 1, "show") == "not_your_turn"
    assert refused(playing, 0, "show") == "show_not_proven"


def test_a_refused_show_reveals_nothing(site: Site) -> None:
    game = site.seated(dealt("tradicional", score=(11, 4)).accepts())
    response = game.post(0, {"type": "show"})
    assert answer(response) == (409, "show_not_proven")
    assert not [card for card in ("3C", "2C", "AC") if card in body_of(response)["detail"]]
    assert game.view(1)["seats"][0]["cards"] is None


def test_a_proven_show_ends_the_hand_and_is_seen_by_all(site: Site) -> None:
    winning = "5C 5H 3C / KD JD QD / 6H 7H QH / 6S 7S QS"
    game = site.seated(table("tradicional", winning, "4D", score=(4, 11)).accepts())
    assert {"type": "show", "expected_version": game.version} in game.view(0)["legal_actions"]
    acted = game.act(0, {"type": "show"})
    assert sorted(acted["events"][0]["data"]["cards"]) == ["3C", "5C", "5H"]
    for viewer in (None, 1, 2, 3):
        shown = game.view(viewer)["last_hand"]["shown"]
        assert (shown["seat"], sorted(shown["cards"])) == (0, ["3C", "5C", "5H"])
    assert game.view(0)["score"]["teams"] == [7, 11]


def test_the_cutter_cuts_and_the_dealer_deals(site: Site) -> None:
    game = site.seated(undealt_table("tradicional", HANDS, "4D"))
    deal = {"deal_from": "bottom", "deal_style": "three_at_a_time"}
    assert game.view(0)["turn"] == {"kind": "cut", "seats": [2], "deadline": None}
    for seat in (0, 1, 3):
        assert refused(game, seat, "cut", cut="none") == "not_your_turn"
    assert refused(game, 3, "deal", **deal) == "not_your_turn"
    for take_for in (1, 3, 5):
        assert game.refusal(2, "cut", cut="none", take_for=take_for) == (422, "validation_failed")
    assert refused(game, 2, "cut", cut="dry", take_for=0) is None
    assert refused(game, 2, "cut", cut="none") == "not_your_turn"
    for seat in (0, 1, 2):
        assert refused(game, seat, "deal", **deal) == "not_your_turn"
    acted = game.act(3, {"type": "deal", **deal})
    assert acted["events"][0]["data"] == {"number": 1, "kind": "normal", "dealer": 3, **deal}
    assert [seat["cards_left"] for seat in acted["game"]["seats"]] == [3] * 4
    assert refused(game, 3, "deal", **deal) == "not_your_turn"


def test_a_cut_is_no_deeper_than_the_deck(site: Site) -> None:
    game = site.seated(undealt_table("tradicional", deck=PRESETS["paulista-limpo"].rules.deck))
    for at, status in ((24, 422), (39, 422), (23, 200)):
        assert game.refusal(2, "cut", cut="at", at=at)[0] == status


def test_no_cut_where_the_deal_is_automatic(site: Site) -> None:
    game = site.seated(dealt())
    for seat in range(4):
        assert refused(game, seat, "cut", cut="none") == "not_your_turn"
        assert refused(game, seat, "deal", deal_from="top", deal_style="one_by_one") == "not_your_turn"


# ---- resign ----


@pytest.mark.parametrize("seat", range(4))
def test_anybody_may_resign_at_any_time(site: Site, seat: int) -> None:
    moments = [
        dealt(),
        dealt().raises(),
        dealt(score=(11, 4)),
        dealt("simples", score=(11, 11)),
        undealt_table("tradicional", HANDS, "4D"),
        undealt_table("tradicional", HANDS, "4D").cuts(),
    ]
    for moment in moments:
        game = site.seated(moment)
        acted = game.act(seat, {"type": "resign"})
        assert acted["game"]["result"] == {"winner": 1 - seat % 2, "reason": "resigned"}
        assert [event["type"] for event in acted["events"]] == ["resigned", "game_won"]
        last = acted["game"]["last_hand"]
        assert (last["reason"], last["winner"], last["points"]) == ("resigned", None, 0)


def test_resigning_is_never_offered(site: Site) -> None:
    game = site.seated(dealt())
    assert not [a for seat in range(4) for a in game.view(seat)["legal_actions"] if a["type"] == "resign"]


# ---- what is offered is what is accepted ----


@pytest.mark.parametrize("preset", PRESETS)
def test_each_offered_body_is_accepted_as_it_is(site: Site, preset: str) -> None:
    score = PRESETS[preset].rules.one_short
    for start in ((0, 0), (score, 0), (score, score)):
        waiting = undealt_table(preset, score=start)
        game = site.seated(waiting)
        for seat in range(len(game.tokens)):
            for action in game.view(seat)["legal_actions"]:
                twin = site.seated(waiting)
                assert answer(twin.post(seat, action | {"expected_version": twin.version})) == (200, None), action


# ---- bugs that other Truco servers shipped ----


def trick_won_by(game: Started, *cards: str) -> int | None:
    """Who wins the trick of *cards*, each played by the seat whose turn it is; None if it ties."""
    for card in cards:
        acted = game.act(game.to_act(), {"type": "play", "card": card})
    result: Body = next(event for event in acted["events"] if event["type"] in ("trick_won", "trick_tied"))
    seat: int | None = result["seat"]
    return seat


def test_after_a_vira_of_3_the_fours_are_manilhas(site: Site) -> None:
    game = site.seated(table("paulista", "3C 2C AC / 4D JD QD / 3H 7H QH / 4S 7S QS", "3D"))
    assert game.view(0)["hand"]["manilhas"] == ["4C", "4H", "4S", "4D"]
    assert trick_won_by(game, "3C", "4D", "3H", "4S") == 3


@pytest.mark.parametrize("seat", range(4))
def test_no_seat_covers_a_card_in_the_first_trick(site: Site, seat: int) -> None:
    cards = ("3C", "KD", "6H", "6S")
    game = site.seated(dealt().plays(*cards[:seat]))
    assert refused(game, seat, "play", card=cards[seat], covered=True) == "covered_forbidden"
    assert not [action for action in game.view(seat)["legal_actions"] if action.get("covered")]
    assert refused(game, seat, "play", card=cards[seat]) is None


def test_no_raise_above_twelve(site: Site) -> None:
    twelve = dealt().raises().raises().raises().raises()
    game = site.seated(twelve)
    for seat in (0, 2):
        assert refused(game, seat, "raise") == "ladder_exhausted"
        assert {action["type"] for action in game.view(seat)["legal_actions"]} == {"accept", "fold"}
    accepted = site.seated(twelve.accepts().plays("3C"))
    assert refused(accepted, 1, "raise") == "ladder_exhausted"
    assert accepted.view(1)["hand"]["value"] == 12


@pytest.mark.parametrize(("raises", "paid"), [(1, 1), (2, 3), (3, 6), (4, 9)])
def test_a_refused_raise_pays_what_stood_before_it(site: Site, raises: int, paid: int) -> None:
    raised = dealt()
    for _ in range(raises):
        raised = raised.raises()
    game = site.seated(raised)
    acted = game.act(game.to_act(), {"type": "fold"})
    raiser = (raises + 1) % 2
    assert acted["game"]["score"]["teams"] == ([paid, 0] if raiser == 0 else [0, paid])
    assert acted["events"][0]["data"] == {"of": "raise", "value": paid}
    assert acted["game"]["hand"]["value"] == 1


def test_a_raise_that_was_not_allowed_leaves_the_value(site: Site) -> None:
    game = site.seated(dealt().raises().accepts())
    assert refused(game, 0, "raise") == "same_team_raise"
    hand = game.view(0)["hand"]
    assert (hand["value"], hand["raise"], hand["raised_by"], hand["to_play"]) == (3, None, 0, 0)


def test_a_hand_of_one_trick_each_and_a_tie_ends(site: Site) -> None:
    hands = "3C 4C KC / 4D 3D KD / 4H 6H JH / 4S 6S JS"
    game = site.seated(table("paulista", hands, "7D"))
    assert trick_won_by(game, "3C", "4D", "4H", "4S") == 0
    assert trick_won_by(game, "4C", "3D", "6H", "6S") == 1
    assert trick_won_by(game, "KD", "JH", "JS", "KC") is None
    view = game.view(0)
    assert (view["last_hand"]["winner"], view["last_hand"]["points"]) == (0, 1)
    assert (view["score"]["teams"], view["hand"]["number"]) == ([1, 0], 2)


@pytest.mark.parametrize("seat", range(4))
def test_after_an_accept_the_raiser_of_that_turn_plays(site: Site, seat: int) -> None:
    cards = ("3C", "KD", "6H", "6S")
    game = site.seated(dealt().plays(*cards[:seat]))
    game.act(seat, {"type": "raise"})
    other = game.to_act()
    game.act(other, {"type": "raise"})
    acted = game.act(game.to_act(), {"type": "accept"})
    assert acted["game"]["turn"] == {"kind": "play", "seats": [seat], "deadline": None}
    assert acted["game"]["hand"]["value"] == 6
    assert refused(game, seat, "play", card=cards[seat]) is None


def test_nobody_answers_the_own_teams_raise(site: Site) -> None:
    game = site.seated(dealt().raises())
    for seat in (0, 2):
        for kind in ("accept", "fold"):
            assert refused(game, seat, kind) == "not_your_team_to_answer"
        assert game.view(seat)["legal_actions"] == []


def test_the_right_to_raise_is_new_in_the_next_hand(site: Site) -> None:
    game = site.seated(dealt().raises())
    game.act(1, {"type": "fold"})
    assert game.view(0)["hand"]["raised_by"] is None
    assert refused(game, 1, "raise", to=3) is None
    game.act(0, {"type": "fold"})
    assert refused(game, 2, "raise", to=3) is None


def test_no_card_while_an_answer_is_due(site: Site) -> None:
    game = site.seated(dealt().plays("3C").raises())
    for seat, card in enumerate(("2C", "KD", "6H", "6S")):
        assert refused(game, seat, "play", card=card) == "answer_pending"


def test_no_card_after_the_hand_is_decided(site: Site) -> None:
    game = site.seated(dealt().plays("3C", "KD", "6H", "6S", "2C", "QD", "7H"))
    version = game.version
    acted = game.act(3, {"type": "play", "card": "7S"})
    assert acted["game"]["last_hand"]["winner"] == 0
    assert acted["game"]["hand"]["number"] == 2
    assert refused(game, 0, "play", card="AC", expected_version=version) == "version_conflict"
    assert refused(game, 0, "play", card="AC") == "not_your_turn"


@pytest.mark.parametrize("covered", [False, True])
def test_after_two_ties_the_third_card_is_played(site: Site, covered: bool) -> None:
    hands = "3C 2C AC / 3H 2H KD / 4H 6H JH / 4S 6S JS"
    tied = table("paulista", hands, "7D").plays("3C", "3H", "4H", "4S", "2C", "2H", "6H", "6S")
    game = site.seated(tied)
    assert refused(game, 0, "play", card="AC", covered=covered) is None
    for seat, card in ((1, "KD"), (2, "JH"), (3, "JS")):
        assert refused(game, seat, "play", card=card, covered=covered) is None
    view = game.view(0)
    assert view["last_hand"]["winner"] == (1 if covered else 0)  # all tied: the dealer's team
    assert view["last_hand"]["reason"] == ("all_tied" if covered else "tricks")


def test_equal_ordinary_cards_tie_whatever_their_suits(site: Site) -> None:
    for cards in (("3C", "3D"), ("3D", "3C"), ("3H", "3S")):
        hands = f"{cards[0]} 2C AC / {cards[1]} JD QD / 4H 7H QH / 4S 7S QS"
        game = site.seated(table("paulista", hands, "7D"))
        assert trick_won_by(game, *cards, "4H", "4S") is None


def test_equal_cards_of_partners_win_for_whoever_came_first(site: Site) -> None:
    game = site.seated(table("paulista", "4C 2C AC / 3D JD QD / 4H 7H QH / 3S 7S QS", "KD"))
    assert trick_won_by(game, "4C", "3D", "4H", "3S") == 1


def test_the_score_may_pass_the_target(site: Site) -> None:
    game = site.seated(dealt(score=(10, 3)).raises().raises())
    acted = game.act(0, {"type": "fold"})
    assert acted["game"]["score"]["teams"] == [10, 6]
    game = site.seated(dealt(score=(9, 3)).raises().raises().raises())
    acted = game.act(1, {"type": "fold"})
    assert acted["game"]["score"]["teams"] == [15, 3]
    assert acted["game"]["result"] == {"winner": 0, "reason": "target"}


def test_no_token_is_ever_in_an_answer_that_others_get(site: Site) -> None:
    game = site.create("mano-a-mano", 1, visibility="public", rules={"target": 2})
    private = site.create("mano-a-mano", 1)
    secrets = [game.tokens[0], game.host_token, private.host_token, private.tokens[0], str(private.join_code)]

    def check() -> None:
        outputs = [game.get(token) for token in (None, game.host_token, *game.tokens.values())]
        outputs += [game.send("GET", below) for below in ("/events?limit=500", "/record")]
        outputs += [site.send("GET", f"/v1/games?status={status}") for status in ("lobby", "playing", "finished")]
        outputs += [game.leave(0, game.tokens.get(1)), game.join(), private.join(join_code="00000000")]
        outputs += [game.post(0, {"type": "fold", "expected_version": 900}), private.get(private.host_token)]
        texts = [output.get_data(as_text=True) + str(output.headers) for output in outputs]
        assert not [secret for secret in secrets for text in texts if secret in text]

    game.joined("Bia")
    secrets.append(game.tokens[1])
    chance = random.Random(5)
    while game.view(0)["status"] == "playing":
        check()
        seat = game.to_act()
        game.act(seat, chance.choice(game.view(seat)["legal_actions"]))
    check()
