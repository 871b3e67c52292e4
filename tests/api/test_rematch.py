"""The next game of the same people: one for all who ask, with their seats kept."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

import pytest

from service.__main__ import read_record
from service.dealer import SeededDealer
from service.engine.record import verify
from tests.api.driver import NAMES, Body, Clock, Site, Started, answer, at_once, body_of
from tests.table import table

REPETITIONS = 15


def finished(site: Site, variant: str = "mano-a-mano", **order: Any) -> Started:
    game = site.create(variant, **order)
    game.resign()
    return game


def called(game: Started, seat: int, following: Started | None = None) -> Started:
    """The next game after *seat* has asked for it, with its token."""
    response = game.rematch(seat)
    assert response.status_code == 201, response.get_data()
    joined = body_of(response)
    assert joined["seat"] == seat
    following = following or Started(game.site, joined["game"]["id"], {}, game.host_token, game.join_code)
    assert following.id == joined["game"]["id"]
    following.tokens[seat] = joined["token"]
    return following


def called_by_all(game: Started) -> Started:
    following = None
    for seat in game.tokens:
        following = called(game, seat, following)
    assert following is not None
    return following


def event_types(game: Started) -> list[str]:
    return [event["type"] for event in game.events(game.host_token)["events"]]


# ---- one next game ----


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_all_get_into_the_same_game_in_their_seats(any_site: Site, order: tuple[int, ...]) -> None:
    game = finished(any_site, "paulista")
    following = None
    for place, seat in enumerate(order):
        following = called(game, seat, following)
        view = following.view(seat)
        came = order[: place + 1]
        assert view["status"] == ("playing" if place == 3 else "lobby")
        assert [each["kind"] for each in view["seats"]] == [
            "human" if each in came else "reserved" for each in range(4)
        ]
        assert [each["presence"] for each in view["seats"]] == ["away" if each in came else None for each in range(4)]
        assert [each["name"] for each in view["seats"]] == list(NAMES[:4])
        assert view["viewer"] == {"seat": seat, "team": seat % 2}
        assert view["version"] == place + 2
    assert following is not None
    assert game.view(0)["rematch_id"] == following.id
    assert event_types(following)[:5] == ["seat_joined"] * 4 + ["game_started"]
    joined = [event for event in following.events(following.host_token)["events"] if event["type"] == "seat_joined"]
    assert [(event["seat"], event["data"]["name"]) for event in joined] == [(seat, NAMES[seat]) for seat in order]


def test_the_old_game_names_the_next_one_once(any_site: Site) -> None:
    game = finished(any_site, visibility="public")
    before = game.view(None)
    assert before["rematch_id"] is None
    following = called(game, 1)
    after = game.view(None)
    assert after == {**before, "version": before["version"] + 1, "rematch_id": following.id}
    last = game.events()["events"][-1]
    assert (last["type"], last["seat"], last["data"]) == ("rematch_created", None, {"id": following.id})
    called(game, 0, following)
    called(game, 1, following)
    assert game.view(None) == after
    assert game.get(None).headers["ETag"] == f'W/"v{after["version"]}-spec"'


@pytest.mark.usefixtures("_short_turns")
def test_however_many_ask_at_once(any_site: Site) -> None:
    for _ in range(REPETITIONS):
        game = finished(any_site, "mano-a-mano", visibility="public")
        responses = at_once(*[partial(game.rematch, seat) for seat in (0, 1, 0)])
        assert [response.status_code for response in responses] == [201] * 3
        joined = [body_of(response) for response in responses]
        next_id = game.view(0)["rematch_id"]
        assert {each["game"]["id"] for each in joined} == {next_id}
        assert event_types(game).count("rematch_created") == 1
        following = Started(any_site, next_id, {1: joined[1]["token"]}, game.host_token, None)
        assert following.view(1)["status"] == "playing"
        assert event_types(following)[:3] == ["seat_joined", "seat_joined", "game_started"]
        live = [following.get(each["token"]).status_code for each in (joined[0], joined[2])]
        assert sorted(live) == [200, 401], "of the two tokens of seat 0 the one given last"


# ---- what stays and what does not ----

ORDER: Body = {
    "visibility": "private",
    "rules": {"target": 15, "ladder": [1, 3]},
    "metadata": {"mesa": "7"},
    "turn_seconds": 30,
}


def test_what_stays_the_same(site: Site) -> None:
    game = finished(site, "paulista", seats=2, **ORDER)
    old, new = game.view(0), called_by_all(game).view(0)
    for name in ("variant", "rules", "metadata"):
        assert new[name] == old[name]
    assert answer(site.send("GET", f"/v1/games/{new['id']}")) == (401, "missing_token")
    assert new["score"] == {"teams": [0, 0], "target": 15, "leg": 1}
    assert new["turn"]["deadline"] > new["server_time"]


def test_what_is_new(site: Site, clock: Clock) -> None:
    game = finished(site)
    clock.now_ms += 5_000
    following = called_by_all(game)
    old, new = game.view(0), following.view(0)
    for name in ("id", "shuffle", "created_at"):
        assert new[name] != old[name]
    assert (new["result"], new["rematch_id"], new["last_hand"]) == (None, None, None)
    assert set(following.tokens.values()).isdisjoint(game.tokens.values())
    assert following.load().seed != game.load().seed


def test_two_games_have_different_next_games(site: Site) -> None:
    one, two = (called(finished(site), 0) for _ in range(2))
    assert one.id != two.id


@pytest.mark.parametrize("seats", [2, 4, 6])
def test_the_deal_passes_on(site: Site, seats: int) -> None:
    for dealer in range(seats):
        game = site.seated(table("paulista", seats=seats, dealer=dealer))
        game.resign()
        following = called_by_all(game)
        assert following.view(0)["hand"]["dealer"] == (dealer + 1) % seats
        [started] = [event for event in following.events()["events"] if event["type"] == "game_started"]
        assert started["data"] == {"first_dealer": (dealer + 1) % seats}


def test_the_deal_passes_on_from_the_last_hand_and_not_from_the_first(site: Site) -> None:
    game = site.create("mano-a-mano", visibility="public")
    while game.view(0)["hand"]["number"] < 4:
        game.step()
    dealer = game.view(0)["hand"]["dealer"]
    game.resign()
    assert called_by_all(game).view(0)["hand"]["dealer"] == 1 - dealer


def test_a_rematch_of_a_rematch(site: Site) -> None:
    game = finished(site)
    dealers = []
    for _ in range(4):
        game = called_by_all(game)
        dealers.append(game.view(0)["hand"]["dealer"])
        game.resign(1)
    assert dealers in ([0, 1, 0, 1], [1, 0, 1, 0])
    assert game.view(0)["result"] == {"winner": 0, "reason": "resigned"}


def test_the_hosts_token_and_the_join_code_are_good_in_the_next_game(any_site: Site) -> None:
    game = finished(any_site, "paulista")
    following = called(game, 2)
    assert following.host_token == game.host_token
    assert body_of(following.get(game.host_token))["status"] == "lobby"
    assert following.leave(3, game.host_token).status_code == 204
    assert answer(following.join(join_code="0" * 8)) == (403, "invalid_join_code")
    assert following.joined("Gil") == 3
    assert following.send("DELETE", "", token=game.host_token).status_code == 204


# ---- tokens ----


def test_each_call_gives_a_new_token_and_the_older_dies(any_site: Site) -> None:
    game = finished(any_site)
    following = called(game, 0)
    for version in (3, 4):
        older = following.tokens[0]
        called(game, 0, following)
        assert answer(following.get(older)) == (401, "invalid_token")
        assert following.view(0)["version"] == version
    assert event_types(following) == ["seat_joined"]


def test_a_token_can_be_renewed_in_the_middle_of_the_game(site: Site, clock: Clock) -> None:
    game = finished(site, turn_seconds=30)
    following = called_by_all(game)
    clock.now_ms += 5_000
    before, older = following.view(0), following.tokens[0]
    called(game, 0, following)
    after = following.view(0)
    assert answer(following.get(older)) == (401, "invalid_token")
    assert after["version"] == before["version"] + 1
    assert (after["hand"], after["seats"], after["turn"]) == (before["hand"], before["seats"], before["turn"])
    following.step()
    following.resign()
    called(game, 0, following)
    assert following.view(0)["status"] == "finished"


def test_a_token_of_the_old_game_does_not_open_the_next_one(any_site: Site) -> None:
    game = finished(any_site)
    following = called(game, 0)
    for token in game.tokens.values():
        assert answer(following.get(token)) == (401, "invalid_token")
        assert answer(following.leave(1, token)) == (401, "invalid_token")
    assert answer(game.get(following.tokens[0])) == (401, "invalid_token")


# ---- who may not ----


def test_before_the_end_there_is_none(any_site: Site) -> None:
    lobby, playing = any_site.create("paulista", 1), any_site.create()
    assert answer(lobby.rematch(0)) == (409, "game_not_started")
    assert answer(playing.rematch(0)) == (409, "game_not_finished")
    assert playing.view(0)["rematch_id"] is None


@pytest.mark.parametrize("visibility", ["private", "public"])
def test_only_a_seat_may_ask(any_site: Site, visibility: str) -> None:
    game, other = finished(any_site, visibility=visibility), finished(any_site)
    for token, refusal in (
        (None, (401, "missing_token")),
        ("x" * 43, (401, "invalid_token")),
        (other.tokens[0], (401, "invalid_token")),
        (game.host_token, (403, "wrong_seat")),
    ):
        assert answer(game.send("POST", "/rematch", token=token)) == refusal
    assert game.view(0)["rematch_id"] is None


def test_it_takes_no_body(site: Site) -> None:
    game = finished(site)
    assert answer(game.rematch(0, json={"name": "Ana"})) == (422, "validation_failed")
    assert answer(game.rematch(0, json=[])) == (422, "validation_failed")
    assert answer(game.rematch(0, data=b"{", content_type="application/json")) == (400, "malformed_json")
    assert game.view(0)["rematch_id"] is None
    assert game.rematch(0, json={}).status_code == 201


# ---- seats that are given away ----


def test_a_reserved_seat_cannot_be_taken(any_site: Site) -> None:
    game = finished(any_site, "paulista", visibility="public")
    following = called(game, 0)
    assert answer(following.join()) == (409, "game_full")
    assert answer(following.join(seat=2)) == (409, "game_full")
    assert following.leave(1, following.host_token).status_code == 204
    assert answer(following.join(seat=2)) == (409, "seat_taken")
    assert following.view(0)["version"] == 3


def test_the_host_gives_a_reserved_seat_to_somebody_else(any_site: Site) -> None:
    game = finished(any_site, "paulista")
    following = called(game, 0)
    assert following.leave(2, following.host_token).status_code == 204
    seat = following.view(0)["seats"][2]
    assert (seat["kind"], seat["name"], seat["presence"]) == ("open", None, None)
    assert answer(game.rematch(2)) == (409, "seat_taken")
    assert following.joined("Gil") == 2
    assert answer(game.rematch(2)) == (409, "seat_taken")
    for seat_to_come in (1, 3):
        called(game, seat_to_come, following)
    assert following.view(2)["status"] == "playing"
    assert [each["name"] for each in following.view(2)["seats"]] == ["Ana", "Bia", "Gil", "Davi"]
    assert answer(game.rematch(2)) == (409, "seat_taken")
    assert "seat_left" in event_types(following)


def test_who_leaves_the_next_game_does_not_come_back_by_asking(any_site: Site) -> None:
    game = finished(any_site, "paulista")
    following = called(game, 0)
    assert following.leave(0, following.tokens[0]).status_code == 204
    assert answer(game.rematch(0)) == (409, "seat_taken")
    called(game, 1, following)
    assert following.view(1)["seats"][0]["kind"] == "open"
    assert following.joined("Ana") == 0


def test_a_seat_that_joined_the_next_game_is_its_own_in_the_one_after(site: Site) -> None:
    game = finished(site)
    following = called(game, 0)
    following.leave(1, following.host_token)
    following.joined("Gil")
    following.resign()
    third = called_by_all(following)
    assert [seat["name"] for seat in third.view(1)["seats"]] == ["Ana", "Gil"]
    assert answer(following.rematch(0)) == (201, None)
    assert answer(following.send("POST", "/rematch", token=game.tokens[1])) == (401, "invalid_token")


def test_the_next_game_was_cancelled(any_site: Site) -> None:
    game = finished(any_site, "paulista")
    following = called(game, 0)
    assert following.send("DELETE", "", token=game.host_token).status_code == 204
    for seat in (0, 1):
        assert answer(game.rematch(seat)) == (404, "game_not_found")
    assert game.view(0)["rematch_id"] == following.id
    assert answer(following.get(following.tokens[0])) == (404, "game_not_found")


# ---- lists and records ----


def test_the_next_game_is_listed_like_any_other(site: Site) -> None:
    game, private = finished(site, "paulista", visibility="public", turn_seconds=45), finished(site, "paulista")
    following = called(game, 1)
    called(private, 1)
    [listed] = site.get("/v1/games")["games"]
    assert (listed["id"], listed["turn_seconds"]) == (following.id, 45)
    assert listed["seats"] == [
        {"seat": seat, "name": NAMES[seat], "kind": "human" if seat == 1 else "reserved"} for seat in range(4)
    ]
    for seat in (0, 2, 3):
        called(game, seat, following)
    assert site.get("/v1/games")["games"] == []
    assert [each["id"] for each in site.get("/v1/games?status=playing")["games"]] == [following.id]


def record(game: Started, media: str) -> bytes:
    response = game.send("GET", "/record", token=game.tokens[0], headers={"Accept": media})
    assert response.status_code == 200
    return response.get_data()


def test_the_record_of_a_rematch_can_be_checked(site: Site) -> None:
    game = site.create("mano-a-mano", rules={"target": 2, "ladder": [1, 2]})
    dealers: list[int] = []
    for number in range(3):
        dealer = game.view(0)["hand"]["dealer"]
        while game.view(0)["status"] == "playing":
            dealer = game.view(0)["hand"]["dealer"]
            game.step()
        for media in ("application/json", "text/plain"):
            read = read_record(record(game, media))
            assert verify(read, SeededDealer()) is None
            assert (read.id, read.rematch) == (game.id, number > 0)
            assert not dealers or read.first_dealer == 1 - dealers[-1]
        dealers.append(dealer)
        game = called_by_all(game)


def test_a_record_says_whether_it_is_of_a_rematch(site: Site) -> None:
    game = finished(site)
    following = called_by_all(game)
    following.resign()
    assert [body_of(each.send("GET", "/record", token=each.tokens[0]))["rematch"] for each in (game, following)] == [
        False,
        True,
    ]


def test_a_first_dealer_out_of_turn_is_found_unless_it_is_a_rematch(site: Site) -> None:
    """In a rematch the seed does not say who deals first; else it does."""
    game = finished(site)
    read = read_record(record(game, "application/json"))
    assert verify(replace(read, first_dealer=1 - read.first_dealer), SeededDealer()) is not None


@pytest.mark.parametrize("variant", ["paulista", "mineiro", "simples"])
def test_a_rematch_is_played_like_any_game(site: Site, variant: str) -> None:
    following = called_by_all(finished(site, variant))
    seats = cycle(following.tokens)
    for _ in range(8):
        assert following.view(next(seats))["status"] == "playing"
        following.step()
