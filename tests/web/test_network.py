"""When the network, the page or the store lets somebody down: the game goes on where it was."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Route, expect

from tests.api.driver import Site, Started
from tests.table import table
from tests.web.conftest import Seat
from tests.web.person import Person
from tests.web.test_two import game_of, invited, two

ACTIONS = re.compile(r"/v1/games/\w+/actions$")
STREAM = re.compile(r"/events/stream$")
EVENTS = re.compile(r"/events\?")
VIEW = re.compile(r"/v1/games/\w+$")
STREAM_TOLD = """version => window.__heard.some(
  ({ url, text }) => url.endsWith("/stream") && text.includes(`"version":${version},`))"""
HANDS = "3C 2C 4C / KD JD 7D"


def log_of(site: Site, person: Person) -> list[dict[str, Any]]:
    return game_of(site, person).events(person.kept["token"], limit=500)["events"]  # type: ignore[no-any-return]


def played_by(site: Site, person: Person, seat: int) -> list[str]:
    return [
        each["data"]["card"] for each in log_of(site, person) if each["type"] == "card_played" and each["seat"] == seat
    ]


def keys_of(person: Person, address: re.Pattern[str]) -> list[str]:
    """Notes the `Idempotency-Key` of each request to *address* from now on."""
    keys: list[str] = []
    person.page.on(
        "request",
        lambda request: keys.append(request.headers["idempotency-key"]) if address.search(request.url) else None,
    )
    return keys


def test_a_reload_in_the_middle_of_a_hand(person: Seat, site: Site) -> None:
    ana, bia = two(person, site, table("mano-a-mano", HANDS, "5D"))
    ana.card("3 de paus").click()
    bia.card("rei de ouros").click()
    expect(ana.hand).to_have_count(2)
    ana.reload()
    expect(ana.hand).to_have_count(2)
    ana.says("Sua vez.")
    expect(ana.page.get_by_role("listitem").filter(has_text="1ª rodada: nossa")).to_have_count(1)
    ana.call("truco!").click()
    bia.reload()
    bia.says("Ana pediu truco. E aí?")
    bia.call("Aceito").click()
    ana.card("2 de paus").click()
    expect(bia.page.get_by_role("img", name="Ana: 2 de paus")).to_be_visible()


def test_offline_for_ten_seconds_and_back(person: Seat, site: Site) -> None:
    """What was pressed without a network is done once, when it is back; what happened meanwhile is told."""
    ana, bia = two(person, site, table("mano-a-mano", HANDS, "5D"))
    keys = keys_of(ana, ACTIONS)
    ana.context.set_offline(True)
    expect(ana.page.get_by_text("Sem conexão.").first).to_be_visible()
    ana.card("3 de paus").click()
    ana.says("Sem resposta. Enviando de novo…")
    expect(ana.hand.first).to_be_disabled()
    ana.page.wait_for_timeout(10_000)
    ana.says("Sem resposta. Enviando de novo…")
    bia.says("Vez de Ana.")
    ana.context.set_offline(False)
    expect(ana.page.get_by_role("img", name="Você: 3 de paus")).to_be_visible()
    expect(ana.page.get_by_text("Sem conexão.").and_(ana.page.locator(".notice"))).to_have_count(0)
    assert played_by(site, ana, 0) == ["3C"]
    assert len(keys) >= 2
    assert len(set(keys)) == 1
    bia.context.set_offline(True)
    expect(bia.page.get_by_text("Sem conexão.").first).to_be_visible()
    bia.context.set_offline(False)
    bia.card("rei de ouros").click()
    ana.says("Sua vez.")


def test_news_of_an_offline_time_are_told_when_it_is_over(person: Seat, site: Site) -> None:
    ana, bia = two(person, site, table("mano-a-mano", HANDS, "5D"))
    bia.context.set_offline(True)
    expect(bia.page.get_by_text("Sem conexão.").first).to_be_visible()
    ana.card("3 de paus").click()
    expect(ana.page.get_by_role("img", name="Você: 3 de paus")).to_be_visible()
    bia.context.set_offline(False)
    expect(bia.page.get_by_role("img", name="Ana: 3 de paus")).to_be_visible()
    bia.was_told("Ana jogou 3 de paus.")
    bia.says("Sua vez.")


def test_what_happens_while_the_view_is_fetched_is_shown_too(person: Seat, site: Site) -> None:
    """The view of one move comes when the stream has told of the next."""
    ana, bia = two(person, site, table("mano-a-mano", HANDS, "5D"))
    held: list[tuple[Route, APIResponse]] = []
    bia.page.route(VIEW, lambda route: held.append((route, route.fetch())), times=1)
    with bia.page.expect_response(VIEW):
        ana.card("3 de paus").click()
        ana.says("Vez de Bia.")
        seen = game_of(site, ana).load().version
        bia.page.wait_for_function(STREAM_TOLD, arg=seen)
        Started(site, bia.game_id, {1: bia.kept["token"]}, "", None).act(1, {"type": "play", "card": "KD"})
        bia.page.wait_for_function(STREAM_TOLD, arg=seen + 1)
        [(route, response)] = held
        assert response.json()["version"] == seen
        route.fulfill(response=response)
    expect(bia.page.get_by_role("listitem").filter(has_text="1ª rodada: deles")).to_have_count(1)
    bia.says("Vez de Ana.")
    expect(bia.hand).to_have_count(2)


def test_a_lost_answer_is_asked_for_again(person: Seat, site: Site) -> None:
    ana, bia = two(person, site, table("mano-a-mano", HANDS, "5D"))
    keys = keys_of(ana, ACTIONS)

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    ana.page.route(ACTIONS, lose, times=1)
    ana.card("3 de paus").click()
    bia.says("Sua vez.")
    expect(ana.page.get_by_role("img", name="Você: 3 de paus")).to_be_visible()
    ana.says("Vez de Bia.")
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert played_by(site, ana, 0) == ["3C"]


@pytest.mark.parametrize("retry_after", ["1", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_an_unavailable_service_is_asked_again(person: Seat, site: Site, retry_after: str) -> None:
    """After a second at least, whatever somebody on the way has written."""
    ana, bia = two(person, site, table("mano-a-mano", HANDS, "5D"))
    problem = {"type": "/problems/storage_unavailable", "code": "storage_unavailable", "status": 503}
    sent: list[float] = []
    ana.page.on("request", lambda request: sent.append(time.monotonic()) if ACTIONS.search(request.url) else None)
    ana.page.route(
        ACTIONS, lambda route: route.fulfill(status=503, json=problem, headers={"Retry-After": retry_after}), times=1
    )
    ana.card("3 de paus").click()
    bia.says("Sua vez.")
    assert played_by(site, ana, 0) == ["3C"]
    expect(ana.page.get_by_role("img", name="Você: 3 de paus")).to_be_visible()
    first, second = sent
    assert second - first > 0.9


def test_a_table_that_has_moved_on_is_shown_as_it_is(person: Seat, site: Site) -> None:
    """409 version_conflict: the view in the answer is taken, and there is something else to choose."""
    ana, _ = two(person, site, table("mano-a-mano", HANDS, "5D"))
    other = table("mano-a-mano", "AC 6C 6H / KD JD 7D", "5D", score=(2, 4))
    game_of(site, ana).put(other.state)  # no event tells of it
    ana.card("3 de paus").click()
    expect(ana.page.get_by_role("alert")).to_contain_text("A mesa mudou antes da sua jogada.")
    expect(ana.card("ás de paus")).to_be_enabled()
    ana.score("Nós 2, Eles 4")
    ana.card("ás de paus").click()
    expect(ana.page.get_by_role("img", name="Você: ás de paus")).to_be_visible()


def test_long_polls_where_streams_are_held_back(person: Seat, site: Site) -> None:
    """Somebody on the way keeps the stream until it is complete: nothing comes, and the page waits in another way."""
    ana, bia = two(person, site, table("mano-a-mano", HANDS, "5D"))
    held: list[Route] = []
    bia.page.clock.install()
    bia.page.route(STREAM, lambda route: held.append(route))  # Playwright looks at its parameters
    bia.reload()
    expect(bia.hand).to_have_count(3)
    with bia.page.expect_request(re.compile(r"/events\?after=\d+&limit=500&wait=25")):
        bia.page.clock.fast_forward(5_000)
    streams = len(held)
    ana.card("3 de paus").click()
    expect(bia.page.get_by_role("img", name="Ana: 3 de paus")).to_be_visible()
    bia.card("rei de ouros").click()
    ana.card("2 de paus").click()
    expect(bia.page.get_by_role("img", name="Ana: 2 de paus")).to_be_visible()
    assert len(held) == streams


def test_a_broken_stream_goes_on_behind_what_is_known(person: Seat, site: Site) -> None:
    ana, bia = two(person, site, table("mano-a-mano", HANDS, "5D"))
    resumed: list[str] = []
    bia.page.route(STREAM, lambda route: route.abort(), times=1)
    bia.page.on(
        "request",
        lambda request: (
            resumed.append(request.headers.get("last-event-id", "")) if STREAM.search(request.url) else None
        ),
    )
    bia.reload()
    expect(bia.page.locator(".link.lost")).to_have_count(0)
    ana.card("3 de paus").click()
    bia.says("Sua vez.")
    expect(bia.page.get_by_role("img", name="Ana: 3 de paus")).to_be_visible()
    assert len(resumed) == 2
    assert all(seq.isdigit() and int(seq) > 0 for seq in resumed)


def test_a_reload_before_the_answer_finds_the_same_game(person: Seat) -> None:
    """The request was carried out, its tokens never came: the page asks again with the same key."""
    ana = person(name="Ana")
    ana.open("#/new")
    made: list[dict[str, Any]] = []

    def lose(route: Route) -> None:
        if route.request.method != "POST":
            route.fallback()
            return
        made.append(route.fetch().json())
        route.abort()

    ana.page.route(re.compile("/v1/games$"), lose)
    ana.page.get_by_role("radio", name="2 · ").check()
    expect(ana.page.get_by_label("Lugar 2: adversário").locator("option:checked")).to_have_text("robô médio")
    with ana.page.expect_event("requestfailed"):
        ana.page.get_by_role("button", name="Pôr as cartas na mesa").click()
    assert ana.page.evaluate("sessionStorage.length") == 1
    ana.page.unroute_all()
    ana.reload()
    expect(ana.hand).to_have_count(3)
    assert ana.game_id == made[0]["game"]["id"]
    assert ana.kept["hostToken"] == made[0]["host_token"]
    assert ana.page.evaluate("sessionStorage.length") == 0


def test_a_game_that_is_wanted_before_the_bots_are_known_waits_for_them(person: Seat) -> None:
    ana = person(name="Ana")
    held: list[Route] = []
    ana.page.route(re.compile("/v1/bots$"), lambda route: held.append(route))  # Playwright looks at its parameters
    ana.open("#/new")
    ana.page.get_by_role("radio", name="2 · ").check()
    ana.page.get_by_role("button", name="Pôr as cartas na mesa").click()
    expect(ana.page.get_by_text("Esperando pelos robôs…")).to_be_visible()
    expect(ana.page.get_by_role("button", name="Preparando a mesa…")).to_be_visible()
    held[0].fallback()
    expect(ana.hand).to_have_count(3)
    expect(ana.page.get_by_text("robô médio")).to_be_visible()


def test_where_the_bots_are_refused_the_person_decides(person: Seat) -> None:
    ana = person(name="Ana")
    problem = {"type": "/problems/forbidden", "code": "forbidden", "status": 403}
    bots = re.compile("/v1/bots$")
    ana.page.route(bots, lambda route: route.fulfill(status=403, json=problem))
    ana.open("#/new")
    ana.page.get_by_role("radio", name="2 · ").check()
    ana.page.get_by_role("button", name="Pôr as cartas na mesa").click()
    expect(ana.page.get_by_text("Não foi possível perguntar pelos robôs.")).to_be_visible()
    assert "#/new" in ana.page.url
    ana.page.unroute(bots)
    ana.page.get_by_role("button", name="Perguntar de novo").click()
    expect(ana.page.get_by_label("Lugar 2: adversário").locator("option:checked")).to_have_text("robô médio")
    ana.page.get_by_role("button", name="Pôr as cartas na mesa").click()
    expect(ana.hand).to_have_count(3)


def test_no_token_is_in_an_address_or_left_on_the_page(person: Seat) -> None:
    ana, bia = invited(person)
    for each in (ana, bia):
        token = each.kept["token"]
        assert token not in each.drawn()
        assert not [url for url in each.requested if token in url]
        assert token not in json.dumps([*each.views(), *each.events()])
