"""Stored bytes: a game's state as `<format> <version> <nonce> <msgpack>`, its events as JSON.

The head is ASCII, so that the commit script, and a person at a Redis prompt, can read format and version. The body is
positional, to stay small. A change of the structs below is a new format number. A field that is appended with a default
can be read from older states as they are; any other change needs a reader of its own for each older format. States of
every format that ever was are kept in tests/store/states/.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Final

import msgspec
from msgspec import Struct

from service.engine.cards import ALL_CARDS, Card
from service.engine.rules import Plain, RuleSet, from_plain, to_plain
from service.engine.state import (
    CoveredCard,
    GameReason,
    GameState,
    Hand,
    HandReason,
    Kind,
    LastHand,
    Phase,
    Play,
    Raise,
    Result,
    Secrets,
    Shown,
    Table,
    Trick,
)
from service.store.base import Chair, Game, LoggedEvent, RetryRecord, UnknownFormatError

FORMAT: Final = 2

_CARDS: Final = tuple(ALL_CARDS.values())
_NUMBERS: Final = {card: number for number, card in enumerate(_CARDS)}
_MAYBE_CARDS: Final[dict[int | None, Card | None]] = {None: None} | dict(enumerate(_CARDS))
_MAYBE_NUMBERS: Final[dict[Card | None, int | None]] = {None: None} | dict(_NUMBERS)
_card, _number = _MAYBE_CARDS.__getitem__, _MAYBE_NUMBERS.__getitem__

_KINDS: Final = (Kind.NORMAL, Kind.MAO_DE_ONZE, Kind.MAO_DE_FERRO)
_PHASES: Final = (Phase.CUT, Phase.DEAL, Phase.ELEVEN, Phase.PLAY, Phase.ANSWER, Phase.OVER)
_HAND_REASONS: Final = (
    HandReason.TRICKS,
    HandReason.ALL_TIED,
    HandReason.FOLDED,
    HandReason.PENALTY,
    HandReason.SHOWN,
    HandReason.RESIGNED,
    HandReason.ABANDONED,
)
_GAME_REASONS: Final = (
    GameReason.TARGET,
    GameReason.PENALTY,
    GameReason.RESIGNED,
    GameReason.ABANDONED,
)
"""Stored as places in these: only append."""

_RULE_FIELDS: Final = (
    "deck",
    "manilhas",
    "ladder",
    "target",
    "legs",
    "raise_timing",
    "all_tied",
    "tie_leader",
    "covered_from_trick",
    "eleven_decision",
    "eleven_partner_cards",
    "eleven_raise",
    "eleven_all_tied",
    "eleven_show",
    "iron_cards",
    "iron_raise",
    "dealing",
    "seats",
)
"""The whole rule set is stored, so that editing a preset cannot change a running game."""


_Rules = tuple[str | int | bool | tuple[str | int, ...] | None, ...]


_RULE_SETS_KEPT: Final = 256
"""Most games have the rules of a preset."""


class _Trick(Struct, frozen=True, array_like=True):
    opener: int
    plays: list[int | None]
    """From the opener on."""
    winner: int | None
    tied: bool


class _Hand(Struct, frozen=True, array_like=True):
    number: int
    kind: int
    dealer: int
    value: int
    phase: int
    to_play: int | None
    vira: int | None
    pending: tuple[int, int] | None
    raised_by: int | None
    tricks: list[_Trick]
    take_for: int | None


class _LastHand(Struct, frozen=True, array_like=True):
    number: int
    kind: int
    vira: int | None
    value: int
    tricks: list[_Trick]
    winner: int | None
    points: int
    reason: int
    shown: tuple[int, list[int]] | None


class _State(Struct, frozen=True, array_like=True):
    first_dealer: int
    score: tuple[int, int]
    hand: _Hand | None
    last_hand: _LastHand | None
    result: tuple[int, int] | None
    hands: list[list[int | None]]
    pack: list[int]
    face_down_vira: int | None
    covered: list[tuple[int, int, int]]
    last_covered: list[tuple[int, int, int]]


class _Game(Struct, frozen=True, array_like=True):
    created_at_ms: int
    variant: str
    rules: _Rules
    is_public: bool
    chairs: list[tuple[str | None, bytes | None]]
    last_seq: int
    seed: bytes
    host_hash: bytes
    join_code: str | None
    state: _State | None
    # from format 2 on
    first_dealer: int | None = None
    rematch_id: str | None = None
    turn_seconds: int | None = None
    deadline_ms: int | None = None
    timeouts: list[int] = []
    owner_hashes: list[bytes | None] = []
    platform: bytes | None = None
    bots: list[str | None] = []
    bots_stand_in: bool = False


class _Event(Struct, frozen=True, array_like=True):
    seq: int
    version: int
    at_ms: int
    type: str
    seat: int | None
    data: dict[str, str | int | bool | list[str | int] | None]


class _Retry(Struct, frozen=True, array_like=True):
    body_hash: bytes
    nonce: bytes
    seats: tuple[int, ...]
    first_seq: int
    last_seq: int


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(_Game).decode
_unpack_retry = msgspec.msgpack.Decoder(_Retry).decode
_unpack_event = msgspec.json.Decoder(_Event).decode
_unpack_metadata = msgspec.json.Decoder(dict[str, str]).decode


def encode(game: Game) -> bytes:
    """The bytes of *game* without its metadata. Its nonce, ASCII without spaces, tells this commit from any other."""
    owners = [chair.owner_hash for chair in game.chairs]
    bots = [chair.bot for chair in game.chairs]
    packed = _Game(
        created_at_ms=game.created_at_ms,
        variant=game.variant,
        rules=_rules_to_struct(game.rules),
        is_public=game.is_public,
        chairs=[(chair.name, chair.token_hash) for chair in game.chairs],
        last_seq=game.last_seq,
        seed=game.seed,
        host_hash=game.host_hash,
        join_code=game.join_code,
        state=None if game.state is None else _state_to_struct(game.state),
        first_dealer=game.first_dealer,
        rematch_id=game.rematch_id,
        turn_seconds=game.turn_seconds,
        deadline_ms=game.deadline_ms,
        timeouts=list(game.timeouts),
        owner_hashes=owners if any(owners) else [],
        platform=game.platform,
        bots=bots if any(bots) else [],
        bots_stand_in=game.bots_stand_in,
    )
    return b"%d %d %b %b" % (FORMAT, game.version, game.nonce, _pack(packed))


def is_of(game: Game, stored: bytes) -> bool:
    """Whether *stored* is what the commit of *game* has stored: no other commit has the nonce in its head."""
    return game.nonce != b"" and stored.startswith(b"%d %d %b " % (FORMAT, game.version, game.nonce))


def decode(game_id: str, stored: bytes, metadata: bytes | None) -> Game:
    """The game in *stored*. Raises `UnknownFormatError` for a format that this code does not know, or no format."""
    try:
        form, version, nonce, body = stored.split(b" ", 3)
        read = _READERS[int(form)]
        known = {} if metadata is None else _unpack_metadata(metadata)
        return read(game_id, int(version), nonce, body, known)
    except (LookupError, ValueError, msgspec.MsgspecError) as error:
        raise UnknownFormatError(f"game {game_id} is stored as {stored.split(b' ')[0][:8]!r}") from error


def _read(game_id: str, version: int, nonce: bytes, body: bytes, metadata: dict[str, str]) -> Game:
    packed = _unpack(body)
    rules = _rules_from_struct(packed.rules)
    return Game(
        id=game_id,
        version=version,
        created_at_ms=packed.created_at_ms,
        variant=packed.variant,
        rules=rules,
        is_public=packed.is_public,
        chairs=tuple(
            [
                Chair(name, token_hash, bot, owner_hash)
                for (name, token_hash), owner_hash, bot in zip_longest(packed.chairs, packed.owner_hashes, packed.bots)
            ]
        ),
        last_seq=packed.last_seq,
        state=None if packed.state is None else _state_from_struct(rules, packed.state),
        metadata=metadata,
        seed=packed.seed,
        host_hash=packed.host_hash,
        join_code=packed.join_code,
        first_dealer=packed.first_dealer,
        rematch_id=packed.rematch_id,
        turn_seconds=packed.turn_seconds,
        deadline_ms=packed.deadline_ms,
        timeouts=tuple(packed.timeouts),
        platform=packed.platform,
        bots_stand_in=packed.bots_stand_in,
        nonce=nonce,
    )


_READERS: Final[dict[int, Callable[[str, int, bytes, bytes, dict[str, str]], Game]]] = {1: _read, 2: _read}


def encode_metadata(game: Game) -> bytes:
    return msgspec.json.encode(game.metadata)


def encode_retry(record: RetryRecord) -> bytes:
    return _pack(_Retry(record.body_hash, record.nonce, record.seats, record.first_seq, record.last_seq))


def decode_retry(stored: bytes) -> RetryRecord:
    record = _unpack_retry(stored)
    return RetryRecord(record.body_hash, record.nonce, record.seats, record.first_seq, record.last_seq)


def encode_event(event: LoggedEvent) -> bytes:
    return msgspec.json.encode((event.seq, event.version, event.at_ms, event.type, event.seat, event.data))


def decode_event(stored: bytes) -> LoggedEvent:
    event = _unpack_event(stored)
    return LoggedEvent(event.seq, event.version, event.at_ms, event.type, event.seat, event.data)


@lru_cache(_RULE_SETS_KEPT)
def _rules_to_struct(rules: RuleSet) -> _Rules:
    plain = to_plain(rules)
    return tuple(_rule(plain[name]) for name in _RULE_FIELDS)


@lru_cache(_RULE_SETS_KEPT)
def _rules_from_struct(packed: _Rules) -> RuleSet:
    return from_plain(dict(zip(_RULE_FIELDS, packed, strict=True)))


def _rule(value: Plain) -> str | int | tuple[str | int, ...] | None:
    return value if value is None or isinstance(value, str | int) else tuple(value)


def _state_to_struct(state: GameState) -> _State:
    table, secrets = state.table, state.secrets
    return _State(
        first_dealer=table.first_dealer,
        score=table.score,
        hand=None if table.hand is None else _hand_to_struct(table.hand),
        last_hand=None if table.last_hand is None else _last_hand_to_struct(table.last_hand),
        result=None if table.result is None else (table.result.winner, _GAME_REASONS.index(table.result.reason)),
        hands=[list(map(_number, hand)) for hand in secrets.hands],
        pack=[_NUMBERS[card] for card in secrets.pack],
        face_down_vira=_number(secrets.vira),
        covered=[(card.seat, card.trick, _NUMBERS[card.card]) for card in secrets.covered],
        last_covered=[(card.seat, card.trick, _NUMBERS[card.card]) for card in secrets.last_covered],
    )


def _state_from_struct(rules: RuleSet, packed: _State) -> GameState:
    table = Table(
        rules=rules,
        first_dealer=packed.first_dealer,
        score=packed.score,
        hand=None if packed.hand is None else _hand_from_struct(packed.hand, rules.seats),
        last_hand=None if packed.last_hand is None else _last_hand_from_struct(packed.last_hand, rules.seats),
        result=None if packed.result is None else Result(packed.result[0], _GAME_REASONS[packed.result[1]]),
    )
    secrets = Secrets(
        hands=tuple(tuple(map(_card, hand)) for hand in packed.hands),
        pack=tuple([_CARDS[number] for number in packed.pack]),
        vira=_card(packed.face_down_vira),
        covered=tuple([CoveredCard(seat, trick, _CARDS[card]) for seat, trick, card in packed.covered]),
        last_covered=tuple([CoveredCard(seat, trick, _CARDS[card]) for seat, trick, card in packed.last_covered]),
    )
    return GameState(table, secrets)


def _hand_to_struct(hand: Hand) -> _Hand:
    return _Hand(
        number=hand.number,
        kind=_KINDS.index(hand.kind),
        dealer=hand.dealer,
        value=hand.value,
        phase=_PHASES.index(hand.phase),
        to_play=hand.to_play,
        vira=_number(hand.vira),
        pending=None if hand.pending is None else (hand.pending.seat, hand.pending.to),
        raised_by=hand.raised_by,
        tricks=[_trick_to_struct(trick) for trick in hand.tricks],
        take_for=hand.take_for,
    )


def _hand_from_struct(packed: _Hand, seats: int) -> Hand:
    return Hand(
        number=packed.number,
        kind=_KINDS[packed.kind],
        dealer=packed.dealer,
        value=packed.value,
        phase=_PHASES[packed.phase],
        to_play=packed.to_play,
        vira=_card(packed.vira),
        pending=None if packed.pending is None else Raise(*packed.pending),
        raised_by=packed.raised_by,
        tricks=tuple(_trick_from_struct(trick, seats) for trick in packed.tricks),
        take_for=packed.take_for,
    )


def _last_hand_to_struct(hand: LastHand) -> _LastHand:
    return _LastHand(
        number=hand.number,
        kind=_KINDS.index(hand.kind),
        vira=_number(hand.vira),
        value=hand.value,
        tricks=[_trick_to_struct(trick) for trick in hand.tricks],
        winner=hand.winner,
        points=hand.points,
        reason=_HAND_REASONS.index(hand.reason),
        shown=None if hand.shown is None else (hand.shown.seat, [_NUMBERS[card] for card in hand.shown.cards]),
    )


def _last_hand_from_struct(packed: _LastHand, seats: int) -> LastHand:
    return LastHand(
        number=packed.number,
        kind=_KINDS[packed.kind],
        vira=_card(packed.vira),
        value=packed.value,
        tricks=tuple(_trick_from_struct(trick, seats) for trick in packed.tricks),
        winner=packed.winner,
        points=packed.points,
        reason=_HAND_REASONS[packed.reason],
        shown=None if packed.shown is None else Shown(packed.shown[0], tuple(_CARDS[card] for card in packed.shown[1])),
    )


def _trick_to_struct(trick: Trick) -> _Trick:
    return _Trick(trick.opener, [_number(play.card) for play in trick.plays], trick.winner, trick.tied)


def _trick_from_struct(packed: _Trick, seats: int) -> Trick:
    opener = packed.opener
    plays = tuple([_play((opener + place) % seats, number) for place, number in enumerate(packed.plays)])
    return Trick(opener, plays, packed.winner, packed.tied)


@cache
def _play(seat: int, number: int | None) -> Play:
    """Most of what a state is read into are these, and there are few different ones."""
    return Play(seat, _card(number))
