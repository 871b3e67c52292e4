"""How a game goes on by itself: hands begin, bots act, turns run out. And how all of it is committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Final

from service.bots import BOTS, speaker
from service.dealer import Dealer, bot_chance
from service.engine import actions, flow
from service.engine.absent import action_for_absent
from service.engine.actions import Abandon, Action
from service.engine.events import Event, StoodIn, TimedOut, Transition
from service.engine.record import encode_action
from service.engine.state import GameState, Phase, Seat, Table
from service.engine.values import replace
from service.engine.view import PlayerView, view_for
from service.store.base import Chair, Game, GameStore, Loaded, LoggedEvent, RetryRecord, Status
from service.tokens import Asked

STAND_IN: Final = "medium"
"""The kind of bot that plays for a person whose time is up."""
TIMEOUTS_AT_MOST: Final = 3
"""In a row, of one seat: with the last of them its team loses."""


Decide = Callable[[str, PlayerView, Random], Action]
"""What a bot of a kind does, waited for, as it sees the table; all that is random in it is given."""


def decide_as(kind: str, view: PlayerView, chance: Random) -> Action:
    return BOTS[kind].player.decide(view, chance)


@dataclass(frozen=True, slots=True)
class Course:
    """How a game has gone on: the state by now, what happened on the way, and what was done, as the log writes it."""

    state: GameState
    events: tuple[Event, ...] = ()
    log: tuple[str, ...] = ()

    def then(self, transition: Transition, *log: str) -> Course:
        return Course(transition.state, (*self.events, *transition.events), (*self.log, *log))

    def acted(self, seat: Seat, action: Action) -> Course:
        """Raises `IllegalActionError`, `MalformedActionError`."""
        return self.then(actions.apply(self.state, seat, action), encode_action(seat, action))


class Progress:
    """Over one store, whose clock counts, and one dealer."""

    def __init__(self, store: GameStore, dealer: Dealer, decide: Decide) -> None:
        self._store = store
        self._dealer = dealer
        self._decide = decide

    def started_if_full(
        self, game: Game, events: Iterable[Event], now_ms: int
    ) -> tuple[Game, tuple[Event, ...], tuple[str, ...]]:
        """The game, begun if nobody is missing; with what has happened, and what bots have done."""
        if not all(chair.is_taken for chair in game.chairs):
            return game, tuple(events), ()
        first_dealer = game.first_dealer
        if first_dealer is None:
            first_dealer = self._dealer.first_dealer(game.seed, game.rules.seats)
        opened = flow.new_game(game.rules, first_dealer)
        course = self._up_to_a_person(game, Course(opened.state, (*events, *opened.events)))
        return _with_deadline(replace(game, state=course.state), now_ms), course.events, course.log

    def _next_hand(self, game: Game, course: Course) -> Course:
        """With the next hand begun, if none runs and the game is not over."""
        table = course.state.table
        if table.result is not None or (table.hand is not None and table.hand.phase is not Phase.OVER):
            return course
        number = 1 if table.hand is None else table.hand.number + 1
        return course.then(flow.start_hand(course.state, self._dealer.pack(game.seed, game.rules.deck, number)))

    def commit(
        self,
        game: Game,
        previous: Game | None,
        events: Iterable[Event],
        now_ms: int,
        log: tuple[str, ...] = (),
        asked: Asked | None = None,
        seats: tuple[Seat, ...] = (),
    ) -> tuple[Loaded, tuple[LoggedEvent, ...]]:
        """*game* stored as the version after *previous*. *seats*: that the request's answer is about."""
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
        return self._store.commit(committed, previous, logged, log, retry), logged

    def go_on(
        self, game: Game, previous: Game, course: Course, now_ms: int, asked: Asked | None = None
    ) -> tuple[Loaded, tuple[LoggedEvent, ...]]:
        """*game* after *course* and all that follows by itself, stored as the version after *previous*."""
        course = self._up_to_a_person(game, course)
        after = _with_deadline(replace(game, state=course.state), now_ms)
        return self.commit(after, previous, course.events, now_ms, course.log, asked)

    def _up_to_a_person(self, game: Game, course: Course) -> Course:
        """*course* up to the next decision of a person: hands begin, and bots act.

        Where no person plays any more it ends with the next hand's beginning, so that the one who returns finds a game.
        """
        hand = course.state.table.hand
        while True:
            course = self._next_hand(game, course)
            table = course.state.table
            seat = _bot_in_turn(game, table)
            if seat is None or (hand and table.hand and hand.number < table.hand.number and not _is_anyone_there(game)):
                return course
            kind = game.chairs[seat].bot
            assert kind is not None
            chance = bot_chance(game.seed, f"{game.version + 1}:{len(course.log)}")
            course = course.acted(seat, self._decide(kind, view_for(course.state, seat), chance))

    def settle(self, found: Loaded) -> Game:
        """The game after the service has acted in the turn that is overdue; the same one if none is.

        Of several who had to answer, a stand-in sits down for each. Where only bots are left, they play on.
        """
        game, now_ms = found.game, found.now_ms
        if game.state is None or game.deadline_ms is None or game.deadline_ms > now_ms:
            return game
        late = [seat for seat in game.state.table.waited_for if game.chairs[seat].bot is None]
        if game.bots_stand_in or not late:
            stood_in = tuple(StoodIn(seat=seat) for seat in late)
            settled, _ = self.go_on(_with_stand_ins(game, late), game, Course(game.state, stood_in), now_ms)
            return settled.game
        seat = late[0]
        count = (game.timeouts or (0,) * game.rules.seats)[seat] + 1
        action = Abandon() if count >= TIMEOUTS_AT_MOST else action_for_absent(view_for(game.state, seat))
        course = Course(game.state, (TimedOut(seat=seat, acted=action.type),)).acted(seat, action)
        settled, _ = self.go_on(with_timeouts(game, seat, count), game, course, now_ms)
        return settled.game


def with_chair(game: Game, seat: Seat, chair: Chair) -> Game:
    return replace(game, chairs=(*game.chairs[:seat], chair, *game.chairs[seat + 1 :]))


def _is_anyone_there(game: Game) -> bool:
    """A person who plays without a stand-in."""
    return any(chair.bot is None for chair in game.chairs)


def _bot_in_turn(game: Game, table: Table) -> Seat | None:
    """The bot that acts now. Of a team that answers together, a person decides as long as one is there."""
    waited_for = table.waited_for
    if not waited_for or any(game.chairs[seat].bot is None for seat in waited_for):
        return None
    return speaker(table)


def has_stand_in(game: Game, seat: Seat) -> bool:
    chair = game.chairs[seat]
    return chair.is_persons and chair.bot is not None


def _with_stand_ins(game: Game, seats: Iterable[Seat]) -> Game:
    for seat in seats:
        game = with_chair(game, seat, replace(game.chairs[seat], bot=STAND_IN))
    return game


def without_stand_in(game: Game, seat: Seat) -> Game:
    return with_chair(game, seat, replace(game.chairs[seat], bot=None)) if has_stand_in(game, seat) else game


def with_timeouts(game: Game, seat: Seat, count: int) -> Game:
    """With *count* turns in a row that *seat* let run out."""
    counts = game.timeouts or (0,) * game.rules.seats
    if counts[seat] == count:
        return game
    return replace(game, timeouts=(*counts[:seat], count, *counts[seat + 1 :]))


def _with_deadline(game: Game, now_ms: int) -> Game:
    """With the time of a turn that begins now; without one if nobody is waited for or there is no clock."""
    if game.turn_seconds is None:
        return game
    running = game.status is Status.PLAYING
    return replace(game, deadline_ms=now_ms + 1000 * game.turn_seconds if running else None)
