"""How it looks and sounds: two sizes, light and dark, both languages, keyboard, and what axe-core finds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from service.engine.cards import parse_cards
from service.engine.rules import IronCards
from tests.api.driver import Site
from tests.table import PlayedTable, table
from tests.web.conftest import Seat
from tests.web.person import DESK, PHONE, Person
from tests.web.test_two import game_of, put

SIZES = {"phone": PHONE, "desk": DESK}
SIDEWAYS = {"width": PHONE["height"], "height": PHONE["width"]}
HANDS = "3C 5C 4H / KD JD 7D / 6H 7H QH / 2S 7S QS"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SERIOUS = ("serious", "critical")


def assert_accessible(person: Person, where: str) -> None:
    found = Axe().run(person.page)
    grave = [violation for violation in found.response["violations"] if violation["impact"] in SERIOUS]
    told = [(each["id"], [node["html"][:200] for node in each["nodes"]], each["help"]) for each in grave]
    assert not told, (where, told)


def assert_fits(page: Page, where: str) -> None:
    """Nothing is wider than the screen, and whatever can be pressed is in sight and large enough for a thumb."""
    wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, where
    small = page.evaluate(
        """() => [...document.querySelectorAll('button, .button, select, input:not([type=radio])')]
             .filter((each) => each.checkVisibility())
             .map((each) => [each.outerHTML.slice(0, 120), each.getBoundingClientRect()])
             .filter(([, box]) => box.width < 40 || box.height < 36 || box.left < 0 || box.right > innerWidth)
             .map(([html]) => html)"""
    )
    assert not small, (where, small)


def assert_no_scrolling(page: Page) -> None:
    """The whole table is in sight."""
    below = page.evaluate(
        """() => [...document.querySelectorAll('#hand button, .actions button, .felt')]
             .filter((each) => each.getBoundingClientRect().bottom > innerHeight + 1).map((each) => each.className)"""
    )
    assert not below


def assert_looks(person: Person, where: str) -> None:
    """It fits; and is accessible by day and by night."""
    assert_fits(person.page, where)
    for scheme in SCHEMES:
        person.page.emulate_media(color_scheme=scheme)
        person.page.evaluate("() => Promise.allSettled(document.getAnimations().map((each) => each.finished))")
        person.shoot(f"{where}-{scheme}")
        assert_accessible(person, f"{where}-{scheme}")


def four(person: Seat, site: Site, played: PlayedTable, seat: int = 0, **options: Any) -> Person:
    """Ana on a seat of a table with three others who do nothing."""
    game = site.create("paulista")
    game.put(played.state)
    ana = person(name="Ana", **options)
    ana.sit(game, seat)
    expect(ana.hand).to_have_count(played.state.table.cards_left(seat))
    return ana


@pytest.mark.parametrize("size", SIZES)
def test_the_table(person: Seat, site: Site, size: str) -> None:
    scenes = {
        "trick": table("paulista", HANDS, "4D", score=(4, 7)).plays("4H", "KD", "7H", "2S", "QS"),
        "raised": table("paulista", HANDS, "4D", dealer=2, score=(9, 8)).plays("2S").raises(0).raises(1),
        "eleven": table("paulista", HANDS, "4D", score=(11, 9)),
    }
    ana = four(person, site, scenes["trick"], viewport=SIZES[size])
    for scene, played in scenes.items():
        put(site, played, ana)
        assert_no_scrolling(ana.page)
        assert_looks(ana, f"table-{size}-{scene}")
    ana.page.get_by_role("button", name="Menu").click()
    assert_looks(ana, f"menu-{size}")
    ana.page.keyboard.press("Escape")
    expect(ana.page.get_by_role("dialog")).to_have_count(0)


def test_a_phone_on_its_side(person: Seat, site: Site) -> None:
    ana = four(person, site, table("paulista", HANDS, "4D").plays("4H").raises(), viewport=SIDEWAYS, seat=1)
    ana.shoot("sideways")
    assert_fits(ana.page, "sideways")
    assert_no_scrolling(ana.page)


@pytest.mark.parametrize("seats", [2, 6])
@pytest.mark.parametrize("size", SIZES)
def test_tables_of_two_and_six(person: Seat, site: Site, size: str, seats: int) -> None:
    players: list[dict[str, Any] | None] = [
        {"name": name} for name in ("Ana", "Bia", "Caio", "Maximiliano Alexandre", "Eva", "Fábio")
    ]
    game = site.create("espanhol", players[:seats], seats=seats)
    hands = "12C 5C 4H / 11D 1D 7D / 6H 7H 10H / 6S 7S 10S / 2C 2D 2H / 4C 4D 5H"
    played = table("espanhol", " / ".join(hands.split(" / ")[:seats]), "3D", seats=seats)
    game.put(played.plays("12C", *(["11D", "6H", "6S", "2C"] if seats == 6 else [])).state)
    ana = person(name="Ana", viewport=SIZES[size], color_scheme="dark" if seats == 6 else "light")
    ana.sit(game, 0)
    expect(ana.hand).to_have_count(2)
    ana.shoot(f"table-{size}-{seats}")
    assert_fits(ana.page, size)
    assert_no_scrolling(ana.page)
    assert_accessible(ana, size)


@pytest.mark.parametrize("size", SIZES)
def test_the_other_screens(person: Seat, site: Site, size: str) -> None:
    over = site.create("mano-a-mano", visibility="public")
    over.resign()
    lobby = site.create("paulista", 2)
    ana = person(name="Ana", viewport=SIZES[size])
    ana.sit(lobby, 0, hostToken=lobby.host_token, joinCode=lobby.join_code)
    for where, fragment, heading in (
        ("lobby", f"#/game/{lobby.id}", "Sala de espera"),
        ("home", "#/", "Truco"),
        ("new", "#/new", "Novo jogo"),
        ("over", f"#/game/{over.id}", "Bia ganhou!"),
        ("record", f"#/record/{over.id}", "Registro do jogo"),
    ):
        ana.open(fragment)
        expect(ana.page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        if where == "new":
            ana.page.get_by_text("Regras da casa").click()
            ana.page.get_by_text("Relógio e mesa").click()
        if where == "record":
            expect(ana.page.get_by_text("O baralho foi honesto.")).to_be_visible()
            ana.page.locator(".hand-record summary").first.click()
        assert_looks(ana, f"{where}-{size}")


@pytest.mark.parametrize(("locale", "heading"), [("pt-PT", "Novo jogo"), ("en-US", "New game"), ("de-DE", "New game")])
def test_the_browsers_language(person: Seat, locale: str, heading: str) -> None:
    ana = person(locale=locale)
    ana.open("#/new")
    expect(ana.page.get_by_role("heading", name=heading)).to_be_visible()
    assert ana.page.locator("html").get_attribute("lang") == ("pt-BR" if heading == "Novo jogo" else "en")


def test_the_language_can_be_switched_at_the_table(person: Seat, site: Site) -> None:
    ana = four(person, site, table("paulista", HANDS, "4D").plays("3C"))
    ana.says("Vez de Bia.")
    ana.page.get_by_role("button", name="Menu").click()
    ana.page.get_by_role("button", name="English").click()
    ana.page.get_by_role("button", name="Close").click()
    ana.says("Bia to play.")
    expect(ana.page.get_by_role("img", name="You: 3 of clubs")).to_be_visible()
    ana.reload()
    ana.says("Bia to play.")
    assert ana.page.locator("html").get_attribute("lang") == "en"
    ana.shoot("english")


def test_both_languages_say_the_same_things(person: Seat) -> None:
    ana = person()
    ana.open()
    languages = ana.page.evaluate(
        """async () => {
          const { LANGUAGES } = await import(new URL("web/words.js", document.baseURI));
          const members = (value, path) =>
            value !== null && typeof value === "object" && !Array.isArray(value)
              ? Object.entries(value).flatMap(([name, inner]) => members(inner, `${path}.${name}`))
              : [`${path}: ${typeof value} ${value.length ?? ""}`.replace(/(string) .*/, "$1")];
          return Object.values(LANGUAGES).map((words) => members(words, "").sort());
        }"""
    )
    assert languages[0] == languages[1]
    assert len(languages[0]) > 200


def test_the_rules_of_the_form_are_those_of_the_service(person: Seat, site: Site) -> None:
    """Each rule set is shown as it is, and a changed field of each kind arrives."""
    variants: list[Mapping[str, Any]] = site.get("/v1/variants")["variants"]
    ana = person()
    ana.open()
    fields = ana.page.evaluate(
        "async () => Object.keys((await import(new URL('web/words-pt.js', document.baseURI))).portuguese.rules)"
    )
    assert set(fields) == set(variants[0]["rules"]) - {"seats"}
    ana.create(
        2,
        "Truco tradicional",
        Pontos_para_ganhar="9",
        Quanto_vale_a_mão="1, 4, 8",
        Manilhas="fixas: 4♣ 7♥ A♠ 7♦",
        Carta_coberta="nunca",
        Corte_e_cartas="sozinho",
    )
    rules = game_of(site, ana).load().rules
    assert (rules.target, rules.ladder, rules.covered_from_trick) == (9, (1, 4, 8), None)
    assert [str(card) for card in rules.manilhas or ()] == ["4C", "7H", "AS", "7D"]
    assert str(rules.dealing) == "automatic"
    usual = next(variant["rules"] for variant in variants if variant["name"] == "tradicional")
    assert (str(rules.raise_timing), rules.eleven_show) == (usual["raise_timing"], usual["eleven_show"])


def test_fixed_manilhas_are_cards_of_the_deck(person: Seat, site: Site) -> None:
    ana = person()
    ana.open("#/new")
    ana.page.get_by_label("Variante").select_option(label="Truco com manilha velha")
    ana.page.get_by_text("Regras da casa").click()
    deck, manilhas = ana.page.get_by_label("Baralho"), ana.page.get_by_label("Manilhas")
    chosen = manilhas.locator("option:checked")
    expect(chosen).to_have_text("fixas: 4♣ 7♥ A♠ 7♦")
    deck.select_option(label="limpo, 24 cartas: Q J K A 2 3")
    expect(manilhas.locator("option")).to_have_text(["a vira diz"])
    deck.select_option(label="espanhol: 4 5 6 7 10 11 12 1 2 3")
    manilhas.select_option(label="fixas: 4 de bastos, 7 de copas, 1 de espadas, 7 de ouros")
    deck.select_option(label="40 cartas: 4 5 6 7 Q J K A 2 3")
    expect(chosen).to_have_text("fixas: 4♣ 7♥ A♠ 7♦")
    expect(ana.page.locator(".count")).to_have_count(0)
    deck.select_option(label="espanhol: 4 5 6 7 10 11 12 1 2 3")
    manilhas.select_option(label="fixas: 1 de espadas, 1 de bastos, 7 de espadas, 7 de ouros")
    ana.page.get_by_role("button", name="Pôr as cartas na mesa").click()
    expect(ana.hand).to_have_count(3)
    rules = game_of(site, ana).load().rules
    assert [str(card) for card in rules.manilhas or ()] == ["1S", "1C", "7S", "7D"]


def test_the_spanish_deck_has_suits_of_its_own(person: Seat, site: Site) -> None:
    game = site.create("espanhol", visibility="public")
    game.put(table("espanhol", "12C 5S 4H / 11D 1D 7D", "3D").state)
    ana = person()
    ana.sit(game, 0)
    for card in ("12 de bastos", "5 de espadas", "4 de copas, copeta"):
        expect(ana.card(card)).to_be_visible()
    expect(ana.page.get_by_role("img", name="Vira 3 de ouros, manilha 4")).to_be_visible()
    ana.page.get_by_role("button", name="Menu").click()
    ana.page.get_by_role("button", name="English").click()
    ana.page.get_by_role("button", name="Close").click()
    for card in ("12 of clubs", "5 of swords", "4 of cups, copeta"):
        expect(ana.card(card)).to_be_visible()
    expect(ana.page.get_by_role("img", name="Vira 3 of coins, manilha 4")).to_be_visible()


def test_manilhas_of_other_suits_have_no_names_of_their_own(person: Seat, site: Site) -> None:
    """The names go with clubs, hearts, spades and diamonds in that order."""
    fixed = ("1S", "1C", "7S", "7D")
    game = site.create("espanhol", visibility="public", rules={"manilhas": list(fixed), "iron_cards": "blind"})
    rules = {"manilhas": parse_cards(fixed), "iron_cards": IronCards.BLIND}
    game.put(table("espanhol", "1S 5S 4H / 11D 1D 7D", **rules).state)
    ana = person()
    ana.sit(game, 0)
    expect(ana.card("1 de espadas, manilha")).to_be_visible()


def test_rules_that_nobody_can_play_are_shown_where_they_are_wrong(person: Seat) -> None:
    ana = person()
    ana.open("#/new")
    ana.page.get_by_text("Regras da casa").click()
    ana.page.get_by_label("Quanto vale a mão").fill("3, 1")
    ana.page.get_by_role("button", name="Pôr as cartas na mesa").click()
    expect(ana.page.get_by_role("alert")).to_contain_text("Com estas regras não dá para jogar.")
    expect(ana.page.get_by_label("Quanto vale a mão")).to_have_attribute("aria-invalid", "true")
    expect(ana.page.get_by_text("dois a oito valores, cada um maior que o anterior")).to_be_visible()
    ana.shoot("wrong-rules")


def test_a_name_is_asked_for(person: Seat) -> None:
    ana = person(name="")
    ana.open("#/new")
    ana.page.get_by_role("button", name="Pôr as cartas na mesa").click()
    expect(ana.page.get_by_role("alert")).to_be_visible()
    expect(ana.page.get_by_label("Seu nome")).to_be_focused()


def test_by_keyboard_alone(person: Seat, site: Site) -> None:
    ana = four(person, site, table("paulista", HANDS, "4D"))
    keys = ana.page.keyboard

    def tab_to(name: str) -> None:
        for _ in range(20):
            keys.press("Tab")
            if re.search(
                name, ana.page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.innerText")
            ):
                return
        raise AssertionError(f"no way to {name}")

    tab_to("Menu")
    keys.press("Enter")
    expect(ana.page.get_by_role("dialog", name="Menu")).to_be_visible()
    keys.press("Escape")
    expect(ana.page.get_by_role("button", name="Menu")).to_be_focused()
    tab_to("Jogar 5 de paus")
    keys.press("Enter")
    expect(ana.page.get_by_role("img", name=re.compile("Você: 5 de paus"))).to_be_visible()
    expect(ana.page.locator("#hand")).to_be_focused()
    ana.was_told("Você jogou 5 de paus, zap.")


def test_the_clock(person: Seat, site: Site) -> None:
    """It shows the service's time that is left, whatever the browser's own clock says."""
    game = site.create("mano-a-mano", turn_seconds=600, visibility="public")
    seat = game.to_act()
    ana = person(name="Ana")
    ana.page.clock.install(time="2001-02-03T04:05:06Z")
    ana.open(f"#/game/{game.id}")
    clock = ana.page.locator(".clock b")
    expect(clock).to_be_visible()
    left = int(clock.inner_text())
    assert 500 <= left <= 600
    ana.page.clock.fast_forward((left - 9) * 1_000)
    expect(ana.page.locator(".clock.hurry")).to_be_visible()
    expect(ana.page.get_by_role("region", name="Ana" if seat == 0 else "Bia").locator(".clock")).to_be_visible()
    ana.shoot("clock")


def test_what_happens_is_shown_one_after_the_other(person: Seat, site: Site) -> None:
    """At the calm pace each card has its moment; "skip" shows at once how it stands."""
    game = site.create("mano-a-mano")
    game.put(table("mano-a-mano", "3C 2C 4C / KD JD 7D", "5D").plays("3C", "KD", "2C").state)
    ana, bia = person(name="Ana", pace="calm"), person(name="Bia")
    ana.page.clock.install()
    ana.sit(game, 0)
    bia.sit(game, 1)
    expect(ana.page.get_by_role("img", name="Você: 2 de paus")).to_be_visible()
    ana.page.clock.pause_at(ana.page.evaluate("Date.now()") / 1_000 + 1)
    bia.card("valete de ouros").click()
    expect(bia.hand).to_have_count(3)
    # one commit: Bia's card, the trick, the hand, the next deal; here the card alone lies on the table
    expect(ana.page.get_by_role("img", name="Bia: valete de ouros")).to_be_visible()
    expect(ana.page.locator(".card.wins")).to_have_count(0)
    expect(ana.page.get_by_role("listitem").filter(has_text="2ª rodada: em jogo")).to_have_count(1)
    ana.page.clock.run_for(700)
    expect(ana.page.locator(".card.wins")).to_have_count(1)
    ana.page.clock.run_for(1_300)
    expect(ana.page.locator(".verdict")).to_contain_text("+1")
    ana.score("Nós 1, Eles 0")
    ana.shoot("verdict")
    expect(ana.hand.first).to_be_disabled()
    ana.page.get_by_role("button", name="Pular").click()
    expect(ana.page.locator(".verdict")).to_have_count(0)
    expect(ana.hand).to_have_count(3)
    expect(ana.page.locator(".now [role=status]")).not_to_be_empty()
