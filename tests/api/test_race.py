"""Requests at once: real threads, a client each, on both stores; and requests that are sure to meet in the middle."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from werkzeug.test import TestResponse

from service.store.base import Game, Status
from service.store.redis import RedisGameStore
from tests.api.conftest import make_site
from tests.api.driver import UNLIMITED, Clock, MeetingStore, Site, Started, answer, at_once, body_of
from tests.table import table

REPETITIONS = 50
FEWER = 15
pytestmark = pytest.mark.usefixtures("_short_turns")


@pytest.fixture
def meeting(any_site: Site) -> MeetingStore:
    """Makes the next requests to `any_site` meet."""
    return MeetingStore.of(any_site)


@pytest.fixture(params=["anyhow", "meeting"])
def arrange(request: pytest.FixtureRequest) -> Callable[[int], None]:
    """Called with their number before requests at once: makes them meet, or leaves it to the threads."""
    if request.param == "anyhow":
        return lambda _: None
    store: MeetingStore = request.getfixturevalue("meeting")
    return store.expect


def check_one_won(game: Started, responses: list[TestResponse], seats: tuple[int, ...]) -> None:
    """One of two acted; the other got the view of its own seat as it is now."""
    assert sorted(map(answer, responses)) == [(200, None), (409, "version_conflict")]
    for response, seat in zip(responses, seats, strict=True):
        assert body_of(response)["game"] == game.view(seat)


HANDS = "3C 2C AC / KD JD QD / 6H 7H QH / 6S 7S QS"


def test_two_partners_answer_at_once(any_site: Site, arrange: Callable[[int], None]) -> None:
    for number in range(REPETITIONS):
        game = any_site.seated(table("paulista", HANDS, "4D").raises())
        version = game.version
        kinds = ("accept", "fold") if number % 2 else ("fold", "accept")
        bodies = [{"type": kind, "expected_version": version} for kind in kinds]
        arrange(2)
        responses = at_once(partial(game.post, 1, bodies[0]), partial(game.post, 3, bodies[1]))
        check_one_won(game, responses, (1, 3))
        assert game.version == version + 1
        answers = [e["type"] for e in game.events()["events"] if e["type"] in ("accepted", "folded")]
        won = next(kind for kind, response in zip(kinds, responses, strict=True) if response.status_code == 200)
        assert answers == [{"accept": "accepted", "fold": "folded"}[won]]


def test_one_seat_sends_the_same_action_twice_at_once(any_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(REPETITIONS):
        game = any_site.seated(table("paulista", HANDS, "4D"))
        action = game.view(0)["legal_actions"][0]
        arrange(2)
        responses = at_once(partial(game.post, 0, action), partial(game.post, 0, action))
        check_one_won(game, responses, (0, 0))
        (trick,) = game.view(0)["hand"]["tricks"]
        assert [play["card"] for play in trick["plays"]] == [action["card"]]


def test_opponents_act_at_once(any_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(REPETITIONS):
        game = any_site.seated(table("tradicional", HANDS, "4D"))
        version = game.version
        play = {"type": "play", "card": "3C", "expected_version": version}
        truco = {"type": "raise", "to": 3, "expected_version": version}
        arrange(2)
        responses = at_once(partial(game.post, 0, play), partial(game.post, 1, truco))
        check_one_won(game, responses, (0, 1))
        assert game.version == version + 1


def test_all_seats_resign_at_once(any_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(FEWER):
        game = any_site.create("paulista", visibility="public")
        body = {"type": "resign", "expected_version": 1}
        arrange(4)
        responses = at_once(*[partial(game.post, seat, body) for seat in range(4)])
        assert sorted(response.status_code for response in responses) == [200, 409, 409, 409]
        first = [response.status_code for response in responses].index(200)
        assert game.view(0)["result"]["winner"] == 1 - first % 2
        assert [event["type"] for event in game.events()["events"]].count("game_won") == 1


def test_two_join_one_seat(any_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(FEWER):
        game = any_site.create("paulista", 1, visibility="public")
        arrange(2)
        responses = at_once(partial(game.join, "Bia", 2), partial(game.join, "Caio", 2))
        assert sorted(map(answer, responses)) == [(201, None), (409, "seat_taken")]
        (joined,) = [body_of(response) for response in responses if response.status_code == 201]
        view = body_of(game.get(joined["token"]))
        assert view["seats"][2]["name"] == joined["game"]["seats"][2]["name"]
        assert view["version"] == 2


def test_two_join_any_seat(any_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(FEWER):
        game = any_site.create("paulista", 1, visibility="public")
        arrange(2)
        responses = at_once(partial(game.join, "Bia"), partial(game.join, "Caio"))
        joined = [body_of(response) for response in responses]
        assert sorted(body["seat"] for body in joined) == [1, 2]
        for body, name in zip(joined, ("Bia", "Caio"), strict=True):
            view = body_of(game.get(body["token"]))
            assert (view["viewer"]["seat"], view["seats"][body["seat"]]["name"]) == (body["seat"], name)
        assert game.version == 3


def test_two_join_the_last_seat_and_the_game_starts_once(any_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(FEWER):
        game = any_site.create("mano-a-mano", 1, visibility="public")
        arrange(2)
        responses = at_once(partial(game.join, "Bia"), partial(game.join, "Caio"))
        assert sorted(map(answer, responses)) == [(201, None), (409, "game_full")]
        types = [event["type"] for event in game.events()["events"]]
        assert types == ["seat_joined", "seat_joined", "game_started", "hand_dealt", "vira_shown"]


def test_two_join_the_last_two_seats_and_the_game_starts_once(any_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(FEWER):
        game = any_site.create("paulista", 2, visibility="public")
        arrange(2)
        responses = at_once(partial(game.join, "Caio"), partial(game.join, "Davi"))
        assert sorted(body_of(response)["seat"] for response in responses) == [2, 3]
        types = [event["type"] for event in game.events()["events"]]
        assert types.count("game_started") == types.count("hand_dealt") == 1
        assert game.view(0)["status"] == "playing"


def check_consistent(game: Started) -> None:
    """What the view, the tokens and the events say of the seats is the same."""
    events = game.events(game.host_token)["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    names: dict[int, str | None] = {}
    for event in events:
        if event["type"] in ("seat_joined", "seat_left"):
            names[event["seat"]] = event["data"].get("name")
    view = body_of(game.get(game.host_token))
    assert {seat["seat"]: seat["name"] for seat in view["seats"] if seat["name"]} == {
        seat: name for seat, name in names.items() if name
    }
    assert (view["status"] == "lobby") == any(seat["kind"] == "open" for seat in view["seats"])


def test_a_seat_is_left_while_another_is_taken(any_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(FEWER):
        game = any_site.create("paulista", 2, visibility="public")
        arrange(2)
        left, joined = at_once(partial(game.leave, 1, game.tokens[1]), partial(game.join, "Caio"))
        assert (left.status_code, joined.status_code) == (204, 201)
        taken = body_of(joined)["seat"]
        assert taken in (1, 2)
        assert game.get(body_of(joined)["token"]).status_code == 200
        assert answer(game.get(game.tokens[1])) == (401, "invalid_token")
        check_consistent(game)


def test_a_seat_is_left_while_the_last_one_is_taken(any_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(FEWER):
        game = any_site.create("mano-a-mano", 1, visibility="public")
        arrange(2)
        left, joined = at_once(partial(game.leave, 0, game.tokens[0]), partial(game.join, "Bia"))
        assert left.status_code == 204
        assert joined.status_code == 201
        view = body_of(game.get(body_of(joined)["token"]))
        if view["status"] == "finished":  # it had started: who leaves then resigns
            assert view["result"] == {"winner": 1, "reason": "resigned"}
        else:
            assert view["status"] == "lobby"
            assert answer(game.get(game.tokens[0])) == (401, "invalid_token")
        check_consistent(game)


def test_a_seat_is_left_twice_at_once(any_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(FEWER):
        game = any_site.create("paulista", 2, visibility="public")
        arrange(2)
        responses = at_once(partial(game.leave, 1, game.tokens[1]), partial(game.leave, 1, game.host_token))
        assert [response.status_code for response in responses] == [204, 204]
        assert game.version == 2
        check_consistent(game)


def test_an_old_token_does_not_free_the_seat_of_another(any_site: Site, arrange: Callable[[int], None]) -> None:
    for _ in range(FEWER):
        game = any_site.create("paulista", 2, visibility="public")
        assert game.leave(1, game.tokens[1]).status_code == 204
        arrange(2)
        left, joined = at_once(partial(game.leave, 1, game.tokens[1]), partial(game.join, "Caio", 1))
        assert answer(left) in ((204, None), (401, "invalid_token"))
        assert joined.status_code == 201
        assert body_of(game.get(body_of(joined)["token"]))["seats"][1]["name"] == "Caio"
        check_consistent(game)


@pytest.mark.parametrize("players", [1, 3])
def test_a_game_is_cancelled_while_somebody_joins(any_site: Site, arrange: Callable[[int], None], players: int) -> None:
    for _ in range(FEWER):
        game = any_site.create("paulista", players, visibility="public")
        arrange(2)
        cancelled, joined = at_once(partial(game.send, "DELETE", "", token=game.host_token), partial(game.join, "Davi"))
        assert answer(cancelled) in ((204, None), (409, "game_started"))
        assert answer(joined) in ((201, None), (404, "game_not_found"))
        if players == 3:  # whoever joins starts the game
            assert (cancelled.status_code == 204) == (joined.status_code == 404)
        if cancelled.status_code == 204:
            assert answer(game.get(None)) == (404, "game_not_found")
            assert not any_site.redis.keys(f"*{game.id}*")
        else:
            assert players == 3
            assert body_of(game.get(body_of(joined)["token"]))["status"] == "playing"
            check_consistent(game)


def test_everything_happens_to_a_lobby_at_once(any_site: Site) -> None:
    for _ in range(FEWER):
        game = any_site.create("paulista", 3, visibility="public")
        responses = at_once(
            partial(game.join, "Davi"),
            partial(game.join, "Eva"),
            partial(game.leave, 2, game.tokens[2]),
            partial(game.leave, 1, game.host_token),
            partial(game.send, "DELETE", "", token=game.host_token),
        )
        assert {response.status_code for response in responses} <= {201, 204, 401, 403, 404, 409}
        if game.get(None).status_code == 200:
            check_consistent(game)
            for joined in responses[:2]:
                if joined.status_code == 201:
                    assert game.get(body_of(joined)["token"]).status_code in (200, 401)


def test_nothing_is_lost_to_other_games(any_site: Site) -> None:
    """Requests to several games at once do not mix."""
    games = [any_site.create("mano-a-mano", visibility="public") for _ in range(8)]

    def play(game: Started) -> TestResponse:
        seat = game.to_act()
        return game.post(seat, game.view(seat)["legal_actions"][0])

    for _ in range(3):
        responses = at_once(*[partial(play, game) for game in games])
        for game, response in zip(games, responses, strict=True):
            assert body_of(response)["game"]["id"] == game.id
    assert {game.version for game in games} == {4}


# ---- the list's hints ----


class ListingStore(RedisGameStore):
    """Somebody lists the games right after each hint is written, before the commit that makes it true."""

    def _list(self, game: Game) -> None:
        super()._list(game)
        for status in Status:
            self.list_public(status, None, 20, None)


def test_a_list_read_too_early_does_not_lose_the_game(clock: Clock) -> None:
    site = make_site(UNLIMITED, clock)
    site.store.__class__ = ListingStore
    game = site.create("mano-a-mano", 1, visibility="public")

    def listed() -> list[str]:
        return [status for status in Status for each in site.get(f"/v1/games?status={status}")["games"]]

    assert listed() == ["lobby"]
    game.joined("Bia")
    assert listed() == ["playing"]
    game.resign()
    assert listed() == ["finished"]
