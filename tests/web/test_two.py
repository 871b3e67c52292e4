"""Two people, each in a browser, one of them by invitation."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import expect

from service.engine.rules import RaiseTiming
from tests.api.driver import Site, Started
from tests.table import PlayedTable, table
from tests.web.conftest import Seat
from tests.web.person import Person, card_name


def game_of(site: Site, person: Person) -> Started:
    """The game that *person* looks at, as the store has it."""
    return Started(site, person.game_id, {}, "", None)


def invited(person: Seat) -> tuple[Person, Person]:
    """Ana made a game, and Bia came by her invitation; it has begun."""
    ana, bia = person(name="Ana"), person(name="Bia")
    ana.create(2, "Truco mano a mano")
    bia.accept(ana.invitation)
    for each in (ana, bia):
        expect(each.hand).to_have_count(3)
    return ana, bia


def two(person: Seat, site: Site, played: PlayedTable) -> tuple[Person, Person]:
    """Ana and Bia come to a game of theirs, in which *played* lies on the table."""
    game = site.create("mano-a-mano")
    game.put(played.state)
    ana, bia = person(name="Ana"), person(name="Bia")
    for seat, each in enumerate((ana, bia)):
        each.sit(game, seat)
        expect(each.hand).to_have_count(played.state.table.cards_left(seat))
    return ana, bia


def put(site: Site, played: PlayedTable, *people: Person) -> None:
    """*played* lies on the table of *people*, who sit on the seats from 0 on."""
    expect(people[0].page.locator(".board")).to_be_visible()  # all have come, and nothing else changes it
    game_of(site, people[0]).put(played.state)
    for seat, each in enumerate(people):
        each.look_again()
        expect(each.hand).to_have_count(played.state.table.cards_left(seat))


def assert_unseen(site: Site, *people: Person) -> None:
    """No browser was sent, or shows, what the other seats hold, or in a blind hand its own."""
    game = game_of(site, people[0]).load()
    state = game.state
    assert state is not None
    for seat, each in enumerate(people):
        hidden = {
            str(card)
            for holder, cards in enumerate(state.secrets.hands)
            for card in cards
            if card is not None and (holder != seat or state.table.is_blind)
        }
        assert hidden
        sent = json.dumps(each.view_at(game.version))
        drawn = each.drawn()
        for card in hidden:
            assert f'"{card}"' not in sent
            assert card_name(card) not in drawn


def test_an_invitation_leads_to_the_table(person: Seat) -> None:
    ana, bia = person(name="Ana"), person(name="Bia")
    ana.create(2, "Truco mano a mano")
    invitation = ana.invitation
    assert ana.kept["joinCode"] in invitation.partition("#")[2]
    ana.shoot("lobby")
    bia.page.goto(invitation)
    bia.shoot("invitation")
    bia.accept(invitation)
    expect(ana.hand).to_have_count(3)
    expect(ana.page.get_by_role("region", name="Bia")).to_be_visible()
    for each in (ana, bia):
        assert not [url for url in each.requested if ana.kept["joinCode"] in url]
        assert not [url for url in each.requested if each.kept["token"] in url]
        assert ana.kept["joinCode"] not in each.page.url


def test_truco_six_and_a_fold(person: Seat, site: Site) -> None:
    ana, bia = invited(person)
    put(site, table("mano-a-mano", "3C 2C 4C / KD JD 7D", "5D"), ana, bia)
    assert_unseen(site, ana, bia)
    ana.says("Sua vez.")
    bia.says("Vez de Ana.")
    expect(bia.hand.first).to_be_disabled()
    ana.call("truco!").click()
    bia.says("Ana pediu truco. E aí?")
    bia.was_told("Ana pediu truco!")
    expect(bia.call("Aceito")).to_contain_text("vale 3")
    expect(bia.call("Corro")).to_contain_text("1 para eles")
    bia.shoot("truco")
    bia.call("seis!").click()
    ana.says("Bia pediu seis. E aí?")
    assert_unseen(site, ana, bia)
    ana.call("Corro").click()
    for each, score in ((ana, "Nós 0, Eles 3"), (bia, "Nós 3, Eles 0")):
        each.score(score)
        each.was_told("correu.")


def test_a_raise_is_accepted_and_then_only_the_others_may(person: Seat, site: Site) -> None:
    ana, bia = two(person, site, table("mano-a-mano", "3C 2C 4C / KD JD 7D", "5D"))
    ana.call("truco!").click()
    bia.call("Aceito").click()
    expect(ana.page.locator(".ladder .worth")).to_have_text("3")
    expect(ana.page.locator(".ladder small")).to_have_text("só eles podem pedir seis")
    expect(bia.page.locator(".ladder small")).to_have_text("só vocês podem pedir seis")
    expect(ana.call("seis!")).to_have_count(0)
    ana.card("3 de paus").click()
    expect(bia.call("seis!")).to_be_visible()
    expect(bia.page.get_by_role("img", name="Ana: 3 de paus")).to_be_visible()


def test_a_covered_card_stays_covered(person: Seat, site: Site) -> None:
    ana, bia = two(person, site, table("mano-a-mano", "3C 2C 4C / KD JD 7D", "5D").plays("3C", "KD"))
    version = game_of(site, ana).load().version
    ana.page.get_by_role("button", name="Cobrir").click()
    ana.page.get_by_role("button", name="Jogar coberta: 2 de paus").click()
    expect(bia.page.get_by_role("img", name="Ana: carta coberta")).to_be_visible()
    expect(ana.page.get_by_role("img", name="Você: sua carta coberta: 2 de paus")).to_be_visible()
    assert '"2C"' not in bia.sent_since(version)
    assert card_name("2C") not in bia.drawn()
    ana.shoot("covered")


def test_a_mao_de_onze_with_the_partners_cards(person: Seat, site: Site) -> None:
    people = [person(name=name) for name in ("Ana", "Bia", "Caio", "Davi")]
    ana, bia, caio, _ = people
    ana.create(4, "Truco Paulista")
    for each in people[1:]:
        each.accept(ana.invitation)
        expect(each.page.locator(".seats, #hand").first).to_be_visible()
    played = table("paulista", "3C 2C 4C / KD JD 7D / 6H 7H QH / 6S 7S QS", "4D", score=(11, 7))
    put(site, played, *people)
    ana.says("Mão de onze: vão jogar?")
    bia.says("Ana e Caio decidem se jogam a mão de onze.")
    for card in ("6 de copas", "7 de copas", "dama de copas"):
        expect(ana.page.get_by_role("region", name="Caio").get_by_role("img", name=card)).to_be_visible()
        expect(bia.page.get_by_role("img", name=card)).to_have_count(0)
    expect(ana.hand.first).to_be_disabled()
    expect(bia.page.locator(".actions button")).to_have_count(0)
    ana.shoot("mao-de-onze")
    caio.call("Jogar").click()
    ana.was_told("Caio vai jogar a mão de onze: vale 3.")
    ana.says("Sua vez.")
    expect(ana.page.get_by_role("region", name="Caio").get_by_role("img", name="6 de copas")).to_have_count(0)
    assert_unseen(site, *people)


def test_a_raise_that_loses_the_game_asks_first(person: Seat, site: Site) -> None:
    ana, bia = two(person, site, table("mano-a-mano", "3C 2C 4C / KD JD 7D", "5D", score=(11, 7)))
    ana.call("seis!").click()
    dialog = ana.page.get_by_role("dialog")
    expect(dialog).to_contain_text("perde o jogo na hora")
    ana.shoot("penalty")
    dialog.get_by_role("button", name="Não").click()
    expect(dialog).to_have_count(0)
    ana.says("Sua vez.")
    ana.call("seis!").click()
    dialog.get_by_role("button", name="Pedir e perder o jogo").click()
    expect(ana.page.get_by_role("heading", name="Você perdeu")).to_be_visible()
    expect(bia.page.get_by_role("heading", name="Você ganhou!")).to_be_visible()


def test_a_blind_mao_de_ferro_to_the_end(person: Seat, site: Site) -> None:
    ana, bia = invited(person)
    put(site, table("mano-a-mano", "3C 2C 4C / KD JD 7D", "5D", score=(11, 11)), ana, bia)
    assert_unseen(site, ana, bia)
    expect(ana.page.locator("#hand .face")).to_have_count(0)
    expect(ana.page.locator(".ladder em")).to_have_text("Mão de ferro")
    ana.shoot("mao-de-ferro")
    ana.page.get_by_role("button", name="Jogar carta 2, às cegas").click()
    expect(bia.page.get_by_role("img", name="Ana: 2 de paus")).to_be_visible()
    bia.page.get_by_role("button", name="Jogar carta 3, às cegas").click()
    expect(ana.page.get_by_role("img", name="Bia: 7 de ouros")).to_be_visible()
    assert_unseen(site, ana, bia)
    expect(ana.hand).to_have_count(2)
    ana.page.get_by_role("button", name="Jogar carta 1, às cegas").click()
    bia.page.get_by_role("button", name="Jogar carta 1, às cegas").click()
    expect(ana.page.get_by_role("heading", name="Você ganhou!")).to_be_visible()
    expect(bia.page.get_by_role("heading", name="Você perdeu")).to_be_visible()
    ana.shoot("won")


def test_a_hidden_vira_is_shown_as_a_back(person: Seat, site: Site) -> None:
    ana, bia = two(person, site, table("espanhol", "3C 2C 4C / 12D 11D 7D", "5D", score=(11, 11), seats=2))
    expect(ana.page.get_by_role("img", name="A vira está virada para baixo")).to_be_visible()
    ana.page.get_by_role("button", name="Jogar carta 1, às cegas").click()
    bia.page.get_by_role("button", name="Jogar carta 1, às cegas").click()
    expect(ana.page.get_by_role("img", name="Vira 5 de ouros, manilha 6")).to_be_visible()


def test_cut_and_deal_by_hand(person: Seat, site: Site) -> None:
    ana, bia = person(name="Ana"), person(name="Bia")
    ana.create(2, "Truco tradicional")
    bia.accept(ana.invitation)
    expect(bia.page.locator(".board")).to_be_visible()
    dealer = game_of(site, ana).load().state.table.hand.dealer  # type: ignore[union-attr]
    deals, cuts = (ana, bia) if dealer == 0 else (bia, ana)
    cuts.says("Corte o baralho.")
    deals.says("corta o baralho.")
    cuts.page.get_by_label("Onde cortar").fill("7")
    cuts.shoot("cut")
    cuts.page.get_by_role("button", name="Cortar aqui").click()
    deals.says("Dê as cartas.")
    deals.was_told("cortou em 7.")
    deals.shoot("deal")
    deals.page.get_by_role("button", name="De baixo, três a três").click()
    for each in (ana, bia):
        expect(each.hand).to_have_count(3)


def test_a_rematch_is_one_next_game(person: Seat, site: Site) -> None:
    ana, bia = two(person, site, table("mano-a-mano"))
    first = ana.game_id
    bia.page.get_by_role("button", name="Menu").click()
    bia.page.get_by_role("button", name="Desistir do jogo").click()
    bia.page.get_by_role("button", name="Desistir", exact=True).click()
    expect(ana.page.get_by_role("heading", name="Você ganhou!")).to_be_visible()
    ana.page.get_by_role("button", name="Revanche").click()
    expect(ana.page.get_by_role("heading", name="Sala de espera")).to_be_visible()
    expect(bia.page.get_by_text("Já pediram revanche!")).to_be_visible()
    bia.page.get_by_role("button", name="Revanche").click()
    for each in (ana, bia):
        expect(each.hand).to_have_count(3)
    assert ana.game_id == bia.game_id != first


def test_who_only_watches_can_press_nothing(person: Seat, site: Site) -> None:
    game = site.create("mano-a-mano", visibility="public")
    game.put(table("mano-a-mano", "3C 2C 4C / KD JD 7D", "5D").plays("3C").state)
    eva = person(name="Eva")
    eva.open()
    eva.page.get_by_role("listitem").filter(has_text="Ana, Bia").get_by_role("link", name="Assistir").first.click()
    expect(eva.page.get_by_text("Você está assistindo.")).to_be_visible()
    expect(eva.page.get_by_role("img", name="Ana: 3 de paus")).to_be_visible()
    eva.says("Vez de Bia.")
    expect(eva.hand).to_have_count(0)
    expect(eva.page.locator(".actions button")).to_have_count(0)
    game.act(1, {"type": "raise", "to": 3})
    eva.was_told("Bia pediu truco!")
    assert not re.search('"(2C|4C|KD|JD|7D)"', eva.sent_since(2))


def pressable(person: Person) -> list[str]:
    """What can be pressed at the table, as types of action with their card or slot."""
    pressable: list[str] = person.page.evaluate(
        """() => [
          ...[...document.querySelectorAll('#hand button:enabled')].map((each) => `play ${each.ariaLabel}`),
          ...[...document.querySelectorAll('.actions .call')].map((each) => each.classList[1]),
          ...[...document.querySelectorAll('.actions .cover')].map(() => 'cover'),
        ]"""
    )
    return sorted(pressable)


def offered(view: dict[str, Any]) -> list[str]:
    """The same, by the view's legal actions."""
    plays = [action for action in view["legal_actions"] if action["type"] == "play"]
    names = [
        f"carta {action['slot'] + 1}, às cegas" if "slot" in action else full_name(action["card"], view)
        for action in plays
        if not action.get("covered")
    ]
    others = [action["type"] for action in view["legal_actions"] if action["type"] != "play"]
    cover = ["cover"] if any(action.get("covered") for action in plays) else []
    return sorted([*(f"play Jogar {name}" for name in names), *others, *cover])


def full_name(card: str, view: dict[str, Any]) -> str:
    manilhas = view["hand"]["manilhas"]
    names = ("zap", "copeta", "espadilha", "pica-fumo")
    return card_name(card) + (f", {names[manilhas.index(card)]}" if card in manilhas else "")


def test_only_what_is_legal_can_be_pressed(person: Seat, site: Site) -> None:
    hands = "3C 6C 4C / KD JD 7D"
    start = table("mano-a-mano", hands, "5D")
    ana, bia = two(person, site, start)
    scenes = {
        "own turn": start,
        "a raise waits": start.raises(),
        "the top of the ladder": start.raises().raises().raises().raises().accepts(),
        "may cover": start.plays("6C", "7D"),
        "at any time": table("mano-a-mano", hands, "5D", raise_timing=RaiseTiming.ANY_TIME),
        "eleven": table("paulista", hands, "5D", seats=2, score=(11, 3)),
        "eleven of the others": table("paulista", hands, "5D", seats=2, score=(3, 11)).accepts(),
        "a show": table("tradicional", "6C 6H 4C / KD JD 7D", "5D", seats=2, score=(11, 3)).accepts(),
        "blind": table("mano-a-mano", hands, "5D", score=(11, 11)),
        "fixed manilhas": table("mineiro", "4C 7H AS / KD JD 6D", seats=2),
    }
    offers = set()
    for scene, played in scenes.items():
        put(site, played, ana, bia)
        version = game_of(site, ana).load().version
        for each in (ana, bia):
            view = each.view_at(version)
            expect(each.page.locator(f".board[data-version='{version}']")).to_be_visible()
            assert pressable(each) == offered(view), scene
            offers |= {word.split(" ")[0] for word in offered(view)}
    assert offers == {"play", "raise", "accept", "fold", "show", "cover"}


def test_a_service_with_api_keys_asks_for_one(person: Seat) -> None:
    ana = person(name="Ana")
    problem = {"type": "/problems/missing_token", "code": "missing_token", "status": 401}
    ana.page.route(
        re.compile("/v1/games$"),
        lambda route: (
            route.fallback()
            if route.request.method == "GET" or route.request.headers.get("x-api-key") == "the-key"
            else route.fulfill(status=401, json=problem)
        ),
    )
    ana.open("#/new")
    ana.page.get_by_role("button", name="Amigos em todos os lugares").click()
    ana.page.get_by_role("button", name="Pôr as cartas na mesa").click()
    ana.page.get_by_label("Chave da API").fill("the-key")
    ana.page.get_by_role("button", name="Pôr as cartas na mesa").click()
    expect(ana.page.get_by_role("heading", name="Sala de espera")).to_be_visible()


def test_seats_are_changed_left_and_freed_in_the_lobby(person: Seat) -> None:
    ana, bia, caio = (person(name=name) for name in ("Ana", "Bia", "Caio"))
    ana.create(4, "Truco Paulista")
    for each in (bia, caio):
        each.accept(ana.invitation)
        expect(each.page.get_by_role("heading", name="Sala de espera")).to_be_visible()

    sitting = ana.page.locator(".seats strong")
    expect(ana.page.get_by_text("Falta uma pessoa.")).to_be_visible()
    expect(sitting).to_have_text(["Você", "Bia", "Caio", "lugar livre"])
    bia.page.get_by_role("button", name="Sentar aqui").click()
    expect(sitting).to_have_text(["Você", "lugar livre", "Caio", "Bia"])
    expect(bia.page.locator(".seats strong")).to_have_text(["Ana", "lugar livre", "Caio", "Você"])
    caio.page.get_by_role("button", name="Levantar").click()
    expect(caio.page.get_by_role("heading", name="Truco")).to_be_visible()
    expect(ana.page.get_by_text("Faltam 2 pessoas.")).to_be_visible()
    ana.page.get_by_role("button", name="Liberar").click()
    expect(ana.page.get_by_text("Faltam 3 pessoas.")).to_be_visible()
    expect(bia.page.get_by_role("alert")).to_contain_text("Seu lugar neste jogo não vale mais.")
    ana.page.get_by_role("button", name="Desfazer a mesa").click()
    expect(ana.page.get_by_role("heading", name="Truco")).to_be_visible()
    caio.page.goto(f"/#/join/{'0' * 26}/ABCDEFGH")
    caio.page.get_by_role("button", name="Entrar no jogo").click()
    expect(caio.page.get_by_role("alert")).to_contain_text("Este jogo não existe mais.")


def test_a_public_table_is_open_to_all(person: Seat, site: Site) -> None:
    game = site.create("mano-a-mano", 1, visibility="public")
    eva = person(name="Eva")
    eva.open()
    eva.page.locator(f"a[href='#/game/{game.id}']", has_text="Sentar").click()
    eva.page.get_by_role("button", name="Sentar aqui").click()
    expect(eva.hand).to_have_count(3)
    assert [seat["name"] for seat in game.view(0)["seats"]] == ["Ana", "Eva"]
