"""The use cases: create, join, leave, look, act, list, record, and what a platform does for its players.

Each loads a game once, decides in Python, and commits once. Nothing is remembered between two calls. What leaves here
is a `GameView`: composed for one viewer, with no state behind it.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from service.dealer import Dealer
from service.engine import actions
from service.engine.actions import Action, IllegalActionError, MalformedActionError
from service.engine.events import Event, RematchCreated, Returned, SeatJoined, SeatLeft
from service.engine.record import GameRecord, build_record
from service.engine.rules import PRESETS, Plain, RuleSet, UnplayableRulesError, from_plain
from service.engine.state import GameState, Seat
from service.engine.values import replace
from service.progress import (
    Course,
    Decide,
    Progress,
    decide_as,
    has_stand_in,
    with_chair,
    with_timeouts,
    without_stand_in,
)
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
    _platform: bytes | None = field(default=None, repr=False)
    """The platform that entered, one that sees nothing; None for everybody else."""
    _is_recalled: bool = False

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
class BotPlayer:
    kind: str


@dataclass(frozen=True, slots=True)
class NewGame:
    """What a creator asks for; `players` from seat 0 on: a person's name, a bot, None for an open seat."""

    variant: str
    rules: Mapping[str, Plain] = field(default_factory=dict)
    seats: int | None = None
    players: tuple[str | BotPlayer | None, ...] = ()
    is_public: bool = False
    turn_seconds: int | None = None
    bots_stand_in: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    platform: bytes | None = field(default=None, repr=False)
    """Who asks, by its API key; the game is that platform's for ever."""


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
    token: str | None = field(repr=False)
    """None for a bot."""
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

    def __init__(self, store: GameStore, dealer: Dealer, decide: Decide = decide_as) -> None:
        """*decide*: for bots."""
        self._store = store
        self._dealer = dealer
        self._progress = Progress(store, dealer, decide)

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
                self._find(game_id)  # it is gone, or another attempt has made it and its record is there
        raise RefusedError(Code.REQUEST_IN_PROGRESS, "the same request is being carried out")

    def _create(self, game_id: str, rules: RuleSet, order: NewGame, asked: Asked) -> Created:
        players = (*order.players, *[None] * (rules.seats - len(order.players)))
        tokens = {seat: asked.token(str(seat)) for seat, player in enumerate(players) if isinstance(player, str)}
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
                _bots_chair(player.kind)
                if isinstance(player, BotPlayer)
                else Chair(player, hash_of(tokens[seat]) if seat in tokens else None)
                for seat, player in enumerate(players)
            ),
            metadata=order.metadata,
            turn_seconds=order.turn_seconds,
            bots_stand_in=order.bots_stand_in,
            seed=self._dealer.new_seed(),
            host_hash=hash_of(host_token),
            join_code=None if order.is_public else new_join_code(),
            platform=order.platform,
        )
        joined = [_joined(seat, chair) for seat, chair in enumerate(game.chairs) if chair.is_taken]
        game, events, log = self._progress.started_if_full(game, joined, now_ms)
        found = self._first_commit(game, events, now_ms, log, asked, tuple(tokens))
        return Created(view_of(found, Viewer()), tokens, host_token, game.join_code)

    def _first_commit(
        self,
        game: Game,
        events: Iterable[Event],
        now_ms: int,
        log: tuple[str, ...],
        asked: Asked,
        seats: tuple[Seat, ...],
    ) -> Loaded:
        """Raises VersionConflictError if another request has made the game."""
        try:
            return self._progress.commit(game, None, events, now_ms, log, asked, seats)[0]
        except VersionConflictError:
            found = self._store.load(game.id)
            if found is None or found.game.host_hash != game.host_hash:
                raise
            return found  # this very commit, which the client library sent twice, and another one between

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
        found = self._find(game_id, retry)
        viewer = Viewer() if token is None else _viewer_with(found.game, token, leaving)
        return Entry(viewer, found, token, leaving, retry)

    def enter_as_platform(self, game_id: str, platform: bytes, retry: Retry | None = None) -> Entry:
        """A game of *platform*, to `reissue` a token or `cancel` it; it is shown as little as a stranger.

        Raises `RefusedError`: `game_not_found`, also for a game that is not of this platform.
        """
        found = self._find(game_id, retry)
        if found.game.platform != platform:
            raise RefusedError(Code.GAME_NOT_FOUND, "among the games made with this API key there is no such game")
        return Entry(Viewer(), found, None, None, retry, platform)

    def _find(self, game_id: str, retry: Retry | None = None) -> Loaded:
        """Raises `RefusedError`: `game_not_found`."""
        found = self._store.load(game_id, None if retry is None else retry.name) if is_game_id(game_id) else None
        if found is None:
            raise RefusedError(Code.GAME_NOT_FOUND, "there is no such game, or it has expired or was cancelled")
        return found

    def enter_seat(self, game_id: str, token: str | None, retry: Retry | None = None) -> Entry:
        """As `enter`, for a seat. Raises `RefusedError` too: `missing_token`, `wrong_seat` for the host's."""
        entry = self.enter(game_id, token, retry=retry)
        _seat_of(entry)
        return entry

    def refuse_strangers(self, entry: Entry) -> None:
        """Raises `RefusedError`: `missing_token` if a spectator looks at a private game."""
        if entry.viewer == Viewer() and not entry._game.is_public:
            raise RefusedError(Code.MISSING_TOKEN, "a private game shows itself only to its tokens")

    def enter_to_act(self, game_id: str, token: str | None, expected_version: int, retry: Retry | None = None) -> Entry:
        """As `enter_seat`, to `act` at that version: from memory if this process has seen the game at it.

        Whether the game is still so, the commit finds out.
        """
        recalled = self._store.recall(game_id, expected_version)
        if recalled is None or token is None:
            return self.enter_seat(game_id, token, retry)
        try:
            entry = Entry(_viewer_with(recalled.game, token, None), recalled, token, None, retry, _is_recalled=True)
            _seat_of(entry)
        except RefusedError:
            return self.enter_seat(game_id, token, retry)
        return entry

    def look(self, entry: Entry) -> GameView:
        """Raises `RefusedError`: `missing_token` as `refuse_strangers` does."""
        self.refuse_strangers(entry)
        return view_of(entry._found, entry.viewer)

    def look_again(self, entry: Entry) -> Entry:
        """*entry* with the game as it is now. Raises `RefusedError`: `game_not_found`, `invalid_token`."""
        if entry._platform is not None:
            return self.enter_as_platform(entry._game.id, entry._platform, entry._retry)
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
        try:
            return self._act(entry, expected_version, action, body_hash)
        except (IllegalActionError, MalformedActionError, RefusedError):
            if not entry._is_recalled:
                raise
        # what was remembered refuses it; that counts only if it is so
        return self._act(self.look_again(entry), expected_version, action, body_hash)

    def _act(self, entry: Entry, expected_version: int, action: Action, body_hash: bytes) -> Acted:
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
        course = Course(game.state, (Returned(seat=seat),) if has_stand_in(game, seat) else ())
        try:
            acted, events = self._progress.go_on(
                without_stand_in(with_timeouts(game, seat, 0), seat),
                game,
                course.acted(seat, action),
                now_ms,
                Asked(entry._retry, body_hash),
            )
        except VersionConflictError:
            entry = self.look_again(entry)
            again = self._acted_before(entry, body_hash)
            if again is not None:
                return again
            raise _conflict(entry, expected_version) from None
        return Acted(view_of(acted, entry.viewer), events)

    def _acted_before(self, entry: Entry, body_hash: bytes) -> Acted | None:
        record = entry._found.retry
        if record is None:
            return None
        _refuse_other_body(record, body_hash)
        count = record.last_seq - record.first_seq + 1
        page = self._store.events(entry.game_id, record.first_seq - 1, count) if count else None
        events = () if page is None else tuple(event for event in page.events if event.seq <= record.last_seq)
        return Acted(view_of(entry._found, entry.viewer), events, is_replayed=True)

    def settle_overdue(self, game_id: str, late: Callable[[float], None] = lambda _: None) -> None:
        """Act for a seat whose time is up, and tell the store when to ask again. For the sweeper.

        *late* is told how many seconds the turn has been over, before anything is tried.
        """
        found = self._store.load(game_id)
        if found is not None and found.game.deadline_ms is not None:
            late((found.now_ms - found.game.deadline_ms) / 1000)
        try:
            game = None if found is None else self._progress.settle(found)
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
                if self._progress.settle(entry._found) is entry._game:
                    return entry
            except VersionConflictError:
                pass
            entry = self.look_again(entry)
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

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
                committed = entry._found
            return Joined(view_of(committed, Viewer(seat=taken)), taken, token)
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def seat_bot(self, entry: Entry, kind: str, seat: Seat | None, body_hash: bytes = b"") -> Joined:
        """Let the host put a bot on *seat*, open or reserved, or on the lowest open one. A person must be left to play.

        Raises `RefusedError`: `missing_token`, `wrong_seat`, `validation_failed`, `game_full`, `seat_taken`,
        `idempotency_key_reused`.
        """
        for _ in range(_TRIES):
            if not entry.viewer.is_host:
                _seat_of(entry)
                raise RefusedError(Code.WRONG_SEAT, "only the host token seats a bot")
            again = _joined_before(entry, body_hash, is_bot=True)
            if again is not None:
                return again
            taken = _seat_for_a_bot(entry._game, seat)
            try:
                committed = self._seat(entry, taken, _bots_chair(kind), Asked(entry._retry, body_hash))
            except VersionConflictError:
                entry = self.look_again(entry)
                continue
            return Joined(view_of(committed, entry.viewer), taken, None)
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def _seat(self, entry: Entry, seat: Seat, chair: Chair, asked: Asked) -> Loaded:
        """The game after somebody sat down on *seat*, begun if that was the last one. Raises VersionConflictError."""
        game, now_ms = entry._game, entry._found.now_ms
        seated = with_chair(game, seat, chair)
        started, events, log = self._progress.started_if_full(seated, [_joined(seat, chair)], now_ms)
        return self._progress.commit(started, game, events, now_ms, log, asked, (seat,))[0]

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
        next_id = old.rematch_id or self._open_rematch(entry)
        for _ in range(_TRIES):
            following = self.enter(next_id, None, retry=entry._retry)
            again = _joined_before(following, body_hash)
            if again is not None:
                return again
            game = following._game
            chair = game.chairs[seat]
            if chair.name is None or chair.owner_hash is None:
                raise RefusedError(Code.SEAT_TAKEN, f"seat {seat} of the rematch was left or given away")
            asked = Asked(entry._retry, body_hash)
            token = asked.token(str(seat))
            claimed = replace(chair, token_hash=hash_of(token))
            try:
                if chair.token_hash is None:
                    committed = self._seat(following, seat, claimed, asked)
                else:
                    committed, _ = self._progress.commit(
                        with_chair(game, seat, claimed),
                        game,
                        (),
                        following._found.now_ms,
                        asked=asked,
                        seats=(seat,),
                    )
            except VersionConflictError:
                continue
            return Joined(view_of(committed, Viewer(seat=seat)), seat, token)
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
                chairs=tuple(
                    Chair(chair.name, owner_hash=chair.token_hash) if chair.is_persons else chair
                    for chair in old.chairs
                ),
                metadata=old.metadata,
                turn_seconds=old.turn_seconds,
                bots_stand_in=old.bots_stand_in,
                seed=self._dealer.new_seed(),
                host_hash=old.host_hash,
                join_code=old.join_code,
                first_dealer=(old.state.table.hand.dealer + 1) % old.rules.seats,
                platform=old.platform,
            )
            with suppress(VersionConflictError):  # another caller made it
                self._progress.commit(following, None, (), now_ms)
            try:
                created = (RematchCreated(id=next_id),)
                self._progress.commit(replace(old, rematch_id=next_id), old, created, now_ms)
            except VersionConflictError:
                entry = self.look_again(entry)
                continue
            return next_id
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def come_back(self, entry: Entry, seat: Seat, body_hash: bytes = b"") -> Acted:
        """*seat* plays for itself again, its stand-in leaves; nothing changes where none sits.

        Raises `RefusedError`: `missing_token`, `wrong_seat`, `not_found`, `idempotency_key_reused`, `game_not_started`,
        `game_finished`.
        """
        for _ in range(_TRIES):
            _refuse_unknown_seat(entry._game, seat)
            if _seat_of(entry) != seat:
                raise RefusedError(Code.WRONG_SEAT, f"the token is of seat {entry.viewer.seat}, not {seat}")
            again = self._acted_before(entry, body_hash)
            if again is not None:
                return again
            if entry._game.state is None:
                raise RefusedError(Code.GAME_NOT_STARTED, "the game waits in the lobby for its seats to be taken")
            entry = self._with_overdue_settled(entry)
            game = entry._game
            if entry.is_over:
                raise RefusedError(Code.GAME_FINISHED, "the game is over")
            if not has_stand_in(game, seat):
                return Acted(self.look(entry), ())
            assert game.state is not None
            course = Course(game.state, (Returned(seat=seat),))
            own, now_ms = without_stand_in(game, seat), entry._found.now_ms
            try:
                after, events = self._progress.go_on(own, game, course, now_ms, Asked(entry._retry, body_hash))
            except VersionConflictError:
                entry = self.look_again(entry)
                continue
            return Acted(view_of(after, entry.viewer), events)
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

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
            opened = with_chair(game, seat, Chair(None, chair.token_hash))
            self._progress.commit(opened, game, (SeatLeft(seat=seat),), now_ms)

    def _resign(self, game: Game, state: GameState, seat: Seat, now_ms: int) -> None:
        if state.table.result is not None:
            raise RefusedError(Code.GAME_FINISHED, "the game is over")
        self._progress.go_on(game, game, Course(state).acted(seat, actions.Resign()), now_ms)

    def reissue(self, entry: Entry, seat: Seat, body_hash: bytes = b"") -> Joined:
        """A new token for *seat*, in place of the one that its player has lost, which dies. For the game's platform.

        Raises `RefusedError`: `not_found`, `game_not_started` if nobody sits there, `idempotency_key_reused`,
        `seat_taken` when the token that the same request gave is good no more.
        """
        assert entry._platform is not None
        for _ in range(_TRIES):
            again = _joined_before(entry, body_hash)
            if again is not None:
                return again
            game, now_ms = entry._game, entry._found.now_ms
            _refuse_unknown_seat(game, seat)
            chair = game.chairs[seat]
            if chair.name is None or chair.token_hash is None:
                raise RefusedError(Code.GAME_NOT_STARTED, f"nobody has come to seat {seat} yet")
            asked = Asked(entry._retry, body_hash)
            token = asked.token(str(seat))
            renewed = with_chair(game, seat, replace(chair, token_hash=hash_of(token)))
            try:
                committed, _ = self._progress.commit(renewed, game, (), now_ms, asked=asked, seats=(seat,))
            except VersionConflictError:
                entry = self.look_again(entry)
                continue
            return Joined(view_of(committed, Viewer(seat=seat)), seat, token)
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def cancel(self, entry: Entry) -> None:
        """Forget the game: the host a lobby, the platform of the game whatever has become of it.

        Raises `RefusedError`: `missing_token`, `wrong_seat`, `game_started`.
        """
        for _ in range(_TRIES):
            if entry._platform is None:
                _refuse_to_cancel(entry)
            try:
                return self._store.delete(entry._game)
            except VersionConflictError:
                entry = self.look_again(entry)
        raise StoreUnavailableError(f"{_TRIES} other commits came first")

    def events(self, entry: Entry, after: int, limit: int) -> EventPage:
        """Raises `RefusedError`: `missing_token` if a spectator looks at a private game."""
        self.refuse_strangers(entry)
        return self._store.events(entry._game.id, after, limit)

    def record(self, entry: Entry) -> GameRecord:
        """The whole finished game with its seed. Raises `RefusedError`: `missing_token`, `game_not_finished`."""
        self.refuse_strangers(entry)
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

    def list_games(
        self,
        status: Status,
        variant: str | None,
        limit: int,
        position: ListPosition | None,
        platform: bytes | None = None,
    ) -> tuple[tuple[Listed, ...], ListPosition | None]:
        """Public games, or all of a *platform*, newest first, and where the list goes on (None: nowhere)."""
        page = self._store.list_games(status, variant, limit, position, platform)
        listed = tuple(
            Listed(game.id, game.variant, game.status, seats_of(game), game.turn_seconds, game.created_at_ms)
            for game in page.games
        )
        return listed, page.next

    def check_store(self) -> None:
        """Raises `StoreUnavailableError` unless the store answers."""
        self._store.ping()


def _rules_of(order: NewGame) -> RuleSet:
    preset = PRESETS[order.variant]
    seats = order.seats or preset.rules.seats
    if len(order.players) > seats:
        detail = f"{len(order.players)} players for {seats} seats"
        raise RefusedError(Code.VALIDATION_FAILED, detail, (MemberProblem("/players", "too_long", detail),))
    if sum(isinstance(player, BotPlayer) for player in order.players) == seats:
        detail = "at least one seat must be a person's or open"
        raise RefusedError(Code.VALIDATION_FAILED, detail, (MemberProblem("/players", "invalid", detail),))
    try:
        return from_plain({**order.rules, "seats": seats}, preset.rules)
    except UnplayableRulesError as error:
        problems = tuple(
            MemberProblem(f"/rules/{problem.field}", "unplayable", problem.detail) for problem in error.problems
        )
        raise RefusedError(Code.UNPLAYABLE_RULES, "no game can be played by these rules", problems) from None


def _bots_chair(kind: str) -> Chair:
    """A bot is called by its kind."""
    return Chair(kind, bot=kind)


def _joined(seat: Seat, chair: Chair) -> SeatJoined:
    assert chair.name is not None
    return SeatJoined(seat=seat, name=chair.name, kind=SeatKind.HUMAN if chair.is_persons else SeatKind.BOT)


def _conflict(entry: Entry, expected_version: int) -> RefusedError:
    return RefusedError(
        Code.VERSION_CONFLICT,
        f"the game is at version {entry.version}, not {expected_version}",
        game=view_of(entry._found, entry.viewer),
    )


def _refuse_other_body(record: RetryRecord, body_hash: bytes) -> None:
    if record.body_hash != body_hash:
        raise RefusedError(Code.IDEMPOTENCY_KEY_REUSED, "the key was used with another body; take a new one")


def _joined_before(entry: Entry, body_hash: bytes, is_bot: bool = False) -> Joined | None:
    """The answer to the same request, if it was carried out; its seat may have been left since."""
    record, retry = entry._found.retry, entry._retry
    if record is None or retry is None:
        return None
    _refuse_other_body(record, body_hash)
    [seat] = record.seats
    chair = entry._game.chairs[seat]
    if is_bot:
        return Joined(view_of(entry._found, entry.viewer), seat, None, is_replayed=True)
    token = retry.token(record.nonce, str(seat))
    if chair.name is None or chair.token_hash != hash_of(token):
        raise RefusedError(Code.SEAT_TAKEN, f"seat {seat} was left since this request, or its token renewed")
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


def _seat_of(entry: Entry) -> Seat:
    if entry.viewer.is_host:
        raise RefusedError(Code.WRONG_SEAT, "the host token does not play")
    if entry.viewer.seat is None:
        raise RefusedError(Code.MISSING_TOKEN, "this needs the token of a seat")
    return entry.viewer.seat


def _refuse_to_cancel(entry: Entry) -> None:
    """Unless the host cancels a lobby."""
    if not entry.viewer.is_host:
        _seat_of(entry)
        raise RefusedError(Code.WRONG_SEAT, "only the host token cancels a game")
    if entry._game.status is not Status.LOBBY:
        raise RefusedError(Code.GAME_STARTED, "the game has started; its players may resign it")


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


def _refuse_seat_beyond(game: Game, wanted: Seat | None) -> None:
    if wanted is not None and wanted >= len(game.chairs):
        detail = f"the game has seats 0 to {len(game.chairs) - 1}"
        raise RefusedError(Code.VALIDATION_FAILED, detail, (MemberProblem("/seat", "out_of_range", detail),))


def _open_seat(game: Game, wanted: Seat | None) -> Seat:
    _refuse_seat_beyond(game, wanted)
    open_seats = [seat for seat, chair in enumerate(game.chairs) if chair.name is None]
    if not open_seats:
        raise RefusedError(Code.GAME_FULL, "every seat is taken")
    if wanted is None:
        return open_seats[0]
    if wanted not in open_seats:
        raise RefusedError(Code.SEAT_TAKEN, f"seat {wanted} is taken, open: {open_seats}")
    return wanted


def _seat_for_a_bot(game: Game, wanted: Seat | None) -> Seat:
    """*wanted* if nobody sits there, even if it is reserved; else the lowest open one."""
    _refuse_seat_beyond(game, wanted)
    if wanted is None:
        wanted = _open_seat(game, None)
    elif game.chairs[wanted].is_taken:
        raise RefusedError(Code.SEAT_TAKEN, f"seat {wanted} is taken")
    if all(chair.bot is not None for seat, chair in enumerate(game.chairs) if seat != wanted):
        raise RefusedError(Code.GAME_FULL, f"seat {wanted} is the last one for a person")
    return wanted
