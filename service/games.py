"""The use cases: create, join, leave, look, act, list, record.

Each loads a game once, decides in Python, and commits once. Nothing is remembered between two calls. What leaves here
is a `GameView`: composed for one viewer, with no state behind it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from service.dealer import Dealer, commitment
from service.engine import actions, flow
from service.engine.actions import Action, Reason
from service.engine.events import Event, SeatJoined, SeatLeft
from service.engine.record import GameRecord, build_record, encode_action
from service.engine.rules import PRESETS, Plain, RuleSet, UnplayableRulesError, from_plain
from service.engine.state import GameState, Phase, Seat
from service.engine.view import PlayerView, view_for
from service.store.base import (
    Chair,
    EventPage,
    Game,
    GameStore,
    ListPosition,
    LoggedEvent,
    Status,
    StoreUnavailableError,
    VersionConflictError,
)

CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ID_LENGTH: Final = 26
JOIN_CODE_LENGTH: Final = 8
TOKEN_BYTES: Final = 32
_TRIES: Final = 50
"""Of a use case without a version, when other commits come between; only a broken store needs that many."""

_READ_AS: Final = str.maketrans("OIL", "011")


class Code(StrEnum):
    """Why a use case is refused, beside the engine's reasons; stable, and the same in the API."""

    GAME_NOT_FOUND = "game_not_found"
    NOT_FOUND = "not_found"
    MISSING_TOKEN = "missing_token"
    INVALID_TOKEN = "invalid_token"
    WRONG_SEAT = "wrong_seat"
    INVALID_JOIN_CODE = "invalid_join_code"
    VERSION_CONFLICT = "version_conflict"
    GAME_NOT_STARTED = "game_not_started"
    GAME_STARTED = "game_started"
    GAME_FINISHED = Reason.GAME_FINISHED.value
    GAME_NOT_FINISHED = "game_not_finished"
    GAME_FULL = "game_full"
    SEAT_TAKEN = "seat_taken"
    VALIDATION_FAILED = "validation_failed"
    UNPLAYABLE_RULES = "unplayable_rules"


@dataclass(frozen=True, slots=True)
class MemberProblem:
    """What is wrong with one member of a body; `pointer` is a JSON pointer."""

    pointer: str
    code: str
    detail: str


class RefusedError(Exception):
    """A use case that is not carried out. Nothing has changed."""

    def __init__(
        self,
        code: Code,
        detail: str,
        problems: tuple[MemberProblem, ...] = (),
        game: GameView | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.problems = problems
        self.game = game


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks: a seat, the host (who sees what a spectator sees), or a spectator."""

    seat: Seat | None = None
    is_host: bool = False

    @property
    def tag(self) -> str:
        if self.seat is not None:
            return f"s{self.seat}"
        return "host" if self.is_host else "spec"


@dataclass(frozen=True, slots=True)
class GameView:
    """All that one viewer may know of a game; `player` is None in the lobby."""

    id: str
    version: int
    status: Status
    variant: str
    rules: RuleSet
    metadata: Mapping[str, str]
    created_at_ms: int
    now_ms: int
    commitment: str
    names: tuple[str | None, ...]
    viewer: Viewer
    player: PlayerView | None
    legal_actions: tuple[Action, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """A game as one caller entered it. Only for handing back to `Games`."""

    viewer: Viewer
    _game: Game = field(repr=False)
    _token: str | None = field(repr=False)
    _leaving: Seat | None


@dataclass(frozen=True, slots=True)
class NewGame:
    """What a creator asks for; `players` are names from seat 0 on, None for an open seat."""

    variant: str
    rules: Mapping[str, Plain] = field(default_factory=dict)
    seats: int | None = None
    players: tuple[str | None, ...] = ()
    is_public: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Created:
    game: GameView
    tokens: Mapping[Seat, str] = field(repr=False)
    host_token: str = field(repr=False)
    join_code: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Joined:
    game: GameView
    seat: Seat
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Acted:
    game: GameView
    events: tuple[LoggedEvent, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    id: str
    variant: str
    status: Status
    names: tuple[str | None, ...]
    created_at_ms: int


class Games:
    """The use cases over one store, one dealer and one clock (milliseconds since 1970)."""

    def __init__(self, store: GameStore, dealer: Dealer, clock: Callable[[], int]) -> None:
        self._store = store
        self._dealer = dealer
        self._clock = clock

    def create(self, order: NewGame) -> Created:
        """A new game, started at once if no seat is open.

        Raises `RefusedError`: `unplayable_rules`, `validation_failed`.
        """
        rules = _rules_of(order)
        seats = range(rules.seats)
        tokens = {seat: _new_token() for seat, name in enumerate(order.players) if name is not None}
        host_token = _new_token()
        names = (*order.players, *[None] * (rules.seats - len(order.players)))
        game = Game(
            id=_new_id(),
            version=0,
            created_at_ms=self._clock(),
            variant=order.variant,
            rules=rules,
            is_public=order.is_public,
            chairs=tuple(Chair(names[seat], _hash(tokens[seat]) if seat in tokens else None) for seat in seats),
            metadata=order.metadata,
            seed=self._dealer.new_seed(),
            host_hash=_hash(host_token),
            join_code=None if order.is_public else _new_join_code(),
        )
        joined = [SeatJoined(seat=seat, name=name, kind="human") for seat, name in enumerate(names) if name is not None]
        game, events = self._started_if_full(game, joined)
        game, _ = self._commit(game, None, events)
        return Created(self._view(game, Viewer()), tokens, host_token, game.join_code)

    def enter(self, game_id: str, token: str | None, leaving: Seat | None = None) -> Entry:
        """The game as the bearer of *token* enters it; without one as a spectator.

        Raises `RefusedError`: `game_not_found`; `invalid_token`, also for the token of a seat that was left, unless it
        comes *leaving* that very seat again.
        """
        game = self._store.load(game_id) if is_game_id(game_id) else None
        if game is None:
            raise RefusedError(Code.GAME_NOT_FOUND, "there is no such game, or it has expired or was cancelled")
        viewer = Viewer() if token is None else _viewer_with(game, token, leaving)
        return Entry(viewer, game, token, leaving)

    def enter_seat(self, game_id: str, token: str | None) -> Entry:
        """As `enter`, for a seat. Raises `RefusedError` too: `missing_token`, `wrong_seat` for the host's."""
        entry = self.enter(game_id, token)
        _seat_of(entry)
        return entry

    def look(self, entry: Entry) -> GameView:
        """Raises `RefusedError`: `missing_token` if a spectator looks at a private game."""
        _refuse_strangers(entry)
        return self._view(entry._game, entry.viewer)

    def act(self, entry: Entry, expected_version: int, action: Action) -> Acted:
        """What the entered seat does, with all that follows from it up to the next decision of a player.

        Raises `RefusedError`: `missing_token`, `wrong_seat`, `game_not_started`, `version_conflict` (with the view);
        `IllegalActionError`, `MalformedActionError`.
        """
        game, seat = entry._game, _seat_of(entry)
        if game.state is None:
            raise RefusedError(Code.GAME_NOT_STARTED, "the game waits in the lobby for its seats to be taken")
        if game.version != expected_version:
            raise self._conflict(game, entry.viewer, expected_version)
        try:
            acted, events = self._act(game, game.state, seat, action)
        except VersionConflictError:
            now = self._enter_again(entry)
            raise self._conflict(now._game, now.viewer, expected_version) from None
        return Acted(self._view(acted, entry.viewer), events)

    def _act(self, game: Game, state: GameState, seat: Seat, action: Action) -> tuple[Game, tuple[LoggedEvent, ...]]:
        transition = actions.apply(state, seat, action)
        after, events = self._next_hand(game, transition.state, transition.events)
        return self._commit(replace(game, state=after), game, events, encode_action(seat, action))

    def _enter_again(self, entry: Entry) -> Entry:
        return self.enter(entry._game.id, entry._token, entry._leaving)

    def join(self, entry: Entry, name: str, seat: Seat | None, join_code: str | None) -> Joined:
        """Sit down, at *seat* or the lowest open one; the game starts when no seat is open.

        Raises `RefusedError`: `invalid_join_code`, `validation_failed`, `game_full`, `seat_taken`.
        """
        for _ in range(_TRIES):
            game = entry._game
            _refuse_wrong_code(game, join_code)
            taken = _open_seat(game, seat)
            token = _new_token()
            chairs = list(game.chairs)
            chairs[taken] = Chair(name, _hash(token))
            seated = replace(game, chairs=tuple(chairs))
            joined = SeatJoined(seat=taken, name=name, kind="human")
            started, events = self._started_if_full(seated, [joined])
            try:
                committed, _ = self._commit(started, game, events)
            except VersionConflictError:
                entry = self._enter_again(entry)
                continue
            return Joined(self._view(committed, Viewer(seat=taken)), taken, token)
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def leave(self, entry: Entry, seat: Seat) -> None:
        """Open *seat* again before the start; afterwards resign for its team. Leaving twice changes nothing.

        Raises `RefusedError`: `missing_token`, `wrong_seat`, `not_found`, `game_finished`.
        """
        for _ in range(_TRIES):
            game = entry._game
            if seat >= len(game.chairs):
                raise RefusedError(Code.NOT_FOUND, f"the game has no seat {seat}")
            _refuse_other_seats(entry, seat)
            try:
                if game.state is None:
                    self._open(game, seat)
                else:
                    self._resign(game, game.state, seat)
            except VersionConflictError:
                entry = self._enter_again(entry)
                continue
            return
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def _open(self, game: Game, seat: Seat) -> None:
        chair = game.chairs[seat]
        if chair.name is None:
            return
        chairs = list(game.chairs)
        chairs[seat] = replace(chair, name=None)
        self._commit(replace(game, chairs=tuple(chairs)), game, (SeatLeft(seat=seat),))

    def _resign(self, game: Game, state: GameState, seat: Seat) -> None:
        if state.table.result is not None:
            raise RefusedError(Code.GAME_FINISHED, "the game is over")
        self._act(game, state, seat, actions.Resign())

    def cancel(self, entry: Entry) -> None:
        """Forget the game. Raises `RefusedError`: `missing_token`, `wrong_seat`, `game_started`."""
        for _ in range(_TRIES):
            game = entry._game
            if not entry.viewer.is_host:
                _seat_of(entry)
                raise RefusedError(Code.WRONG_SEAT, "only the host token cancels a game")
            if game.status is not Status.LOBBY:
                raise RefusedError(Code.GAME_STARTED, "the game has started; its players may resign it")
            try:
                return self._store.delete(game)
            except VersionConflictError:
                entry = self._enter_again(entry)
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def events(self, entry: Entry, after: int, limit: int) -> EventPage:
        """Raises `RefusedError`: `missing_token` if a spectator looks at a private game."""
        _refuse_strangers(entry)
        return self._store.events(entry._game.id, after, limit)

    def record(self, entry: Entry) -> GameRecord:
        """The whole finished game with its seed. Raises `RefusedError`: `missing_token`, `game_not_finished`."""
        _refuse_strangers(entry)
        game = entry._game
        if game.status is not Status.FINISHED:
            raise RefusedError(Code.GAME_NOT_FINISHED, "decks and seed stay secret until the game is over")
        return build_record(
            id=game.id,
            variant=game.variant,
            rules=game.rules,
            names=[name for name in _names(game) if name is not None],
            seed=game.seed,
            log=self._store.actions(game.id),
            dealer=self._dealer,
        )

    def list_public(
        self, status: Status, variant: str | None, limit: int, position: ListPosition | None
    ) -> tuple[tuple[Listed, ...], ListPosition | None]:
        """Public games, newest first, and where the list goes on (None: nowhere)."""
        page = self._store.list_public(status, variant, limit, position)
        listed = tuple(
            Listed(game.id, game.variant, game.status, _names(game), game.created_at_ms) for game in page.games
        )
        return listed, page.next

    def check_store(self) -> None:
        """Raises `StoreUnavailableError` unless the store answers."""
        self._store.ping()

    def _started_if_full(self, game: Game, events: Iterable[Event]) -> tuple[Game, tuple[Event, ...]]:
        if any(chair.name is None for chair in game.chairs):
            return game, tuple(events)
        first_dealer = self._dealer.first_dealer(game.seed, game.rules.seats)
        opened = flow.new_game(game.rules, first_dealer)
        state, all_events = self._next_hand(game, opened.state, (*events, *opened.events))
        return replace(game, state=state), all_events

    def _next_hand(
        self, game: Game, state: GameState, events: tuple[Event, ...]
    ) -> tuple[GameState, tuple[Event, ...]]:
        """With the next hand begun, if none runs and the game is not over."""
        hand = state.table.hand
        if state.table.result is not None or (hand is not None and hand.phase is not Phase.OVER):
            return state, events
        number = 1 if hand is None else hand.number + 1
        begun = flow.start_hand(state, self._dealer.pack(game.seed, game.rules.deck, number))
        return begun.state, (*events, *begun.events)

    def _commit(
        self, game: Game, previous: Game | None, events: Iterable[Event], action: str | None = None
    ) -> tuple[Game, tuple[LoggedEvent, ...]]:
        version, now_ms = game.version + 1, self._clock()
        logged = tuple(
            LoggedEvent(seq, version, now_ms, event.type, event.seat, event.members())
            for seq, event in enumerate(events, game.last_seq + 1)
        )
        committed = replace(game, version=version, last_seq=game.last_seq + len(logged))
        self._store.commit(committed, previous, logged, action)
        return committed, logged

    def _conflict(self, game: Game, viewer: Viewer, expected_version: int) -> RefusedError:
        return RefusedError(
            Code.VERSION_CONFLICT,
            f"the game is at version {game.version}, not {expected_version}",
            game=self._view(game, viewer),
        )

    def _view(self, game: Game, viewer: Viewer) -> GameView:
        player = None if game.state is None else view_for(game.state, viewer.seat)
        return GameView(
            id=game.id,
            version=game.version,
            status=game.status,
            variant=game.variant,
            rules=game.rules,
            metadata=game.metadata,
            created_at_ms=game.created_at_ms,
            now_ms=self._clock(),
            commitment=commitment(game.seed),
            names=_names(game),
            viewer=viewer,
            player=player,
            legal_actions=() if player is None else actions.legal_actions(player),
        )


def is_game_id(text: str) -> bool:
    """Whether *text* could be the id of a game; asked before it touches a key."""
    return len(text) == ID_LENGTH and not set(text) - set(CROCKFORD.lower())


def _rules_of(order: NewGame) -> RuleSet:
    preset = PRESETS[order.variant]
    seats = order.seats or preset.rules.seats
    if len(order.players) > seats:
        detail = f"{len(order.players)} players for {seats} seats"
        raise RefusedError(Code.VALIDATION_FAILED, detail, (MemberProblem("/players", "too_long", detail),))
    try:
        return from_plain({**order.rules, "seats": seats}, preset.rules)
    except UnplayableRulesError as error:
        problems = tuple(
            MemberProblem(f"/rules/{problem.field}", "unplayable", problem.detail) for problem in error.problems
        )
        raise RefusedError(Code.UNPLAYABLE_RULES, "no game can be played by these rules", problems) from None


def _names(game: Game) -> tuple[str | None, ...]:
    return tuple(chair.name for chair in game.chairs)


def _viewer_with(game: Game, token: str, leaving: Seat | None) -> Viewer:
    token_hash = _hash(token)
    if hmac.compare_digest(token_hash, game.host_hash):
        return Viewer(is_host=True)
    for seat, chair in enumerate(game.chairs):
        if chair.token_hash is not None and hmac.compare_digest(token_hash, chair.token_hash):
            if chair.name is None and seat != leaving:
                break
            return Viewer(seat=seat)
    raise RefusedError(Code.INVALID_TOKEN, "the token does not open this game")


def _refuse_strangers(entry: Entry) -> None:
    if entry.viewer == Viewer() and not entry._game.is_public:
        raise RefusedError(Code.MISSING_TOKEN, "a private game shows itself only to its tokens")


def _seat_of(entry: Entry) -> Seat:
    if entry.viewer.is_host:
        raise RefusedError(Code.WRONG_SEAT, "the host token does not play")
    if entry.viewer.seat is None:
        raise RefusedError(Code.MISSING_TOKEN, "this needs the token of a seat")
    return entry.viewer.seat


def _refuse_other_seats(entry: Entry, seat: Seat) -> None:
    if entry.viewer.is_host and entry._game.status is Status.LOBBY:
        return
    if _seat_of(entry) != seat:
        raise RefusedError(Code.WRONG_SEAT, f"the token is of seat {entry.viewer.seat}, not {seat}")


def _refuse_wrong_code(game: Game, join_code: str | None) -> None:
    if game.join_code is None:
        return
    sent = (join_code or "").upper().translate(_READ_AS)
    if not hmac.compare_digest(sent.encode(), game.join_code.encode()):
        raise RefusedError(Code.INVALID_JOIN_CODE, "a private game is joined with its join code")


def _open_seat(game: Game, wanted: Seat | None) -> Seat:
    if wanted is not None and wanted >= len(game.chairs):
        detail = f"the game has seats 0 to {len(game.chairs) - 1}"
        raise RefusedError(Code.VALIDATION_FAILED, detail, (MemberProblem("/seat", "out_of_range", detail),))
    open_seats = [seat for seat, chair in enumerate(game.chairs) if chair.name is None]
    if not open_seats:
        raise RefusedError(Code.GAME_FULL, "every seat is taken")
    if wanted is None:
        return open_seats[0]
    if wanted not in open_seats:
        raise RefusedError(Code.SEAT_TAKEN, f"seat {wanted} is taken, open: {open_seats}")
    return wanted


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def _new_id() -> str:
    """128 random bits in lower-case Crockford base32."""
    return _crockford(secrets.randbits(128), ID_LENGTH).lower()


def _new_join_code() -> str:
    return _crockford(secrets.randbits(5 * JOIN_CODE_LENGTH), JOIN_CODE_LENGTH)


def _crockford(number: int, length: int) -> str:
    digits = [CROCKFORD[number >> 5 * place & 31] for place in reversed(range(length))]
    return "".join(digits)
