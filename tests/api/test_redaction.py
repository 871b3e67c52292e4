"""Hidden cards leave by no door of the API.

Random games are played over HTTP. In every state each seat, a spectator and the host look at the game and at a twin of
it, in which all that they may not know is dealt anew: both must answer alike, byte for byte. And what an answer shows
must be what the rulebook lets this viewer know, no more and no less.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Final

import pytest

from service.app import create_app
from service.dealer import SeededDealer
from service.engine.actions import Accept
from service.engine.cards import Card
from service.engine.events import Transition
from service.engine.rules import AllTied, Dealing, Penalty, RaiseTiming, RuleSet
from service.engine.state import GameState, Secrets
from service.engine.view import view_for
from service.games import Games, NewGame
from service.logs import JsonLines
from service.refusals import RefusedError
from service.settings import Settings
from service.store.base import Game, GameStore
from tests.api.driver import API_KEY, API_KEYS, NAMES, OTHER_API_KEY, Site, body_of, code_of
from tests.api.knowledge import CARD, ToldHand, Viewer, faces_due, faces_in
from tests.api.twin import (
    GAME_ID,
    HOST_TOKEN,
    JOIN_CODE,
    PATH,
    SEAT_TOKENS,
    Answer,
    Json,
    Label,
    Match,
    World,
    Worlds,
    logged,
    redealt,
    rules_of,
    stored_game,
)
from tests.contract import ContractClient
from tests.table import PlayedTable, table, undealt_table

Score = tuple[int, int]


@pytest.fixture(autouse=True)
def _nothing_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two worlds answer alike to the byte; how long a stream's reader shall wait is drawn."""
    monkeypatch.setattr("service.api.stream.RECONNECT_MS", range(1_000, 1_001))


@pytest.fixture(scope="module")
def worlds() -> Worlds:
    return Worlds()


# ---- who looks, and what is asked ----


@dataclass(frozen=True)
class Caller:
    name: str
    viewer: Viewer
    token: str | None


def callers(rules: RuleSet) -> list[Caller]:
    seats = [Caller(f"seat {seat}", seat, SEAT_TOKENS[seat]) for seat in range(rules.seats)]
    return [*seats, Caller("spectator", None, None), Caller("host", None, HOST_TOKEN)]


def universe(rules: RuleSet, rng: Random) -> Iterator[Json]:
    """Actions of every type and many that can never be right, without an end."""
    cards = [*map(str, rules.deck.cards), "10C" if rules.deck != "spanish40" else "QC"]
    seats, size = range(rules.seats), len(rules.deck.cards)
    covered: list[Json] = [{}, {"covered": True}, {"covered": False}]
    kinds: list[list[Json]] = [
        [{"card": card, **how} for card in cards for how in covered],
        [{"slot": slot, **how} for slot in (0, 1, 2) for how in covered],
        [{}, {"card": cards[0], "slot": 0}, {"card": "9C"}, {"slot": 3}],
        [{"to": step} for step in (*rules.ladder, 99)],
        [{}, {"penalty": "lose_points"}, {"penalty": "lose_game"}, {"to": rules.ladder[1], "penalty": "lose_points"}],
        [{"cut": "at", "at": at} for at in (1, size // 2, size - 1, size)],
        [{"cut": cut} for cut in ("dry", "none", "at")],
        [{"cut": cut, "take_for": seat} for cut in ("dry", "none") for seat in seats],
        [{"deal_from": end, "deal_style": "one_by_one"} for end in ("top", "bottom")],
        [{"deal_from": end, "deal_style": "three_at_a_time"} for end in ("top", "bottom")],
    ]
    types = ["play"] * 3 + ["raise"] * 2 + ["cut"] * 3 + ["deal"] * 2
    bodies = [{"type": kind, **members} for kind, group in zip(types, kinds, strict=True) for members in group]
    plain = [{"type": kind} for kind in ("accept", "fold", "show", "resign")]
    while True:
        yield rng.choice(bodies if rng.random() < 0.75 else plain)


def telling_actions(hand: ToldHand, caller: Caller, rng: Random) -> list[Json]:
    """Those that an answer made of real instead of known cards would betray first."""
    assert caller.viewer is not None
    held = {seat: list(hand.held(seat).items()) for seat in range(hand.rules.seats)}
    own, others = held.pop(caller.viewer), [item for items in held.values() for item in items]
    actions: list[Json] = []
    for slot, card in own:
        actions += [{"type": "play", "card": str(card)}, {"type": "play", "slot": slot, "covered": True}]
    for _, card in rng.sample(others, min(2, len(others))):
        actions.append({"type": "play", "card": str(card), "covered": rng.random() < 0.3})
    if hand.vira is not None:
        actions.append({"type": "play", "card": str(hand.vira)})
    return actions


def turns_up_cards(action: Json, hand: ToldHand) -> bool:
    return action["type"] == "deal" or (action["type"] == "play" and hand.is_blind)


# ---- what an answer may show ----


def check_view(view: Json, match: Match, viewer: Viewer) -> None:
    """Every face in *view* is where the rulebook lets *viewer* see it, and none is missing."""
    rest = json.loads(json.dumps(view))
    assert faces_in(rest) == faces_due(match.hand, match.last_hand, viewer)
    own = set() if viewer is None or match.hand.is_blind else set(map(str, match.hand.held(viewer).values()))
    for action in rest["legal_actions"]:
        if "card" in action:
            assert action.pop("card") in own
    assert_no_card(rest)


def check_events(events: list[Json]) -> None:
    """Cards are named by the events that turn them up, and by no other."""
    for event in events:
        data = dict(event["data"])
        if event["type"] == "card_played":
            assert (data.pop("card") is None) == data["covered"]
        elif event["type"] == "vira_shown":
            del data["vira"], data["manilhas"]
        elif event["type"] == "cards_shown":
            del data["cards"]
        assert_no_card({**event, "data": data})


def check_refusal(problem: Json, sent: Json, view: Json) -> None:
    """A problem names no card but the one that was sent, and its view is the one that getGame shows."""
    assert (problem["code"] == "version_conflict") == ("game" in problem)
    assert problem.pop("game", view) == view
    if problem["status"] != 422:  # such a body is never right, whatever is held; its problem may give an example
        assert set(CARD.findall(json.dumps(problem))) <= {sent.get("card")}


def assert_no_card(value: object) -> None:
    assert CARD.findall(json.dumps(value)) == []


def masked(value: object) -> str:
    return CARD.sub("card", json.dumps(value))


def check_secrets(answer: Answer, match: Match) -> None:
    """Neither the seed, nor a token, nor a join code."""
    seed = match.seed
    for secret in (seed.hex(), seed.hex().upper(), *SEAT_TOKENS, HOST_TOKEN, JOIN_CODE):
        assert secret.encode() not in answer.body
    assert seed not in answer.body


# ---- one look ----


def ask_both(
    real: World,
    twin: World,
    caller: Caller,
    method: str,
    path: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    answer = real.ask(method, path, caller.token, body, headers)
    other = twin.ask(method, path, caller.token, body, headers)
    assert answer == other, f"{caller.name} {method} {path} {body}"
    return answer


def compare(match: Match, caller: Caller, tries: int) -> Json:
    """All that *caller* can ask in this state is answered by the game as by the twin. The view that it gets."""
    real, twin = match.real, match.redeal(caller.viewer)
    answer = ask_both(real, twin, caller, "GET", PATH)
    check_secrets(answer, match)
    assert answer.status == 200
    view = answer.json
    check_view(view, match, caller.viewer)
    tag = "host" if caller.token == HOST_TOKEN else "spec" if caller.viewer is None else f"s{caller.viewer}"
    assert answer.etag == f'W/"v{view["version"]}-{tag}"'
    page = ask_both(real, twin, caller, "GET", f"{PATH}/events?limit=500")
    check_secrets(page, match)
    check_events(page.json["events"])
    if match.rng.random() < 0.3:
        answer = ask_both(real, twin, caller, "GET", PATH, headers={"If-None-Match": answer.etag})
        assert answer.status == 304
    if match.rng.random() < 0.3:
        compare_streams(match, twin, caller, view, page.json["events"])
    compare_other_requests(match, twin, caller)
    if caller.viewer is not None:
        compare_actions(match, twin, caller, view, tries)
        if match.rng.random() < 0.2:
            compare_another_token(match, twin, caller, view)
    return view


def compare_streams(match: Match, twin: World, caller: Caller, view: Json, events: list[Json]) -> None:
    """A new reader is sent the view that getGame shows, another one the events that listEvents shows."""
    path = f"{PATH}/events/stream"
    snapshot = ask_both(match.real, twin, caller, "GET", path)
    check_secrets(snapshot, match)
    assert streamed(snapshot) == [view]
    after = match.rng.randrange(len(events))
    news = ask_both(match.real, twin, caller, "GET", path, headers={"Last-Event-ID": str(after)})
    assert streamed(news) == events[after:]


def streamed(answer: Answer) -> list[Json]:
    """The data of a stream's messages, which must show no card elsewhere."""
    assert answer.status == 200
    lines = answer.body.decode().splitlines()
    assert_no_card([line for line in lines if not line.startswith("data: ")])
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def compare_other_requests(match: Match, twin: World, caller: Caller) -> None:
    requests: list[tuple[str, str, object]] = [
        ("GET", "/v1/games?status=playing", None),
        ("GET", f"{PATH}/events?after=3&limit=2", None),
        ("DELETE", PATH, None),
        ("POST", f"{PATH}/seats", {"name": "Zeca"}),
        ("POST", f"{PATH}/seats", {"name": "Zeca", "seat": 1}),
        ("POST", f"{PATH}/seats/0/token", None),
    ]
    if caller.viewer is None:
        requests.append(("POST", f"{PATH}/actions", {"type": "accept", "expected_version": 1}))
        requests.append(("DELETE", f"{PATH}/seats/0", None))
        requests.append(("POST", f"{PATH}/seats/0/return", None))
    else:
        requests.append(("DELETE", f"{PATH}/seats/{(caller.viewer + 1) % match.rules.seats}", None))
        requests.append(("POST", f"{PATH}/seats/{(caller.viewer + 1) % match.rules.seats}/return", None))
    if not match.is_over:
        requests.append(("GET", f"{PATH}/record", None))
        requests.append(("POST", f"{PATH}/rematch", None))
    method, path, body = match.rng.choice(requests)
    answer = ask_both(match.real, twin, caller, method, path, body)
    assert answer.status == 200 if path.startswith(("/v1/games?", f"{PATH}/events")) else answer.status >= 400
    if answer.status >= 400:
        assert_no_card(answer.json)


def compare_another_token(match: Match, twin: World, caller: Caller, view: Json) -> None:
    """The seat's platform is given another token: it shows what the one before has shown, and that one nothing more."""
    assert caller.viewer is not None
    before, log, twin_game, twin_log = match.real.game, match.real.events, twin.game, twin.events
    answers = []
    for world in (match.real, twin):
        path = f"{PATH}/seats/{caller.viewer}/token"
        answer = world.ask("POST", path, body={}, headers={"X-API-Key": API_KEY})
        assert answer.status == 201
        check_secrets(answer, match)
        token = answer.json["token"]
        answers.append(replace(answer, body=answer.body.replace(token.encode(), b"its token")))
        assert world.ask("GET", PATH, token).json == answer.json["game"]
        assert world.ask("GET", PATH, caller.token).status == 401
    assert answers[0] == answers[1], f"{caller.name} is given another token"
    shown = answers[0].json["game"]
    check_view(shown, match, caller.viewer)
    assert (shown["viewer"], shown["version"]) == (view["viewer"], view["version"] + 1)
    match.real.put(before, log)
    twin.put(twin_game, twin_log)


def compare_actions(match: Match, twin: World, caller: Caller, view: Json, tries: int) -> None:
    """Of many actions the same ones are accepted, and every other one is refused in the same words."""
    rng = match.rng
    endless = universe(match.rules, rng)
    telling = telling_actions(match.hand, caller, rng)
    stale = {**next(endless), "expected_version": view["version"] + rng.choice([-1, 1, 7])}
    before, log, twin_game, twin_log = match.real.game, match.real.events, twin.game, twin.events
    chosen = [*rng.sample(telling, min(tries, len(telling))), *(next(endless) for _ in range(tries)), stale]
    if match.rules.eleven_show and view["turn"] == {"kind": "play", "seats": [caller.viewer]}:
        chosen.append({"type": "show"})
    for action in chosen:
        body = {"expected_version": view["version"], **action}
        answer = match.real.ask("POST", f"{PATH}/actions", caller.token, body)
        other = twin.ask("POST", f"{PATH}/actions", caller.token, body)
        assert answer.status == other.status, f"{caller.name} {body}"
        if answer.status >= 400:
            assert answer == other, f"{caller.name} {body}"
            check_refusal(answer.json, body, view)
            continue
        match.real.put(before, log)
        twin.put(twin_game, twin_log)
        if turns_up_cards(action, match.hand):
            assert masked(answer.json["events"][0]) == masked(other.json["events"][0])
        else:
            assert answer == other, f"{caller.name} {body}"


# ---- directed ----


def put(world: World, variant: str, state: GameState, is_public: bool = True) -> None:
    game, events = logged(stored_game(variant, state, SEED, is_public), ())
    world.put(game, events)


SEED: Final = bytes(range(32))


def showing_tables(worlds: Worlds, hands: str) -> tuple[World, World]:
    """Seat 0 has won the first trick of a mão de onze and leads again; in its twin seat 1 holds other cards."""
    played = table("tradicional", hands, vira="4C", score=(11, 4), seats=2).accepts().plays("3C", "6D")
    swapped = {Card.parse("6C"): Card.parse("5D"), Card.parse("6H"): Card.parse("3H")}
    real, twin = worlds.real, worlds.twins[0]
    put(real, "tradicional", played.state)
    put(twin, "tradicional", redealt(played.state, lambda card: swapped.get(card, card), lambda card: card))
    assert twin.state.secrets != real.state.secrets
    return real, twin


def test_a_win_is_shown_only_if_it_is_proven_by_what_the_seat_knows(worlds: Worlds) -> None:
    """Seat 0 holds the third best manilha; what seat 1 holds would decide."""
    real, twin = showing_tables(worlds, "5S 3C 4D / 6D 6C 6H")
    caller = Caller("seat 0", 0, SEAT_TOKENS[0])
    view = ask_both(real, twin, caller, "GET", PATH).json
    assert "show" not in [action["type"] for action in view["legal_actions"]]
    show = {"type": "show", "expected_version": 1}
    answer = ask_both(real, twin, caller, "POST", f"{PATH}/actions", show)
    assert answer.status == 409
    assert answer.json["code"] == "show_not_proven"
    check_refusal(answer.json, show, view)


def test_a_shown_win_lays_open_the_cards_of_that_seat_only(worlds: Worlds) -> None:
    real, twin = showing_tables(worlds, "5C 3C 4D / 6D 6C 6H")
    caller = Caller("seat 0", 0, SEAT_TOKENS[0])
    show = {"type": "show", "expected_version": 1}
    answer = ask_both(real, twin, caller, "POST", f"{PATH}/actions", show).json
    assert answer["game"]["last_hand"]["shown"] == {"seat": 0, "cards": ["5C", "4D"]}
    told = answer["game"]["last_hand"], answer["events"]
    assert set(CARD.findall(json.dumps(told))) == {"4C", "3C", "6D", "5C", "4D"}


def test_the_creator_is_shown_what_a_spectator_sees_and_a_joiner_its_own_cards() -> None:
    world = World()
    world.app.test_client_class = ContractClient
    site = Site(world.app)
    order = {"variant": "simples", "players": [{"name": name} for name in NAMES[:4]]}
    created = body_of(site.send("POST", "/v1/games", order))
    view = created["game"]
    assert_no_card({**view, "rules": None, "hand": {**view["hand"], "vira": None, "manilhas": None}})
    started = site.create("simples", players=3, visibility="public")
    joined = body_of(site.send("POST", f"{started.path}/seats", {"name": "Davi"}))
    assert joined["game"] == body_of(started.get(joined["token"]))
    assert [seat["cards"] is None for seat in joined["game"]["seats"]] == [True, True, True, False]


KEY: Final = "8b7c4f0e-3f5e-4a53-9a55-0f6f1d0c9f6a"


def test_a_join_that_is_sent_again_shows_no_cards_of_who_sits_there_now() -> None:
    """Nor those of anybody else: the seat was left, so its old token opens nothing."""
    world = World()
    world.app.test_client_class = ContractClient
    game = Site(world.app).create("mano-a-mano", players=0, visibility="public")
    headers = {"Idempotency-Key": KEY}
    first = body_of(game.send("POST", "/seats", {"name": "Bia"}, headers=headers))
    assert game.leave(first["seat"], first["token"]).status_code == 204
    assert [game.joined("Caio"), game.joined("Davi")] == [first["seat"], 1]
    assert game.view(first["seat"])["status"] == "playing"
    again = game.send("POST", "/seats", {"name": "Bia"}, headers=headers)
    assert code_of(again) == "seat_taken"
    assert_no_card(body_of(again))


def test_what_is_sent_again_is_answered_with_the_view_of_the_same_seat() -> None:
    world = World()
    world.app.test_client_class = ContractClient
    game = Site(world.app).create("mano-a-mano", players=1, visibility="public")
    headers = {"Idempotency-Key": KEY}
    for _ in range(2):
        joined = game.send("POST", "/seats", {"name": "Bia"}, headers=headers)
        token = body_of(joined)["token"]
        assert body_of(joined)["game"] == body_of(game.get(token))
    game.tokens[1] = token
    seat = game.to_act()
    play = game.view(seat)["legal_actions"][0]
    for _ in range(2):
        acted = body_of(game.post(seat, play, headers=headers))
        assert acted["game"] == game.view(seat)
        check_events(acted["events"])


def test_a_private_game_tells_strangers_nothing(worlds: Worlds) -> None:
    twin = worlds.twins[None]
    played = table("paulista", "7C 7H 7S / 6C 6H 6S", vira="4C").raises().accepts().plays("7C", "6C")
    rules = played.state.table.rules
    put(worlds.real, "paulista", played.state, is_public=False)
    put(twin, "paulista", redealt(played.state, Label(rules, set(), Random(1)), lambda card: card), is_public=False)
    stranger = callers(rules)[rules.seats]
    requests = [
        ("GET", PATH, None),
        ("GET", f"{PATH}/events", None),
        ("GET", f"{PATH}/events/stream", None),
        ("GET", f"{PATH}?wait=1&after_version=1", None),
        ("POST", f"{PATH}/seats/0/return", None),
        ("POST", f"{PATH}/rematch", None),
        ("GET", f"{PATH}/record", None),
        ("POST", f"{PATH}/actions", {"type": "play", "card": "4S", "expected_version": 1}),
        ("POST", f"{PATH}/seats", {"name": "Zeca", "join_code": "00000000"}),
        ("DELETE", PATH, None),
        ("DELETE", f"{PATH}/seats/0", None),
        ("POST", f"{PATH}/seats/0/token", None),
        ("GET", "/v1/games?mine=true", None),
    ]
    for method, path, body in requests:
        answer = ask_both(worlds.real, twin, stranger, method, path, body)
        assert answer.status in (401, 403)
        check_it_tells_nothing(answer)
    listed = ask_both(worlds.real, twin, stranger, "GET", "/v1/games?status=playing")
    assert listed.json["games"] == []
    another_platform = {"X-API-Key": OTHER_API_KEY}
    for method, path, body in requests:
        answer = ask_both(worlds.real, twin, stranger, method, path, body, another_platform)
        if answer.status != 200:
            check_it_tells_nothing(answer)
        else:
            assert answer.json["games"] == []


def check_it_tells_nothing(answer: Answer) -> None:
    assert answer.status in (401, 403, 404)
    assert_no_card(answer.json)
    assert set(answer.json) == {"type", "title", "status", "code", "detail", "instance"}


def test_an_api_key_shows_no_cards(worlds: Worlds) -> None:
    """Its platform is told who plays, but is not shown the game."""
    put(worlds.real, "paulista", table("paulista", "7C 7H 7S / 6C 6H 6S", vira="4C").state, is_public=False)
    mine = {"X-API-Key": API_KEY}
    for below in ("", "/events", "/events/stream", "/record"):
        check_it_tells_nothing(worlds.real.ask("GET", PATH + below, headers=mine))
    [listed] = worlds.real.ask("GET", "/v1/games?mine=true&status=playing", headers=mine).json["games"]
    assert set(listed) == {"id", "variant", "seats", "turn_seconds", "status", "created_at"}
    assert_no_card(listed)


def test_the_record_waits_for_the_end(worlds: Worlds) -> None:
    put(worlds.real, "paulista", table("paulista").state)
    for caller in callers(rules_of("paulista", 4)):
        assert worlds.real.ask("GET", f"{PATH}/record", caller.token).json["code"] == "game_not_finished"
    assert (
        worlds.real.ask("POST", f"{PATH}/actions", SEAT_TOKENS[0], {"type": "resign", "expected_version": 1}).status
        == 200
    )
    assert worlds.real.ask("GET", f"{PATH}/record").json["seed"] == SEED.hex()


# ---- nothing is printed, nothing is logged ----

CARD_REPR: Final = re.compile(r"rank='(\w+)', suit=<Suit\.\w+: '(\w)'>")


def hiding_tables() -> dict[str, PlayedTable]:
    """Every kind of secret there is."""
    covered = table("paulista", "7C 7H 7S / 6C 6H 6S", vira="4C").plays("7C", "6C")
    seat = covered.hand.to_play
    assert seat is not None
    for _ in range(4 - len(covered.hand.tricks[-1].plays)):
        seat = covered.hand.to_play
        assert seat is not None
        covered = covered.plays(next(str(card) for card in covered.state.secrets.hands[seat] if card is not None))
    opener = covered.hand.to_play
    assert opener is not None
    covered = covered.plays(next(f"*{card}" for card in covered.state.secrets.hands[opener] if card is not None))
    return {
        "pack": undealt_table("tradicional"),
        "hidden vira": table("espanhol", score=(11, 11)).plays("slot 0"),
        "deciding at 11": table("paulista", score=(11, 0)),
        "covered": covered,
        "last covered": covered.raises().folds().next_hand(),
    }


def assert_tells_nothing(text: str, open_cards: set[str], secrets: Sequence[str | bytes] = ()) -> None:
    assert set(CARD.findall(text)) | {rank + suit for rank, suit in CARD_REPR.findall(text)} <= open_cards
    for secret in secrets:
        for form in (secret.hex(), repr(secret), repr(secret)[2:-1]) if isinstance(secret, bytes) else (secret,):
            assert form not in text


@pytest.mark.parametrize("kind", ["pack", "hidden vira", "deciding at 11", "covered", "last covered"])
def test_what_holds_secrets_does_not_print_them(kind: str, worlds: Worlds) -> None:
    played = hiding_tables()[kind]
    state = played.state
    assert state.secrets != Secrets()
    public = present_cards(state)
    put(worlds.real, "paulista", state, is_public=False)
    games = Games(worlds.real.store, SeededDealer())
    entry = games.enter(GAME_ID, SEAT_TOKENS[0])
    game = worlds.real.game
    with pytest.raises(RefusedError) as refused:
        games.act(entry, 77, Accept())
    assert game.platform is not None
    own = games.enter_as_platform(GAME_ID, game.platform)
    values = [state, state.secrets, Transition(state), game, entry, own, games, worlds.real.store, games.look(entry)]
    values += [worlds.real.store.load(GAME_ID), view_for(state, 0), refused.value, refused.value.game]
    for value in values:
        for text in (repr(value), str(value), f"{value}", repr([value])):
            secrets = [*SEAT_TOKENS, HOST_TOKEN, JOIN_CODE, SEED, game.host_hash, game.platform]
            assert_tells_nothing(text, public, secrets)


def present_cards(state: GameState) -> set[str]:
    """The faces that lie open in a state whose hands are no more than one old."""
    hand, last_hand, rules = state.table.hand, state.table.last_hand, state.table.rules
    assert hand is not None
    tricks = (*hand.tricks, *(last_hand.tricks if last_hand is not None else ()))
    cards = {play.card for trick in tricks for play in trick.plays}
    cards |= {hand.vira, last_hand.vira if last_hand is not None else None, *(rules.manilhas or ())}
    return {str(card) for card in cards if card is not None}


def test_what_is_handed_out_does_not_print_its_tokens() -> None:
    store = World().store
    games = Games(store, SeededDealer())
    created = games.create(NewGame("mano-a-mano", players=("Ana",)))
    joined = games.join(games.enter(created.game.id, None), "Bia", None, created.join_code)
    assert joined.game.player is not None
    assert joined.game.player.own
    assert joined.game.player.table.hand is not None
    assert created.join_code is not None
    seed = loaded(store, created.game.id).seed
    secrets = [created.tokens[0], created.host_token, created.join_code, joined.token, seed]
    settings = Settings(api_keys={"a-secret-key": "a-secret-key"})
    for value in (created, joined, joined.game, NewGame("paulista"), settings):
        for text in (repr(value), str(value)):
            assert_tells_nothing(text, {str(joined.game.player.table.hand.vira)}, [*secrets, "a-secret-key"])


def loaded(store: GameStore, game_id: str) -> Game:
    found = store.load(game_id)
    assert found is not None
    return found.game


def test_nothing_secret_is_logged_or_printed(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not in a game's whole life, nor when the store is gone, nor when something breaks."""
    caplog.set_level(logging.DEBUG)
    world = World(0, API_KEYS)
    world.app.test_client_class = ContractClient
    started = Site(world.app, API_KEY).create("simples", players=3, visibility="private")
    assert started.join_code is not None
    join = {"name": "Davi", "join_code": started.join_code}
    joined = body_of(started.site.send("POST", f"{started.path}/seats", join))
    started.tokens[3] = joined["token"]
    rng = Random(5)
    for _ in range(30):
        views = [started.view(seat) for seat in range(4)]
        if views[0]["status"] != "playing":
            break
        seat, action = next_action(views, rng)
        started.act(seat, action)
        started.post(seat, {**action, "expected_version": 1})
        started.post((seat + 1) % 4, {"type": "play", "card": "4C"})
    started.site.send("POST", f"{started.path}/actions", {"type": "pass"}, started.tokens[0])
    started.site.send("POST", f"{started.path}/actions", data=b'{"type', content_type="application/json")
    started.get(started.tokens[0][::-1])
    lost = started.reissued(0)
    started.reissue(0, OTHER_API_KEY)
    started.get(started.tokens[0], headers={"X-Request-Id": started.tokens[0]})
    started.site.send("GET", f"/v1/games/{started.tokens[0]}?token={started.tokens[0]}")
    started.site.send("POST", "/v1/games", {}, headers={"X-Request-Id": KEY, "Idempotency-Key": KEY})
    gone = create_app(Settings(redis_url=f"redis://:{PASSWORD}@127.0.0.1:1/0"))
    assert Site(gone).send("GET", started.path, token=started.tokens[0]).status_code == 503
    assert_breaks_silently(World())
    printed = capfd.readouterr()
    seed = loaded(world.store, started.id).seed
    secrets = [*started.tokens.values(), started.host_token, started.join_code, seed, SEED, *SEAT_TOKENS, PASSWORD]
    secrets += [lost, KEY, *API_KEYS]
    assert "AssertionError" in printed.out
    assert "/actions" in world.metrics
    lines = [JsonLines().format(record) for record in caplog.records]
    for text in (caplog.text, printed.out, printed.err, world.metrics, *lines):
        assert_tells_nothing(text, set(), secrets)


PASSWORD: Final = "a-word-of-passage"
KEY: Final = "a-key-that-is-sent-twice"


def assert_breaks_silently(world: World) -> None:
    """A state that cannot be: the answer is 500 and says nothing."""
    state = table("paulista").state
    assert state.table.hand is not None
    put(world, "paulista", replace(state, table=replace(state.table, hand=replace(state.table.hand, to_play=None))))
    answer = world.ask("GET", PATH, SEAT_TOKENS[0])
    assert answer.json["code"] == "internal"
    assert_no_card(answer.json)


# ---- whole games ----


@dataclass(frozen=True)
class Case:
    """Games of one rule set, each from *score* on, until *states* and all of `comes_to` have been seen.

    `comes_to`: parts that a twin hid another way, phases, reasons why a hand ended.
    """

    name: str
    variant: str
    seats: int
    score: Score = (0, 0)
    states: int = 12
    comes_to: str = ""
    overrides: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name}-{self.seats}"


CUT_BLIND: Final = {
    "dealing": Dealing.CUT,
    "raise_timing": RaiseTiming.ANY_TIME,
    "iron_raise": Penalty.LOSE_POINTS,
}
LATE_COVER: Final = {"covered_from_trick": 3, "all_tied": AllTied.NOBODY}
CASES: Final = [
    Case("espanhol at 11x11", "espanhol", 2, (11, 11), comes_to="vira own_blind_hand"),
    Case("paulista at 11", "paulista", 4, (11, 5), states=16, comes_to="eleven last_covered folded"),
    Case("partners hidden", "paulista", 4, (4, 11), comes_to="eleven", overrides={"eleven_partner_cards": False}),
    Case(
        "espanhol cut at 11x11",
        "espanhol",
        4,
        (11, 11),
        states=16,
        comes_to="pack vira own_blind_hand penalty",
        overrides=CUT_BLIND,
    ),
    Case("tradicional at 11", "tradicional", 4, (11, 6), states=16, comes_to="pack eleven penalty last_covered"),
    Case("mano a mano", "mano-a-mano", 2, states=16, comes_to="last_covered answer folded"),
    Case("paulista", "paulista", 4, states=16, comes_to="last_covered answer"),
    Case("paulista at 11", "paulista", 6, (3, 11), comes_to="eleven last_covered"),
    Case("paulista at 11", "paulista", 2, (11, 0), comes_to="eleven"),
    Case("paulista at 11x11", "paulista", 4, (11, 11), comes_to="last_covered over"),
    Case("covered late", "paulista", 2, (11, 11), comes_to="last_covered", overrides=LATE_COVER),
    Case("limpo", "paulista-limpo", 6, comes_to="last_covered answer"),
    Case("espanhol at 11", "espanhol", 4, (11, 10), comes_to="eleven folded"),
    Case("espanhol at 11x11", "espanhol", 4, (11, 11), states=16, comes_to="vira own_blind_hand"),
    Case("tradicional", "tradicional", 4, states=16, comes_to="pack last_covered answer"),
    Case("tradicional at 11x11", "tradicional", 6, (11, 11), comes_to="pack"),
    Case("sulista at 23", "sulista", 4, (9, 23), comes_to="pack eleven last_covered"),
    Case("sulista at 23x23", "sulista", 2, (23, 23), states=16, comes_to="pack last_covered"),
    Case("simples", "simples", 2, comes_to="last_covered"),
    Case("simples at 11x11", "simples", 4, (11, 11), comes_to="own_blind_hand"),
    Case("mano a mano at 11", "mano-a-mano", 2, (11, 4), comes_to="last_covered"),
    Case("mano a mano at 11x11", "mano-a-mano", 2, (11, 11), comes_to="own_blind_hand penalty"),
    Case("manilha velha", "manilha-velha", 4, comes_to="last_covered answer"),
    Case("mineiro at 10", "mineiro", 4, (10, 8), comes_to="eleven last_covered"),
    Case("mineiro at 10x10", "mineiro", 4, (10, 10), comes_to="own_blind_hand"),
]
WEIGHTS: Final = {"play": 8, "covered": 4, "raise": 2, "penalty": 0.4, "accept": 3, "fold": 1, "show": 3}


def kind_of(action: Json) -> str:
    if action.get("covered"):
        return "covered"
    return "penalty" if "penalty" in action else str(action["type"])


LEADS_TO: Final = {"raise": "answer", "fold": "folded", "penalty": "penalty", "covered": "last_covered"}


def next_action(views: list[Json], rng: Random, missing: Collection[str] = ()) -> tuple[int, Json]:
    """One of the actions that the seats are offered in their *views*, rather one that leads to what is *missing*."""
    offers: dict[str, list[tuple[int, Json]]] = {}
    for view in views:
        for action in view["legal_actions"]:
            offers.setdefault(kind_of(action), []).append((view["viewer"]["seat"], action))
    wanted = [kind for kind in offers if LEADS_TO.get(kind) in missing and rng.random() < 0.5]
    kinds = wanted or sorted(offers)
    (kind,) = rng.choices(kinds, [WEIGHTS.get(kind, 3) for kind in kinds])
    seat, action = rng.choice(offers[kind])
    del action["expected_version"]
    return seat, action


@pytest.mark.parametrize("case", CASES, ids=str)
def test_hidden_cards_change_no_answer(case: Case, worlds: Worlds) -> None:
    rules = rules_of(case.variant, case.seats, **case.overrides)
    seen: Counter[str] = Counter()
    missing = set(case.comes_to.split())
    for game in count():
        match = Match(worlds, case.variant, rules, case.score, f"{case} {game}")
        while True:
            views = look_around(match)
            states = (seen + match.seen)["look"] / len(callers(rules))
            assert states < 4 * case.states, f"{case} does not come to {missing}"
            missing -= set(match.seen)
            if match.is_over:
                break
            is_enough = states >= case.states and not missing
            play(match, *(resignation(match) if is_enough else next_action(views, match.path, missing)))
        seen += match.seen
        if is_enough:
            break
    assert seen["twin_differs"] > 0.8 * seen["look"]


def play(match: Match, seat: int, action: Json) -> None:
    answer, twin_answer = match.act(seat, action)
    assert answer == twin_answer
    check_view(answer.json["game"], match, seat)
    check_events(answer.json["events"])


def resignation(match: Match) -> tuple[int, Json]:
    return match.path.randrange(match.rules.seats), {"type": "resign"}


def look_around(match: Match) -> list[Json]:
    """Everybody's view, each compared with its twin."""
    return [compare(match, caller, tries=2) for caller in callers(match.rules)]
