"""Whole random games of every preset and seat count over real HTTP, checked from the players' side.

`python -m tests.demo --games N` starts the service, and lets one independent client a seat, which knows only its token,
choose from `legal_actions`. After every action all viewers must agree on what is public; after each game the record
must verify, and every face that any answer showed must have been its viewer's to see. Exit 1 at the first lie.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import requests

from service.dealer import SeededDealer
from service.engine.record import from_json, verify
from tests.live_server import live_server

Body = dict[str, Any]

SEAT_COUNTS = (2, 4, 6)
OUT_OF_TURN_CHANCE = 0.05
"""That a seat uses a legal action although the game does not wait for it."""
WEIGHTS = {"raise": 0.3, "fold": 0.3}
"""Of actions in a choice; so that hands are played out and many games come to 11."""
NAMES = ("Ana", "Bia", "Caio", "Davi", "Eva", "Fábio")


class DemoError(Exception):
    """The service said something that cannot be."""


@dataclass
class Face:
    """A card that an answer showed, and where."""

    viewer: int | None
    card: str
    place: str
    hand: int
    seat: int | None = None
    slot: int | None = None
    trick: int | None = None
    shown_in: Body = field(default_factory=dict, repr=False)


class Client:
    """One seat, or the spectator (no token): it knows the game's address and its own token, nothing else."""

    def __init__(self, game_url: str, seat: int | None, token: str | None) -> None:
        self.url, self.seat = game_url, seat
        self.http = requests.Session()
        if token is not None:
            self.http.headers["Authorization"] = f"Bearer {token}"
        self.faces: list[Face] = []
        self.view: Body = {}

    def look(self) -> Body:
        self.view = self._body(self.http.get(self.url))
        self._note(self.view)
        return self.view

    def choose(self, chance: random.Random) -> Body | None:
        """An action of its own choice; None to wait."""
        legal: list[Body] = self.view["legal_actions"]
        turn = self.view["turn"]
        if not legal or (self.seat not in turn["seats"] and chance.random() > OUT_OF_TURN_CHANCE):
            return None
        weights = [WEIGHTS.get(action["type"], 1.0) for action in legal]
        return chance.choices(legal, weights)[0]

    def act(self, action: Body) -> None:
        answer = self._body(self.http.post(f"{self.url}/actions", json=action))
        self.view = answer["game"]
        self._note(self.view)
        for event in answer["events"]:
            self._note_event(event)

    def events(self) -> Iterator[Body]:
        after = 0
        while page := self._body(self.http.get(f"{self.url}/events", params={"after": after, "limit": 500}))["events"]:
            yield from page
            after = page[-1]["seq"]

    def _body(self, response: requests.Response) -> Body:
        if not response.ok:
            raise DemoError(f"{response.request.method} {response.url}: {response.status_code} {response.text}")
        body: Body = response.json()
        return body

    def _note(self, view: Body) -> None:
        hand, last = view["hand"], view["last_hand"]
        if hand is not None:
            self._note_hand(hand, hand["number"], view)
            for seat in view["seats"]:
                for held in seat["cards"] or ():
                    if held["card"] is not None:
                        self._add(held["card"], "held", hand["number"], view, seat["seat"], held["slot"])
            for action in view["legal_actions"]:
                if "card" in action:
                    self._add(action["card"], "legal", hand["number"], view, self.seat)
        if last is not None:
            self._note_hand(last, last["number"], view)
            for card in last["shown"]["cards"] if last["shown"] else ():
                self._add(card, "shown", last["number"], view, last["shown"]["seat"])

    def _note_hand(self, hand: Body, number: int, view: Body) -> None:
        if hand["vira"] is not None:
            self._add(hand["vira"], "vira", number, view)
        for place, trick in enumerate(hand["tricks"]):
            for play in trick["plays"]:
                if play["card"] is not None:
                    kind = "covered" if play["covered"] else "open"
                    self._add(play["card"], kind, number, view, play["seat"], trick=place)

    def _note_event(self, event: Body) -> None:
        if event["data"].get("card") is not None and event["data"]["covered"]:
            raise DemoError(f"an event shows the face of a covered card: {event}")

    def _add(
        self,
        card: str,
        place: str,
        hand: int,
        view: Body,
        seat: int | None = None,
        slot: int | None = None,
        trick: int | None = None,
    ) -> None:
        self.faces.append(Face(self.seat, card, place, hand, seat, slot, trick, view))


def public_part(view: Body) -> str:
    """*view* without what may differ between viewers, as text."""
    whole: Body = json.loads(json.dumps(view))
    for member in ("viewer", "legal_actions", "server_time"):
        del whole[member]
    for seat in whole["seats"]:
        del seat["cards"]
    for hand in (whole["hand"], whole["last_hand"]):
        for trick in hand["tricks"] if hand else ():
            for play in trick["plays"]:
                if play["covered"]:
                    play["card"] = None
    return json.dumps(whole, sort_keys=True)


def check_face(face: Face, record: Body) -> None:
    """Raises `DemoError` unless *face* was true, and its viewer's to see."""
    view, hand = face.shown_in, record["hands"][face.hand - 1]
    rules = record["rules"]
    blind = hand["kind"] == "mao_de_ferro" and rules["iron_cards"] != "open"
    if face.place in ("held", "legal"):
        dealt = hand["hands"][face.seat]
        deciding = view["hand"]["phase"] == "eleven" and rules["eleven_partner_cards"]
        partner = deciding and view["viewer"]["team"] == face.seat % 2 and face.seat in view["turn"]["seats"]
        own = face.viewer is not None and face.viewer == face.seat
        right = not blind and (own or partner) and face.card in dealt
        right = right and (face.slot is None or dealt[face.slot] == face.card)
    elif face.place == "vira":
        hidden = blind and rules["iron_cards"] == "blind_hidden_vira"
        running = view["hand"]["number"] == face.hand and view["hand"]["phase"] != "over"
        first_done = bool(hand["tricks"]) and len(hand["tricks"][0]["plays"]) == len(record["seats"])
        if running and hidden:
            tricks = view["hand"]["tricks"]
            first_done = bool(tricks) and len(tricks[0]["plays"]) == len(record["seats"])
        right = rules["manilhas"] == "vira" and face.card == hand["vira"] and (not hidden or first_done)
    elif face.place == "shown":
        right = hand["shown"] is not None and hand["shown"]["seat"] == face.seat and face.card in hand["shown"]["cards"]
    else:
        covered = face.place == "covered"
        assert face.seat is not None
        assert face.trick is not None
        right = (not covered or face.viewer == face.seat) and played_card(hand, face.seat, face.trick) == (
            face.card,
            covered,
        )
    if not right:
        raise DemoError(
            f"hand {face.hand}: viewer {face.viewer} was shown {face.card} ({face.place}, seat {face.seat})"
        )


def played_card(hand: Body, seat: int, trick: int) -> tuple[str, bool]:
    """What *seat* played to a trick (from 0), by the record, and whether covered."""
    plays = [action for action in hand["actions"] if action["type"] == "play" and action["seat"] == seat]
    action = plays[trick]
    card = action["card"] if "card" in action else hand["hands"][seat][action["slot"]]
    return card, action.get("covered", False)


@dataclass(frozen=True)
class Played:
    seats: int
    hands: int
    actions: int
    score: list[int]
    faces: int
    kinds: Counter[str]


def play(base_url: str, variant: str, seats: int, chance: random.Random) -> Played:
    """One whole game. Raises `DemoError`."""
    created = requests.post(
        f"{base_url}/v1/games",
        json={
            "variant": variant,
            "seats": seats,
            "visibility": "public",
            "players": [{"name": name} for name in NAMES[:seats]],
        },
        timeout=10,
    ).json()
    game_url = f"{base_url}/v1/games/{created['game']['id']}"
    players = [Client(game_url, seat["seat"], seat["token"]) for seat in created["seats"]]
    viewers = [*players, Client(game_url, None, None)]
    actions = 0
    _agree(viewers)
    while players[0].view["status"] == "playing":
        player = chance.choice(players)
        action = player.choose(chance)
        if action is None:
            continue
        player.act(action)
        actions += 1
        _agree(viewers)
        if viewers[0].view["version"] != actions + 1:
            raise DemoError(f"after {actions} actions the version is {viewers[0].view['version']}")
    record = requests.get(f"{game_url}/record", timeout=10).json()
    difference = verify(from_json(record), SeededDealer())
    if difference is not None:
        raise DemoError(f"the record does not verify: {difference}")
    faces = [face for viewer in viewers for face in viewer.faces]
    for face in faces:
        check_face(face, record)
    for event in viewers[-1].events():
        viewers[-1]._note_event(event)
    kinds = Counter(hand["kind"] for hand in record["hands"])
    kinds.update(f"ended by {hand['reason']}" for hand in record["hands"])
    return Played(seats, len(record["hands"]), actions, record["score"], len(faces), kinds)


def _agree(viewers: list[Client]) -> None:
    parts = {public_part(viewer.look()) for viewer in viewers}
    if len(parts) > 1:
        raise DemoError("viewers disagree on what is public:\n" + "\n".join(sorted(parts)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=1, help="of each preset and seat count")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the players' choices")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    kinds: Counter[str] = Counter()
    print(f"players' choices from --seed {options.seed}")
    print(f"{'preset':16}{'seats':>6}{'hands':>7}{'actions':>9}  score")
    with live_server() as base_url:
        variants = requests.get(f"{base_url}/v1/variants", timeout=10).json()["variants"]
        for variant in variants:
            for seats in SEAT_COUNTS:
                for _ in range(options.games):
                    played = play(base_url, variant["name"], seats, chance)
                    kinds += played.kinds
                    score = "-".join(map(str, played.score))
                    print(
                        f"{variant['name']:16}{seats:6}{played.hands:7}{played.actions:9}  {score}"
                        f"  ({played.faces} faces checked)",
                        flush=True,
                    )
    print("hands:", ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    print("every record verified, every face was its viewer's to see")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DemoError as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        sys.exit(1)
