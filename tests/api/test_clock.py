"""Turns that run out: deadlines, what is done for the absent seat, and who does it.

Nothing here waits: the clock is moved, or a past deadline is written into the store.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from werkzeug.test import TestResponse

from service.__main__ import read_record
from service.dealer import SeededDealer
from service.engine.record import verify
from service.engine.rules import Dealing, IronCards, RaiseTiming
from service.store.base import Loaded, StoreUnavailableError
from tests.api.conftest import make_site
from tests.api.driver import UNLIMITED, Body, Clock, MeetingStore, Site, Started, answer, at_once, body_of, pointers
from tests.redis_server import RedisServer
from tests.table import PlayedTable, table, undealt_table

TURN_SECONDS = 30
TURN_MS = 1000 * TURN_SECONDS
DEADLINES = "truco:deadlines"
HANDS = "3C 2C AC / KD JD QD / 6H 7H QH / 6S 7S QS"
REPETITIONS = 30


def ms(timestamp: str) -> int:
    return round(datetime.fromisoformat(timestamp).timestamp() * 1000)


def deadline(view: Body) -> int:
    return ms(view["turn"]["deadline"])


def event_types(game: Started, after: int = 0) -> list[str]:
    return [event["type"] for event in game.events(game.host_token, after=after, limit=500)["events"]]


def timed_out(game: Started) -> list[tuple[int, str]]:
    """Whose turns ran out, and what was done for them."""
    events = game.events(game.host_token, limit=500)["events"]
    return [(event["seat"], event["data"]["acted"]) for event in events if event["type"] == "timed_out"]


@pytest.fixture
def timed(any_site: Site) -> Started:
    """A public game of two, each of whose turns may take `TURN_SECONDS`."""
    return any_site.create("mano-a-mano", visibility="public", turn_seconds=TURN_SECONDS)


def real_time_site(url: str | None = None) -> Site:
    """Its clock is that of Redis."""
    return make_site(replace(UNLIMITED, redis_url=url))


def overdue(site: Site, variant: str = "mano-a-mano", **order: Any) -> Started:
    """A game whose turn ran out long ago, on a site in real time."""
    game = site.create(variant, visibility="public", turn_seconds=TURN_SECONDS, **order)
    game.change(deadline_ms=1)
    return game


# ---- how a game gets its clock ----


@pytest.mark.parametrize("turn_seconds", [5, 30, 3_600, None])
def test_a_turn_takes_5_seconds_to_an_hour_or_has_no_end(site: Site, clock: Clock, turn_seconds: int | None) -> None:
    game = site.create("mano-a-mano", visibility="public", turn_seconds=turn_seconds)
    view = game.view(0)
    if turn_seconds is None:
        assert view["turn"]["deadline"] is None
    else:
        assert deadline(view) == ms(view["server_time"]) + 1000 * turn_seconds == clock.now_ms + 1000 * turn_seconds
    [listed] = site.get("/v1/games?status=playing")["games"]
    assert listed["turn_seconds"] == turn_seconds


@pytest.mark.parametrize("turn_seconds", [4, 0, -5, 3_601, 10**12, "30", 30.0, 30.5, True, [30], {}])
def test_other_times_are_refused(site: Site, turn_seconds: object) -> None:
    response = site.send("POST", "/v1/games", {"variant": "mano-a-mano", "turn_seconds": turn_seconds})
    assert (answer(response), pointers(response)) == ((422, "validation_failed"), ["/turn_seconds"])


@pytest.mark.parametrize("on_timeout", ["bot", "fold", "", None, 1, True])
def test_the_service_plays_and_nothing_else_is_known_yet(site: Site, on_timeout: object) -> None:
    order = {"variant": "mano-a-mano", "turn_seconds": 30}
    assert site.send("POST", "/v1/games", {**order, "on_timeout": "play"}).status_code == 201
    response = site.send("POST", "/v1/games", {**order, "on_timeout": on_timeout})
    assert (answer(response), pointers(response)) == ((422, "validation_failed"), ["/on_timeout"])


def test_a_lobby_has_no_deadline(any_site: Site, clock: Clock) -> None:
    game = any_site.create("mano-a-mano", 1, turn_seconds=TURN_SECONDS)
    assert game.view(0)["turn"] is None
    assert any_site.redis.zcard(DEADLINES) == 0
    clock.now_ms += 10 * TURN_MS
    game.joined("Bia")
    assert deadline(game.view(1)) == clock.now_ms + TURN_MS


def test_each_turn_has_its_own_deadline(timed: Started, clock: Clock) -> None:
    for _ in range(8):
        clock.now_ms += 1_001
        before = timed.view(0)
        assert deadline(before) == clock.now_ms - 1_001 + TURN_MS
        view = timed.step()["game"]
        assert deadline(view) == clock.now_ms + TURN_MS
        assert {deadline(timed.view(viewer)) for viewer in (0, 1, None)} == {clock.now_ms + TURN_MS}
    assert timed.site.redis.zscore(DEADLINES, timed.id) <= clock.now_ms + TURN_MS


def test_an_answer_has_a_deadline_too(site: Site, clock: Clock) -> None:
    game = site.seated(table("paulista", HANDS, "4D"), turn_seconds=TURN_SECONDS)
    clock.now_ms += 2_000
    assert deadline(game.act(0, {"type": "raise", "to": 3})["game"]) == clock.now_ms + TURN_MS
    clock.now_ms += 2_000
    assert deadline(game.act(1, {"type": "accept"})["game"]) == clock.now_ms + TURN_MS


def test_a_refused_action_does_not_move_the_deadline(timed: Started, clock: Clock) -> None:
    before = timed.view(0)
    clock.now_ms += 1_000
    assert timed.refusal(1 - timed.to_act(), "play", card="4C")[0] == 409
    assert timed.refusal(0, "accept") == (409, "nothing_to_answer")
    assert timed.view(0)["turn"] == before["turn"]
    assert timed.site.redis.zscore(DEADLINES, timed.id) == deadline(before)


def test_a_finished_game_has_no_deadline(timed: Started, clock: Clock) -> None:
    timed.resign()
    assert timed.view(0)["turn"] is None
    clock.now_ms += 10 * TURN_MS
    assert answer(timed.post(0, {"type": "fold"})) == (409, "game_finished")
    assert timed.view(0)["result"]["reason"] == "resigned"


def test_the_time_is_the_stores(redis_server: RedisServer) -> None:
    site = real_time_site(redis_server.url)
    site.redis.flushdb()
    game = site.create(turn_seconds=TURN_SECONDS)
    seconds, microseconds = site.redis.time()
    view = game.view(0)
    assert 0 <= ms(view["server_time"]) - seconds * 1000 - microseconds // 1000 < 60_000
    assert 0 <= deadline(view) - ms(view["created_at"]) - TURN_MS < 1_000
    site.redis.close()


# ---- who acts when it is over ----


def test_a_look_shows_what_is_stored(timed: Started, clock: Clock) -> None:
    before, events = timed.view(0), timed.events()
    clock.now_ms += 10 * TURN_MS
    for _ in range(2):
        after = timed.view(0)
        assert after == {**before, "server_time": after["server_time"]}
        assert deadline(after) < ms(after["server_time"])
        assert timed.events() == events
    assert timed.version == 1


@pytest.mark.parametrize("late_ms", [-1, 0, 1])
def test_an_action_in_the_last_moment(timed: Started, clock: Clock, late_ms: int) -> None:
    seat = timed.to_act()
    action = timed.view(seat)["legal_actions"][0]
    clock.now_ms = deadline(timed.view(0)) + late_ms
    response = timed.post(seat, action)
    assert answer(response) == ((200, None) if late_ms < 0 else (409, "version_conflict"))
    assert timed.version == 2
    assert len(timed_out(timed)) == (late_ms >= 0)


def test_an_action_that_comes_too_late_gets_what_was_done_instead(timed: Started, clock: Clock) -> None:
    seat = timed.to_act()
    action = timed.view(seat)["legal_actions"][0]
    clock.now_ms += TURN_MS
    response = timed.post(seat, action)
    assert answer(response) == (409, "version_conflict")
    view = body_of(response)["game"]
    assert view == timed.view(seat)
    assert (view["version"], len(view["hand"]["tricks"][0]["plays"])) == (2, 1)
    assert deadline(view) == clock.now_ms + TURN_MS
    assert timed_out(timed) == [(seat, "play")]


def test_whoever_acts_settles_the_turn_of_the_other(timed: Started, clock: Clock) -> None:
    seat = timed.to_act()
    other = 1 - seat
    clock.now_ms += TURN_MS
    assert answer(timed.post(other, {"type": "resign", "expected_version": 1})) == (409, "version_conflict")
    assert timed.version == 2
    [card, *_] = timed.view(other)["seats"][other]["cards"]
    timed.act(other, {"type": "play", "card": card["card"]})
    assert event_types(timed)[-4:-1] == ["timed_out", "card_played", "card_played"]


def test_an_action_made_for_the_version_after_the_time_out_counts(timed: Started, clock: Clock) -> None:
    """It is judged against the game as it is when it arrives."""
    seat = timed.to_act()
    card = timed.view(1 - seat)["seats"][1 - seat]["cards"][0]["card"]
    clock.now_ms += TURN_MS
    response = timed.post(1 - seat, {"type": "play", "card": card, "expected_version": 2})
    assert (response.status_code, timed.version) == (200, 3)


def test_who_leaves_too_late_leaves_after_the_turn_was_played(timed: Started, clock: Clock) -> None:
    seat = timed.to_act()
    clock.now_ms += TURN_MS
    assert timed.leave(seat, timed.tokens[seat]).status_code == 204
    assert event_types(timed)[-4:] == ["timed_out", "card_played", "resigned", "game_won"]
    assert timed.version == 3


def test_one_deadline_is_one_turn(timed: Started, clock: Clock) -> None:
    """However late the next request comes; the next turn begins with it."""
    clock.now_ms += 100 * TURN_MS
    timed.post(0, {"type": "resign", "expected_version": 1})
    timed.post(0, {"type": "resign", "expected_version": 1})
    assert (len(timed_out(timed)), timed.version) == (1, 2)
    assert deadline(timed.view(0)) == clock.now_ms + TURN_MS


def test_the_events_of_a_time_out_are_one_commit(site: Site, clock: Clock) -> None:
    """With the end of the hand and the next deal in it."""
    played = table("paulista", HANDS, "4D").raises()
    game = site.seated(played, turn_seconds=TURN_SECONDS)
    clock.now_ms += TURN_MS
    game.post(0, {"type": "resign", "expected_version": 2})
    events = [event for event in game.events()["events"] if event["version"] == 3]
    assert [event["type"] for event in events] == ["timed_out", "folded", "hand_won", "hand_dealt", "vira_shown"]
    assert (events[0]["seat"], events[0]["data"], events[1]["seat"]) == (1, {"acted": "fold"}, 1)
    assert {event["at"] for event in events} == {game.view(0)["server_time"]}


# ---- what is done ----


def cut_and_deal() -> PlayedTable:
    return undealt_table("mineiro", dealing=Dealing.CUT, iron_cards=IronCards.OPEN)


def blind() -> PlayedTable:
    return table("paulista", HANDS, "4D", score=(11, 11), iron_cards=IronCards.BLIND)


PHASES: list[tuple[str, PlayedTable, int, str, Body]] = [
    ("weakest", table("paulista", "3C 6C AC / KD JD QD / 6H 7H QH / 6S 7S QS", "4D"), 0, "play", {"card": "6C"}),
    ("manilha", table("paulista", "5C QC 5D / KD JD 6D / 6H 7H QH / 6S 7S QS", "4D"), 0, "play", {"card": "QC"}),
    ("equals", table("paulista", "QS QC KC / KD JD 6D / 6H 7H QH / 6S 7S 4S", "4D"), 0, "play", {"card": "QS"}),
    ("second", table("paulista", HANDS, "4D").plays("3C"), 1, "play", {"card": "QD"}),
    ("no raise", table("paulista", HANDS, "4D", score=(11, 11)), 0, "play", {"card": "AC"}),
    ("blind", blind(), 0, "play", {"slot": 0, "card": "3C"}),
    ("answer", table("paulista", HANDS, "4D").raises(), 1, "fold", {"of": "raise", "value": 1}),
    ("eleven", table("paulista", HANDS, "4D", score=(11, 3)), 0, "fold", {"of": "eleven", "value": 1}),
    ("others' eleven", table("paulista", HANDS, "4D", score=(2, 11)), 1, "fold", {"of": "eleven", "value": 1}),
    ("cut", cut_and_deal(), 2, "cut", {"cut": "none", "at": None, "take_for": None}),
    ("deal", cut_and_deal().cuts(), 3, "deal", {"deal_from": "top", "deal_style": "one_by_one"}),
]
NEXT = {"play": "card_played", "fold": "folded", "cut": "pack_cut", "deal": "hand_dealt"}


@pytest.mark.parametrize(
    ("played", "seat", "acted", "members"), [pytest.param(*case, id=name) for name, *case in PHASES]
)
def test_what_is_done_for_a_seat(
    site: Site, clock: Clock, played: PlayedTable, seat: int, acted: str, members: Body
) -> None:
    game = site.seated(played, turn_seconds=TURN_SECONDS)
    assert game.to_act() == seat
    seq = game.load().last_seq
    clock.now_ms += TURN_MS
    site.store.set_deadline(game.id, 1)
    assert site.background.sweeper.sweep() == 1
    first, second, *_ = game.events(after=seq)["events"]
    assert (first["type"], first["seat"], first["data"]) == ("timed_out", seat, {"acted": acted})
    assert (second["type"], second["seat"]) == (NEXT[acted], None if acted == "deal" else seat)
    assert {name: second["data"][name] for name in members} == members
    assert second["data"].get("covered") in (None, False)
    assert game.version == 3
    assert site.redis.zscore(DEADLINES, game.id) == clock.now_ms + TURN_MS


def test_a_covered_card_is_never_played_for_a_seat(site: Site, clock: Clock) -> None:
    played = table("paulista", HANDS, "4D").plays("3C", "KD", "6H", "6S")
    game = site.seated(played, turn_seconds=TURN_SECONDS)
    clock.now_ms += TURN_MS
    game.post(0, {"type": "fold", "expected_version": 1})
    [last] = [event for event in game.events()["events"] if event["type"] == "card_played"]
    assert last["data"] == {"card": "AC", "covered": False}


# ---- three in a row ----


def let_run_out(game: Started, clock: Clock) -> None:
    clock.now_ms = game.load().deadline_ms or clock.now_ms
    game.post(0, {"type": "resign", "expected_version": game.version})


def play_until(game: Started, seat: int) -> None:
    """The others act until *seat* is waited for; a raise or a decision there would be another turn."""
    while game.view(0)["turn"] is not None and game.to_act() != seat:
        game.step()


@pytest.mark.parametrize("seat", [0, 1])
def test_a_seats_third_time_out_in_a_row_loses_the_game(timed: Started, clock: Clock, seat: int) -> None:
    for _ in range(3):
        assert timed.view(0)["status"] == "playing"
        play_until(timed, seat)
        let_run_out(timed, clock)
    assert timed_out(timed) == [(seat, "play"), (seat, "play"), (seat, "abandon")]
    view = timed.view(0)
    assert (view["status"], view["turn"]) == ("finished", None)
    assert view["result"] == {"winner": 1 - seat, "reason": "abandoned"}
    assert (view["last_hand"]["reason"], view["last_hand"]["winner"]) == ("abandoned", None)
    assert event_types(timed)[-2:] == ["timed_out", "game_won"]
    assert timed.events()["events"][-1]["data"] == {"team": 1 - seat, "reason": "abandoned"}
    timed.site.background.sweeper.sweep()
    assert timed.view(0) == view


def test_an_action_of_its_own_clears_the_count(timed: Started, clock: Clock) -> None:
    for _ in range(3):
        for _ in range(2):
            play_until(timed, 0)
            let_run_out(timed, clock)
        assert timed.load().timeouts[0] == 2
        play_until(timed, 0)
        timed.step()
        assert timed.load().timeouts[0] == 0
    assert timed.view(0)["status"] == "playing"


def test_the_time_outs_of_others_do_not_count(timed: Started, clock: Clock) -> None:
    """Nor do their actions clear the count."""
    for _ in range(4):
        let_run_out(timed, clock)
    assert sorted(timed.load().timeouts) == [2, 2]
    assert timed.view(0)["status"] == "playing"
    seat = timed.to_act()
    let_run_out(timed, clock)
    assert timed.view(0)["result"] == {"winner": 1 - seat, "reason": "abandoned"}


def test_an_answer_is_counted_to_the_lowest_seat_of_the_team(site: Site, clock: Clock) -> None:
    game = site.seated(table("paulista", HANDS, "4D").plays("3C").raises(1), turn_seconds=TURN_SECONDS)
    assert game.view(0)["turn"]["seats"] == [0, 2]
    let_run_out(game, clock)
    assert timed_out(game) == [(0, "fold")]
    assert game.load().timeouts == (1, 0, 0, 0)


def test_an_action_out_of_turn_clears_the_count_too(site: Site) -> None:
    played = table("paulista", HANDS, "4D", raise_timing=RaiseTiming.ANY_TIME)
    game = site.seated(played, turn_seconds=TURN_SECONDS)
    game.change(timeouts=(2, 2, 2, 2))
    game.act(3, {"type": "raise"})
    assert game.load().timeouts == (2, 2, 2, 0)


def test_a_refused_action_does_not_clear_the_count(timed: Started, clock: Clock) -> None:
    play_until(timed, 0)
    let_run_out(timed, clock)
    assert timed.refusal(0, "accept") == (409, "nothing_to_answer")
    assert timed.load().timeouts == (1, 0)


def test_an_action_that_comes_after_the_third_time_out(timed: Started, clock: Clock) -> None:
    play_until(timed, 0)
    timed.change(timeouts=(2, 0))
    version = timed.version
    clock.now_ms = deadline(timed.view(0))
    response = timed.post(0, {**timed.view(0)["legal_actions"][0], "expected_version": version})
    assert answer(response) == (409, "version_conflict")
    assert body_of(response)["game"]["result"] == {"winner": 1, "reason": "abandoned"}
    assert answer(timed.post(0, {"type": "resign"})) == (409, "game_finished")


def test_who_leaves_after_the_third_time_out(timed: Started, clock: Clock) -> None:
    play_until(timed, 0)
    timed.change(timeouts=(2, 0))
    clock.now_ms = deadline(timed.view(0))
    assert answer(timed.leave(1, timed.tokens[1])) == (409, "game_finished")
    assert timed.view(0)["result"] == {"winner": 1, "reason": "abandoned"}


def test_nobody_may_abandon(site: Site) -> None:
    game = site.create("mano-a-mano", turn_seconds=TURN_SECONDS)
    seat = game.to_act()
    assert game.refusal(seat, "abandon") == (422, "validation_failed")
    assert "abandon" not in [action["type"] for action in game.view(seat)["legal_actions"]]
    assert "abandon" not in site.get("/v1/variants/mano-a-mano")["action_types"]


# ---- records ----


def check_record(game: Started) -> Body:
    """Both forms of the record of *game* are true; gives the JSON."""
    answers = {}
    for media in ("application/json", "text/plain"):
        answers[media] = game.send("GET", "/record", headers={"Accept": media}, token=game.tokens[0])
        assert answers[media].status_code == 200
        assert verify(read_record(answers[media].get_data()), SeededDealer()) is None
    return body_of(answers["application/json"])


@pytest.mark.parametrize("variant", ["mano-a-mano", "mineiro"])
def test_the_record_of_an_abandoned_game(any_site: Site, clock: Clock, variant: str) -> None:
    game = any_site.create(variant, seats=2, turn_seconds=TURN_SECONDS)
    while game.view(0)["status"] == "playing":
        let_run_out(game, clock)
    assert len(timed_out(game)) == 5
    record = check_record(game)
    assert record["result"]["reason"] == "abandoned"
    assert record["hands"][-1]["actions"][-1]["type"] == "abandon"
    assert record["hands"][-1]["reason"] == "abandoned"


@pytest.mark.parametrize("phase", ["cut", "deal", "eleven", "answer"])
def test_the_record_of_a_game_abandoned_in_another_phase(site: Site, clock: Clock, phase: str) -> None:
    rules = {"dealing": "cut"} if phase in ("cut", "deal") else {"target": 3, "ladder": [1, 2]}
    game = site.create("paulista", visibility="public", turn_seconds=TURN_SECONDS, rules=rules)
    for _ in range(200):
        turn = game.view(0)["turn"]
        if turn["kind"] == phase:
            break
        seat = turn["seats"][0]
        offered = game.view(seat)["legal_actions"]
        raises = [action for action in offered if action["type"] == "raise" and phase == "answer"]
        game.act(seat, (raises or offered)[0])
    seat = turn["seats"][0]
    game.change(timeouts=tuple(2 for _ in range(4)))
    let_run_out(game, clock)
    assert timed_out(game)[-1] == (seat, "abandon")
    assert game.view(0)["result"] == {"winner": 1 - seat % 2, "reason": "abandoned"}
    assert check_record(game)["hands"][-1]["actions"][-1] == {"seat": seat, "type": "abandon"}


@pytest.mark.parametrize("rules", [{}, {"dealing": "cut"}, {"iron_cards": "blind"}], ids=str)
def test_the_record_of_a_game_with_time_outs(site: Site, clock: Clock, rules: Body) -> None:
    chance = random.Random(str(rules))
    game = site.create(
        "paulista", seats=2, turn_seconds=TURN_SECONDS, rules={"target": 3, "ladder": [1, 2, 3], **rules}
    )
    ran_out = 0
    while (view := game.view(0))["status"] == "playing":
        if max(game.load().timeouts, default=0) < 2 and chance.random() < 0.5:
            let_run_out(game, clock)
            ran_out += 1
            continue
        seat = view["turn"]["seats"][0]
        game.act(seat, chance.choice(game.view(seat)["legal_actions"]))
    assert ran_out == len(timed_out(game)) > 3
    assert check_record(game)["result"]["reason"] != "abandoned"


# ---- the sweeper ----


@pytest.fixture(params=["embedded", "server"])
def real_site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A site on an empty store whose own clock counts."""
    url = None if request.param == "embedded" else request.getfixturevalue("redis_server").url
    site = real_time_site(url)
    site.redis.flushdb()
    yield site
    site.redis.close()


def indexed(site: Site) -> dict[str, float]:
    """What the sweepers look at, and when."""
    return {game_id.decode(): score for game_id, score in site.redis.zrange(DEADLINES, 0, -1, withscores=True)}


def test_an_overdue_turn_is_seen_to_without_a_request(real_site: Site) -> None:
    game = overdue(real_site)
    assert real_site.background.sweeper.sweep() == 1
    view = game.view(0)
    assert (view["version"], len(timed_out(game))) == (3, 1)
    assert 0 < deadline(view) - ms(view["server_time"]) <= TURN_MS
    assert indexed(real_site) == {game.id: deadline(view)}
    assert real_site.background.sweeper.sweep() == 0
    assert game.version == 3


def test_a_turn_that_has_time_left_is_left_alone(real_site: Site) -> None:
    game = real_site.create(turn_seconds=TURN_SECONDS)
    assert real_site.background.sweeper.sweep() == 0
    assert game.version == 1


def test_an_entry_that_is_too_early_is_put_right(real_site: Site) -> None:
    game = real_site.create(turn_seconds=TURN_SECONDS)
    real_site.store.set_deadline(game.id, 1)
    assert real_site.background.sweeper.sweep() == 1
    assert indexed(real_site) == {game.id: deadline(game.view(0))}
    assert game.version == 1


def test_entries_of_games_that_need_none_are_dropped(real_site: Site) -> None:
    over, lobby, untimed, cancelled = (
        overdue(real_site),
        real_site.create("paulista", 1, turn_seconds=TURN_SECONDS),
        real_site.create(),
        real_site.create("paulista", 1),
    )
    real_site.background.sweeper.sweep()
    over.resign()
    cancelled.send("DELETE", "", token=cancelled.host_token)
    versions = [over.version, lobby.version, untimed.version]
    for game_id in (over.id, lobby.id, untimed.id, cancelled.id, "0" * 26):
        real_site.store.set_deadline(game_id, 1)
    assert real_site.background.sweeper.sweep() == 5
    assert indexed(real_site) == {}
    assert [over.version, lobby.version, untimed.version] == versions


def test_a_game_that_was_lost_from_the_index_comes_back_with_its_next_turn(real_site: Site) -> None:
    game = real_site.create(turn_seconds=TURN_SECONDS)
    real_site.redis.delete(DEADLINES)
    game.step()
    assert indexed(real_site) == {game.id: deadline(game.view(0))}


def test_a_game_that_another_commit_has_moved_is_left_to_the_next_sweep(real_site: Site) -> None:
    game = overdue(real_site)
    store = real_site.store
    load = store.load

    def load_and_be_overtaken(game_id: str, retry_name: str | None = None) -> Loaded | None:
        found = load(game_id, retry_name)
        del store.load
        game.change()
        return found

    store.load = load_and_be_overtaken  # type: ignore[method-assign]
    assert real_site.background.sweeper.sweep() == 1
    assert (game.version, timed_out(game)) == (3, [])
    store.set_deadline(game.id, 1)
    assert real_site.background.sweeper.sweep() == 1
    assert len(timed_out(game)) == 1


@pytest.mark.parametrize("store", ["embedded", "server"])
def test_sweepers_share_the_work(store: str, request: pytest.FixtureRequest) -> None:
    """Those of two processes on a real server; on the embedded store there is but one, so it is asked twice at once."""
    url = None if store == "embedded" else request.getfixturevalue("redis_server").url
    one = real_time_site(url)
    one.redis.flushdb()
    two = one if url is None else real_time_site(url)
    games = [overdue(one) for _ in range(30)]

    def settle(site: Site) -> TestResponse:
        while site.background.sweeper.sweep():
            pass
        return site.send("GET", "/healthz")

    at_once(partial(settle, one), partial(settle, two))
    for game in games:
        assert len(timed_out(game)) == 1
        assert game.version == 3
    for site in (one, two):
        site.redis.close()


def test_a_sweeper_that_is_started_sees_to_it(real_site: Site) -> None:
    game = overdue(real_site)
    sweeper = real_site.background.sweeper
    sweeper.start()
    response = game.get(None, query_string={"after_version": 2, "wait": 25})
    sweeper.stop()
    assert (body_of(response)["version"], len(timed_out(game))) == (3, 1)


def test_a_game_that_cannot_be_read_is_in_nobodys_way(real_site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """One of a format that is still to come, as after a step back to an older release; and one that is broken."""
    games = [overdue(real_site) for _ in range(9)]
    for place, stored in ((2, b"99 2 nonce whatever"), (4, b"2 2 nonce \xc1")):
        real_site.redis.set(f"truco:{{{games[place].id}}}:state", stored)
    assert real_site.background.sweeper.sweep() == 9
    unreadable = [games.pop(place) for place in (4, 2)]
    for game in games:
        assert len(timed_out(game)) == 1
    assert set(indexed(real_site)) >= {game.id for game in unreadable}, "they come up again"
    assert all(game.id in caplog.text for game in unreadable)
    assert "\xc1" not in caplog.text


def test_a_sweeper_outlives_an_outage() -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
        site = real_time_site(server.url)
        game = overdue(site)
        server.kill()
        with pytest.raises(StoreUnavailableError):
            site.background.sweeper.sweep()
        site.background.sweeper.start()
        server.start()
        response = game.get(None, query_string={"after_version": 2, "wait": 25})
        site.background.sweeper.stop()
        assert (body_of(response)["version"], len(timed_out(game))) == (3, 1)
        site.redis.close()


# ---- at the deadline ----


@pytest.mark.usefixtures("_short_turns")
@pytest.mark.parametrize("meeting", [False, True], ids=["anyhow", "meeting"])
def test_an_act_at_the_deadline_has_one_effect(any_site: Site, clock: Clock, meeting: bool) -> None:
    """The player acts just in time while the service, a moment later, acts for it."""
    store = MeetingStore.of(any_site) if meeting else any_site.store
    game = any_site.create("mano-a-mano", visibility="public", turn_seconds=TURN_SECONDS, rules={"target": 99})

    def settle() -> TestResponse:
        clock.now_ms += 1
        any_site.background.sweeper._games.settle_overdue(game.id)
        return any_site.send("GET", "/healthz")

    for done in range(3 if meeting else REPETITIONS):
        view = game.view(game.to_act())
        seat, version = view["viewer"]["seat"], view["version"]
        clock.now_ms = deadline(view) - 1
        if isinstance(store, MeetingStore):
            store.expect(2)
        acted, _ = at_once(partial(game.post, seat, view["legal_actions"][0]), settle)
        assert answer(acted) in ((200, None), (409, "version_conflict"))
        events = [event for event in game.events(limit=500)["events"] if event["version"] > version]
        assert {event["version"] for event in events} == {version + 1}
        assert (events[0]["type"] == "timed_out") == (acted.status_code == 409)
        assert len(any_site.store.actions(game.id)) == done + 1
        game.change(timeouts=(0, 0))
