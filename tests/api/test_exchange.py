"""What is told of a request: its id, its line in the log, and what is counted."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from queue import Queue
from uuid import uuid4

import pytest

from service.api.exchange import UNKNOWN, Exchange
from service.engine.actions import ACTIONS
from service.store.base import StoreUnavailableError
from service.store.redis import RedisGameStore
from service.sweeper import Sweeper
from service.waiting import Waiter, Waiting, WaitKind
from tests.api.conftest import make_site
from tests.api.driver import (
    PATIENCE_SECONDS,
    UNLIMITED,
    Body,
    Clock,
    MeetingStore,
    Site,
    answer,
    at_once,
    body_of,
    eventually,
)
from tests.contract import METHODS, SPEC

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
TURN_SECONDS = 30


@pytest.fixture
def measured(clock: Clock) -> Site:
    """The service on its embedded store, with metrics in the process."""
    return make_site(replace(UNLIMITED, metrics_port=1), clock)


def value(site: Site, name: str, **labels: str) -> float:
    assert site.background.metrics is not None
    return site.background.metrics.registry.get_sample_value(name, labels) or 0.0


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[[], list[Body]]:
    """The lines of the requests so far, but for their time."""
    caplog.set_level(logging.INFO)
    seen: list[Body] = []

    def read() -> list[Body]:
        for text in capfd.readouterr().out.splitlines():
            line = json.loads(text)
            assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", line.pop("ts"))
            seen.append(line)
        return seen

    return read


# ---- the id of a request ----


@pytest.mark.parametrize("sent", ["a", "9f1c2ab0-4d5e-4f7a-8b6c-3d2e1f0a9b8c", "A.b_c-1", "x" * 64])
def test_a_sane_request_id_is_taken(site: Site, lines: Callable[[], list[Body]], sent: str) -> None:
    response = site.send("GET", "/v1/variants", headers={"X-Request-Id": sent})
    assert response.headers.getlist("X-Request-Id") == [sent]
    assert lines()[-1]["request_id"] == sent


@pytest.mark.parametrize("sent", [None, "", " ", "x" * 65, "a b", "a,b", "é", 'a"b', "a\tb", "{}", "<a>", "%0a"])
def test_another_one_is_made(site: Site, lines: Callable[[], list[Body]], sent: str | None) -> None:
    made = {
        site.send("GET", "/v1/variants", headers={} if sent is None else {"X-Request-Id": sent}).headers["X-Request-Id"]
        for _ in range(3)
    }
    assert len(made) == 3
    assert {line["request_id"] for line in lines()} == made


def test_a_secret_that_is_sent_as_the_id_too_is_not_repeated(site: Site, lines: Callable[[], list[Body]]) -> None:
    game = site.create("mano-a-mano")
    secret = str(uuid4())
    answers = [
        game.get(game.tokens[0], headers={"X-Request-Id": game.tokens[0]}),
        site.send("POST", "/v1/games", {}, headers={"X-Request-Id": secret, "Idempotency-Key": secret}),
        site.send("POST", "/v1/games", {}, headers={"X-Request-Id": secret, "X-API-Key": secret}),
    ]
    for response in answers:
        assert response.headers["X-Request-Id"] not in (secret, game.tokens[0])
    assert secret not in str(lines())
    assert game.tokens[0] not in str(lines())


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/v1/games/x"), ("PUT", "/v1/games"), ("OPTIONS", "/v1/games"), ("HEAD", "/docs")],
)
def test_every_answer_has_an_id(site: Site, method: str, path: str) -> None:
    assert site.send(method, path).headers["X-Request-Id"]


# ---- the trace that it belongs to ----


@pytest.mark.parametrize(
    ("sent", "trace"),
    [
        (f"00-{TRACE}-{SPAN}-01", TRACE),
        (f"00-{TRACE}-{SPAN}-00", TRACE),
        (f"01-{TRACE}-{SPAN}-01", TRACE),
        (f"cc-{TRACE}-{SPAN}-01-what-comes-later", TRACE),
        (f"cc-{TRACE}-{SPAN}-01.what-comes-later", None),
        (f"00-{TRACE}-{SPAN}-01-what-comes-later", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}", None),
        (f"00-{TRACE}-{SPAN}-0", None),
        (f"00-{TRACE}-{SPAN}-01,00-{TRACE}-{SPAN}-01", None),
        (TRACE, None),
        ("", None),
    ],
)
def test_the_callers_trace(site: Site, lines: Callable[[], list[Body]], sent: str, trace: str | None) -> None:
    response = site.send("GET", "/v1/variants", headers={"traceparent": sent})
    assert lines()[-1].get("trace_id") == trace
    assert "traceparent" not in response.headers


# ---- a line a request ----


def test_the_line_of_an_action(site: Site, lines: Callable[[], list[Body]]) -> None:
    game = site.create("mano-a-mano")
    seat = game.to_act()
    view = game.view(seat)
    game.act(seat, next(action for action in view["legal_actions"] if action["type"] == "play"))
    line = lines()[-1]
    assert isinstance(line.pop("ms"), float)
    assert len(line.pop("request_id")) == 32
    assert line == {
        "level": "info",
        "method": "POST",
        "route": "/v1/games/<game_id>/actions",
        "status": 200,
        "game": game.id,
        "version": view["version"] + 1,
        "seat": seat,
        "action": "play",
    }


def test_the_line_of_what_is_refused(site: Site, lines: Callable[[], list[Body]]) -> None:
    game = site.create("mano-a-mano")
    seat = 1 - game.to_act()
    assert game.refusal(seat, "play", card="4C") == (409, "not_your_turn")
    refused = lines()[-1]
    assert (refused["code"], refused["seat"], refused["version"], refused["action"]) == (
        "not_your_turn",
        seat,
        1,
        "play",
    )
    game.step()
    assert game.refusal(seat, "resign", expected_version=1) == (409, "version_conflict")
    assert [lines()[-1][name] for name in ("code", "seat", "version")] == ["version_conflict", seat, 2]


def test_the_lines_of_who_has_no_seat(site: Site, lines: Callable[[], list[Body]]) -> None:
    created = site.create("mano-a-mano", 1)
    assert {name: lines()[-1].get(name) for name in ("game", "version", "seat")} == {
        "game": created.id,
        "version": 1,
        "seat": None,
    }
    created.get(created.host_token)
    assert (lines()[-1]["version"], lines()[-1].get("seat")) == (1, None)
    created.get("x" * 43)
    assert (lines()[-1]["game"], lines()[-1]["code"], lines()[-1].get("version")) == (created.id, "invalid_token", None)


@pytest.mark.parametrize("path", ["/v1/games/{secret}", "/v1/games/{secret}/actions", "/{secret}", "/docs/{secret}"])
def test_a_path_is_not_repeated(site: Site, measured: Site, lines: Callable[[], list[Body]], path: str) -> None:
    for secret in ("01K9X3M7QF2V8R4T6W5Y0Z1B3C", "x" * 43, "4C"):
        for each in (site, measured):
            each.send("GET", path.format(secret=secret) + f"?q={secret}", headers={"User-Agent": secret})
    for secret in ("01K9X3M7QF2V8R4T6W5Y0Z1B3C", "xxx", "4C"):
        assert secret not in str(lines())
        assert secret not in everything_counted(measured)


def everything_counted(site: Site) -> str:
    assert site.background.metrics is not None
    return str(list(site.background.metrics.registry.collect()))


def test_one_line_each(any_site: Site, lines: Callable[[], list[Body]]) -> None:
    sent = ["/healthz", "/readyz", "/v1/variants", "/nowhere", "/v1/games/x"]
    for path in sent:
        any_site.send("GET", path)
    assert len(lines()) == len(sent)


def test_what_breaks_is_told_without_its_values(
    site: Site, caplog: pytest.LogCaptureFixture, lines: Callable[[], list[Body]]
) -> None:
    game = site.create("mano-a-mano")
    caplog.clear()
    state = game.load().state
    assert state is not None
    assert state.table.hand is not None
    game.change(state=replace(state, table=replace(state.table, hand=replace(state.table.hand, to_play=None))))
    site.app.test_client_class = None  # the contract's judge takes no 500
    assert answer(game.get(game.tokens[0])) == (500, "internal")
    assert caplog.records == []
    line = lines()[-1]
    assert (line["level"], line["code"], line["status"], line["game"]) == ("error", "internal", 500, game.id)
    [told] = line["error"]
    assert set(told) == {"type", "at"}
    assert told["type"] == "AssertionError"
    assert any(place.startswith("service.api.games:") for place in told["at"])


def test_a_store_that_is_away_is_told_in_the_line(lines: Callable[[], list[Body]]) -> None:
    away = make_site(replace(UNLIMITED, redis_url="redis://:a-secret-word@127.0.0.1:1/0"))
    assert answer(away.send("GET", "/readyz")) == (503, "storage_unavailable")
    [line] = lines()
    assert (line["level"], line["code"]) == ("error", "storage_unavailable")
    assert "Connection refused" in line["error"]
    assert "a-secret-word" not in str(line)


# ---- what is counted ----


def test_requests_by_route_method_status_and_code(measured: Site) -> None:
    game = measured.create("mano-a-mano")
    for _ in range(3):
        game.get(game.tokens[0])
    game.get("x" * 43)
    game.get("y" * 43)
    measured.send("GET", "/v1/games/" + "0" * 26)
    measured.send("GET", "/nowhere")
    measured.send("GET", "/v1/nowhere")
    measured.send("PUT", "/v1/games")
    measured.send("BREW", "/v1/games")
    route = "/v1/games/<game_id>"
    for expected, *labels in (
        (3, route, "GET", "200", ""),
        (2, route, "GET", "401", "invalid_token"),
        (1, route, "GET", "404", "game_not_found"),
        (1, "/v1/games", "POST", "201", ""),
        (2, UNKNOWN, "GET", "404", "not_found"),
        (1, UNKNOWN, "PUT", "405", "method_not_allowed"),
        (1, UNKNOWN, UNKNOWN, "405", "method_not_allowed"),
    ):
        named = dict(zip(("route", "method", "status", "code"), labels, strict=True))
        assert value(measured, "truco_requests_total", **named) == expected, labels


def test_an_action_is_timed_by_its_type_when_it_is_carried_out(measured: Site) -> None:
    game = measured.create("mano-a-mano")
    game.step()
    game.step()
    game.refusal(game.to_act(), "accept")
    game.resign()
    took = {kind: value(measured, "truco_action_seconds_count", type=kind) for kind in ACTIONS}
    assert {kind: count for kind, count in took.items() if count} == {"play": 2, "resign": 1}
    assert value(measured, "truco_action_seconds_sum", type="play") > 0


def test_games_are_counted_as_they_come_into_a_status(measured: Site) -> None:
    lobby = measured.create("mano-a-mano", 1)
    assert counted_games(measured) == {"lobby": 1, "playing": 0, "finished": 0}
    lobby.joined()
    measured.create("mano-a-mano")
    assert counted_games(measured) == {"lobby": 1, "playing": 2, "finished": 0}
    lobby.step()
    lobby.resign()
    assert counted_games(measured) == {"lobby": 1, "playing": 2, "finished": 1}
    assert value(measured, "truco_commits_total") == 5
    assert value(measured, "truco_redis_seconds_count", command="commit") == 5


def counted_games(site: Site) -> dict[str, float]:
    return {status: value(site, "truco_games_total", status=status) for status in ("lobby", "playing", "finished")}


def test_what_is_answered_again_is_a_replay(measured: Site) -> None:
    order = {"variant": "mano-a-mano", "players": [{"name": "Ana"}, {"name": "Bia"}]}
    headers = {"Idempotency-Key": str(uuid4())}
    made = [body_of(measured.send("POST", "/v1/games", order, headers=headers)) for _ in range(3)]
    path, tokens = f"/v1/games/{made[0]['game']['id']}", [seat["token"] for seat in made[0]["seats"]]
    seat = made[0]["game"]["turn"]["seats"][0]
    action = measured.get(path, token=tokens[seat])["legal_actions"][0]
    for _ in range(2):
        response = measured.send("POST", f"{path}/actions", action, tokens[seat], headers={"Idempotency-Key": "k" * 22})
        assert response.status_code == 200
    replays = {name: value(measured, "truco_replays_total", operation=name) for name in ("createGame", "applyAction")}
    assert replays == {"createGame": 2, "applyAction": 1}
    assert value(measured, "truco_action_seconds_count", type=action["type"]) == 1


def test_operations_have_the_names_of_the_contract(measured: Site) -> None:
    declared = {item[method]["operationId"] for item in SPEC["paths"].values() for method in METHODS if method in item}
    named = {
        Exchange("", None, "", "", rule.endpoint, 0.0, None).operation for rule in measured.app.url_map.iter_rules()
    }
    assert declared - {"getDocs"} <= named


def test_of_two_commits_at_once_one_is_a_conflict(measured: Site) -> None:
    game = measured.create("mano-a-mano", visibility="public")
    store = MeetingStore.of(measured)
    view = game.view(game.to_act())
    store.expect(2)
    acting = partial(game.post, view["viewer"]["seat"], view["legal_actions"][0])
    assert sorted(response.status_code for response in at_once(acting, acting)) == [200, 409]
    assert (value(measured, "truco_commits_total"), value(measured, "truco_conflicts_total")) == (2, 1)


@pytest.mark.parametrize("kind", WaitKind)
def test_who_waits_is_counted_as_long_as_it_has_a_place(clock: Clock, kind: WaitKind) -> None:
    site = make_site(replace(UNLIMITED, metrics_port=1, waits_per_address=1), clock)
    waiting, who = site.background.waiting, Waiter("1.1.1.1", None, kind)
    other = next(each for each in WaitKind if each is not kind)
    with waiting.place("0" * 26, who) as place, waiting.place("0" * 26, who) as refused:
        assert (place is None, refused is None) == (False, True)
        assert (value(site, "truco_waiters", kind=kind), value(site, "truco_waiters", kind=other)) == (1, 0)
    assert value(site, "truco_waiters", kind=kind) == 0


def test_a_poll_and_a_stream_are_waiters_of_their_kind(measured: Site) -> None:
    game = measured.create("mano-a-mano", visibility="public")
    with ThreadPoolExecutor(2) as pool:
        waited = [
            pool.submit(game.get, None, query_string={"after_version": 1, "wait": 25}),
            pool.submit(game.send, "GET", "/events/stream"),
        ]
        eventually(lambda: [value(measured, "truco_waiters", kind=kind) for kind in WaitKind] == [1, 1])
        game.resign()
        assert [answer.result().status_code for answer in waited] == [200, 200]
    assert [value(measured, "truco_waiters", kind=kind) for kind in WaitKind] == [0, 0]


def test_how_late_the_sweeper_is(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    site = make_site(replace(UNLIMITED, metrics_port=1), clock)
    games = [site.create("mano-a-mano", visibility="public", turn_seconds=TURN_SECONDS) for _ in range(2)]
    for game in games:
        site.store.set_deadline(game.id, 1)
    clock.now_ms += 1000 * TURN_SECONDS + 7_000
    lag = partial(value, site, "truco_sweeper_lag_seconds")
    assert site.background.sweeper.sweep() == 2
    assert lag() == 7
    assert site.background.sweeper.sweep() == 0
    assert lag() == 7, "a scrape may come a little later"
    monkeypatch.setattr("service.metrics._LAG_SHOWN_SECONDS", -1.0)
    assert site.background.metrics is not None
    site.background.metrics.swept(8)
    assert site.background.sweeper.sweep() == 0
    assert lag() == 0


def test_a_turn_that_cannot_be_settled_is_late_all_the_same(clock: Clock) -> None:
    site = make_site(replace(UNLIMITED, metrics_port=1), clock)
    game = site.create("mano-a-mano", visibility="public", turn_seconds=TURN_SECONDS)
    state = game.load().state
    assert state is not None
    assert state.table.hand is not None
    game.change(state=replace(state, table=replace(state.table, hand=replace(state.table.hand, to_play=None))))
    site.store.set_deadline(game.id, 1)
    clock.now_ms += 1000 * TURN_SECONDS + 7_000
    assert site.background.sweeper.sweep() == 1
    assert game.load().deadline_ms == clock.now_ms - 7_000
    assert value(site, "truco_sweeper_lag_seconds") == 7


def test_a_sweeper_that_cannot_look_says_since_when() -> None:
    site = make_site(replace(UNLIMITED, redis_url="redis://127.0.0.1:1/0"))
    told: Queue[float] = Queue()
    sweeper = Sweeper(site.background.sweeper._games, told.put)
    with pytest.raises(StoreUnavailableError):
        sweeper.sweep()
    assert told.empty()
    sweeper.start()
    first, second = told.get(timeout=PATIENCE_SECONDS), told.get(timeout=PATIENCE_SECONDS)
    sweeper.stop()
    assert 0 < first < second


def test_without_a_port_nothing_is_counted(site: Site) -> None:
    assert site.background.metrics is None
    assert type(site.background.sweeper._games._store) is RedisGameStore
    assert type(site.background.waiting) is Waiting
