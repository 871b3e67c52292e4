"""Requests in: strict JSON, then marshmallow, then the words of `games`. What is not declared here is refused."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import lru_cache
from typing import Final, Generic, NoReturn, TypeVar, cast

import marshmallow as ma
import msgspec
from flask import request
from marshmallow.validate import Length, OneOf, Range, Regexp

from service.api.problems import ProblemError
from service.bots import BOTS
from service.engine.actions import ACTIONS, HIGHEST_SLOT, Action, CutKind
from service.engine.cards import Card, Deck
from service.engine.rules import (
    ENUM_FIELDS,
    MOST_POINTS,
    PRESETS,
    SEATS,
    VIRA,
    Penalty,
    Plain,
)
from service.engine.state import DealFrom, DealStyle
from service.games import BotPlayer, NewGame
from service.refusals import MemberProblem
from service.store.base import ListPosition, Status
from service.tokens import JOIN_CODE_LENGTH, Retry

MOST_BODY_BYTES: Final = 8_192
DEEPEST: Final = 32
LONGEST_KEY: Final = 64
SHORTEST_SECRET_KEY: Final = 22
LONGEST_WAIT_SECONDS: Final = 25
SHORTEST_TURN_SECONDS: Final = 5
LONGEST_TURN_SECONDS: Final = 3_600
MOST_METADATA_BYTES: Final = 1_024
LONGEST_METADATA_KEY: Final = 40
LONGEST_NAME: Final = 24
ON_TIMEOUT: Final = ("play", "bot")
GREATEST_VERSION: Final = 2**53 - 1
_IDEMPOTENCY_KEY: Final = "HTTP_IDEMPOTENCY_KEY"
"""In a request's environment."""

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]
Members = dict[str, Value]


# ---- the body as JSON ----


def body() -> Value:
    """The request's JSON. Raises `ProblemError`: 411, 413, 415, 400 `malformed_json`."""
    return parse(_sent())


def _sent() -> bytes:
    """The body, if it is said to be JSON. Raises `ProblemError`: 411, 413, 415."""
    length = request.content_length
    if length is None or "HTTP_TRANSFER_ENCODING" in request.environ:
        raise ProblemError("length_required", "send the body with a Content-Length, not in chunks")
    if length > MOST_BODY_BYTES:
        raise ProblemError("body_too_large", f"{length} bytes, at most {MOST_BODY_BYTES}")
    _refuse_other_media()
    return request.get_data()


def no_body() -> None:
    """For an operation without a body: nothing, or `{}`."""
    if request.content_length is None and "Transfer-Encoding" not in request.headers:
        return
    if request.content_length != 0:
        _load(_NOTHING, body())


def body_hash() -> bytes:
    """Of the request's JSON, whatever the order of its members and its white space. After the body was read.

    Empty without an Idempotency-Key: then nobody will ask whether another body was the same.
    """
    if _IDEMPOTENCY_KEY not in request.environ:
        return b""
    value: Value = msgspec.json.decode(request.get_data() or b"{}")
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).digest()


def retry(caller: str | None, gives_token: bool = False) -> Retry | None:
    """The Idempotency-Key, if one is sent; *caller* is the token, or the platform, that the request came with.

    A key that a token hangs on (*gives_token*) must be long enough not to be guessed. Raises `ProblemError`: 400
    `invalid_header`.
    """
    key = request.environ.get(_IDEMPOTENCY_KEY)
    if key is None:
        return None
    shortest = SHORTEST_SECRET_KEY if gives_token else 1
    if not re.fullmatch(rf"[\x21-\x7e]{{{shortest},{LONGEST_KEY}}}", key):
        raise ProblemError(
            "invalid_header",
            f"Idempotency-Key must be {shortest} to {LONGEST_KEY} visible ASCII characters, such as a UUID",
        )
    return Retry(key, f"{request.method} {request.path} {caller or ''}")


def _refuse_other_media() -> None:
    sent = request.environ
    if sent.get("CONTENT_TYPE") == "application/json" and "HTTP_CONTENT_ENCODING" not in sent:
        return
    media, charset = request.mimetype, request.mimetype_params.get("charset", "utf-8")
    is_json = media == "application/json" or re.fullmatch(r"application/[\w.!#$&^-]+\+json", media)
    if not is_json or charset.lower() not in ("utf-8", "utf8"):
        raise ProblemError("unsupported_media_type", "the body must be application/json in UTF-8")
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ProblemError("unsupported_media_type", "the body must not be compressed")


def parse(text: bytes) -> Value:
    """Strict JSON: UTF-8 without BOM, no NaN, no lone surrogate, no key twice, at most `DEEPEST` levels."""
    try:
        value: Value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProblemError("malformed_json", _plain_words(error)) from None
    if _depth(value) > DEEPEST:
        raise ProblemError("malformed_json", f"nested more than {DEEPEST} levels deep")
    _DUPLICATES.decode(text.decode())
    return value


def _plain_words(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error)


def _depth(value: Value) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> None:
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ProblemError("malformed_json", "an object has the same key twice")


_DUPLICATES: Final = json.JSONDecoder(object_pairs_hook=_refuse_duplicates)


# ---- fields ----

_MESSAGES: Final[dict[str, str]] = {
    "required": "missing: is required",
    "null": "null: must not be null",
    "invalid": "invalid: is of the wrong type",
    "unknown": "unknown: there is no such member",
    "type": "invalid: must be an object",
}
"""A message is `<code>: <detail>`."""
_FIELD_MESSAGES: Final[dict[str, str | list[object] | dict[object, object]]] = {**_MESSAGES}


def _wrong(code: str, detail: str) -> NoReturn:
    raise ma.ValidationError(f"{code}: {detail}")


Item = TypeVar("Item")


class _Strict(ma.Schema):
    error_messages = _MESSAGES


class _Text(ma.fields.String):
    default_error_messages = _FIELD_MESSAGES


class _List(ma.fields.List[Item], Generic[Item]):
    default_error_messages = _FIELD_MESSAGES


class _Nested(ma.fields.Nested):
    default_error_messages = _FIELD_MESSAGES


class _Number(ma.fields.Field[int]):
    """A whole number written as one: not 1.0, not true, not "1"."""

    default_error_messages = _FIELD_MESSAGES

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> int:
        if type(value) is not int:
            _wrong("invalid", "must be a whole number")
        return value


class _Flag(ma.fields.Field[bool]):
    default_error_messages = _FIELD_MESSAGES

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> bool:
        if not isinstance(value, bool):
            _wrong("invalid", "must be true or false")
        return value


class _Words(ma.fields.Field[StrEnum]):
    """One of an enum's values."""

    default_error_messages = _FIELD_MESSAGES

    def __init__(self, words: type[StrEnum], required: bool = False) -> None:
        super().__init__(required=required)
        self._words = words

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> StrEnum:
        if not isinstance(value, str) or value not in tuple(self._words):
            _wrong("invalid", f"must be one of {', '.join(self._words)}")
        return self._words(value)


class _CardText(_Text):
    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> Card:  # type: ignore[override]
        try:
            return Card.parse(super()._deserialize(value, attr, data))
        except ValueError:
            _wrong("invalid", "must be a card, rank then suit: 7H, 12S")


class _Name(_Text):
    """A name as people type it: NFC, trimmed, every character visible."""

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> str:
        text = super()._deserialize(value, attr, data) or ""
        whole = unicodedata.normalize("NFC", text)
        if any(unicodedata.category(char)[0] == "C" or char in _BLANKS for char in whole):
            _wrong("invalid", "must have no control, format or invisible characters")
        name = whole.strip()
        if not 1 <= len(name) <= LONGEST_NAME:
            _wrong("invalid", f"must have 1 to {LONGEST_NAME} characters")
        kinds = "".join(unicodedata.category(char)[0] for char in name)
        if not set(kinds) & _SHOWING:
            _wrong("invalid", "must have a letter, a number or a symbol")
        if _PILED_MARKS.search(kinds):
            _wrong("invalid", "must not pile up combining marks")
        return name


_BLANKS: Final = frozenset("\u115f\u1160\u2028\u2029\u2800\u3164\uffa0")
"""Letters and symbols that show nothing, and line breaks."""
_SHOWING: Final = frozenset("LNS")
"""General categories: letters, numbers, symbols."""
_PILED_MARKS: Final = re.compile(r"^M|ZM|MMM")
"""A mark without a base, or three on one, in the string of general categories."""


class _Metadata(ma.fields.Field[dict[str, str]]):
    default_error_messages = _FIELD_MESSAGES

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> dict[str, str]:
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            _wrong("invalid", "must be an object with string values")
        if any(unicodedata.category(char) == "Cc" for text in value.items() for char in "".join(text)):
            _wrong("invalid", "must have no control characters")
        if not all(1 <= len(key) <= LONGEST_METADATA_KEY for key in value):
            _wrong("invalid", f"must have keys of 1 to {LONGEST_METADATA_KEY} characters")
        size = len(msgspec.json.encode(value))
        if size > MOST_METADATA_BYTES:
            _wrong("too_long", f"has {size} bytes as JSON, at most {MOST_METADATA_BYTES}")
        return value


class _Manilhas(ma.fields.Field[Plain]):
    """ "vira" or a list of cards; whether they can be played is for the rules to say."""

    default_error_messages = _FIELD_MESSAGES

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> Plain:
        if isinstance(value, list) and all(isinstance(card, str) for card in value):
            return value
        if value == VIRA:
            return VIRA
        _wrong("invalid", f"must be {VIRA!r} or a list of cards")


def _between(low: int, high: int) -> Range:
    return Range(low, high, error=f"out_of_range: must be {low} to {high}")


def _one_of(choices: tuple[str | int, ...]) -> OneOf:
    return OneOf(choices, error=f"invalid: must be one of {', '.join(map(str, choices))}")


# ---- the bodies ----


class _Nothing(_Strict):
    pass


class _Rules(_Strict):
    manilhas = _Manilhas()
    ladder = _List(_Number(validate=_between(-GREATEST_VERSION, GREATEST_VERSION)))
    target = _Number(validate=_between(-GREATEST_VERSION, GREATEST_VERSION))
    legs = _Number(validate=_one_of((1, 2)))
    covered_from_trick = _Number(validate=_one_of((2, 3)), allow_none=True)
    eleven_decision = _Flag()
    eleven_partner_cards = _Flag()
    eleven_show = _Flag()


_RULES: Final = _Strict.from_dict(
    {**_Rules._declared_fields, **{name: _Words(words) for name, words in ENUM_FIELDS.items()}},
    name="_RulesWithWords",
)


class _Player(_Strict):
    """A person by name, or a bot by kind."""

    name = _Name()
    bot = _Text(validate=_one_of(tuple(BOTS)))

    @ma.validates_schema
    def _one_of_both(self, player: Mapping[str, object], **_: object) -> None:
        if not player.keys() & {"name", "bot"}:
            raise ma.ValidationError("missing: a name, or a bot in its place, is required", "name")
        if player.keys() >= {"name", "bot"}:
            raise ma.ValidationError("invalid: must not be there beside a name", "bot")


class _NewGame(_Strict):
    variant = _Text(required=True, validate=_one_of(tuple(PRESETS)))
    rules = _Nested(_RULES)
    seats = _Number(validate=_one_of(SEATS))
    players = _List(
        _Nested(_Player, allow_none=True),
        validate=Length(max=max(SEATS), error=f"too_long: at most {max(SEATS)}"),
    )
    visibility = _Text(validate=_one_of(("private", "public")))
    turn_seconds = _Number(validate=_between(SHORTEST_TURN_SECONDS, LONGEST_TURN_SECONDS), allow_none=True)
    on_timeout = _Text(validate=_one_of(ON_TIMEOUT))
    metadata = _Metadata()


class _Seating(_Player):
    seat = _Number(validate=_between(0, max(SEATS) - 1))
    join_code = _Text(
        validate=Regexp(
            rf"[0-9A-Za-z]{{{JOIN_CODE_LENGTH}}}\Z",
            error=f"invalid: must be {JOIN_CODE_LENGTH} letters and digits",
        )
    )


class _ActionBody(_Strict):
    type = _Text(required=True, validate=_one_of(tuple(ACTIONS)))
    expected_version = _Number(required=True, validate=_between(1, GREATEST_VERSION))
    card = _CardText()
    slot = _Number(validate=_between(0, HIGHEST_SLOT))
    covered = _Flag()
    to = _Number(validate=_between(1, MOST_POINTS))
    penalty = _Text(validate=_one_of((Penalty.LOSE_POINTS.value, Penalty.LOSE_GAME.value)))
    at = _Number(validate=_between(1, max(len(deck.cards) for deck in Deck) - 1))
    cut = _Words(CutKind)
    take_for = _Number(validate=_between(0, max(SEATS) - 1))
    deal_from = _Words(DealFrom)
    deal_style = _Words(DealStyle)


_NOTHING: Final = _Nothing()
_NEW_GAME: Final = _NewGame()
_SEATING: Final = _Seating()
_ACTION: Final = _ActionBody()
"""Built once: building a nested schema costs more than using it."""


def _load(schema: ma.Schema, value: Value) -> Mapping[str, object]:
    try:
        loaded: Mapping[str, object] = schema.load(value)  # type: ignore[arg-type]
    except ma.ValidationError as error:
        problems = tuple(_problems(error.messages, ""))
        detail = f"{problems[0].pointer or 'the body'}: {problems[0].detail}"
        raise ProblemError("validation_failed", detail, problems) from None
    return loaded


def _problems(messages: object, pointer: str) -> Iterator[MemberProblem]:
    """marshmallow's tree of messages as a list, each with its JSON pointer."""
    if isinstance(messages, Mapping):
        for key, below in messages.items():
            step = str(key).replace("~", "~0").replace("/", "~1")
            is_whole = key == "_schema" and below != [_MESSAGES["unknown"]]
            yield from _problems(below, pointer if is_whole else f"{pointer}/{step}")
    elif isinstance(messages, list):
        for message in messages:
            code, _, detail = str(message).partition(": ")
            yield MemberProblem(pointer, code, detail)


def new_game() -> NewGame:
    """createGame's body. Raises `ProblemError`."""
    order = _load(_NEW_GAME, body())
    players = cast("Sequence[Mapping[str, str] | None]", order.get("players", ()))
    return NewGame(
        variant=cast("str", order["variant"]),
        rules=cast("Mapping[str, Plain]", order.get("rules", {})),
        seats=cast("int | None", order.get("seats")),
        players=tuple(map(_player, players)),
        is_public=order.get("visibility") == "public",
        turn_seconds=cast("int | None", order.get("turn_seconds")),
        bots_stand_in=order.get("on_timeout") == "bot",
        metadata=cast("Mapping[str, str]", order.get("metadata", {})),
    )


def _player(player: Mapping[str, str] | None) -> str | BotPlayer | None:
    if player is None:
        return None
    return BotPlayer(player["bot"]) if "bot" in player else player["name"]


@dataclass(frozen=True, slots=True)
class Seating:
    player: str | BotPlayer
    seat: int | None
    join_code: str | None


def seating() -> Seating:
    """joinGame's body. Raises `ProblemError`."""
    wish = _load(_SEATING, body())
    player = _player(cast("Mapping[str, str]", wish))
    assert player is not None
    return Seating(
        player,
        cast("int | None", wish.get("seat")),
        cast("str | None", wish.get("join_code")),
    )


def action() -> tuple[Action, int]:
    """applyAction's body: the action and its expected version. Raises `ProblemError`, `MalformedActionError`."""
    text = _sent()
    return _known_action(text) if len(text) <= _MOST_BYTES_KEPT else _action(text)


def _action(text: bytes) -> tuple[Action, int]:
    value = parse(text)
    members = dict(_load(_schema_of_action(value), value))
    expected_version = cast("int", members.pop("expected_version"))
    kind = ACTIONS[cast("str", members.pop("type"))]
    known = _MEMBERS[kind.type]
    problems = [
        MemberProblem(f"/{name}", "unknown", f"does not belong to {kind.type}") for name in members if name not in known
    ]
    problems += [
        MemberProblem(f"/{name}", "missing", f"is required by {kind.type}")
        for name, is_required in known.items()
        if is_required and name not in members
    ]
    if problems:
        detail = f"{problems[0].pointer}: {problems[0].detail}"
        raise ProblemError("validation_failed", detail, tuple(problems))
    return kind(**members), expected_version  # type: ignore[arg-type]


_MOST_BYTES_KEPT: Final = 128
_known_action: Final = lru_cache(10_000)(_action)
"""Versions are small and cards are few: the same text comes again and again, in this game and in others."""

_MEMBERS: Final = {
    kind.type: {field.name: field.default is MISSING for field in fields(kind)} for kind in ACTIONS.values()
}
"""Of each kind of action, and whether it needs them."""
_COMMON: Final = frozenset(("type", "expected_version"))
_ACTION_OF: Final = {kind: _ActionBody(only=_COMMON | members.keys()) for kind, members in _MEMBERS.items()}
"""By type: the same fields, without those that have no business in it."""


def _schema_of_action(value: Value) -> ma.Schema:
    """That of its type if it has the members of that type alone: a schema goes through its fields one by one."""
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(value, dict) and isinstance(kind, str) and kind in _MEMBERS:
        return _ACTION_OF[kind] if value.keys() <= _COMMON | _MEMBERS[kind].keys() else _ACTION
    return _ACTION


# ---- the query and the path ----


def wait_seconds() -> int:
    """How long the answer may be held back; more than the longest wait counts as that. Raises `ProblemError`: 400."""
    return min(number("wait", 0, 0, GREATEST_VERSION), LONGEST_WAIT_SECONDS)


def after_version() -> int | None:
    """The version that the client has; None if it does not say. Raises `ProblemError`: 400."""
    return None if "after_version" not in request.args else number("after_version", 0, 0, GREATEST_VERSION)


def last_event_id() -> int | None:
    """Where a stream goes on. Raises `ProblemError`: 400 `invalid_header`."""
    text = request.headers.get("Last-Event-ID")
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,16}", text):
        raise ProblemError("invalid_header", "Last-Event-ID must be the id of a message of the stream")
    return int(text)


def number(name: str, default: int, low: int, high: int) -> int:
    """The query parameter *name*. Raises `ProblemError`: 400 `invalid_parameter`."""
    text = _parameter(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,16}", text) or not low <= int(text) <= high:
        raise ProblemError("invalid_parameter", f"{name} must be a whole number, {low} to {high}")
    return int(text)


def choice(name: str, choices: Sequence[str]) -> str | None:
    """The query parameter *name*, one of *choices*; None if it is not there. Raises `ProblemError`: 400."""
    text = _parameter(name)
    if text is not None and text not in choices:
        raise ProblemError("invalid_parameter", f"{name} must be one of {', '.join(choices)}")
    return text


def flag(name: str) -> bool:
    """The query parameter *name*, which is false if it is not there. Raises `ProblemError`: 400."""
    return choice(name, ("true", "false")) == "true"


def _parameter(name: str) -> str | None:
    texts = request.args.getlist(name)
    if len(texts) > 1:
        raise ProblemError("invalid_parameter", f"{name} is given {len(texts)} times")
    return texts[0] if texts else None


def cursor() -> ListPosition | None:
    """Where the list goes on. Raises `ProblemError`: 400 for one that `write_cursor` did not write."""
    text = _parameter("cursor")
    if text is None:
        return None
    try:
        content = base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
        checksum, position = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
        created_at_ms, game_id = position.decode("ascii").split(" ")
        written = ListPosition(int(created_at_ms), game_id)
    except (ValueError, binascii.Error):
        raise ProblemError("invalid_parameter", "cursor is not one that was given out") from None
    if checksum != _checksum(position) or write_cursor(written) != text:
        raise ProblemError("invalid_parameter", "cursor is not one that was given out")
    return written


def write_cursor(position: ListPosition | None) -> str | None:
    """Opaque to clients; the checksum only tells a mangled one from a good one."""
    if position is None:
        return None
    content = f"{position.created_at_ms} {position.id}".encode("ascii")
    return base64.urlsafe_b64encode(_checksum(content) + content).decode("ascii")


_CHECKSUM_BYTES: Final = 6


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:_CHECKSUM_BYTES]


def status() -> Status:
    """Which games to list; the lobby if nothing is said."""
    return Status(choice("status", tuple(Status)) or Status.LOBBY)


def variant() -> str | None:
    return choice("variant", tuple(PRESETS))


def seat_in_path(text: str) -> int:
    """The seat that a path names. Raises `ProblemError`: 404."""
    if text not in _SEATS_IN_PATH:
        raise ProblemError("not_found", "there is no such seat")
    return int(text)


_SEATS_IN_PATH: Final = frozenset(map(str, range(max(SEATS))))
