"""A game and its twins: for each viewer one that differs only in what that viewer may not know.

All of them are played through HTTP, step by step, each on a store of its own. Before every look the hidden cards of a
twin are dealt anew; the tokens, the seed, the clock and all that lies open are the same.
"""

from __future__ import annotations

import hashlib
import io
import json
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from random import Random
from typing import Any, Final, TypeVar

import fakeredis
from prometheus_client import generate_latest
from werkzeug.wrappers import Response

from service.app import create_app
from service.dealer import SeededDealer
from service.engine import flow
from service.engine.cards import ALL_CARDS, Card
from service.engine.events import Event
from service.engine.rules import PRESETS, RuleSet
from service.engine.state import GameState
from service.store.base import Chair, Game, LoggedEvent
from service.store.redis import RedisGameStore, TimeToLive
from tests import contract
from tests.api.driver import NAMES, UNLIMITED, Clock
from tests.api.knowledge import ToldHand, Viewer

Json = dict[str, Any]
Value = TypeVar("Value")

GAME_ID: Final = "0123456789abcdefghjkmnpqrs"
PATH: Final = f"/v1/games/{GAME_ID}"
JOIN_CODE: Final = "JNCDE234"
CREATED_AT_MS: Final = 1_790_000_000_000
TURN_SECONDS: Final = 30


def token_of(name: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(name.encode()).digest()).decode().rstrip("=")


SEAT_TOKENS: Final = [token_of(f"seat {seat}") for seat in range(6)]
HOST_TOKEN: Final = token_of("host")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def etag(self) -> str:
        return dict(self.headers)["ETag"]

    @property
    def json(self) -> Json:
        loaded: Json = json.loads(self.body)
        return loaded


class World:
    """The service on a store of its own, where nobody can wait: a stream ends after what there is now.

    *judged_every*: each so many answers one is held against the contract.
    """

    def __init__(self, judged_every: int = 0) -> None:
        self._redis = fakeredis.FakeRedis()
        self._judged_every = judged_every
        self._asked = 0
        self.store = RedisGameStore(self._redis, TimeToLive(3_600, 3_600, 3_600), events_kept=500, clock=Clock())
        self.app = create_app(replace(UNLIMITED, waits_per_worker=0, metrics_port=1), store=self.store)

    @property
    def metrics(self) -> str:
        """As they would be served."""
        measured = self.app.extensions["truco"].metrics
        return generate_latest(measured.registry).decode()

    @property
    def game(self) -> Game:
        found = self.store.load(GAME_ID)
        assert found is not None
        return found.game

    @property
    def state(self) -> GameState:
        state = self.game.state
        assert state is not None
        return state

    @property
    def events(self) -> tuple[LoggedEvent, ...]:
        return self.store.events(GAME_ID, 0, 500).events

    def put(self, game: Game, events: Iterable[LoggedEvent]) -> None:
        """Nothing but *game* with these events, whatever was there."""
        self._redis.flushall()
        self.store.commit(game, None, tuple(events))

    def replace(self, game: Game) -> None:
        """*game* in place of what is stored of it, at the same version; its events stay."""
        self.store.commit(game, game, ())

    def ask(
        self,
        method: str,
        path: str,
        token: str | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request, straight into the WSGI application: the same as through a server, and quick.

        Nobody stays present for having asked: a twin is asked by its own viewer only.
        """
        path, _, query = path.partition("?")
        sent = b"" if body is None else json.dumps(body).encode()
        environ: dict[str, object] = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(sent),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "HTTP_X_REQUEST_ID": "the-same",
        }
        if body is not None:
            environ |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(sent))}
        if token is not None:
            environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        for name, value in (headers or {}).items():
            environ[f"HTTP_{name.upper().replace('-', '_')}"] = value
        response = Response.from_app(self.app.wsgi_app, environ, buffered=True)
        self._redis.delete(f"truco:{{{GAME_ID}}}:presence")
        self._asked += 1
        if self._judged_every and self._asked % self._judged_every == 0:
            contract.check(method, path, response)  # type: ignore[arg-type]
        return Answer(response.status_code, tuple(response.headers.items()), response.get_data())


def rules_of(variant: str, seats: int, **overrides: object) -> RuleSet:
    return replace(PRESETS[variant].rules, seats=seats, **overrides)  # type: ignore[arg-type]


def stored_game(variant: str, state: GameState, seed: bytes, is_public: bool = True) -> Game:
    """*state* as the game of `GAME_ID`, whose tokens are `SEAT_TOKENS` and `HOST_TOKEN`; nothing committed yet."""
    rules = state.table.rules
    return Game(
        id=GAME_ID,
        version=1,
        created_at_ms=CREATED_AT_MS,
        variant=variant,
        rules=rules,
        is_public=is_public,
        chairs=tuple(Chair(NAMES[seat], hashed(SEAT_TOKENS[seat])) for seat in range(rules.seats)),
        state=state,
        seed=seed,
        host_hash=hashed(HOST_TOKEN),
        turn_seconds=TURN_SECONDS,
        deadline_ms=Clock().now_ms + 1_000 * TURN_SECONDS,
        join_code=None if is_public else JOIN_CODE,
    )


def hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def logged(game: Game, events: Iterable[Event]) -> tuple[Game, tuple[LoggedEvent, ...]]:
    """*game* with its first *events* in the log."""
    entries = tuple(
        LoggedEvent(seq, game.version, CREATED_AT_MS, event.type, event.seat, event.members())
        for seq, event in enumerate(events, 1)
    )
    return replace(game, last_seq=len(entries)), entries


def relabelled(value: Value, label: Callable[[Card], Card]) -> Value:
    """*value* with every card in it replaced, in whatever place it lies; the rules stay."""
    if isinstance(value, Card):
        return label(value)
    if isinstance(value, tuple):
        return type(value)(relabelled(item, label) for item in value)
    if is_dataclass(value) and not isinstance(value, RuleSet | type):
        changed = {field.name: relabelled(getattr(value, field.name), label) for field in fields(value)}
        return replace(value, **changed)
    return value


def redealt(state: GameState, hand: Callable[[Card], Card], last_hand: Callable[[Card], Card]) -> GameState:
    """*state* with the cards of its hand and of its last hand replaced, each by its own label."""
    table, secrets = state.table, state.secrets
    return GameState(
        replace(table, hand=relabelled(table.hand, hand), last_hand=relabelled(table.last_hand, last_hand)),
        replace(
            relabelled(replace(secrets, last_covered=()), hand),
            last_covered=relabelled(secrets.last_covered, last_hand),
        ),
    )


class Label:
    """A shuffle of the cards of a deck that leaves the known ones where they are."""

    def __init__(self, rules: RuleSet, known: set[Card], rng: Random) -> None:
        hidden = [card for card in rules.deck.cards if card not in known]
        self._labels = dict(zip(hidden, rng.sample(hidden, len(hidden)), strict=True))

    def __call__(self, card: Card) -> Card:
        return self._labels.get(card, card)


class Match:
    """One game over HTTP, told with nothing hidden, and its twin for each seat and for the spectator."""

    def __init__(self, worlds: Worlds, variant: str, rules: RuleSet, score: tuple[int, int], name: str) -> None:
        self.rules = rules
        self.rng = Random(name)
        self.path = Random(f"path of {name}")
        """Chooses how the game is played, whatever is asked on the way."""
        self.real = worlds.real
        self.twins = {viewer: worlds.twins[viewer] for viewer in (None, *range(rules.seats))}
        seed = hashlib.sha256(name.encode()).digest()
        dealer = SeededDealer()
        begun = flow.new_game(rules, dealer.first_dealer(seed, rules.seats), score)
        dealt = flow.start_hand(begun.state, dealer.pack(seed, rules.deck, 1))
        game, events = logged(stored_game(variant, dealt.state, seed), (*begun.events, *dealt.events))
        self.real.put(game, events)
        self.seen: Counter[str] = Counter()
        self._hands_over = 0
        self.hand = self._told_hand(score)
        self.last_hand: ToldHand | None = None
        for viewer, twin in self.twins.items():
            twin.put(self._twin_of(game, viewer, set())[0], events)

    @property
    def seed(self) -> bytes:
        return self.real.game.seed

    @property
    def is_over(self) -> bool:
        return self.real.state.table.result is not None

    def _told_hand(self, score: tuple[int, int]) -> ToldHand:
        """The hand that has just begun."""
        return self._with_deal(ToldHand(self.rules, score))

    def _with_deal(self, hand: ToldHand) -> ToldHand:
        secrets, on_table = self.real.state.secrets, self.real.state.table.hand
        assert on_table is not None
        if hand.dealt or not secrets.hands:
            return hand
        dealt = tuple(tuple(card for card in cards if card is not None) for cards in secrets.hands)
        return replace(hand, dealt=dealt, vira=secrets.vira or on_table.vira)

    def _twin_of(self, game: Game, viewer: Viewer, kept: set[Card]) -> tuple[Game, Label]:
        """*game* with the cards that *viewer* may not know dealt anew, but for *kept*; and the new faces."""
        assert game.state is not None
        label = Label(self.rules, self.hand.known(viewer) | kept, self.rng)
        last_label = label
        if self.last_hand is not None and not self.hand.over:
            last_label = Label(self.rules, self.last_hand.known(viewer), self.rng)
        return replace(game, state=redealt(game.state, label, last_label)), label

    def redeal(self, viewer: Viewer) -> World:
        """The twin of *viewer*, its hidden cards dealt anew."""
        game = self.real.game
        twin_game, _ = self._twin_of(game, viewer, set())
        twin = self.twins[viewer]
        twin.replace(twin_game)
        assert game.state is not None
        assert twin_game.state is not None
        self.seen.update(self._differences(game.state, twin_game.state, viewer))
        return twin

    def _differences(self, state: GameState, twin: GameState, viewer: Viewer) -> Iterator[str]:
        """What the twin hides another way, and where the game stands; to see that the tests come to all of it."""
        ours, theirs = state.secrets, twin.secrets
        assert twin.table == state.table, "what lies open must be the same"
        yield "look"
        if ours != theirs:
            yield "twin_differs"
        for seat, (cards, other_cards) in enumerate(zip(ours.hands, theirs.hands, strict=True)):
            if cards != other_cards:
                assert seat != viewer or self.hand.is_blind
                yield "own_blind_hand" if seat == viewer else "hand_of_another"
        for part in ("pack", "vira", "covered", "last_covered"):
            if getattr(ours, part) != getattr(theirs, part):
                yield part
        hand, last_hand = state.table.hand, state.table.last_hand
        assert hand is not None
        yield hand.phase
        if last_hand is not None:
            yield last_hand.reason

    def act(self, seat: int, action: Json) -> tuple[Answer, Answer]:
        """*seat* does *action* in the game and in every twin: its answers in the game and in the seat's own twin.

        What an action turns up must be the same in the twins: those cards are kept while the rest is dealt anew.
        """
        before, hand = self.real.game, self.hand
        body = {**action, "expected_version": before.version}
        answer = self.real.ask("POST", f"{PATH}/actions", SEAT_TOKENS[seat], body)
        assert answer.status == 200, answer.body
        after = self._told(hand, seat, action)
        answers = {}
        for viewer, twin in self.twins.items():
            game, label = self._twin_of(before, viewer, after.known(viewer))
            twin.replace(game)
            if "card" in body:
                body = {**body, "card": str(label(ALL_CARDS[action["card"]]))}
            answers[viewer] = twin.ask("POST", f"{PATH}/actions", SEAT_TOKENS[seat], body)
            assert answers[viewer].status == 200, answers[viewer].body
            assert twin.state.table == self.real.state.table, "what lies open differs by what is hidden"
        self._go_on(after)
        return answer, answers[seat]

    def _told(self, hand: ToldHand, seat: int, action: Json) -> ToldHand:
        """*hand* after *seat* has done *action*, over if that ended it."""
        if action["type"] == "play":
            slot = action.get("slot")
            if slot is None:
                slot = next(slot for slot, card in hand.held(seat).items() if str(card) == action["card"])
            hand = hand.with_laid(seat, slot, action.get("covered", False))
        elif action["type"] == "show":
            hand = replace(hand, shown=(seat, tuple(hand.held(seat).values())))
        elif action["type"] in ("accept", "fold") and hand.is_deciding:
            hand = replace(hand, decided=True)
        elif action["type"] == "deal":
            hand = self._with_deal(hand)
        last = self.real.state.table.last_hand
        is_over = last is not None and last.number == self._hands_over + 1
        return replace(hand, over=is_over)

    def _go_on(self, hand: ToldHand) -> None:
        """To *hand*, or to the one that follows it."""
        if hand.over:
            self._hands_over += 1
            self.last_hand = hand
        self.hand = self._told_hand(self.real.state.table.score) if hand.over and not self.is_over else hand


class Worlds:
    """A world to be real, and one for each viewer's twin. Building them takes a while."""

    def __init__(self) -> None:
        self.real = World(judged_every=10)
        self.twins: dict[Viewer, World] = {viewer: World() for viewer in (None, *range(6))}
