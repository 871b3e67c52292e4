"""How often one may ask, and through which doors: rate limits, proxies, browsers of other origins, pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from werkzeug.test import TestResponse

from service.waiting import Waiter
from tests.api.conftest import make_site
from tests.api.driver import UNLIMITED, Clock, Site, Started, answer, at_once, body_of
from tests.contract import SPEC
from tests.redis_server import DURABLE, RedisServer

LIMITED = (429, "rate_limited")
NOWHERE = "0" * 26


def limited(clock: Clock, **settings: Any) -> Site:
    return make_site(replace(UNLIMITED, **settings), clock)


def from_(address: str, **headers: str) -> dict[str, Any]:
    return {"environ_overrides": {"REMOTE_ADDR": address}, "headers": headers}


def create(site: Site, **kwargs: Any) -> TestResponse:
    return site.send("POST", "/v1/games", {"variant": "mano-a-mano"}, **kwargs)


def check_refused(response: TestResponse, at_most_seconds: int = 60) -> None:
    assert answer(response) == LIMITED
    seconds = response.headers["Retry-After"]
    assert seconds.isdigit()
    assert 1 <= int(seconds) <= at_most_seconds


# ---- how often ----


def test_only_so_many_games_are_created_from_an_address(clock: Clock) -> None:
    site = limited(clock, rate_create="3/minute")
    assert [create(site).status_code for _ in range(3)] == [201] * 3
    for _ in range(2):
        check_refused(create(site))
    assert create(site, **from_("10.0.0.1")).status_code == 201
    check_refused(create(site))
    assert len(site.redis.keys("*:state")) == 4


@pytest.mark.parametrize(("rate", "seconds"), [("1/second", 1), ("1/minute", 60), ("1/hour", 3_600), ("1/day", 86_400)])
def test_it_is_told_when_to_come_back(clock: Clock, rate: str, seconds: int) -> None:
    site = limited(clock, rate_create=rate)
    responses = [create(site) for _ in range(8)]
    assert responses[0].status_code == 201
    refused = [response for response in responses if response.status_code == 429]
    assert refused
    for response in refused:
        check_refused(response, seconds)
        assert int(response.headers["Retry-After"]) > seconds - 60


def test_a_create_that_is_refused_is_counted_too(clock: Clock) -> None:
    site = limited(clock, rate_create="2/minute")
    for _ in range(2):
        assert answer(site.send("POST", "/v1/games", {"variant": "nothing"})) == (422, "validation_failed")
    check_refused(site.send("POST", "/v1/games", {"variant": "nothing"}))
    check_refused(create(site))


def test_a_repeated_create_is_counted_too(clock: Clock) -> None:
    site = limited(clock, rate_create="2/minute")
    key = {"headers": {"Idempotency-Key": "c2b7a7de-58a4-4f0e-9d0c-3b9a1f6e7d52"}}
    assert [create(site, **key).status_code for _ in range(2)] == [201, 201]
    check_refused(create(site, **key))
    assert body_of(create(site, **from_("10.0.0.1", **key["headers"])))["game"]["version"] == 1, "its record is kept"


def test_only_so_many_seats_are_taken_from_an_address(clock: Clock) -> None:
    """A rematch takes one as well."""
    site = limited(clock, rate_join="3/minute")
    game, over = site.create("paulista", 0, visibility="public"), site.create()
    over.resign()
    game.joined()
    assert over.rematch(0).status_code == 201
    assert answer(game.join(seat=0)) == (409, "seat_taken")
    check_refused(game.join())
    check_refused(over.rematch(1))
    assert game.send("POST", "/seats", {"name": "Gil"}, **from_("10.0.0.1")).status_code == 201
    assert over.rematch(1, **from_("10.0.0.1")).status_code == 201


READS = ("", "/events", "/events/stream", "/record")


def test_only_so_many_looks_without_a_token_come_from_an_address(clock: Clock) -> None:
    site = limited(clock, rate_read="5/minute")
    game = site.create(visibility="public")
    game.resign()
    reads = [partial(game.send, "GET", below) for below in READS]
    assert [read().status_code for read in (*reads, partial(site.send, "GET", "/v1/games"))] == [200] * 5
    for read in (*reads, partial(site.send, "GET", "/v1/games")):
        check_refused(read())
        assert read(**from_("10.0.0.1")).status_code == 200
    for below in READS:
        assert game.send("GET", below, token=game.tokens[0]).status_code == 200
        assert game.send("GET", below, token=game.host_token).status_code == 200
    check_refused(site.send("GET", "/v1/games", token=game.tokens[0]))


def test_looks_at_what_is_not_there_are_counted(clock: Clock) -> None:
    site = limited(clock, rate_read="2/minute")
    assert [site.send("GET", f"/v1/games/{NOWHERE}").status_code for _ in range(2)] == [404, 404]
    check_refused(site.send("GET", f"/v1/games/{NOWHERE}"))


def test_what_is_the_same_for_everybody_is_not_counted(clock: Clock) -> None:
    site = limited(clock, rate_create="1/minute", rate_join="1/minute", rate_read="1/minute", rate_act="1/minute")
    for path in ("/v1/variants", "/v1/variants/paulista", "/healthz", "/readyz", "/openapi.yaml", "/docs"):
        assert [site.send("GET", path).status_code for _ in range(3)] == [200] * 3


def test_only_so_many_actions_come_with_a_token(clock: Clock) -> None:
    site = limited(clock, rate_act="3/minute")
    game = site.create("mano-a-mano", visibility="public")
    seat = game.to_act()
    for _ in range(3):
        assert answer(game.post(seat, {"type": "fold", "expected_version": 9})) == (409, "version_conflict")
    for address in ("127.0.0.1", "10.0.0.1"):
        check_refused(game.post(seat, game.view(seat)["legal_actions"][0], **from_(address)))
    other = {"type": "fold", "expected_version": 9}
    assert answer(game.post(1 - seat, other)) == (409, "version_conflict")
    assert game.version == 1


def test_actions_without_a_token_are_counted_by_address(clock: Clock) -> None:
    site = limited(clock, rate_act="2/minute")
    game = site.create()
    action = {"type": "fold", "expected_version": 1}
    for _ in range(2):
        assert answer(game.send("POST", "/actions", action)) == (401, "missing_token")
    check_refused(game.send("POST", "/actions", action))
    assert answer(game.send("POST", "/actions", action, **from_("10.0.0.1"))) == (401, "missing_token")


def test_what_can_always_be_done(clock: Clock) -> None:
    """Who has used up everything can still leave, come back, look with a token, and cancel."""
    site = limited(clock, rate_create="2/minute", rate_join="1/minute", rate_read="1/minute", rate_act="1/minute")
    game, lobby = site.create(), site.create("paulista", 2)
    for _ in range(2):
        game.post(0, {"type": "fold", "expected_version": 9})
    check_refused(game.post(0, {"type": "fold", "expected_version": 9}))
    assert game.send("POST", "/seats/0/return", token=game.tokens[0]).status_code == 200
    assert game.leave(0, game.tokens[0]).status_code == 204
    assert lobby.leave(1, lobby.tokens[1]).status_code == 204
    assert lobby.send("DELETE", "", token=lobby.host_token).status_code == 204
    assert game.view(1)["status"] == "finished"


def test_without_limits_nobody_is_refused(site: Site) -> None:
    game = site.create("mano-a-mano", visibility="public")
    for _ in range(30):
        assert game.get(None).status_code == 200
        assert answer(game.post(0, {"type": "fold", "expected_version": 9})) == (409, "version_conflict")


def test_limits_are_kept_when_many_ask_at_once(clock: Clock) -> None:
    site = limited(clock, rate_create="10/minute")
    responses = at_once(*[partial(create, site)] * 16)
    assert sorted(response.status_code for response in responses) == [201] * 10 + [429] * 6


def test_the_limits_do_not_need_the_store(clock: Clock) -> None:
    """While it is away they count on, and it is the store that is missed; nobody is shut out by its failure."""
    with RedisServer(*DURABLE) as server:
        site = limited(clock, redis_url=server.url, rate_create="3/minute", rate_read="3/minute")
        game = site.create("mano-a-mano", visibility="public")
        server.kill()
        for request in (partial(create, site), partial(game.get, None)):
            gone = request()
            assert answer(gone) == (503, "storage_unavailable")
            assert int(gone.headers["Retry-After"]) >= 1
        server.start()
        assert create(site).status_code == 201
        assert game.get(None).status_code == 200
        check_refused(create(site))
        site.redis.close()


# ---- proxies ----

FORWARDED = "X-Forwarded-For"


def seen_as(clock: Clock, trusted_proxies: int, *requests: tuple[str, str | None]) -> list[int]:
    """Whether each request, given by its sender and what that forwards, is the first of its address."""
    site = limited(clock, rate_create="1/minute", trusted_proxies=trusted_proxies)
    return [
        create(site, **from_(address, **({} if forwarded is None else {FORWARDED: forwarded}))).status_code
        for address, forwarded in requests
    ]


def test_without_trusted_proxies_nobody_can_speak_for_others(clock: Clock) -> None:
    requests = [("10.0.0.1", f"1.1.1.{place}") for place in range(3)]
    assert seen_as(clock, 0, *requests) == [201, 429, 429]


def test_one_trusted_proxy_names_who_asks(clock: Clock) -> None:
    proxy = "10.0.0.1"
    assert seen_as(clock, 1, (proxy, "1.1.1.1"), (proxy, "1.1.1.2"), (proxy, "1.1.1.1")) == [201, 201, 429]


def test_what_a_client_says_of_itself_before_the_trusted_proxy_does_not_count(clock: Clock) -> None:
    requests = [("10.0.0.1", f"9.9.9.{place}, 1.1.1.1") for place in range(3)]
    assert seen_as(clock, 1, *requests) == [201, 429, 429]


def test_of_two_trusted_proxies_the_outer_one_names_who_asks(clock: Clock) -> None:
    requests = [
        ("10.0.0.1", "1.1.1.1, 10.0.0.2"),
        ("10.0.0.1", "1.1.1.2, 10.0.0.2"),
        ("10.0.0.1", "9.9.9.9, 1.1.1.1, 10.0.0.2"),
    ]
    assert seen_as(clock, 2, *requests) == [201, 201, 429]


def test_a_request_that_the_trusted_proxy_did_not_forward(clock: Clock) -> None:
    assert seen_as(clock, 1, ("10.0.0.1", None), ("10.0.0.1", None)) == [201, 429]
    assert seen_as(clock, 2, ("10.0.0.1", "1.1.1.1"), ("10.0.0.1", "1.1.1.1")) == [201, 429]


@pytest.mark.parametrize("header", ["X-Real-IP", "Forwarded", "X-Client-IP", "X-Forwarded"])
def test_other_headers_say_nothing(clock: Clock, header: str) -> None:
    site = limited(clock, rate_create="1/minute", trusted_proxies=1)
    statuses = [create(site, **from_("10.0.0.1", **{header: f"for=1.1.1.{place}"})).status_code for place in range(2)]
    assert statuses == [201, 429]


def test_a_trusted_proxy_does_not_name_the_host_or_the_scheme(clock: Clock) -> None:
    site = limited(clock, trusted_proxies=1)
    headers = {FORWARDED: "1.1.1.1", "X-Forwarded-Host": "elsewhere.example", "X-Forwarded-Proto": "gopher"}
    response = create(site, **from_("10.0.0.1", **headers, **{"X-Forwarded-Prefix": "/elsewhere"}))
    assert response.headers["Location"].startswith("/v1/games/")


def test_waits_are_counted_by_the_forwarded_address(clock: Clock) -> None:
    site = limited(clock, waits_per_address=1, trusted_proxies=1)
    waiting = site.background.waiting
    game = site.create(visibility="public")
    with waiting.place(game.id, Waiter("1.1.1.1", None)) as place:
        assert place is not None
        query = {"after_version": 1, "wait": 25}
        assert game.get(None, query_string=query, **from_("10.0.0.1", **{FORWARDED: "1.1.1.1"})).status_code == 200
        with waiting.place(game.id, Waiter("1.1.1.2", None)) as other:
            assert other is not None


# ---- browsers of other origins ----

ORIGIN = "https://truco.example"
REQUEST_HEADERS = (
    *("authorization", "content-type", "idempotency-key", "if-none-match", "last-event-id", "x-api-key"),
    *("x-request-id", "traceparent", "tracestate"),
)
SHOWN_HEADERS = {"ETag", "Idempotency-Replayed", "Location", "Retry-After", "X-Request-Id"}


def check_open(response: TestResponse, origin: str = "*") -> None:
    assert response.headers.getlist("Access-Control-Allow-Origin") == [origin]
    assert set(response.headers["Access-Control-Expose-Headers"].split(", ")) >= SHOWN_HEADERS
    assert "Access-Control-Allow-Credentials" not in response.headers


def every_answer(site: Site) -> dict[int, Callable[..., TestResponse]]:
    """A request for each kind of answer."""
    over, lobby = site.create("mano-a-mano", visibility="public"), site.create("paulista", 1)
    over.resign()
    return {
        200: partial(over.get, None),
        201: partial(create, site),
        204: partial(lobby.send, "DELETE", "/seats/0", token=lobby.tokens[0]),
        304: partial(site.send, "GET", "/v1/variants"),
        400: partial(over.send, "GET", "?wait=x"),
        401: partial(over.get, "x" * 43),
        403: partial(over.send, "POST", "/rematch", token=over.host_token),
        404: partial(site.send, "GET", f"/v1/games/{NOWHERE}"),
        405: partial(site.send, "PUT", "/v1/games"),
        409: partial(over.send, "DELETE", "/seats/0", token=over.tokens[0]),
        415: partial(site.send, "POST", "/v1/games", data=b"{}", content_type="text/plain"),
        422: partial(site.send, "POST", "/v1/games", {}),
    }


def test_every_answer_can_be_read_by_other_origins(site: Site) -> None:
    for status, request in every_answer(site).items():
        response = request(headers={"Origin": ORIGIN, **({"If-None-Match": "*"} if status == 304 else {})})
        assert response.status_code == status
        check_open(response)


def test_answers_that_take_a_failure_can_be_read_too(clock: Clock) -> None:
    site = limited(clock, rate_create="1/minute")
    create(site)
    refused = create(site, headers={"Origin": ORIGIN})
    assert answer(refused) == LIMITED
    check_open(refused)
    site.background.drain()
    game = Started(site, NOWHERE, {}, "", None)
    assert game.get(None, headers={"Origin": ORIGIN}).status_code == 404
    gone = make_site(replace(UNLIMITED, redis_url="redis://127.0.0.1:1"), clock)
    unavailable = gone.send("GET", "/v1/games", headers={"Origin": ORIGIN})
    assert answer(unavailable) == (503, "storage_unavailable")
    check_open(unavailable)


@pytest.mark.parametrize("template", [path for path in SPEC["paths"] if path.startswith("/v1/")])
def test_a_preflight_is_answered_without_a_token(clock: Clock, template: str) -> None:
    """For each method and each header that a client may send."""
    site = limited(clock, rate_create="1/minute", rate_join="1/minute", rate_read="1/minute", rate_act="1/minute")
    path = template.format(id=NOWHERE, seat=0, name="paulista")
    for method in {name.upper() for name in SPEC["paths"][template]} & {"GET", "POST", "DELETE"}:
        for _ in range(2):
            response = site.send(
                "OPTIONS",
                path,
                headers={
                    "Origin": ORIGIN,
                    "Access-Control-Request-Method": method,
                    "Access-Control-Request-Headers": ", ".join(REQUEST_HEADERS),
                },
            )
            assert (response.status_code, response.get_data()) == (204, b"")
            assert "Content-Type" not in response.headers
            assert response.headers["Access-Control-Allow-Origin"] == "*"
            assert method in response.headers["Access-Control-Allow-Methods"].split(", ")
            allowed = response.headers["Access-Control-Allow-Headers"].lower().split(", ")
            assert set(allowed) >= set(REQUEST_HEADERS)
            assert response.headers["Access-Control-Max-Age"] == "86400"


def test_a_preflight_for_the_contract(site: Site) -> None:
    headers = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}
    response = site.send("OPTIONS", "/openapi.yaml", headers=headers)
    assert (response.status_code, response.headers["Access-Control-Allow-Origin"]) == (204, "*")
    check_open(site.send("GET", "/openapi.yaml", headers={"Origin": ORIGIN}))


def test_a_preflight_for_what_is_not_there(site: Site) -> None:
    """It stays an answer of its own; a 204 with a body would be the beginning of the next answer."""
    headers = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}
    response = site.send("OPTIONS", "/v1/nothing", headers=headers)
    assert answer(response) == (404, "not_found")
    check_open(response)


def test_options_without_an_origin_are_no_preflight(site: Site) -> None:
    response = site.send("OPTIONS", "/v1/games")
    assert (response.status_code, response.get_data()) == (200, b"")


def test_a_preflight_does_not_allow_what_was_not_meant(site: Site) -> None:
    headers = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "x-http-method-override, cookie",
    }
    response = site.send("OPTIONS", "/v1/games", headers=headers)
    allowed = response.headers.get("Access-Control-Allow-Headers", "").lower()
    assert "override" not in allowed
    assert "cookie" not in allowed


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/docs"])
def test_what_is_not_the_api_is_closed_to_other_origins(site: Site, path: str) -> None:
    response = site.send("GET", path, headers={"Origin": ORIGIN})
    assert "Access-Control-Allow-Origin" not in response.headers


def test_the_operator_may_name_the_origins(clock: Clock) -> None:
    site = limited(clock, cors_origins=(ORIGIN, "http://localhost:5173"))
    for origin in (ORIGIN, "http://localhost:5173"):
        response = site.send("GET", "/v1/games", headers={"Origin": origin})
        check_open(response, origin)
        assert "Origin" in ",".join(response.headers.getlist("Vary"))
        preflight = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        assert site.send("OPTIONS", "/v1/games", headers=preflight).headers["Access-Control-Allow-Origin"] == origin
    for origin in ("https://elsewhere.example", f"{ORIGIN}.elsewhere.example", "http://truco.example", "null", "*"):
        for method in ("GET", "OPTIONS"):
            headers = {"Origin": origin, "Access-Control-Request-Method": "GET"}
            response = site.send(method, "/v1/games", headers=headers)
            assert response.headers.get("Access-Control-Allow-Origin") not in (origin, "*"), origin


# ---- pages ----


def test_the_page_is_shut_tight(site: Site) -> None:
    for path in ("/docs", "/docs/", "/docs/index.html"):
        headers = site.send("GET", path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert "http" not in headers["Content-Security-Policy"]
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_no_answer_is_taken_for_something_else(site: Site) -> None:
    game = site.create("mano-a-mano", visibility="public")
    for path in ("/v1/games", game.path, f"{game.path}/events", "/healthz", "/openapi.yaml", "/v1/nothing", "/docs"):
        assert site.send("GET", path).headers["X-Content-Type-Options"] == "nosniff"
