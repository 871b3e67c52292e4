"""Whole random matches of every preset and seat count: one client a seat, which knows only its token."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from service.dealer import SeededDealer
from service.engine.record import from_json, from_text, verify
from service.engine.rules import PRESETS
from service.settings import Settings
from tests.api.driver import Body, Site, Started, body_of

OUT_OF_TURN_CHANCE = 0.1
"""That a seat uses what it may do although the game does not wait for it."""
EVENTS_KEPT = Settings().events_kept


def public_part(view: Body) -> Body:
    """*view* without what may differ from viewer to viewer."""
    seats = [{**seat, "cards": None} for seat in view["seats"]]
    hands = {name: view[name] and {**view[name], "tricks": open_tricks(view[name])} for name in ("hand", "last_hand")}
    return {**view, **hands, "seats": seats, "viewer": None, "legal_actions": None}


def open_tricks(hand: Body) -> list[Body]:
    """The tricks without the faces of covered cards, which their owners see."""
    return [
        {**trick, "plays": [{**play, "card": None if play["covered"] else play["card"]} for play in trick["plays"]]}
        for trick in hand["tricks"]
    ]


@dataclass
class Player:
    game: Started
    token: str
    view: Body = field(default_factory=dict)

    def look(self) -> Body:
        self.view = body_of(self.game.get(self.token))
        return self.view

    def choose(self, chance: random.Random) -> Body | None:
        """One of its legal actions; None to wait."""
        legal: list[Body] = self.view["legal_actions"]
        is_waited_for = self.view["viewer"]["seat"] in self.view["turn"]["seats"]
        if not legal or not (is_waited_for or chance.random() < OUT_OF_TURN_CHANCE):
            assert not is_waited_for, "somebody can always go on"
            return None
        return chance.choice(legal)

    def act(self, action: Body) -> Body:
        response = self.game.send("POST", "/actions", action, self.token)
        assert response.status_code == 200, (action, response.get_data())
        return body_of(response)


def agreed(viewers: list[Body]) -> Body:
    """What all of *viewers* say is public."""
    parts = [public_part(view) for view in viewers]
    assert all(part == parts[0] for part in parts)
    return parts[0]


def check_invariants(public: Body) -> None:
    """What holds at any moment of any game."""
    hand = public["hand"]
    is_over = public["status"] == "finished"
    assert (public["turn"] is None) == (public["result"] is not None) == (hand["phase"] == "over") == is_over
    if not is_over:
        assert public["turn"]["kind"] == hand["phase"]
    if hand["phase"] not in ("cut", "deal"):
        for seat in public["seats"]:
            played = sum(play["seat"] == seat["seat"] for trick in hand["tricks"] for play in trick["plays"])
            assert seat["cards_left"] == 3 - played
    face_up = [play["card"] for trick in hand["tricks"] for play in trick["plays"] if play["card"]]
    assert len({*face_up, hand["vira"]} - {None}) == len(face_up) + (hand["vira"] is not None)
    assert public["score"]["leg"] in (1, public["rules"]["legs"])


def play_match(site: Site, variant: str, seats: int, target: int, chance: random.Random) -> None:
    game = site.create(variant, seats=seats, visibility="public", rules={"target": target})
    players = [Player(game, token) for token in game.tokens.values()]
    told = game.events()["events"]
    public = agreed([game.view(None), *(player.look() for player in players)])
    while public["status"] == "playing":
        check_invariants(public)
        chosen = ((player, player.choose(chance)) for player in chance.sample(players, seats))
        player, action = next((player, action) for player, action in chosen if action is not None)
        acted = player.act(action)
        assert acted["game"]["version"] == public["version"] + 1
        told += acted["events"]
        public = agreed([acted["game"], game.view(None), *(player.look() for player in players)])
    check_invariants(public)
    check_end(game, public, told)


def check_end(game: Started, public: Body, told: list[Body]) -> None:
    """The events and the record tell the game that the players saw."""
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    assert game.events(limit=500)["events"] == told[-EVENTS_KEPT:]
    assert all(after["version"] - before["version"] in (0, 1) for before, after in pairwise(told))
    assert told[-1]["type"] == "game_won"
    assert told[-1]["data"] == {"team": public["result"]["winner"], "reason": public["result"]["reason"]}
    record = from_json(body_of(game.send("GET", "/record")))
    assert verify(record, SeededDealer()) is None
    text = game.send("GET", "/record", headers={"Accept": "text/plain"}).get_data(as_text=True)
    assert from_text(text) == record
    assert list(record.score) == public["score"]["teams"]
    assert sum(len(hand.actions) for hand in record.hands) == public["version"] - 1


def matches() -> Iterator[tuple[str, int, int]]:
    """To a near target with each number of seats, and to one that takes some ordinary hands with the variant's own."""
    for name, preset in PRESETS.items():
        start, step = preset.rules.ladder[:2]
        for seats in (2, 4, 6):
            yield name, seats, 2 * start
        yield name, preset.rules.seats, (start + step) * preset.rules.legs


@pytest.mark.parametrize(("variant", "seats", "target"), list(matches()))
def test_a_random_match(site: Site, variant: str, seats: int, target: int) -> None:
    play_match(site, variant, seats, target, random.Random(f"{variant} {seats} {target}"))


@pytest.mark.parametrize("variant", ["tradicional", "espanhol"])
def test_a_random_match_on_each_store(any_site: Site, variant: str) -> None:
    play_match(any_site, variant, 4, PRESETS[variant].rules.target, random.Random(variant))
