"""The use cases: create, join, leave, look, act, list, record.

Each loads a game once, decides in Python, and commits once. Nothing is remembered between two calls. What leaves here
is a `GameView`: composed for one viewer, with no state behind it.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from service.dealer import Dealer
from service.engine import actions, flow
from service.engine.absent import action_for_absent
from service.engine.actions import Abandon, Action
from service.engine.events import Event, RematchCreated, SeatJoined, SeatLeft, TimedOut
from service.engine.record import GameRecord, build_record, encode_action
from service.engine.rules import PRESETS, Plain, RuleSet, UnplayableRulesError, from_plain
from service.engine.state import GameState, Phase, Seat
from service.engine.view import view_for
from service.refusals import Code, MemberProblem, RefusedError
from service.store.base import (
    Chair,
    EventPage,
    Game,
    GameStore,
    ListPosition,
    Loaded,
    LoggedEvent,
    RetryRecord,
    Status,
    StoreUnavailableError,
    VersionConflictError,
)
from service.tokens import Asked, Retry, hash_of, id_after, is_game_id, new_id, new_join_code
from service.views import GameView, SeatKind, SeatView, Viewer, seats_of, view_of

_TRIES: Final = 50
"""Of a use case without a version, when other commits come between; only a broken store needs that many."""

TIMEOUTS_AT_MOST: Final = 3
"""In a row, of one seat: with the last of them its team loses."""
_HOST_LABEL: Final = "host"

_READ_AS: Final = str.maketrans("OIL", "011")


@dataclass(frozen=True, slots=True)
class Entry:
    """A game as one caller entered it. Only for handing back to `Games`."""

    viewer: Viewer
    _found: Loaded = field(repr=False)
    _token: str | None = field(repr=False)
    _leaving: Seat | None
    _retry: Retry | None

    @property
    def game_id(self) -> str:
        return self._game.id

    @property
    def version(self) -> int:
        return self._game.version

    @property
    def last_seq(self) -> int:
        return self._game.last_seq

    @property
    def is_over(self) -> bool:
        return self._game.status is Status.FINISHED

    @property
    def _game(self) -> Game:
        return self._found.game


@dataclass(frozen=True, slots=True)
class NewGame:
    """What a creator asks for; `players` are names from seat 0 on, None for an open seat."""

    variant: str
    rules: Mapping[str, Plain] = field(default_factory=dict)
    seats: int | None = None
    players: tuple[str | None, ...] = ()
    is_public: bool = False
    turn_seconds: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Created:
    game: GameView
    tokens: Mapping[Seat, str] = field(repr=False)
    host_token: str = field(repr=False)
    join_code: str | None = field(repr=False)
    is_replayed: bool = False


@dataclass(frozen=True, slots=True)
class Joined:
    game: GameView
    seat: Seat
    token: str = field(repr=False)
    is_replayed: bool = False


@dataclass(frozen=True, slots=True)
class Acted:
    game: GameView
    events: tuple[LoggedEvent, ...]
    is_replayed: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    id: str
    variant: str
    status: Status
    seats: tuple[SeatView, ...]
    turn_seconds: int | None
    created_at_ms: int


class Games:
    """The use cases over one store, whose clock counts, and one dealer."""

    def __init__(self, store: GameStore, dealer: Dealer) -> None:
        self._store = store
        self._dealer = dealer

    def create(self, order: NewGame, retry: Retry | None = None, body_hash: bytes = b"") -> Created:
        """A new game, started at once if no seat is open; with a *retry*, the one that it made before.

        Raises `RefusedError`: `unplayable_rules`, `validation_failed`, `idempotency_key_reused`,
        `request_in_progress`, `game_not_found` when the game that it made is gone.
        """
        rules = _rules_of(order)
        game_id = new_id()
        if retry is not None:
            game_id = self._store.reserve_id(retry.name, game_id)
        for _ in range(_TRIES):
            record = None if retry is None else self._store.retry_record(game_id, retry.name)
            if retry is not None and record is not None:
                _refuse_other_body(record, body_hash)
                return self._created_again(self.enter(game_id, None)._found, record, retry)
            try:
                return self._create(game_id, rules, order, Asked(retry, body_hash))
            except VersionConflictError:
                continue
        raise RefusedError(Code.REQUEST_IN_PROGRESS, "the same request is being carried out")

    def _create(self, game_id: str, rules: RuleSet, order: NewGame, asked: Asked) -> Created:
        names = (*order.players, *[None] * (rules.seats - len(order.players)))
        tokens = {seat: asked.token(str(seat)) for seat, name in enumerate(names) if name is not None}
        host_token = asked.token(_HOST_LABEL)
        now_ms = self._store.now_ms()
        game = Game(
            id=game_id,
            version=0,
            created_at_ms=now_ms,
            variant=order.variant,
            rules=rules,
            is_public=order.is_public,
            chairs=tuple(
                Chair(name, hash_of(tokens[seat]) if seat in tokens else None) for seat, name in enumerate(names)
            ),
            metadata=order.metadata,
            turn_seconds=order.turn_seconds,
            seed=self._dealer.new_seed(),
            host_hash=hash_of(host_token),
            join_code=None if order.is_public else new_join_code(),
        )
        joined = [
            SeatJoined(seat=seat, name=name, kind=SeatKind.HUMAN) for seat, name in enumerate(names) if name is not None
        ]
        game, events = self._started_if_full(game, joined, now_ms)
        committed, _ = self._commit(game, None, events, now_ms, asked=asked, seats=tuple(tokens))
        return Created(view_of(Loaded(committed, now_ms), Viewer()), tokens, host_token, game.join_code)

    @staticmethod
    def _created_again(found: Loaded, record: RetryRecord, retry: Retry) -> Created:
        tokens = {seat: retry.token(record.nonce, str(seat)) for seat in record.seats}
        host_token = retry.token(record.nonce, _HOST_LABEL)
        return Created(view_of(found, Viewer()), tokens, host_token, found.game.join_code, is_replayed=True)

    def enter(self, game_id: str, token: str | None, leaving: Seat | None = None, retry: Retry | None = None) -> Entry:
        """The game as the bearer of *token* enters it; without one as a spectator.

        Raises `RefusedError`: `game_not_found`; `invalid_token`, also for the token of a seat that was left, unless it
        comes *leaving* that very seat again.
        """
        name = None if retry is None else retry.name
        found = self._store.load(game_id, name) if is_game_id(game_id) else None
        if found is None:
            raise RefusedError(Code.GAME_NOT_FOUND, "there is no such game, or it has expired or was cancelled")
        viewer = Viewer() if token is None else _viewer_with(found.game, token, leaving)
        return Entry(viewer, found, token, leaving, retry)

    def enter_seat(self, game_id: str, token: str | None, retry: Retry | None = None) -> Entry:
        """As `enter`, for a seat. Raises `RefusedError` too: `missing_token`, `wrong_seat` for the host's."""
        entry = self.enter(game_id, token, retry=retry)
        _seat_of(entry)
        return entry

    def look(self, entry: Entry) -> GameView:
        """Raises `RefusedError`: `missing_token` if a spectator looks at a private game."""
        _refuse_strangers(entry)
        return view_of(entry._found, entry.viewer)

    def look_again(self, entry: Entry) -> Entry:
        """*entry* with the game as it is now. Raises `RefusedError`: `game_not_found`, `invalid_token`."""
        return self.enter(entry._game.id, entry._token, entry._leaving, entry._retry)

    def mark_present(self, entry: Entry) -> None:
        """The entered seat waits for news; nothing for others. A store that only reads is no reason not to wait."""
        if entry.viewer.seat is not None:
            with suppress(StoreUnavailableError):
                self._store.mark_present(entry.game_id, entry.viewer.seat)

    def act(self, entry: Entry, expected_version: int, action: Action, body_hash: bytes = b"") -> Acted:
        """What the entered seat does, with all that follows from it up to the next decision of a player.

        Raises `RefusedError`: `missing_token`, `wrong_seat`, `idempotency_key_reused`, `game_not_started`,
        `version_conflict` (with the view); `IllegalActionError`, `MalformedActionError`.
        """
        again = self._acted_before(entry, body_hash)
        if again is not None:
            return again
        seat = _seat_of(entry)
        if entry._game.state is None:
            raise RefusedError(Code.GAME_NOT_STARTED, "the game waits in the lobby for its seats to be taken")
        entry = self._with_overdue_settled(entry)
        game, now_ms = entry._game, entry._found.now_ms
        if game.version != expected_version:
            raise _conflict(entry, expected_version)
        assert game.state is not None
        try:
            acted, events = self._act(
                _with_timeouts(game, seat, 0), game, game.state, seat, action, now_ms, Asked(entry._retry, body_hash)
            )
        except VersionConflictError:
            entry = self.look_again(entry)
            again = self._acted_before(entry, body_hash)
            if again is not None:
                return again
            raise _conflict(entry, expected_version) from None
        return Acted(view_of(replace(entry._found, game=acted), entry.viewer), events)

    def _acted_before(self, entry: Entry, body_hash: bytes) -> Acted | None:
        record = entry._found.retry
        if record is None:
            return None
        _refuse_other_body(record, body_hash)
        count = record.last_seq - record.first_seq + 1
        page = self._store.events(entry.game_id, record.first_seq - 1, count) if count else None
        events = () if page is None else tuple(event for event in page.events if event.seq <= record.last_seq)
        return Acted(view_of(entry._found, entry.viewer), events, is_replayed=True)

    def _act(
        self,
        game: Game,
        previous: Game,
        state: GameState,
        seat: Seat,
        action: Action,
        now_ms: int,
        asked: Asked | None = None,
        first: tuple[Event, ...] = (),
    ) -> tuple[Game, tuple[LoggedEvent, ...]]:
        """*seat* does *action* in *state*: the next hand begins if need be, a new turn's time too. *first*: events."""
        transition = actions.apply(state, seat, action)
        after, events = self._next_hand(game, transition.state, (*first, *transition.events))
        acted = _with_deadline(replace(game, state=after), now_ms)
        return self._commit(acted, previous, events, now_ms, encode_action(seat, action), asked)

    def settle_overdue(self, game_id: str, late: Callable[[float], None] = lambda _: None) -> None:
        """Act for a seat whose time is up, and tell the store when to ask again. For the sweeper.

        *late* is told how many seconds the turn has been over, before anything is tried.
        """
        found = self._store.load(game_id)
        if found is not None and found.game.deadline_ms is not None:
            late((found.now_ms - found.game.deadline_ms) / 1000)
        try:
            game = None if found is None else self._settle(found)
        except VersionConflictError:
            return
        self._store.set_deadline(game_id, None if game is None else game.deadline_ms)

    def overdue(self, limit: int) -> tuple[str, ...]:
        """At most *limit* games that this caller shall settle."""
        return self._store.claim_overdue(limit)

    def _with_overdue_settled(self, entry: Entry) -> Entry:
        """*entry* after the turns whose time had passed when the game was loaded."""
        for _ in range(_TRIES):
            try:
                if self._settle(entry._found) is entry._game:
                    return entry
            except VersionConflictError:
                pass
            entry = self.look_again(entry)
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def _settle(self, found: Loaded) -> Game:
        """The game after the service has acted in the turn that is overdue; the same one if none is."""
        game, now_ms = found.game, found.now_ms
        if game.state is None or game.deadline_ms is None or game.deadline_ms > now_ms:
            return game
        seat = game.state.table.waited_for[0]
        count = (game.timeouts or (0,) * game.rules.seats)[seat] + 1
        action = Abandon() if count >= TIMEOUTS_AT_MOST else action_for_absent(view_for(game.state, seat))
        timed_out = TimedOut(seat=seat, acted=action.type)
        settled, _ = self._act(
            _with_timeouts(game, seat, count), game, game.state, seat, action, now_ms, first=(timed_out,)
        )
        return settled

    def join(self, entry: Entry, name: str, seat: Seat | None, join_code: str | None, body_hash: bytes = b"") -> Joined:
        """Sit down, at *seat* or the lowest open one; the game starts when no seat is open.

        Raises `RefusedError`: `invalid_join_code`, `validation_failed`, `game_full`, `seat_taken`,
        `idempotency_key_reused`.
        """
        for _ in range(_TRIES):
            again = _joined_before(entry, body_hash)
            if again is not None:
                return again
            game = entry._game
            _refuse_wrong_code(game, join_code)
            taken = _open_seat(game, seat)
            asked = Asked(entry._retry, body_hash)
            token = asked.token(str(taken))
            try:
                committed = self._seat(entry, taken, Chair(name, hash_of(token)), asked)
            except VersionConflictError:
                entry = self.look_again(entry)
                if entry._game.chairs[taken].token_hash != hash_of(token):
                    continue
                # this very commit, which the client library sent twice, and another one between
                committed = entry._game
            return Joined(view_of(replace(entry._found, game=committed), Viewer(seat=taken)), taken, token)
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def _seat(self, entry: Entry, seat: Seat, chair: Chair, asked: Asked) -> Game:
        """The game after somebody sat down on *seat*, begun if that was the last one. Raises VersionConflictError."""
        game, now_ms = entry._game, entry._found.now_ms
        seated = _with_chair(game, seat, chair)
        assert chair.name is not None
        joined: list[Event] = [SeatJoined(seat=seat, name=chair.name, kind=SeatKind.HUMAN)]
        started, events = self._started_if_full(seated, joined, now_ms)
        committed, _ = self._commit(started, game, events, now_ms, asked=asked, seats=(seat,))
        return committed

    def rematch(self, entry: Entry, body_hash: bytes = b"") -> Joined:
        """The caller's seat in the one next game of all who ask; its token is new, an older one dies.

        Raises `RefusedError`: `missing_token`, `wrong_seat`, `game_not_started`, `game_not_finished`, `game_not_found`
        when the next game is gone, `seat_taken` when the seat in it was given away, `idempotency_key_reused`.
        """
        old, seat = entry._game, _seat_of(entry)
        if old.state is None:
            raise RefusedError(Code.GAME_NOT_STARTED, "the game has not been played yet")
        if old.status is not Status.FINISHED:
            raise RefusedError(Code.GAME_NOT_FINISHED, "a rematch comes after the end of the game")
        assert entry._token is not None
        next_id = old.rematch_id or self._open_rematch(entry)
        for _ in range(_TRIES):
            following = self.enter(next_id, None, retry=entry._retry)
            again = _joined_before(following, body_hash)
            if again is not None:
                return again
            game = following._game
            chair = game.chairs[seat]
            if chair.name is None or chair.owner_hash != hash_of(entry._token):
                raise RefusedError(Code.SEAT_TAKEN, f"seat {seat} of the rematch was left or given away")
            asked = Asked(entry._retry, body_hash)
            token = asked.token(str(seat))
            claimed = replace(chair, token_hash=hash_of(token))
            try:
                if chair.token_hash is None:
                    committed = self._seat(following, seat, claimed, asked)
                else:
                    committed, _ = self._commit(
                        _with_chair(game, seat, claimed),
                        game,
                        (),
                        following._found.now_ms,
                        asked=asked,
                        seats=(seat,),
                    )
            except VersionConflictError:
                continue
            return Joined(view_of(replace(following._found, game=committed), Viewer(seat=seat)), seat, token)
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def _open_rematch(self, entry: Entry) -> str:
        """The id of the next game, in which every seat is reserved for who holds it in this one."""
        for _ in range(_TRIES):
            old, now_ms = entry._game, entry._found.now_ms
            if old.rematch_id is not None:
                return old.rematch_id
            assert old.state is not None
            assert old.state.table.hand is not None
            next_id = id_after(old.id)
            following = Game(
                id=next_id,
                version=0,
                created_at_ms=now_ms,
                variant=old.variant,
                rules=old.rules,
                is_public=old.is_public,
                chairs=tuple(Chair(chair.name, None, chair.token_hash) for chair in old.chairs),
                metadata=old.metadata,
                turn_seconds=old.turn_seconds,
                seed=self._dealer.new_seed(),
                host_hash=old.host_hash,
                join_code=old.join_code,
                first_dealer=(old.state.table.hand.dealer + 1) % old.rules.seats,
            )
            with suppress(VersionConflictError):  # another caller made it
                self._commit(following, None, (), now_ms)
            try:
                created = (RematchCreated(id=next_id),)
                self._commit(replace(old, rematch_id=next_id), old, created, now_ms)
            except VersionConflictError:
                entry = self.look_again(entry)
                continue
            return next_id
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def come_back(self, entry: Entry, seat: Seat) -> GameView:
        """*seat* plays for itself again; nothing changes while it does anyway.

        Raises `RefusedError`: `missing_token`, `wrong_seat`, `not_found`, `game_not_started`, `game_finished`.
        """
        own_seat = _seat_of(entry)
        _refuse_unknown_seat(entry._game, seat)
        if own_seat != seat:
            raise RefusedError(Code.WRONG_SEAT, f"the token is of seat {own_seat}, not {seat}")
        if entry._game.state is None:
            raise RefusedError(Code.GAME_NOT_STARTED, "the game waits in the lobby for its seats to be taken")
        if entry.is_over:
            raise RefusedError(Code.GAME_FINISHED, "the game is over")
        return self.look(entry)

    def leave(self, entry: Entry, seat: Seat) -> None:
        """Open *seat* again before the start; afterwards resign for its team. Leaving twice changes nothing.

        Raises `RefusedError`: `missing_token`, `wrong_seat`, `not_found`, `game_finished`.
        """
        for _ in range(_TRIES):
            entry = self._with_overdue_settled(entry)
            game, now_ms = entry._game, entry._found.now_ms
            _refuse_unknown_seat(game, seat)
            _refuse_other_seats(entry, seat)
            try:
                if game.state is None:
                    self._open(game, seat, now_ms)
                else:
                    self._resign(game, game.state, seat, now_ms)
            except VersionConflictError:
                entry = self.look_again(entry)
                continue
            return
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def _open(self, game: Game, seat: Seat, now_ms: int) -> None:
        chair = game.chairs[seat]
        if chair.name is not None:
            opened = _with_chair(game, seat, Chair(None, chair.token_hash))
            self._commit(opened, game, (SeatLeft(seat=seat),), now_ms)

    def _resign(self, game: Game, state: GameState, seat: Seat, now_ms: int) -> None:
        if state.table.result is not None:
            raise RefusedError(Code.GAME_FINISHED, "the game is over")
        self._act(game, game, state, seat, actions.Resign(), now_ms)

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
                entry = self.look_again(entry)
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
            names=[chair.name for chair in game.chairs if chair.name is not None],
            seed=game.seed,
            log=self._store.actions(game.id),
            dealer=self._dealer,
            first_dealer=game.first_dealer,
        )

    def list_public(
        self, status: Status, variant: str | None, limit: int, position: ListPosition | None
    ) -> tuple[tuple[Listed, ...], ListPosition | None]:
        """Public games, newest first, and where the list goes on (None: nowhere)."""
        page = self._store.list_public(status, variant, limit, position)
        listed = tuple(
            Listed(game.id, game.variant, game.status, seats_of(game), game.turn_seconds, game.created_at_ms)
            for game in page.games
        )
        return listed, page.next

    def check_store(self) -> None:
        """Raises `StoreUnavailableError` unless the store answers."""
        self._store.ping()

    def _started_if_full(self, game: Game, events: Iterable[Event], now_ms: int) -> tuple[Game, tuple[Event, ...]]:
        if any(chair.name is None or chair.token_hash is None for chair in game.chairs):
            return game, tuple(events)
        first_dealer = game.first_dealer
        if first_dealer is None:
            first_dealer = self._dealer.first_dealer(game.seed, game.rules.seats)
        opened = flow.new_game(game.rules, first_dealer)
        state, all_events = self._next_hand(game, opened.state, (*events, *opened.events))
        return _with_deadline(replace(game, state=state), now_ms), all_events

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
        self,
        game: Game,
        previous: Game | None,
        events: Iterable[Event],
        now_ms: int,
        action: str | None = None,
        asked: Asked | None = None,
        seats: tuple[Seat, ...] = (),
    ) -> tuple[Game, tuple[LoggedEvent, ...]]:
        """*game* stored as the version after *previous*. *seats*: whose tokens the request is answered with."""
        version = game.version + 1
        logged = tuple(
            LoggedEvent(seq, version, now_ms, event.type, event.seat, event.members())
            for seq, event in enumerate(events, game.last_seq + 1)
        )
        committed = replace(game, version=version, last_seq=game.last_seq + len(logged))
        retry = None
        if asked is not None and asked.retry is not None:
            record = RetryRecord(asked.body_hash, asked.nonce, seats, game.last_seq + 1, committed.last_seq)
            retry = (asked.retry.name, record)
        self._store.commit(committed, previous, logged, action, retry)
        return committed, logged


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


def _with_chair(game: Game, seat: Seat, chair: Chair) -> Game:
    return replace(game, chairs=(*game.chairs[:seat], chair, *game.chairs[seat + 1 :]))


def _with_timeouts(game: Game, seat: Seat, count: int) -> Game:
    """With *count* turns in a row that *seat* let run out."""
    counts = game.timeouts or (0,) * game.rules.seats
    return replace(game, timeouts=(*counts[:seat], count, *counts[seat + 1 :]))


def _with_deadline(game: Game, now_ms: int) -> Game:
    """With the time of a turn that begins now; without one if nobody is waited for or there is no clock."""
    if game.turn_seconds is None:
        return game
    running = game.status is Status.PLAYING
    return replace(game, deadline_ms=now_ms + 1000 * game.turn_seconds if running else None)


def _conflict(entry: Entry, expected_version: int) -> RefusedError:
    return RefusedError(
        Code.VERSION_CONFLICT,
        f"the game is at version {entry.version}, not {expected_version}",
        game=view_of(entry._found, entry.viewer),
    )


def _refuse_other_body(record: RetryRecord, body_hash: bytes) -> None:
    if record.body_hash != body_hash:
        raise RefusedError(Code.IDEMPOTENCY_KEY_REUSED, "the key was used with another body; take a new one")


def _joined_before(entry: Entry, body_hash: bytes) -> Joined | None:
    """The answer to the same request, if it was carried out; its seat may have been left since."""
    record, retry = entry._found.retry, entry._retry
    if record is None or retry is None:
        return None
    _refuse_other_body(record, body_hash)
    [seat] = record.seats
    token = retry.token(record.nonce, str(seat))
    chair = entry._game.chairs[seat]
    if chair.name is None or chair.token_hash != hash_of(token):
        raise RefusedError(Code.SEAT_TAKEN, f"seat {seat}, which this request took, has been left since")
    return Joined(view_of(entry._found, Viewer(seat=seat)), seat, token, is_replayed=True)


def _viewer_with(game: Game, token: str, leaving: Seat | None) -> Viewer:
    token_hash = hash_of(token)
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


def _refuse_unknown_seat(game: Game, seat: Seat) -> None:
    if seat >= len(game.chairs):
        raise RefusedError(Code.NOT_FOUND, f"the game has no seat {seat}")


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
