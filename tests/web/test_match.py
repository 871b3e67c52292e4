"""A person against three, from the new game to its record; and what the page was sent meanwhile."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
import requests
from playwright.sync_api import TimeoutError as GoneError
from playwright.sync_api import expect

from service.dealer import SeededDealer
from service.engine.record import from_json, verify
from tests.api.driver import Site, Started
from tests.demo import Client, check_face
from tests.web.conftest import Seat
from tests.web.others import Others
from tests.web.person import Person, card_name

MATCH_LASTS_SECONDS = 240


def play_to_the_end(person: Person, site: Site, chance: random.Random) -> None:
    """Presses, as long as the game lasts, one of what can be pressed; looks for others' cards before."""
    looked = 0
    person.page.evaluate(
        """() => { window.__pressable = () => {
          const all = [...document.querySelectorAll('#hand button:enabled, .actions .call')];
          return document.querySelector('.end') ? null : all.map((button, place) => {
            button.dataset.place = place;
            return button.classList[1] ?? 'play';
          });
        } }"""
    )
    until = time.monotonic() + MATCH_LASTS_SECONDS
    while (found := _pressable(person)) is not None:
        assert time.monotonic() < until, "the match does not end"
        looked += _is_unseen(person, site)
        place = _choose(found, chance)
        with suppress(GoneError):  # a partner has answered first, and it is gone
            person.page.locator(f"[data-place='{place}']").first.click(timeout=1_000)
    assert looked >= 3


def _pressable(person: Person) -> Sequence[str] | None:
    """What can be pressed as soon as there is anything; None when the game is over."""
    answer = person.page.wait_for_function(
        "() => { const found = window.__pressable(); return (found === null || found.length) && { found } }", polling=20
    )
    found: Sequence[str] | None = answer.json_value()["found"]
    return found


def _choose(found: Sequence[str], chance: random.Random) -> int:
    weights = [{"raise": 0.15, "fold": 0.3}.get(kind, 1.0) for kind in found]
    return chance.choices(range(len(found)), weights)[0]


def _is_unseen(person: Person, site: Site) -> bool:
    """That nothing drawn is another's card; False if the page and the store are not at the same version just now."""
    drawn = person.drawn()
    found = site.store.load(person.game_id)
    assert found is not None
    state = found.game.state
    assert state is not None and state.table.hand is not None
    if f'data-version="{found.game.version}"' not in drawn or state.table.hand.phase == "eleven":
        return False
    seat = person.kept["seat"]
    for holder, cards in enumerate(state.secrets.hands):
        for card in cards:
            if card is not None and (holder != seat or state.table.is_blind):
                assert card_name(str(card)) not in drawn
    return True


def assert_all_was_ours_to_see(person: Person, record: dict[str, Any]) -> int:
    """Every face in every answer, in every event and snapshot, by the game's record. Their number."""
    client = Client("", person.kept["seat"], None)
    for view in person.views():
        if view["id"] == record["id"]:
            client._note(view)
    for event in person.events():
        client._note_event(event)
    for face in client.faces:
        check_face(face, record)
    return len(client.faces)


def record_of(url: str, person: Person) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {person.kept['token']}"}
    record: dict[str, Any] = requests.get(f"{url}/v1/games/{person.game_id}/record", headers=headers, timeout=10).json()
    return record


def check_the_end(person: Person, url: str, target: int) -> None:
    record = record_of(url, person)
    assert max(record["score"]) >= target
    assert assert_all_was_ours_to_see(person, record) > 100
    expect(person.page.locator(".end .final")).to_contain_text(" a ".join(map(str, record["score"])))
    person.page.get_by_role("link", name="Conferir o baralho").click()
    expect(person.page.get_by_text("O baralho foi honesto.")).to_be_visible()
    expect(person.page.get_by_text("o compromisso que este navegador viu na primeira vez")).to_be_visible()
    person.shoot("record")


def test_a_person_and_three_others_to_the_end(person: Seat, url: str, site: Site) -> None:
    """A short match, for the same with bots is a long one."""
    ana = person(name="Ana")
    ana.create(4, "Truco Paulista", Pontos_para_ganhar="4")
    with Others(url, ana.game_id, ana.kept["joinCode"]) as others:
        others.sit_down("Bia", "Caio", "Davi")
        expect(ana.hand).to_have_count(3)
        play_to_the_end(ana, site, random.Random(7))
    check_the_end(ana, url, 4)


def test_a_person_and_three_bots_to_the_end(person: Seat, url: str, site: Site) -> None:
    ana = person(name="Ana")
    ana.open()
    ana.page.get_by_role("button", name="Duplas, com três robôs").click()
    expect(ana.hand).to_have_count(3)
    ana.shoot("bots")
    play_to_the_end(ana, site, random.Random(7))
    first = ana.game_id
    expect(ana.page.get_by_text("robô médio").first).to_be_visible()
    ana.page.get_by_role("button", name="Revanche").click()
    expect(ana.hand).to_have_count(3)
    assert ana.game_id != first
    ana.open(f"#/game/{first}")
    expect(ana.page.locator(".end")).to_be_visible()
    check_the_end(ana, url, 12)


def test_the_host_fills_a_seat_with_a_bot(person: Seat) -> None:
    ana = person(name="Ana")
    ana.create(2, "Truco mano a mano")
    ana.page.get_by_label("Pôr robô, Lugar 2").select_option(label="robô difícil")
    expect(ana.hand).to_have_count(3)


def test_a_seat_is_taken_back_from_its_stand_in(person: Seat, site: Site) -> None:
    game = site.create("mano-a-mano", turn_seconds=600, on_timeout="bot")
    ana = person(name="Ana")
    ana.sit(game, game.to_act())
    expect(ana.hand).to_have_count(3)
    back = ana.page.get_by_role("button", name="Voltar a jogar")
    expect(back).to_have_count(0)
    game.change(deadline_ms=1)
    back.click()
    expect(back).to_have_count(0)
    expect(ana.page.get_by_role("region", name="Você")).not_to_contain_text("um robô joga")


def finished(site: Site, variant: str, **order: Any) -> Started:
    """A public game that was played by its rules to the end; a short one."""
    game = site.create(variant, visibility="public", rules={"target": 4, "legs": 1}, **order)
    chance = random.Random(3)
    while game.view(0)["status"] == "playing":
        seat = game.to_act()
        legal = [action for action in game.view(seat)["legal_actions"] if "penalty" not in action]
        game.act(seat, chance.choice(legal))
    return game


@pytest.mark.parametrize(("variant", "seats"), [("tradicional", 4), ("espanhol", 6), ("mineiro", 2)])
def test_the_browser_deals_as_the_service_did(person: Seat, site: Site, variant: str, seats: int) -> None:
    """Cuts, cards taken, every way to deal, every deck: against the service's own check of the record."""
    game = finished(site, variant, seats=seats)
    record = site.get(f"{game.path}/record")
    assert verify(from_json(record), SeededDealer()) is None
    eva = person(name="Eva")
    eva.open(f"#/record/{game.id}")
    expect(eva.page.get_by_text("O baralho foi honesto.")).to_be_visible()
    expect(eva.page.get_by_text("este navegador não viu o começo")).to_be_visible()


def test_a_doctored_record_is_found_out(person: Seat, site: Site) -> None:
    game = finished(site, "mano-a-mano")
    eva = person(name="Eva")
    eva.open(f"#/game/{game.id}")  # so that it has seen the commitment
    expect(eva.page.locator(".end")).to_be_visible()
    true = json.dumps(site.get(f"{game.path}/record"))
    record = json.loads(true)
    deck = record["hands"][1]["deck"]
    deck[0], deck[1] = deck[1], deck[0]
    _expect_wrong(eva, game, record, "Não confere: mão 2")
    record = json.loads(true)
    hands = record["hands"][0]["hands"]
    hands[0], hands[1] = hands[1], hands[0]
    _expect_wrong(eva, game, record, "Não confere: mão 1")
    record = {**json.loads(true), "first_dealer": 1 - json.loads(true)["first_dealer"]}
    _expect_wrong(eva, game, record, "O primeiro pé saiu da semente")
    other = site.get(f"{finished(site, 'mano-a-mano').path}/record")
    _expect_wrong(eva, game, {**other, "id": game.id}, "A semente é a do começo do jogo")


def _expect_wrong(person: Person, game: Started, record: dict[str, Any], text: str) -> None:
    person.page.route(f"**{game.path}/record", lambda route: route.fulfill(json=record))
    person.open(f"#/record/{game.id}")
    person.reload()
    expect(person.page.get_by_text("Algo não confere neste registro!")).to_be_visible()
    expect(person.page.locator(".checks li.wrong")).to_contain_text([text])
    person.page.unroute_all()
