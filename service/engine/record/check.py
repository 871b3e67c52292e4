"""Is a record true? The game is dealt and played again, and the first place where the record says otherwise is told."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from service.engine import flow
from service.engine.actions import IllegalActionError, MalformedActionError, apply
from service.engine.cards import Card
from service.engine.record.game import (
    GameRecord,
    HandRecord,
    Shuffle,
    commitment_of,
    dealt,
    is_hand_over,
)
from service.engine.record.tokens import SeatAction, encode_action
from service.engine.state import GameState, Play, Result, Score, Shown, Team, Trick, team_of


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a record is not what its seed and its actions make; `place` is as in the JSON: "hands[2].deck[16]"."""

    place: str
    sentence: str
    """For people: "hand 3: card 17 of the deck is 4H, the seed gives 7D"."""


Differences = Iterator[Difference]


def verify(record: GameRecord, dealer: Shuffle) -> Difference | None:
    """The first difference between *record* and the game that *dealer*, its seed, its rules and its actions make.

    None: the record is true to its seed. That the seed is the one that was promised, is for the players to say: the
    commitment must be the one they saw before the first card.
    """
    return next(_differences(record, dealer), None)


def _differences(record: GameRecord, dealer: Shuffle) -> Differences:
    """Only the first counts: what comes after one rests on it."""
    yield from _in_seats(record)
    yield from _in_seed(record, dealer)
    state = flow.new_game(record.rules, record.first_dealer).state
    for index, hand in enumerate(record.hands):
        if state.table.result is not None:
            yield Difference(f"hands[{index}]", f"hand {index + 1} comes after the end of the game in hand {index}")
        pack = dealer.pack(record.seed, record.rules.deck, index + 1)
        state = yield from _HandCheck(hand, index, pack).differences(flow.start_hand(state, pack).state)
    yield from _in_outcome(record, state)


def _in_seats(record: GameRecord) -> Differences:
    for number, seat in enumerate(record.seats):
        if seat.team != team_of(number):
            yield Difference(
                f"seats[{number}].team",
                f"seat {number} is in team {seat.team}, by its number in team {team_of(number)}",
            )


def _in_seed(record: GameRecord, dealer: Shuffle) -> Differences:
    if record.commitment != commitment_of(record.seed):
        yield Difference("commitment", "the commitment is not the SHA-256 of the seed")
    drawn = dealer.first_dealer(record.seed, record.rules.seats)
    if record.first_dealer != drawn and not record.rematch:
        yield Difference("first_dealer", f"the first dealer is seat {record.first_dealer}, the seed gives seat {drawn}")


def _in_outcome(record: GameRecord, state: GameState) -> Differences:
    score, result = state.table.score, state.table.result
    if result is None:
        due = len(record.hands) + 1
        yield Difference("hands", f"hand {due} is left out: nobody has won the game at {_score(score)}")
    if record.score != score:
        yield Difference("score", f"the score at the end is {_score(record.score)}, the hands give {_score(score)}")
    if record.result != result:
        yield Difference("result", f"the game is {_won(record.result)}, the hands say it is {_won(result)}")


@dataclass(frozen=True, slots=True)
class _HandCheck:
    """One hand of a record against the hand as it must have been."""

    told: HandRecord
    index: int
    pack: tuple[Card, ...]

    def differs(self, place: str, sentence: str) -> Difference:
        return Difference(f"hands[{self.index}].{place}", f"hand {self.index + 1}: {sentence}")

    def differences(self, state: GameState) -> Generator[Difference, None, GameState]:
        """The hand has just begun in *state*; returns the state after it."""
        yield from self._in_start(state)
        yield from self._in_deck()
        deal = dealt(state)
        if deal is not None:
            yield from self._in_deal(state)
        for number, step in enumerate(self.told.actions, 1):
            place = f"actions[{number - 1}]"
            if is_hand_over(state):
                yield self.differs(place, f"{_action(number, step)} comes after the end of the hand")
            state = yield from self._act(state, number, step)
            if deal is None and (deal := dealt(state)) is not None:
                yield from self._in_deal(state)
            yield from self._in_tricks(state, f"after {_action(number, step)}")
        if not is_hand_over(state):
            yield self._breaks_off(state)
        if deal is None:
            yield from self._in_no_deal()
        yield from self._in_end(state)
        return state

    def _in_start(self, state: GameState) -> Differences:
        hand, told = state.table.hand, self.told
        assert hand is not None
        if told.number > hand.number:
            yield self.differs("number", f"it is left out, hand {told.number} stands in its place")
        if told.number != hand.number:
            yield self.differs("number", f"its number is {told.number}")
        if told.dealer != hand.dealer:
            yield self.differs("dealer", f"seat {told.dealer} deals, it is the turn of seat {hand.dealer}")
        if told.kind != hand.kind:
            yield self.differs("kind", f"it is a {told.kind} hand, at {_score(state.table.score)} it is {hand.kind}")

    def _in_deck(self) -> Differences:
        for place, (told, due) in enumerate(zip_longest(self.told.deck, self.pack)):
            if told != due:
                card = f"card {place + 1} of the deck is {told or 'missing'}"
                yield self.differs(f"deck[{place}]", f"{card}, the seed gives {due or 'no more'}")

    def _in_deal(self, state: GameState) -> Differences:
        deal = dealt(state)
        assert deal is not None
        hands, vira = deal
        if self.told.vira != vira:
            sentence = f"the vira is {self.told.vira or 'none'}, deck and deal give {vira or 'none'}"
            yield self.differs("vira", sentence)
        if self.told.hands is None:
            yield self.differs("hands", "nobody has cards, yet they were dealt")
        for seat, (told, due) in enumerate(zip(self.told.hands or (), hands, strict=False)):
            if told != due:
                yield self.differs(
                    f"hands[{seat}]", f"seat {seat} has {_cards(told)}, deck and deal give {_cards(due)}"
                )

    def _in_no_deal(self) -> Differences:
        if self.told.vira is not None:
            yield self.differs("vira", f"the vira is {self.told.vira}, yet nothing was dealt")
        if self.told.hands is not None:
            yield self.differs("hands", "the seats have cards, yet nothing was dealt")

    def _act(self, state: GameState, number: int, step: SeatAction) -> Generator[Difference, None, GameState]:
        seat, action = step
        place = f"actions[{number - 1}]"
        if seat >= state.table.rules.seats:
            yield self.differs(place, f"{_action(number, step)} is by a seat that the game does not have")
        try:
            return apply(state, seat, action).state
        except (IllegalActionError, MalformedActionError) as error:
            yield self.differs(place, f"{_action(number, step)} is against the rules: {error.detail}")
        return state

    def _breaks_off(self, state: GameState) -> Difference:
        done = len(self.told.actions)
        seats = " or ".join(str(seat) for seat in state.table.waited_for)
        after = f"after {_action(done, self.told.actions[-1])}" if done else "before its first action"
        return self.differs(f"actions[{done}]", f"it breaks off {after}, seat {seats} has to act")

    def _in_tricks(self, state: GameState, when: str) -> Differences:
        """The tricks so far; of the one that runs, the cards that lie."""
        hand = state.table.hand
        assert hand is not None
        for number, due in enumerate(hand.tricks, 1):
            place = f"tricks[{number - 1}]"
            if len(self.told.tricks) < number:
                yield self.differs(place, f"trick {number} is left out, {when} it has a card")
            told = self.told.tricks[number - 1]
            yield from self._in_cards(place, number, told, due, when)
            if due.is_decided and _end(told) != _end(due):
                yield self.differs(place, f"trick {number} is {_end(told)}, the cards say it is {_end(due)}")

    def _in_cards(self, place: str, number: int, told: Trick, due: Trick, when: str) -> Differences:
        if told.opener != due.opener:
            yield self.differs(
                f"{place}.opener",
                f"trick {number} is opened by seat {told.opener}, {when} by seat {due.opener}",
            )
        for at, play in enumerate(due.plays):
            shown = told.plays[at] if at < len(told.plays) else None
            if shown != play:
                yield self.differs(
                    f"{place}.plays[{at}]",
                    f"card {at + 1} of trick {number} is {_play(shown)}, {when} it is {_play(play)}",
                )
        if due.is_decided and len(told.plays) > len(due.plays):
            yield self.differs(f"{place}.plays", f"trick {number} has {len(told.plays)} cards, one a seat is all")

    def _in_end(self, state: GameState) -> Differences:
        told, last = self.told, state.table.last_hand
        assert last is not None
        if _extent(told.tricks) != _extent(last.tricks):
            yield self.differs("tricks", "the tricks show cards that no action plays")
        if told.tricks != last.tricks:
            yield self.differs("tricks", "a trick that was not played out has a winner")
        if told.value != last.value:
            yield self.differs("value", f"it is worth {told.value}, the actions make it {last.value}")
        if told.winner != last.winner:
            yield self.differs("winner", f"it is won by {_team(told.winner)}, the actions say by {_team(last.winner)}")
        if told.points != last.points:
            yield self.differs("points", f"it scores {told.points}, by the rules {last.points}")
        if told.reason != last.reason:
            yield self.differs("reason", f"its reason is {told.reason}, the actions say {last.reason}")
        if told.shown != last.shown:
            yield self.differs("shown", f"{_shown(told.shown)} shown, the actions say {_shown(last.shown)}")
        if told.score != state.table.score:
            score = _score(state.table.score)
            yield self.differs("score", f"the score after it is {_score(told.score)}, the points make {score}")


def _extent(tricks: tuple[Trick, ...]) -> list[int]:
    return [len(trick.plays) for trick in tricks]


def _action(number: int, step: SeatAction) -> str:
    return f"action {number} ({encode_action(*step)})"


def _play(play: Play | None) -> str:
    if play is None:
        return "missing"
    return f"{play.card or 'a covered one'} of seat {play.seat}"


def _end(trick: Trick) -> str:
    if trick.tied:
        return "tied"
    return "undecided" if trick.winner is None else f"won by seat {trick.winner}"


def _shown(shown: Shown | None) -> str:
    return "no cards are" if shown is None else f"{_cards(shown.cards)} of seat {shown.seat} are"


def _team(team: Team | None) -> str:
    return "nobody" if team is None else f"team {team}"


def _won(result: Result | None) -> str:
    return "not over" if result is None else f"won by team {result.winner} ({result.reason})"


def _score(score: Score) -> str:
    return f"{score[0]}-{score[1]}"


def _cards(cards: tuple[Card, ...]) -> str:
    return " ".join(map(str, cards))
