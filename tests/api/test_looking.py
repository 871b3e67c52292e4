"""Reading a game: its view and ETag, the list of games, the events, the record; and the variants."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from werkzeug.test import TestResponse

from service.dealer import SeededDealer
from service.engine.record import from_json, from_text, verify
from service.engine.rules import PRESETS
from service.settings import Settings
from tests.api.conftest import make_site
from tests.api.driver import Body, Clock, Site, Started, answer, bearer, body_of

STRANGE_TOKEN = "A" * 43


# ---- who sees what ----


def test_each_token_opens_its_own_view(site: Site) -> None:
    game = site.create("paulista", visibility="public")
    for seat, token in game.tokens.items():
        view = body_of(game.get(token))
        assert view["viewer"] == {"seat": seat, "team": seat % 2}
        assert [other["seat"] for other in view["seats"] if other["cards"] is not None] == [seat]
    for token in (None, game.host_token):
        view = body_of(game.get(token))
        assert view["viewer"] == {"seat": None, "team": None}
        assert all(seat["cards"] is None for seat in view["seats"])
        assert view["legal_actions"] == []


@pytest.mark.parametrize("players", [1, 4])
def test_a_private_game_shows_itself_to_its_tokens_only(site: Site, players: int) -> None:
    game = site.create("paulista", players)
    for below in ("", "/events"):
        assert answer(game.send("GET", below)) == (401, "missing_token")
        assert game.send("GET", below, token=game.host_token).status_code == 200
        assert game.send("GET", below, token=game.tokens[0]).status_code == 200


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_a_token_of_no_game_or_another_is_refused_everywhere(site: Site, visibility: str) -> None:
    game, other = site.create("mano-a-mano", visibility=visibility), site.create("mano-a-mano")
    act = {"type": "resign", "expected_version": 1}
    for token in (STRANGE_TOKEN, other.tokens[0], other.host_token):
        for method, below, body in (
            ("GET", "", None),
            ("GET", "/events", None),
            ("GET", "/record", None),
            ("POST", "/actions", act),
            ("POST", "/seats", {"name": "Gil"}),
            ("DELETE", "", None),
            ("DELETE", "/seats/0", None),
        ):
            response = game.send(method, below, body, token)
            assert answer(response) == (401, "invalid_token")
            assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert game.view(0)["version"] == other.view(0)["version"] == 1


# ---- ETag ----


def conditional(game: Started, token: str | None, tags: str) -> int:
    response = game.get(token, headers={**bearer(token), "If-None-Match": tags})
    if response.status_code == 304:
        assert response.get_data() == b""
        assert response.headers["ETag"] == game.get(token).headers["ETag"]
        assert response.headers["Cache-Control"] == "private, no-cache"
        assert response.headers["Vary"] == "Authorization"
    return response.status_code


def test_the_etag_is_the_version_and_who_looks(site: Site) -> None:
    game = site.create("mano-a-mano", visibility="public")
    tags = {game.get(token).headers["ETag"] for token in (None, game.host_token, *game.tokens.values())}
    assert tags == {'W/"v1-spec"', 'W/"v1-host"', 'W/"v1-s0"', 'W/"v1-s1"'}
    seat = game.to_act()
    acted = game.post(seat, game.view(seat)["legal_actions"][0])
    assert acted.headers["ETag"] == game.get(game.tokens[seat]).headers["ETag"] == f'W/"v2-s{seat}"'


@pytest.mark.parametrize(
    ("tags", "status"),
    [
        ('W/"v1-s0"', 304),
        ('"v1-s0"', 304),
        ("*", 304),
        ('W/"v7-s3", "x", W/"v1-s0"', 304),
        ('W/"v1-s1"', 200),
        ('W/"v1-spec"', 200),
        ('W/"v1-host"', 200),
        ('W/"v2-s0"', 200),
        ('W/"v1-s00"', 200),
        ("v1-s", 200),
        ("", 200),
        ('"', 200),
    ],
)
def test_if_none_match(site: Site, tags: str, status: int) -> None:
    game = site.create("mano-a-mano", visibility="public")
    assert conditional(game, game.tokens[0], tags) == status


def test_a_304_ends_when_the_game_moves_on(site: Site, clock: Clock) -> None:
    game = site.create("mano-a-mano", visibility="public")
    tags = {token: game.get(token).headers["ETag"] for token in (None, game.host_token, *game.tokens.values())}
    clock.now_ms += 60_000
    assert {conditional(game, token, tag) for token, tag in tags.items()} == {304}
    seat = game.to_act()
    game.act(seat, game.view(seat)["legal_actions"][0])
    assert {conditional(game, token, tag) for token, tag in tags.items()} == {200}


def test_a_304_needs_the_right_token_first(site: Site) -> None:
    game = site.create("mano-a-mano")
    tag = {"If-None-Match": "*"}
    assert answer(game.get(None, headers=tag)) == (401, "missing_token")
    assert answer(game.get(STRANGE_TOKEN, headers={**bearer(STRANGE_TOKEN), **tag})) == (401, "invalid_token")


def test_only_server_time_moves_under_one_etag(site: Site, clock: Clock) -> None:
    game = site.create("mano-a-mano")
    before = game.view(0)
    clock.now_ms += 1_001
    after = game.view(0)
    assert (before["server_time"], after["server_time"]) == ("2027-01-15T08:00:00.123Z", "2027-01-15T08:00:01.124Z")
    assert {**before, "server_time": ""} == {**after, "server_time": ""}


# ---- the list ----


def listed(site: Site, **query: Any) -> list[str]:
    return [game["id"] for game in site.get("/v1/games", query_string=query)["games"]]


def pages(site: Site, **query: Any) -> list[list[str]]:
    """All pages that follow each other."""
    found: list[list[str]] = []
    cursor: str | None = None
    while True:
        page = site.get("/v1/games", query_string={**query, **({} if cursor is None else {"cursor": cursor})})
        found.append([game["id"] for game in page["games"]])
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def test_the_list_shows_public_lobbies_newest_first(any_site: Site, clock: Clock) -> None:
    ids = []
    for _ in range(3):
        clock.now_ms += 10
        ids.append(any_site.create("simples", 1, visibility="public").id)
        any_site.create("simples", 1, visibility="private")
    any_site.create("mano-a-mano", visibility="public")
    assert listed(any_site) == ids[::-1]
    (newest, *_) = any_site.get("/v1/games")["games"]
    assert newest == {
        "id": ids[-1],
        "variant": "simples",
        "status": "lobby",
        "seats": [{"seat": 0, "name": "Ana", "kind": "human"}]
        + [{"seat": seat, "name": None, "kind": "open"} for seat in (1, 2, 3)],
        "turn_seconds": None,
        "created_at": "2027-01-15T08:00:00.153Z",
    }


def test_a_game_moves_from_list_to_list_as_its_status_does(any_site: Site) -> None:
    game = any_site.create("mano-a-mano", 1, visibility="public")

    def where() -> list[str]:
        return [status for status in ("lobby", "playing", "finished") if game.id in listed(any_site, status=status)]

    assert where() == ["lobby"]
    game.joined("Bia")
    assert where() == ["playing"]
    game.resign()
    assert where() == ["finished"]
    assert any_site.get("/v1/games?status=finished")["games"][0]["status"] == "finished"


def test_the_list_filters_by_variant(any_site: Site) -> None:
    games = {variant: any_site.create(variant, 1, visibility="public").id for variant in PRESETS}
    assert sorted(listed(any_site)) == sorted(games.values())
    for variant, game_id in games.items():
        assert listed(any_site, variant=variant) == [game_id]
        assert listed(any_site, variant=variant, status="playing") == []


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 24, 25, 26, 100])
def test_pages_follow_each_other_without_gap_or_repetition(any_site: Site, clock: Clock, limit: int) -> None:
    ids = []
    for number in range(25):
        clock.now_ms += number % 2  # some are created in the same millisecond
        ids.append(any_site.create("simples", 1, visibility="public").id)
        any_site.create("paulista", 1, visibility="public")
    found = pages(any_site, limit=limit, variant="simples")
    assert sorted(game_id for page in found for game_id in page) == sorted(ids)
    assert all(len(page) == limit for page in found[:-1])
    assert 0 < len(found[-1]) <= limit
    times = [any_site.get(f"/v1/games/{game_id}")["created_at"] for page in found for game_id in page]
    assert times == sorted(times, reverse=True)


def test_more_games_of_one_millisecond_than_are_read_at_once(any_site: Site) -> None:
    ids = {any_site.create("simples", 1, visibility="public").id for _ in range(230)}
    found = [game_id for page in pages(any_site, limit=60) for game_id in page]
    assert len(found) == len(ids) == 230
    assert set(found) == ids


def test_a_page_has_twenty_games_unless_asked(any_site: Site) -> None:
    for _ in range(21):
        any_site.create("simples", 1, visibility="public")
    assert [len(page) for page in pages(any_site)] == [20, 1]


def test_what_was_cancelled_or_has_expired_is_not_listed(any_site: Site) -> None:
    kept, cancelled, expired = (any_site.create("simples", 1, visibility="public") for _ in range(3))
    cancelled.send("DELETE", "", token=cancelled.host_token)
    any_site.redis.delete(*[key for key in any_site.redis.keys("*") if expired.id.encode() in key])
    assert listed(any_site) == [kept.id]
    assert answer(expired.get(None)) == (404, "game_not_found")
    assert [len(page) for page in pages(any_site, limit=1)] == [1]


def test_a_cursor_outlives_the_game_it_names(any_site: Site, clock: Clock) -> None:
    games = []
    for _ in range(4):
        clock.now_ms += 1
        games.append(any_site.create("simples", 1, visibility="public"))
    first = any_site.get("/v1/games?limit=2")
    games[2].send("DELETE", "", token=games[2].host_token)
    assert listed(any_site, limit=2, cursor=first["next_cursor"]) == [games[1].id, games[0].id]


# ---- events ----


def play_on(game: Started, chance: random.Random) -> Body:
    """One action of somebody whose turn it is."""
    seat = game.to_act()
    return game.act(seat, chance.choice(game.view(seat)["legal_actions"]))


def test_events_count_without_gaps_and_name_their_version(any_site: Site) -> None:
    game = any_site.create("mano-a-mano", 1, visibility="public")
    game.joined("Bia")
    told = game.events()["events"]
    chance = random.Random(7)
    for _ in range(30):
        acted = play_on(game, chance)
        assert {event["version"] for event in acted["events"]} == {acted["game"]["version"]}
        told += acted["events"]
        if acted["game"]["status"] == "finished":
            break
    page = game.events()
    assert page["events"] == told[:100]
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    versions = [event["version"] for event in told]
    assert versions == sorted(versions)
    assert set(versions) == set(range(1, game.version + 1))
    assert [event["type"] for event in told[:5]] == [
        "seat_joined",
        "seat_joined",
        "game_started",
        "hand_dealt",
        "vira_shown",
    ]
    assert told[0]["data"] == {"name": "Ana", "kind": "human"}


def test_events_after_and_limit(any_site: Site) -> None:
    game = any_site.create("paulista", visibility="public")
    every = game.events()["events"]
    assert len(every) == 7
    assert game.events(after=3) == {"events": every[3:], "oldest_seq": 1, "next_after": 7}
    assert game.events(after=3, limit=2) == {"events": every[3:5], "oldest_seq": 1, "next_after": 5}
    assert game.events(limit=1) == {"events": every[:1], "oldest_seq": 1, "next_after": 1}
    assert game.events(after=7) == {"events": [], "oldest_seq": 1, "next_after": 7}
    assert game.events(after=900) == {"events": [], "oldest_seq": 1, "next_after": 900}
    assert game.events(after=2**53 - 1)["next_after"] == 2**53 - 1


def test_a_read_right_after_an_action_finds_its_events(any_site: Site) -> None:
    game = any_site.create("mano-a-mano", visibility="public")
    seat = game.to_act()
    acted = game.act(seat, game.view(seat)["legal_actions"][0])
    assert game.events(after=acted["events"][0]["seq"] - 1)["events"] == acted["events"]


def test_events_are_the_same_for_every_reader(any_site: Site) -> None:
    game = any_site.create("paulista", visibility="public")
    chance = random.Random(3)
    for _ in range(12):
        play_on(game, chance)
    told = [game.events(token) for token in (None, game.host_token, *game.tokens.values())]
    assert told == [told[0]] * 6


@pytest.mark.parametrize("store", ["embedded", "server"])
def test_only_the_latest_events_are_kept(request: pytest.FixtureRequest, clock: Clock, store: str) -> None:
    url = None if store == "embedded" else request.getfixturevalue("redis_server").url
    site = make_site(Settings(redis_url=url, events_kept=10), clock)
    game = site.create("paulista", visibility="public")
    chance = random.Random(1)
    while game.load().last_seq < 25 and game.version < 40:
        play_on(game, chance)
    last = game.load().last_seq
    page = game.events()
    assert [event["seq"] for event in page["events"]] == list(range(last - 9, last + 1))
    assert (page["oldest_seq"], page["next_after"]) == (last - 9, last)
    assert game.events(after=last - 3)["oldest_seq"] == last - 9
    assert [event["seq"] for event in game.events(after=2, limit=3)["events"]] == [last - 9, last - 8, last - 7]
    site.redis.close()


BAD_NUMBERS = ["-1", "x", "1.0", "", "1e3", "+5", "%201", "true", "null", "0x1", "%D9%A1", "%FF", "9" * 5_000]


@pytest.mark.parametrize(
    "query",
    [
        *(f"{name}={number}" for name in ("after", "limit") for number in BAD_NUMBERS),
        "after=9007199254740992",
        "after=1&after=2",
        "limit=0",
        "limit=501",
        "limit",
    ],
)
def test_events_take_no_other_numbers(site: Site, query: str) -> None:
    game = site.create("mano-a-mano", visibility="public")
    assert answer(game.send("GET", f"/events?{query}")) == (400, "invalid_parameter")


@pytest.mark.parametrize(
    "query",
    [
        *(f"limit={number}" for number in [*BAD_NUMBERS, "0", "101", "1&limit=1"]),
        *(f"status={status}" for status in ("open", "", "Lobby", "%FF", "lobby&status=lobby")),
        *(f"variant={variant}" for variant in ("goiano", "", "PAULISTA", "paulista&variant=simples")),
        *(f"cursor={cursor}" for cursor in ("", "x", "%00", "%C3%A9", "%FF", "A" * 24, "A" * 5_000)),
    ],
)
def test_the_list_takes_no_other_parameters(site: Site, query: str) -> None:
    assert answer(site.send("GET", f"/v1/games?{query}")) == (400, "invalid_parameter")


def test_every_changed_cursor_is_refused(site: Site) -> None:
    for _ in range(2):
        site.create("simples", 1, visibility="public")
    cursor = site.get("/v1/games?limit=1")["next_cursor"]
    for place, char in enumerate(cursor):
        changed = cursor[:place] + ("B" if char == "A" else "A") + cursor[place + 1 :]
        assert answer(site.send("GET", "/v1/games", query_string={"cursor": changed})) == (400, "invalid_parameter")
    for changed in (cursor[:-1], cursor[:-4], cursor + "=", cursor + "AAAA", cursor.upper(), " " + cursor):
        assert answer(site.send("GET", "/v1/games", query_string={"cursor": changed})) == (400, "invalid_parameter")


def test_unknown_parameters_are_ignored(site: Site) -> None:
    game = site.create("simples", 1, visibility="public")
    assert listed(site, page=7, token="x") == [game.id]
    assert game.send("GET", "?verbose=1&token=x").status_code == 200
    assert game.send("GET", "/events?before=1").status_code == 200


# ---- the record ----


def finished(site: Site, **order: Any) -> Started:
    game = site.create("paulista", rules={"target": 3}, **order)
    chance = random.Random(11)
    while game.view(0)["status"] == "playing":
        play_on(game, chance)
    return game


def record(game: Started, token: str | None = None, accept: str | None = None) -> TestResponse:
    headers = bearer(token) | ({} if accept is None else {"Accept": accept})
    return game.send("GET", "/record", headers=headers)


def test_there_is_no_record_before_the_end(site: Site) -> None:
    for players in (1, 4):
        game = site.create("paulista", players, visibility="public")
        for token in (None, game.host_token, game.tokens[0]):
            for accept in (None, "text/plain"):
                assert answer(record(game, token, accept)) == (409, "game_not_finished")


def test_a_private_record_needs_a_token(site: Site) -> None:
    game = finished(site)
    assert answer(record(game)) == (401, "missing_token")
    assert record(game, game.host_token).status_code == 200
    assert {record(game, token).get_data() for token in game.tokens.values()} == {
        record(game, game.host_token).get_data()
    }


def test_the_record_is_true_in_both_forms(any_site: Site) -> None:
    game = finished(any_site, visibility="public")
    written, said = record(game), record(game, accept="text/plain")
    assert (written.mimetype, said.mimetype) == ("application/json", "text/plain")
    assert written.headers["Vary"] == said.headers["Vary"] == "Accept, Authorization"
    whole = from_json(body_of(written))
    assert from_text(said.get_data(as_text=True)) == whole
    assert verify(whole, SeededDealer()) is None
    view = game.view(None)
    assert whole.commitment == view["shuffle"]["commitment"]
    assert list(whole.score) == view["score"]["teams"]
    assert body_of(written)["result"] == view["result"]
    assert len(whole.hands) == view["last_hand"]["number"]
    assert sum(len(hand.actions) for hand in whole.hands) == game.version - 1


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("application/json", "application/json"),
        ("text/plain", "text/plain"),
        ("text/*", "text/plain"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("text/plain;q=0.4, application/json;q=0.5", "application/json"),
        ("text/plain;q=0.5, application/json;q=0.4", "text/plain"),
        ("text/plain, */*;q=0.1", "text/plain"),
        ("text/html, text/plain;q=0.1", "text/plain"),
        ("application/json;q=0, text/plain", "text/plain"),
        ("", "application/json"),
    ],
)
def test_accept_chooses_the_form_of_the_record(site: Site, accept: str, media: str) -> None:
    assert record(finished(site, visibility="public"), accept=accept).mimetype == media


@pytest.mark.parametrize("accept", ["text/html", "image/png, text/xml", "application/xml;q=1"])
def test_there_is_no_other_form_of_the_record(site: Site, accept: str) -> None:
    assert answer(record(finished(site, visibility="public"), accept=accept)) == (406, "not_acceptable")


@pytest.mark.parametrize("below", ["", "/events"])
@pytest.mark.parametrize(("accept", "status"), [("text/html", 406), ("text/plain", 406), ("*/*", 200), ("text/*", 406)])
def test_everything_else_is_json_or_nothing(site: Site, below: str, accept: str, status: int) -> None:
    game = site.create("simples", 1, visibility="public")
    assert game.send("GET", below, headers={"Accept": accept}).status_code == status


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        (",", 200),
        (";;;", 406),
        ("json", 406),
        ("application/json;q=x", 200),
        ("*/*;q=0", 406),
        ("é", 406),
        ("a/b," * 2_000, 406),
    ],
)
def test_an_odd_accept_is_no_fault_of_the_service(site: Site, accept: str, status: int) -> None:
    assert site.send("GET", "/v1/variants", headers={"Accept": accept}).status_code == status


def test_nothing_is_created_for_one_who_cannot_read_the_answer(site: Site) -> None:
    order = {"variant": "simples", "players": [{"name": "Ana"}]}
    response = site.send("POST", "/v1/games", order, headers={"Accept": "text/html"})
    assert answer(response) == (406, "not_acceptable")
    assert site.stored() == {}


# ---- variants ----


def test_the_variants_are_the_presets(site: Site) -> None:
    variants = site.get("/v1/variants")["variants"]
    assert [variant["name"] for variant in variants] == list(PRESETS)
    for variant in variants:
        assert site.get(f"/v1/variants/{variant['name']}") == variant
        preset = PRESETS[variant["name"]]
        assert variant["seats"]["default"] == preset.rules.seats
        assert tuple(step["value"] for step in variant["ladder"]) == preset.rules.ladder
        assert [step["call"] for step in variant["ladder"]] == [None, "truco", "seis", "nove", "doze"]
        assert len(variant["deck"]) * 4 == len(preset.rules.deck.cards)


def test_a_variant_lists_the_actions_that_can_occur_in_it(site: Site) -> None:
    types = {variant["name"]: variant["action_types"] for variant in site.get("/v1/variants")["variants"]}
    assert types["paulista"] == ["play", "raise", "accept", "fold", "resign"]
    assert types["tradicional"] == ["play", "raise", "accept", "fold", "show", "cut", "deal", "resign"]


@pytest.mark.parametrize("path", ["/v1/variants", "/v1/variants/mineiro"])
def test_variants_may_be_cached(site: Site, path: str) -> None:
    first = site.send("GET", path)
    tag = first.headers["ETag"]
    assert not tag.startswith("W/")
    assert first.headers["Cache-Control"] == "public, max-age=3600"
    assert site.send("GET", path).headers["ETag"] == tag
    for sent, status in ((tag, 304), (f"W/{tag}", 304), ("*", 304), ('"x"', 200), (f'"x", {tag}', 304)):
        response = site.send("GET", path, headers={"If-None-Match": sent})
        assert (response.status_code, response.headers["ETag"]) == (status, tag)


@pytest.mark.parametrize("name", ["goiano", "Paulista", "paulista ", "%00", "..", "pau%6cist%C3%A0", "p" * 5000])
def test_an_unknown_variant_is_not_found(site: Site, name: str) -> None:
    assert answer(site.send("GET", f"/v1/variants/{name}")) == (404, "not_found")


def test_versions_grow_one_by_one(site: Site) -> None:
    game = site.create("simples", 1)
    versions = [game.version]
    for name in ("Bia", "Caio", "Davi"):
        game.joined(name)
        versions.append(game.version)
    chance = random.Random(2)
    for _ in range(8):
        play_on(game, chance)
        versions.append(game.version)
    assert versions[0] == 1
    assert {after - before for before, after in pairwise(versions)} == {1}
