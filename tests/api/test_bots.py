"""Bots on seats: from the beginning, by the host, for a person whose time is up; and what they never do."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from service.bots import BOTS
from service.engine.rules import PRESETS, Dealing
from tests.api.driver import Body, Clock, MeetingStore, Site, Started, answer, at_once, body_of, pointers
from tests.api.test_clock import check_record, deadline, event_types, let_run_out, ms
from tests.table import table

HANDS = "3C 2C AC / KD JD QD / 6H 7H QH / 6S 7S QS"
KINDS = ("easy", "medium", "hard")


def bot(kind: str = "easy") -> Body:
    return {"bot": kind}


def against_bots(site: Site, variant: str = "paulista", seats: int = 4, **order: Any) -> Started:
    """A public game of Ana on seat 0, and bots of every kind on the others."""
    players = [{"name": "Ana"}, *(bot(KINDS[seat % 3]) for seat in range(1, seats))]
    return site.create(variant, seats=seats, players=players, visibility="public", **order)


def kinds(game: Started) -> list[str]:
    return [seat["kind"] for seat in game.view(None)["seats"]]


def seat_bot(game: Started, kind: str = "easy", token: str | None = None, **kwargs: Any) -> Any:
    wish = {"bot": kind, **({"seat": kwargs.pop("seat")} if "seat" in kwargs else {})}
    return game.send("POST", "/seats", wish, game.host_token if token is None else token, **kwargs)


# ---- the kinds ----


def test_the_kinds_are_listed_for_all_to_keep(site: Site) -> None:
    response = site.send("GET", "/v1/bots")
    bots = body_of(response)["bots"]
    assert [each["kind"] for each in bots] == list(BOTS) == list(KINDS)
    assert [each["description"] for each in bots] == [each.sentence for each in BOTS.values()]
    again = site.send("GET", "/v1/bots", headers={"If-None-Match": response.headers["ETag"]})
    assert (again.status_code, again.headers["Cache-Control"]) == (304, "public, max-age=3600")


# ---- from the beginning ----


def test_a_game_against_bots_starts_at_once_and_waits_for_the_person(any_site: Site) -> None:
    game = against_bots(any_site)
    view = game.view(0)
    assert kinds(game) == ["human", "bot", "bot", "bot"]
    assert [seat["name"] for seat in view["seats"]] == ["Ana", "medium", "hard", "easy"]
    assert [seat["presence"] for seat in view["seats"]][1:] == [None, None, None]
    assert not any(seat["stand_in"] for seat in view["seats"])
    assert (view["version"], set(game.tokens)) == (1, {0})
    assert 0 in view["turn"]["seats"]
    assert view["legal_actions"]


def test_a_bots_play_comes_with_the_answer_to_the_action_before(any_site: Site) -> None:
    game = against_bots(any_site)
    while True:
        view = game.view(0)
        action = view["legal_actions"][0]
        acted = game.act(0, action)
        assert acted["game"]["version"] == view["version"] + 1
        assert {event["version"] for event in acted["events"]} == {view["version"] + 1}
        if acted["game"]["status"] == "finished":
            break
        assert 0 in acted["game"]["turn"]["seats"]
        if any(event["seat"] in (1, 2, 3) and event["type"] == "card_played" for event in acted["events"]):
            break
    assert game.view(0)["version"] == acted["game"]["version"]


@pytest.mark.parametrize("seats", [2, 4, 6])
@pytest.mark.parametrize("variant", PRESETS)
def test_a_whole_match_against_bots(site: Site, variant: str, seats: int) -> None:
    """Whatever the person does, the game comes back to it or ends; and the record is true."""
    chance = random.Random(f"{variant}{seats}")
    game = against_bots(site, variant, seats)
    version = 1
    while (view := game.view(0))["status"] == "playing":
        assert 0 in view["turn"]["seats"]
        assert view["version"] == version
        game.act(0, chance.choice(view["legal_actions"]))
        version += 1
    record = check_record(game)
    assert [seat["name"] for seat in record["seats"]] == ["Ana", *(KINDS[seat % 3] for seat in range(1, seats))]


@pytest.mark.parametrize(
    ("players", "wrong"),
    [
        ([bot(), bot()], "/players"),
        ([bot("grandmaster"), None], "/players/0/bot"),
        ([{}, None], "/players/0/name"),
        ([{"name": "Ana", "bot": "easy"}, None], "/players/0/bot"),
        ([{"bot": None}, None], "/players/0/bot"),
    ],
)
def test_what_is_no_player(site: Site, players: Any, wrong: str) -> None:
    response = site.send("POST", "/v1/games", {"variant": "mano-a-mano", "players": players})
    assert answer(response) == (422, "validation_failed")
    assert pointers(response) == [wrong]


# ---- by the host ----


def test_the_host_fills_seats_and_the_last_one_starts_the_game(any_site: Site) -> None:
    game = any_site.create("paulista", players=1, visibility="public")
    first = body_of(seat_bot(game, "hard"))
    assert (first["seat"], first["token"], first["game"]["viewer"]) == (1, None, {"seat": None, "team": None})
    assert body_of(seat_bot(game, "medium", seat=3))["seat"] == 3
    assert game.view(0)["status"] == "lobby"
    last = seat_bot(game)
    assert last.status_code == 201
    assert body_of(last)["game"]["status"] == "playing"
    assert kinds(game) == ["human", "bot", "bot", "bot"]
    joined = [event for event in game.events(limit=500)["events"] if event["type"] == "seat_joined"]
    assert [(event["seat"], event["data"]) for event in joined] == [
        (0, {"name": "Ana", "kind": "human"}),
        (1, {"name": "hard", "kind": "bot"}),
        (3, {"name": "medium", "kind": "bot"}),
        (2, {"name": "easy", "kind": "bot"}),
    ]


def test_who_may_seat_a_bot(site: Site) -> None:
    game = site.create("paulista", players=1, visibility="public")
    wish = {"bot": "easy"}
    assert answer(game.send("POST", "/seats", wish)) == (401, "missing_token")
    assert answer(seat_bot(game, token=game.tokens[0])) == (403, "wrong_seat")
    assert answer(seat_bot(game, seat=0)) == (409, "seat_taken")
    assert answer(seat_bot(game, seat=4)) == (422, "validation_failed")
    assert answer(seat_bot(game, "grandmaster")) == (422, "validation_failed")
    for _ in range(3):
        game.join()
    assert answer(seat_bot(game)) == (409, "game_full")


def test_the_last_seat_is_a_persons(site: Site) -> None:
    game = site.create("paulista", players=0, visibility="public")
    for _ in range(3):
        assert seat_bot(game).status_code == 201
    assert answer(seat_bot(game)) == (409, "game_full")
    assert answer(seat_bot(game, seat=3)) == (409, "game_full")
    assert game.joined() == 3
    assert game.view(3)["status"] == "playing"


def test_the_host_takes_a_bot_away_again(site: Site) -> None:
    game = site.create("mano-a-mano", players=0, visibility="public")
    seat_bot(game)
    assert game.leave(0, game.host_token).status_code == 204
    assert kinds(game) == ["open", "open"]


def test_seating_a_bot_twice_with_one_key_seats_one(any_site: Site) -> None:
    game = any_site.create("paulista", players=1, visibility="public")
    key = {"Idempotency-Key": "k" * 36}
    first, second = seat_bot(game, headers=key), seat_bot(game, headers=key)
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.headers["Idempotency-Replayed"] == "true"
    assert body_of(first)["seat"] == body_of(second)["seat"] == 1
    assert kinds(game) == ["human", "bot", "open", "open"]


def test_bots_and_people_who_sit_down_at_once(site: Site) -> None:
    store = MeetingStore.of(site)
    for _ in range(10):
        game = site.create("paulista", players=1, visibility="public")
        store.expect(3)
        answers = at_once(partial(seat_bot, game), game.join, partial(seat_bot, game, "hard"))
        assert [each.status_code for each in answers] == [201, 201, 201]
        assert sorted(body_of(each)["seat"] for each in answers) == [1, 2, 3]
        assert game.view(0)["status"] == "playing"
        assert sorted(kinds(game)) == ["bot", "bot", "human", "human"]


# ---- a mixed team ----


def mixed(site: Site, **order: Any) -> Started:
    """Ana and Caio are people, their partners are bots."""
    players = [{"name": "Ana"}, {"name": "Caio"}, bot(), bot()]
    return site.create("paulista", players=players, visibility="public", **order)


def test_in_a_mixed_team_the_person_answers(any_site: Site) -> None:
    game = mixed(any_site)
    game.put(table("paulista", HANDS, "4D").state)
    view = game.act(0, {"type": "raise", "to": 3})["game"]
    assert (view["hand"]["phase"], view["turn"]["seats"]) == ("answer", [1, 3])
    assert game.act(1, {"type": "accept"})["game"]["hand"]["value"] == 3


def test_in_a_mixed_team_the_person_decides_the_mao_de_onze(any_site: Site) -> None:
    game = mixed(any_site)
    game.put(table("paulista", HANDS, "4D", score=(11, 4)).state)
    view = game.view(0)
    assert (view["hand"]["phase"], view["turn"]["seats"]) == ("eleven", [0, 2])
    partner = view["seats"][2]["cards"]
    assert partner is not None
    assert game.act(0, {"type": "fold"})["game"]["last_hand"]["reason"] == "folded"


def test_of_a_team_of_bots_the_next_to_play_answers_at_once(any_site: Site) -> None:
    players = [{"name": "Ana"}, bot(), {"name": "Caio"}, bot("hard")]
    game = any_site.create("paulista", players=players, visibility="public")
    game.put(table("paulista", HANDS, "4D").plays("3C", "KD").state)
    acted = game.act(2, {"type": "raise", "to": 3})
    raised, answered = acted["events"][:2]
    assert (raised["type"], raised["seat"]) == ("raised", 2)
    assert answered["type"] in ("accepted", "folded", "raised")
    assert answered["seat"] == 3


# ---- standing in ----

TURN_SECONDS = 30


def timed(site: Site, **order: Any) -> Started:
    return site.create("mano-a-mano", visibility="public", turn_seconds=TURN_SECONDS, on_timeout="bot", **order)


def test_a_bot_stands_in_until_the_person_returns(any_site: Site, clock: Clock) -> None:
    game = timed(any_site)
    late = game.to_act()
    version = game.version
    let_run_out(game, clock)
    view = game.view(1 - late)
    assert view["version"] == version + 1
    seat = view["seats"][late]
    assert (seat["stand_in"], seat["kind"], seat["name"] is not None) == (True, "human", True)
    assert "stood_in" in event_types(game) and "timed_out" not in event_types(game)
    assert view["turn"]["seats"] == [1 - late], "the bot has acted"
    back = game.send("POST", f"/seats/{late}/return", token=game.tokens[late])
    assert back.status_code == 200
    assert (body_of(back)["seats"][late]["stand_in"], body_of(back)["version"]) == (False, version + 2)
    assert event_types(game)[-1] == "returned"
    again = game.send("POST", f"/seats/{late}/return", token=game.tokens[late])
    assert body_of(again)["version"] == version + 2, "nothing changes"


def test_returning_twice_with_one_key_is_one_return(any_site: Site, clock: Clock) -> None:
    game = timed(any_site)
    late = game.to_act()
    let_run_out(game, clock)
    key = {"Idempotency-Key": "one"}
    first = game.send("POST", f"/seats/{late}/return", token=game.tokens[late], headers=key)
    second = game.send("POST", f"/seats/{late}/return", token=game.tokens[late], headers=key)
    assert (first.status_code, second.status_code) == (200, 200)
    assert second.headers["Idempotency-Replayed"] == "true"
    assert body_of(first)["version"] == body_of(second)["version"]
    assert event_types(game).count("returned") == 1


def test_nobody_is_abandoned_and_an_empty_table_goes_on_by_the_clock(any_site: Site, clock: Clock) -> None:
    game = timed(any_site, rules={"target": 40})
    while not all(seat["stand_in"] for seat in game.view(None)["seats"]):
        let_run_out(game, clock)
    view = game.view(None)
    assert view["status"] == "playing"
    number = view["hand"]["number"]
    assert deadline(view) == ms(view["server_time"]) + 1000 * TURN_SECONDS
    let_run_out(game, clock)
    view = game.view(None)
    assert view["status"] == "finished" or view["hand"]["number"] == number + 1
    while game.view(None)["status"] == "playing":
        let_run_out(game, clock)
    assert check_record(game)["result"]["reason"] == "target"


def test_who_returns_to_an_empty_table_plays_on(any_site: Site, clock: Clock) -> None:
    game = timed(any_site, rules={"target": 40})
    while not all(seat["stand_in"] for seat in game.view(None)["seats"]):
        let_run_out(game, clock)
    back = game.send("POST", "/seats/0/return", token=game.tokens[0])
    assert back.status_code == 200
    view = body_of(back)
    assert [seat["stand_in"] for seat in view["seats"]] == [False, True]
    assert view["turn"]["seats"] == [0]


def test_an_action_of_ones_own_is_a_return(any_site: Site) -> None:
    """Where the stand-in has not acted yet: an answer that a team of two owes."""
    players = [{"name": name} for name in ("Ana", "Bia", "Caio", "Davi")]
    game = any_site.create(
        "paulista", players=players, visibility="public", turn_seconds=TURN_SECONDS, on_timeout="bot"
    )
    game.put(table("paulista", HANDS, "4D").state)
    game.act(0, {"type": "raise", "to": 3})
    stored = game.load()
    chairs = list(stored.chairs)
    chairs[1] = replace(chairs[1], bot="medium")
    game.change(chairs=tuple(chairs))
    acted = game.act(1, {"type": "accept"})
    assert [event["type"] for event in acted["events"]][:2] == ["returned", "accepted"]
    assert not acted["game"]["seats"][1]["stand_in"]


def test_both_who_owed_an_answer_are_stood_in_for(any_site: Site, clock: Clock) -> None:
    players = [{"name": name} for name in ("Ana", "Bia", "Caio", "Davi")]
    game = any_site.create(
        "paulista", players=players, visibility="public", turn_seconds=TURN_SECONDS, on_timeout="bot"
    )
    game.put(table("paulista", HANDS, "4D").state)
    game.act(0, {"type": "raise", "to": 3})
    let_run_out(game, clock)
    assert [seat["stand_in"] for seat in game.view(None)["seats"]] == [False, True, False, True]
    assert event_types(game).count("stood_in") == 2
    assert game.view(None)["turn"]["seats"] != [1, 3]


def test_a_bots_partner_who_lets_the_time_run_out_folds(any_site: Site, clock: Clock) -> None:
    """The time-out is the person's, not the bot's, though the bot's seat is the lower one."""
    players = [{"name": "Ana"}, bot(), {"name": "Caio"}, {"name": "Davi"}]
    game = any_site.create("paulista", players=players, visibility="public", turn_seconds=TURN_SECONDS)
    game.put(table("paulista", HANDS, "4D").state)
    game.act(0, {"type": "raise", "to": 3})
    let_run_out(game, clock)
    [late] = [event for event in game.events(limit=500)["events"] if event["type"] == "timed_out"]
    assert (late["seat"], late["data"]) == (3, {"acted": "fold"})


# ---- another game ----


def test_bots_stay_for_the_rematch(any_site: Site) -> None:
    game = against_bots(any_site, "mano-a-mano", 2)
    game.resign()
    joined = body_of(game.rematch(0))
    assert [seat["kind"] for seat in joined["game"]["seats"]] == ["human", "bot"]
    assert joined["game"]["status"] == "playing"


def test_the_host_puts_a_bot_on_the_seat_of_who_does_not_come(any_site: Site) -> None:
    game = any_site.create("mano-a-mano", visibility="public")
    game.resign()
    joined = body_of(game.rematch(0))
    following = Started(any_site, joined["game"]["id"], {0: joined["token"]}, game.host_token, None)
    assert kinds(following) == ["human", "reserved"]
    assert answer(seat_bot(following)) == (409, "game_full")
    assert seat_bot(following, seat=1).status_code == 201
    assert following.view(0)["status"] == "playing"
    assert answer(game.rematch(1)) == (409, "seat_taken")


# ---- dealing by hand ----


def test_bots_cut_and_deal(any_site: Site) -> None:
    cut, dealt = set[int](), set[int]()
    while not {1, 2, 3} <= cut & dealt:
        game = against_bots(any_site, "tradicional", 4, rules={"dealing": Dealing.CUT.value})
        while (view := game.view(0))["status"] == "playing":
            game.act(0, view["legal_actions"][0])
        for event in game.events(limit=500)["events"]:
            if event["type"] == "pack_cut":
                cut.add(event["seat"])
            if event["type"] == "hand_dealt":
                dealt.add(event["data"]["dealer"])
