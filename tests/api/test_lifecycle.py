"""A game from its creation to its end: create, join, leave, cancel, and who may do it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from service.engine.rules import PRESETS, to_plain
from service.settings import Settings
from tests.api.conftest import make_site
from tests.api.driver import NAMES, Body, Clock, Site, answer, body_of, pointers

# ---- create ----


def create(site: Site, **order: Any) -> tuple[int, Body]:
    response = site.send("POST", "/v1/games", {"variant": "paulista", **order})
    return response.status_code, body_of(response)


def test_a_game_of_named_players_starts_at_once(site: Site) -> None:
    status, created = create(site, players=[{"name": name} for name in NAMES[:4]])
    game = created["game"]
    assert (status, game["status"], game["version"], game["hand"]["number"]) == (201, "playing", 1, 1)
    assert [seat["name"] for seat in game["seats"]] == list(NAMES[:4])
    assert [seat["seat"] for seat in created["seats"]] == [0, 1, 2, 3]
    assert len({created["host_token"], *(seat["token"] for seat in created["seats"])}) == 5
    assert game["viewer"] == {"seat": None, "team": None}
    assert game["legal_actions"] == []
    assert all(seat["cards"] is None and seat["cards_left"] == 3 for seat in game["seats"])


def test_where_the_game_is(site: Site) -> None:
    response = site.send("POST", "/v1/games", {"variant": "simples"})
    game = body_of(response)["game"]
    assert response.headers["Location"] == f"/v1/games/{game['id']}"
    assert response.headers["ETag"] == 'W/"v1-spec"'
    assert re.fullmatch("[0-9a-hjkmnp-tv-z]{26}", game["id"])


def test_a_lobby_shows_an_empty_table(site: Site) -> None:
    status, created = create(site, players=[{"name": "Ana"}, None, {"name": "Caio"}])
    game = created["game"]
    assert (status, game["status"]) == (201, "lobby")
    assert [seat["kind"] for seat in game["seats"]] == ["human", "open", "human", "open"]
    assert [seat["name"] for seat in game["seats"]] == ["Ana", None, "Caio", None]
    assert [seat["seat"] for seat in created["seats"]] == [0, 2]
    assert {(seat["cards_left"], seat["cards"]) for seat in game["seats"]} == {(0, None)}
    assert [game[name] for name in ("hand", "turn", "last_hand", "result")] == [None] * 4
    assert game["score"] == {"teams": [0, 0], "target": 12, "leg": 1}
    assert game["legal_actions"] == []


@pytest.mark.parametrize("players", [None, [], [None], [None] * 4])
def test_a_game_may_begin_with_nobody(site: Site, players: list[None] | None) -> None:
    status, created = create(site, **({} if players is None else {"players": players}))
    assert (status, created["seats"], created["game"]["status"]) == (201, [], "lobby")


@pytest.mark.parametrize("variant", PRESETS)
def test_the_seats_are_the_variants_unless_asked_for(site: Site, variant: str) -> None:
    assert len(create(site, variant=variant)[1]["game"]["seats"]) == PRESETS[variant].rules.seats
    for seats in (2, 4, 6):
        _, created = create(site, variant=variant, seats=seats)
        assert [seat["team"] for seat in created["game"]["seats"]] == [0, 1] * (seats // 2)
        assert created["game"]["rules"] == {**to_plain(PRESETS[variant].rules), "seats": seats}


def test_a_private_game_has_a_join_code_and_a_public_one_none(site: Site) -> None:
    assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{8}", create(site)[1]["join_code"])
    assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{8}", create(site, visibility="private")[1]["join_code"])
    assert create(site, visibility="public")[1]["join_code"] is None


def test_metadata_is_in_every_view(site: Site) -> None:
    game = site.create("simples", 1, visibility="public", metadata={"mesa": "cozinha", "ç": "ã"})
    for token in (None, game.host_token, game.tokens[0]):
        assert body_of(game.get(token))["metadata"] == {"mesa": "cozinha", "ç": "ã"}
    assert site.create("simples").view(0)["metadata"] == {}


def test_no_token_is_stored(site: Site) -> None:
    game = site.create("paulista")
    stored = repr(site.stored())
    assert not [token for token in (*game.tokens.values(), game.host_token) if token in stored]


HOUSE_RULES: list[Body] = [
    {"all_tied": "nobody"},
    {"ladder": [1, 2], "target": 2},
    {"ladder": [1, 2, 3, 4, 5, 6, 7, 99], "target": 99},
    {"manilhas": ["4C", "7H", "AS", "7D"], "iron_cards": "blind"},
    {"manilhas": "vira", "covered_from_trick": None},
    {"deck": "spanish40", "manilhas": ["4C", "7H", "1S", "7D"], "covered_from_trick": 3},
    {"legs": 2, "target": 24, "raise_timing": "any_time", "tie_leader": "last_tied", "dealing": "cut"},
    {"eleven_decision": False, "eleven_partner_cards": False, "eleven_show": True},
    {"eleven_raise": "lose_game", "eleven_all_tied": "opponents", "iron_raise": "lose_points"},
    {"iron_cards": "blind_hidden_vira"},
]


@pytest.mark.parametrize("rules", HOUSE_RULES, ids=str)
def test_house_rules_override_single_fields(site: Site, rules: Body) -> None:
    status, created = create(site, rules=rules)
    assert status == 201
    assert created["game"]["rules"] == {**to_plain(PRESETS["paulista"].rules), **rules}


UNPLAYABLE: list[tuple[Body, str]] = [
    ({"manilhas": ["4C", "7H", "AS"]}, "manilhas"),
    ({"manilhas": ["4C", "7H", "AS", "7D", "QC"]}, "manilhas"),
    ({"manilhas": []}, "manilhas"),
    ({"manilhas": ["4C", "4C", "AS", "7D"]}, "manilhas"),
    ({"manilhas": ["4C", "7H", "1S", "7D"]}, "manilhas"),
    ({"manilhas": ["4C", "7H", "AS", "9Z"]}, "manilhas"),
    ({"manilhas": ["4C", "7H", "AS", "7D"], "deck": "french24"}, "manilhas"),
    ({"manilhas": ["4C", "7H", "AS", "7D"], "iron_cards": "blind_hidden_vira"}, "manilhas iron_cards"),
    ({"ladder": [1, 3, 3]}, "ladder"),
    ({"ladder": [3, 1]}, "ladder"),
    ({"ladder": [1]}, "ladder"),
    ({"ladder": []}, "ladder"),
    ({"ladder": [1, 2, 3, 4, 5, 6, 7, 8, 9]}, "ladder"),
    ({"ladder": [0, 3]}, "ladder"),
    ({"ladder": [-1, 3]}, "ladder"),
    ({"ladder": [1, 100]}, "ladder"),
    ({"target": 1}, "target"),
    ({"target": 0}, "target"),
    ({"target": -12}, "target"),
    ({"target": 100}, "target"),
    ({"ladder": [12, 13]}, "target"),
    ({"legs": 2, "target": 13}, "legs target"),
    ({"legs": 2, "target": 101, "ladder": [2, 2]}, "legs target ladder"),
]


@pytest.mark.parametrize(("rules", "named"), UNPLAYABLE, ids=str)
def test_rules_that_nobody_can_play_are_refused_by_name(site: Site, rules: Body, named: str) -> None:
    response = site.send("POST", "/v1/games", {"variant": "paulista", "rules": rules})
    assert answer(response) == (422, "unplayable_rules")
    assert set(pointers(response)) == {f"/rules/{name}" for name in named.split()}
    assert site.stored() == {}


def test_more_players_than_seats_are_refused(site: Site) -> None:
    response = site.send("POST", "/v1/games", {"variant": "simples", "seats": 2, "players": [{"name": "Ana"}] * 3})
    assert answer(response) == (422, "validation_failed")
    assert pointers(response) == ["/players"]
    assert site.stored() == {}


# ---- API keys ----


def test_with_api_keys_set_only_creating_needs_one(clock: Clock) -> None:
    site = make_site(Settings(api_keys={"chave-um": "um", "chave-dois": "dois"}), clock)
    order = {"variant": "mano-a-mano", "players": [{"name": "Ana"}], "visibility": "public"}

    def create_with(key: str | None) -> tuple[int, str | None]:
        return answer(site.send("POST", "/v1/games", order, headers={} if key is None else {"X-API-Key": key}))

    assert create_with(None) == (401, "missing_token")
    assert create_with("chave") == (401, "invalid_token")
    assert create_with("") == (401, "invalid_token")
    assert create_with("chavé-um") == (401, "invalid_token")
    assert site.stored() == {}
    assert create_with("chave-um") == create_with("chave-dois") == (201, None)
    (listed, _) = site.get("/v1/games")["games"]
    assert answer(site.send("POST", f"/v1/games/{listed['id']}/seats", {"name": "Bia"})) == (201, None)


def test_without_api_keys_a_key_is_ignored(site: Site) -> None:
    response = site.send("POST", "/v1/games", {"variant": "simples"}, headers={"X-API-Key": "any"})
    assert answer(response) == (201, None)


def test_a_wrong_api_key_comes_before_a_wrong_body(clock: Clock) -> None:
    site = make_site(Settings(api_keys={"chave": "chave"}), clock)
    assert answer(site.send("POST", "/v1/games", {"wrong": 1})) == (401, "missing_token")
    wrong_body = site.send("POST", "/v1/games", {"wrong": 1}, headers={"X-API-Key": "chave"})
    assert answer(wrong_body) == (422, "validation_failed")


# ---- join ----


def test_joining_takes_the_lowest_open_seat(site: Site) -> None:
    game = site.create("paulista", 0)
    assert game.joined("Ana", 1) == 1
    assert [game.joined(name) for name in ("Bia", "Caio")] == [0, 2]
    assert [seat["name"] for seat in game.view(0)["seats"]] == ["Bia", "Ana", "Caio", None]
    assert game.view(0)["status"] == "lobby"


def test_the_last_one_to_join_starts_the_game(site: Site) -> None:
    game = site.create("paulista", 3)
    response = game.join("Gil")
    joined = body_of(response)
    assert response.status_code == 201
    assert response.headers["ETag"] == 'W/"v2-s3"'
    view = joined["game"]
    assert (joined["seat"], view["status"], view["version"]) == (3, "playing", 2)
    assert view["viewer"] == {"seat": 3, "team": 1}
    assert [card["slot"] for card in view["seats"][3]["cards"]] == [0, 1, 2]
    types = [event["type"] for event in game.events(game.host_token)["events"]]
    assert types == ["seat_joined"] * 4 + ["game_started", "hand_dealt", "vira_shown"]
    game.tokens[3] = joined["token"]
    assert game.view(3) == {**view, "server_time": game.view(3)["server_time"]}


def test_a_seat_can_be_named(site: Site) -> None:
    game = site.create("paulista", 1)
    assert game.joined("Caio", 2) == 2
    assert answer(game.join("Davi", 2)) == (409, "seat_taken")
    assert answer(game.join("Davi", 0)) == (409, "seat_taken")
    wrong = game.join("Davi", 4)
    assert (answer(wrong), pointers(wrong)) == ((422, "validation_failed"), ["/seat"])
    assert game.joined("Davi", 3) == 3


@pytest.mark.parametrize("seat", [None, 0, 1])
def test_a_full_game_is_full_before_and_after_its_end(site: Site, seat: int | None) -> None:
    game = site.create("mano-a-mano")
    assert answer(game.join("Gil", seat)) == (409, "game_full")
    game.resign()
    assert answer(game.join("Gil", seat)) == (409, "game_full")


@pytest.mark.parametrize("written", ["01AB00Z1", "01ab00z1", "OIAB0OZL", "oiabo0zl", "o1Ab0OzI"])
def test_a_join_code_is_read_as_people_write_it(site: Site, written: str) -> None:
    game = site.create("simples", 1)
    game.change(join_code="01AB00Z1")
    assert answer(game.join("Gil", join_code=written)) == (201, None)


@pytest.mark.parametrize("code", [None, "00000000", "ZZZZZZZZ"])
def test_a_private_game_is_joined_with_its_code_only(site: Site, code: str | None) -> None:
    game = site.create("simples", 1)
    wish = {"name": "Gil", **({} if code is None else {"join_code": code})}
    assert answer(game.send("POST", "/seats", wish)) == (403, "invalid_join_code")
    assert answer(game.send("POST", "/seats", wish, game.host_token)) == (403, "invalid_join_code")
    assert game.version == 1


def test_the_join_code_of_another_game_is_wrong(site: Site) -> None:
    game, other = site.create("simples", 1), site.create("simples", 1)
    assert answer(game.join("Gil", join_code=other.join_code)) == (403, "invalid_join_code")


def test_a_wrong_join_code_learns_nothing_of_the_seats(site: Site) -> None:
    full = site.create("mano-a-mano")
    assert answer(full.join("Gil", join_code="00000000")) == (403, "invalid_join_code")
    assert answer(full.join("Gil", 5, join_code="00000000")) == (403, "invalid_join_code")


@pytest.mark.parametrize("code", ["00000000", "abcdefgh"])
def test_a_public_game_ignores_the_join_code(site: Site, code: str) -> None:
    game = site.create("simples", 1, visibility="public")
    assert answer(game.join("Gil", join_code=code)) == (201, None)


def test_a_token_sent_with_a_join_must_be_right(site: Site) -> None:
    game, other = site.create("simples", 1, visibility="public"), site.create("simples", 1)
    assert answer(game.send("POST", "/seats", {"name": "Gil"}, other.tokens[0])) == (401, "invalid_token")
    assert answer(game.send("POST", "/seats", {"name": "Gil"}, game.tokens[0])) == (201, None)
    assert answer(game.send("POST", "/seats", {"name": "Hugo"}, game.host_token)) == (201, None)


# ---- leave ----


def test_leaving_a_lobby_opens_the_seat(site: Site) -> None:
    game = site.create("paulista", 2, visibility="public")
    left = game.leave(1, game.tokens[1])
    assert (left.status_code, left.get_data()) == (204, b"")
    view = game.view(0)
    assert (view["version"], view["seats"][1]["kind"], view["seats"][1]["name"]) == (2, "open", None)
    last = game.events()["events"][-1]
    assert (last["type"], last["seat"], last["data"]) == ("seat_left", 1, {})


def test_the_token_of_a_left_seat_is_dead_but_for_leaving_again(site: Site) -> None:
    game = site.create("paulista", 2, visibility="public")
    token = game.tokens[1]
    assert game.leave(1, token).status_code == 204
    for method, below, body in (
        ("GET", "", None),
        ("GET", "/events", None),
        ("GET", "/record", None),
        ("POST", "/actions", {"type": "resign", "expected_version": 2}),
        ("POST", "/seats", {"name": "Gil"}),
        ("DELETE", "", None),
        ("DELETE", "/seats/0", None),
    ):
        assert answer(game.send(method, below, body, token)) == (401, "invalid_token")
    assert [game.leave(1, token).status_code for _ in range(3)] == [204] * 3
    assert game.version == 2
    assert game.joined("Gil", 1) == 1
    assert answer(game.leave(1, token)) == (401, "invalid_token")
    assert game.view(1)["seats"][1]["name"] == "Gil"


def test_the_host_frees_any_seat_of_a_lobby(site: Site) -> None:
    game = site.create("paulista", 3)
    assert game.leave(2, game.host_token).status_code == 204
    assert game.leave(2, game.host_token).status_code == 204
    assert game.leave(3, game.host_token).status_code == 204
    assert (game.version, [seat["kind"] for seat in game.view(0)["seats"]]) == (2, ["human", "human", "open", "open"])
    assert answer(game.get(game.tokens[2])) == (401, "invalid_token")
    assert game.leave(2, game.tokens[2]).status_code == 204


def test_nobody_else_leaves_for_a_seat(site: Site) -> None:
    game, other = site.create("paulista", 2, visibility="public"), site.create("paulista", 2)
    assert answer(game.leave(1, game.tokens[0])) == (403, "wrong_seat")
    assert answer(game.leave(1, None)) == (401, "missing_token")
    assert answer(game.leave(1, other.tokens[1])) == (401, "invalid_token")
    assert answer(game.leave(1, other.host_token)) == (401, "invalid_token")
    assert game.version == 1


def test_a_seat_that_the_game_does_not_have_is_not_found(site: Site) -> None:
    game = site.create("mano-a-mano", 1)
    for seat in ("2", "5", "6", "-1", "01", "1.0", "x", "١", "%20", "0 ", ""):
        response = game.send("DELETE", f"/seats/{seat}", token=game.host_token)
        assert answer(response) in ((404, "not_found"), (405, "method_not_allowed")), seat
    assert game.version == 1


def test_leaving_after_the_start_resigns_for_the_team(site: Site) -> None:
    game = site.create("paulista", visibility="public")
    assert answer(game.leave(1, game.host_token)) == (403, "wrong_seat")
    assert answer(game.leave(1, game.tokens[3])) == (403, "wrong_seat")
    assert game.leave(3, game.tokens[3]).status_code == 204
    view = game.view(3)
    assert (view["status"], view["result"]) == ("finished", {"winner": 0, "reason": "resigned"})
    assert [seat["kind"] for seat in view["seats"]] == ["human"] * 4
    assert [event["type"] for event in game.events()["events"][-2:]] == ["resigned", "game_won"]


def test_leaving_after_the_end_does_not_flip_the_winner(site: Site) -> None:
    game = site.create("paulista", visibility="public")
    assert game.leave(3, game.tokens[3]).status_code == 204
    for seat in range(4):
        assert answer(game.leave(seat, game.tokens[seat])) == (409, "game_finished")
    assert answer(game.leave(0, game.host_token)) == (403, "wrong_seat")
    assert game.view(0)["result"] == {"winner": 0, "reason": "resigned"}
    assert game.version == 2


def test_an_empty_object_may_go_with_a_delete(site: Site) -> None:
    game = site.create("paulista", 2)
    assert game.send("DELETE", "/seats/1", {}, game.tokens[1]).status_code == 204
    assert game.send("DELETE", "", {}, game.host_token).status_code == 204


# ---- cancel ----


def test_the_host_cancels_a_lobby_and_then_it_never_was(any_site: Site) -> None:
    game = any_site.create("paulista", 2, visibility="public")
    cancelled = game.send("DELETE", "", token=game.host_token)
    assert (cancelled.status_code, cancelled.get_data()) == (204, b"")
    for method, below, body in (
        ("GET", "", None),
        ("GET", "/events", None),
        ("GET", "/record", None),
        ("DELETE", "", None),
        ("DELETE", "/seats/0", None),
        ("POST", "/seats", {"name": "Gil"}),
        ("POST", "/actions", {"type": "resign", "expected_version": 1}),
    ):
        for token in (None, game.host_token, game.tokens[0]):
            assert answer(game.send(method, below, body, token)) == (404, "game_not_found")
    assert any_site.get("/v1/games")["games"] == []
    assert any_site.stored() == {}


def test_only_the_host_cancels(site: Site) -> None:
    game, other = site.create("paulista", 2, visibility="public"), site.create("paulista", 2)
    assert answer(game.send("DELETE", "")) == (401, "missing_token")
    assert answer(game.send("DELETE", "", token=game.tokens[0])) == (403, "wrong_seat")
    assert answer(game.send("DELETE", "", token=other.host_token)) == (401, "invalid_token")
    assert game.view(0)["version"] == 1


def test_a_started_game_is_not_cancelled(site: Site) -> None:
    game = site.create("mano-a-mano")
    assert answer(game.send("DELETE", "", token=game.host_token)) == (409, "game_started")
    game.resign()
    assert answer(game.send("DELETE", "", token=game.host_token)) == (409, "game_started")
    assert game.view(0)["status"] == "finished"


# ---- how long it lives ----


def test_a_game_lives_as_long_as_it_is_played(clock: Clock) -> None:
    site = make_site(Settings(lobby_ttl_seconds=100, game_ttl_seconds=200, finished_ttl_seconds=300), clock)
    game = site.create("mano-a-mano", 1, metadata={"mesa": "1"})

    def lives() -> set[int]:
        return {site.redis.ttl(key) for key in site.redis.keys("truco:{*")}

    assert lives() == {100}
    game.joined("Bia")
    assert lives() == {200}
    for key in site.redis.keys("truco:{*"):
        site.redis.expire(key, 50)
    seat = game.to_act()
    game.act(seat, game.view(seat)["legal_actions"][0])
    assert lives() == {200}
    game.view(0)
    game.resign()
    assert lives() == {300}
