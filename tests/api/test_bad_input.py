"""Hostile and clumsy requests: each is refused as it should be, and changes nothing in the store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from werkzeug.test import TestResponse

from service.settings import Settings
from tests.api.conftest import make_site
from tests.api.driver import UNLIMITED, Body, Clock, Site, Started, answer, bearer, body_of, pointers
from tests.contract import ContractBrokenError, resolve, validate
from tests.redis_server import free_port

MOST_BYTES = 8_192


class Target:
    """A lobby, a running and a finished game that bad requests are sent to; they must not change."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.lobby = site.create("paulista", 1, visibility="public")
        self.game = site.create("mano-a-mano", visibility="public")
        self.seat = self.game.to_act()
        self.play = self.game.view(self.seat)["legal_actions"][0]
        self.finished = site.create("mano-a-mano", visibility="public")
        self.finished.resign()

    def routes(self) -> dict[str, tuple[str, str, str | None, Body]]:
        """Of each operation with a body: method, path, token and a body that it takes."""
        return {
            "createGame": ("POST", "/v1/games", None, {"variant": "paulista"}),
            "joinGame": ("POST", f"{self.lobby.path}/seats", None, {"name": "Gil"}),
            "applyAction": ("POST", f"{self.game.path}/actions", self.game.tokens[self.seat], self.play),
            "cancelGame": ("DELETE", self.lobby.path, self.lobby.host_token, {}),
            "leaveSeat": ("DELETE", f"{self.lobby.path}/seats/0", self.lobby.tokens[0], {}),
            "rematch": ("POST", f"{self.finished.path}/rematch", self.finished.tokens[0], {}),
            "returnToSeat": ("POST", f"{self.game.path}/seats/0/return", self.game.tokens[0], {}),
        }

    def send(self, operation: str, body: object) -> TestResponse:
        method, path, token, _ = self.routes()[operation]
        return self.site.send(method, path, body, token)

    def send_changed(self, operation: str, **members: object) -> TestResponse:
        """The body that it takes, with other *members*."""
        return self.send(operation, {**self.routes()[operation][3], **members})

    def send_bytes(
        self, operation: str, data: bytes, media: str | None = "application/json", **kwargs: Any
    ) -> TestResponse:
        method, path, token, _ = self.routes()[operation]
        return self.site.send(method, path, token=token, data=data, content_type=media, **kwargs)


@pytest.fixture(scope="module")
def untouched() -> Target:
    """One for all tests of this file: none of them may change it."""
    return Target(make_site(UNLIMITED, Clock()))


@pytest.fixture
def target(untouched: Target) -> Iterator[Target]:
    before = untouched.site.stored()
    yield untouched
    assert untouched.site.stored() == before


WITH_BODY = ["createGame", "joinGame", "applyAction"]
WITHOUT_BODY = ["cancelGame", "leaveSeat", "rematch", "returnToSeat"]
OPERATIONS = [*WITH_BODY, *WITHOUT_BODY]

each_body = pytest.mark.parametrize("operation", WITH_BODY)
each_operation = pytest.mark.parametrize("operation", OPERATIONS)


@each_operation
def test_the_bodies_that_these_tests_start_from_are_taken(site: Site, operation: str) -> None:
    assert Target(site).send_changed(operation).status_code in (200, 201, 204)


# ---- JSON ----


def nested(depth: int) -> bytes:
    return b'{"variant":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


MALFORMED: dict[str, bytes] = {
    "blank": b" \n",
    "unfinished": b'{"variant": "paul',
    "trailing comma": b'{"variant": "paulista",}',
    "two values": b'{"variant": "paulista"} {}',
    "trailing letter": b'{"variant": "paulista"}x',
    "single quotes": b"{'variant': 'paulista'}",
    "bare key": b'{variant: "paulista"}',
    "comment": b'{"variant": "paulista" /* mine */}',
    "form": b"variant=paulista",
    "NaN": b'{"expected_version": NaN}',
    "Infinity": b'{"expected_version": Infinity}',
    "-Infinity": b'{"expected_version": -Infinity}',
    "1e999": b'{"expected_version": 1e999}',
    "-1e999": b'{"expected_version": -1e999}',
    "leading zero": b'{"expected_version": 01}',
    "hexadecimal": b'{"expected_version": 0x1}',
    "plus": b'{"expected_version": +1}',
    "BOM": b'\xef\xbb\xbf{"variant": "paulista"}',
    "UTF-16": '{"variant": "paulista"}'.encode("utf-16"),
    "UTF-16 without BOM": '{"variant": "paulista"}'.encode("utf-16-le"),
    "UTF-32": '{"variant": "paulista"}'.encode("utf-32"),
    "Latin-1": '{"name": "José"}'.encode("latin-1"),
    "cut UTF-8": b'{"name": "Jos\xc3"}',
    "overlong UTF-8": b'{"name": "\xc0\xaf"}',
    "UTF-8 of a surrogate": b'{"name": "\xed\xa0\x80"}',
    "beyond Unicode": b'{"name": "\xf4\x90\x80\x80"}',
    "high surrogate": rb'{"name": "\ud800"}',
    "low surrogate": rb'{"name": "\udc00"}',
    "surrogates in the wrong order": rb'{"name": "\udc00\ud800"}',
    "surrogate in a key": rb'{"\ud800": 1}',
    "raw control character": b'{"name": "A\x01"}',
    "raw line break": b'{"name": "A\nB"}',
    "NUL byte": b'{"variant": "paulista"}\x00',
    "wrong escape": rb'{"name": "\x41"}',
    "key twice": b'{"variant": "paulista", "variant": "simples"}',
    "key twice, once escaped": rb'{"variant": "paulista", "\u0076ariant": "simples"}',
    "key twice in an object": b'{"variant": "paulista", "rules": {"target": 9, "target": 12}}',
    "key twice in a list": b'{"variant": "paulista", "players": [{"name": "Ana", "name": "Bia"}]}',
    "key twice with one value": b'{"name": "Ana", "name": "Ana"}',
    "33 levels": nested(33),
    "4,000 levels": nested(4_000),
    "4,000 open lists": b"[" * 4_000,
    "4,000 open objects": b'{"a":' * 1_600,
    "5,000 digits": b'{"expected_version": ' + b"9" * 5_000 + b"}",
    "5,000 digits below 0": b'{"expected_version": -' + b"9" * 5_000 + b"}",
}


@each_body
@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_json_is_malformed(target: Target, operation: str, data: bytes) -> None:
    assert answer(target.send_bytes(operation, data)) == (400, "malformed_json")


@pytest.mark.parametrize("operation", WITHOUT_BODY)
@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_who_takes_no_body_reads_it_as_strictly(target: Target, operation: str, data: bytes) -> None:
    assert answer(target.send_bytes(operation, data)) == (400, "malformed_json")


@each_operation
def test_32_levels_are_json(target: Target, operation: str) -> None:
    assert answer(target.send_bytes(operation, nested(32))) == (422, "validation_failed")


@each_operation
@pytest.mark.parametrize("body", [[], [{}], "variant", "", 1, 0, 1.5, True, False, None, ["variant", "paulista"]])
def test_only_an_object_is_a_body(target: Target, operation: str, body: object) -> None:
    response = target.send_bytes(operation, json.dumps(body).encode())
    assert answer(response) == (422, "validation_failed")
    assert pointers(response) == [""]


# ---- length, media type, encoding ----


class Unread:
    """A body that must not be asked for."""

    def read(self, size: int = -1) -> bytes:
        raise AssertionError("the body was read")

    readline = readlines = __iter__ = read


def headers_only(target: Target, operation: str, **environ: str) -> TestResponse:
    """A request whose body must not be read."""
    method, path, token, _ = target.routes()[operation]
    overrides = {"wsgi.input": Unread(), "CONTENT_TYPE": "application/json", **environ}
    return target.site.send(method, path, token=token, environ_overrides=overrides)


@each_operation
@pytest.mark.parametrize("length", [str(MOST_BYTES + 1), "1000000000000", "9" * 40])
def test_a_large_body_is_refused_unread(target: Target, operation: str, length: str) -> None:
    assert answer(headers_only(target, operation, CONTENT_LENGTH=length)) == (413, "body_too_large")


@each_operation
def test_a_body_in_chunks_is_refused_unread(target: Target, operation: str) -> None:
    for environ in ({}, {"CONTENT_LENGTH": "2"}):
        response = headers_only(target, operation, HTTP_TRANSFER_ENCODING="chunked", **environ)
        assert answer(response) == (411, "length_required")


@each_body
def test_a_body_without_a_length_is_refused_unread(target: Target, operation: str) -> None:
    assert answer(headers_only(target, operation)) == (411, "length_required")


@each_body
@pytest.mark.parametrize("length", ["0", "x", "1.5", "0x10", "-5"])
def test_no_body_is_malformed(target: Target, operation: str, length: str) -> None:
    assert answer(headers_only(target, operation, CONTENT_LENGTH=length)) == (400, "malformed_json")


@each_body
def test_a_body_is_as_large_as_allowed_at_most(site: Site, operation: str) -> None:
    for size, status in ((MOST_BYTES, 2), (MOST_BYTES + 1, 4)):
        target = Target(site)
        body = json.dumps(target.routes()[operation][3]).encode()
        response = target.send_bytes(operation, body + b" " * (size - len(body)))
        assert response.status_code // 100 == status


@each_operation
@pytest.mark.parametrize(
    "media",
    [
        None,
        "",
        "text/plain",
        "text/json",
        "text/html",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
        "application/xml",
        "application/jsonp",
        "application/json-seq",
        "application/+json",
        "image/svg+json",
        "json",
        "*/*",
        "application/*",
        "application/json; charset=utf-16",
        "application/json; charset=latin-1",
        "application/vnd.truco+json; charset=iso-8859-1",
        "application/json, text/plain",
    ],
)
def test_another_media_type_is_refused(target: Target, operation: str, media: str | None) -> None:
    body = json.dumps(target.routes()[operation][3] or {"a": 1}).encode()
    assert answer(target.send_bytes(operation, body, media)) == (415, "unsupported_media_type")


@each_body
@pytest.mark.parametrize(
    "media",
    [
        "application/json",
        "APPLICATION/JSON",
        "application/json;charset=utf-8",
        'application/json; charset="UTF-8"',
        "application/json; version=1",
        "application/vnd.truco+json",
        "application/ld+json; charset=utf8",
    ],
)
def test_these_media_types_are_json(site: Site, operation: str, media: str) -> None:
    target = Target(site)
    body = json.dumps(target.routes()[operation][3]).encode()
    assert target.send_bytes(operation, body, media).status_code in (200, 201)


@each_operation
@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "identity, gzip", "x"])
def test_a_compressed_body_is_refused(target: Target, operation: str, encoding: str) -> None:
    response = target.send_bytes(operation, b"{}", headers={"Content-Encoding": encoding})
    assert answer(response) == (415, "unsupported_media_type")


@each_body
def test_which_of_the_bodys_faults_is_told_first(target: Target, operation: str) -> None:
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_TYPE": "text/plain"}
    assert answer(headers_only(target, operation, **chunked)) == (411, "length_required")
    too_large = {"CONTENT_LENGTH": "9000", "CONTENT_TYPE": "text/plain"}
    assert answer(headers_only(target, operation, **too_large)) == (413, "body_too_large")
    assert answer(target.send_bytes(operation, b"{", "text/plain")) == (415, "unsupported_media_type")
    assert answer(target.send_bytes(operation, b'{"wrong": 1, "wrong": 1}')) == (400, "malformed_json")


@each_operation
def test_the_game_and_the_token_come_before_the_body(target: Target, operation: str) -> None:
    if operation == "createGame":
        return
    method, path, _, _ = target.routes()[operation]
    no_game = path.replace(path.split("/")[3], "0" * 26)
    wrong_body = {"data": b"{", "content_type": "text/plain"}
    assert answer(target.site.send(method, no_game, **wrong_body)) == (404, "game_not_found")
    assert answer(target.site.send(method, path, token="A" * 43, **wrong_body)) == (401, "invalid_token")
    if operation in ("applyAction", "rematch", "returnToSeat"):
        assert answer(target.site.send(method, path, **wrong_body)) == (401, "missing_token")
        host = (target.finished if operation == "rematch" else target.game).host_token
        assert answer(target.site.send(method, path, token=host, **wrong_body)) == (403, "wrong_seat")


# ---- names ----

BAD_NAMES: dict[str, str] = {
    "empty": "",
    "blank": " ",
    "blanks": " \u00a0\u3000",
    "25 letters": "A" * 25,
    "10,000 letters": "A" * 7_900,
    "25 letters of two code units": "😀" * 25,
    "NUL": "A\0na",
    "line break": "A\nna",
    "tab": "A\tna",
    "escape": "\x1b[31mAna",
    "delete": "Ana\x7f",
    "C1 control": "A\x85na",
    "zero width space": "A\u200bna",
    "zero width space alone": "\u200b",
    "zero width joiner": "👨\u200d👩",
    "zero width non-joiner": "A\u200cna",
    "BOM": "\ufeffAna",
    "soft hyphen": "A\u00adna",
    "word joiner": "A\u2060na",
    "left-to-right mark": "Ana\u200e",
    "right-to-left override": "\u202eanA",
    "isolate": "\u2066Ana\u2069",
    "language tag": "Ana\U000e0041",
    "line separator": "A\u2028na",
    "paragraph separator": "A\u2029na",
    "private use": "Ana\ue000",
    "unassigned": "Ana\u0378",
    "noncharacter": "Ana\uffff",
    "Hangul filler": "\u3164",
    "half-width Hangul filler": "\uffa0",
    "Hangul choseong filler": "A\u115fB",
    "Braille blank": "\u2800",
    "three marks on a letter": "Ana" + "\u0315" * 3,
    "a flood of marks": "Z" + "\u0335\u0336\u0337\u0338" * 5,
    "600 marks": "Z" + "\u0335" * 600,
    "a mark without a letter": "\u0301",
    "a mark after a space": "A \u0335",
    "an enclosing mark alone": "\u20dd",
    "points": "...",
    "a dash": "—",
    "quotes": "''",
    "an invisible mark": "\u034f",
}

GOOD_NAMES: dict[str, tuple[str, str]] = {
    "trimmed": ("  Ana ", "Ana"),
    "trimmed of wide spaces": ("\u3000Ana\u00a0", "Ana"),
    "composed": ("José", "José"),
    "decomposed": ("Jose\u0301", "José"),
    "24 letters": ("A" * 24, "A" * 24),
    "24 composed of 48": ("e\u0301" * 24, "é" * 24),
    "with a space": ("Ana Maria", "Ana Maria"),
    "with points": ("J. R. D'Ávila-Neto", "J. R. D'Ávila-Neto"),
    "emoji": ("😀", "😀"),
    "emoji with a colour": ("👍🏽", "👍🏽"),
    "emoji with a variation": ("❤\ufe0f", "❤\ufe0f"),
    "flag": ("🇧🇷", "🇧🇷"),
    "number": ("7", "7"),
    "Arabic": ("محمد", "محمد"),
    "Hindi with two marks": ("हिंदी", "हिंदी"),
    "Thai with two marks": ("ที่นี่", "ที่นี่"),
    "Japanese": ("たろう", "たろう"),
    "Korean": ("\u1112\u1161\u11ab", "한"),
    "not a command": ("<b>'; DROP", "<b>'; DROP"),
    "a key": ("{x}:*", "{x}:*"),
}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_a_name_that_cannot_be_seen_is_refused(target: Target, name: str) -> None:
    joined = target.send("joinGame", {"name": name})
    assert (answer(joined), pointers(joined)) == ((422, "validation_failed"), ["/name"])
    created = target.send("createGame", {"variant": "paulista", "players": [{"name": "Ana"}, {"name": name}]})
    assert (answer(created), pointers(created)) == ((422, "validation_failed"), ["/players/1/name"])


@pytest.mark.parametrize(("sent", "shown"), GOOD_NAMES.values(), ids=GOOD_NAMES)
def test_a_name_is_shown_composed_and_trimmed(any_site: Site, sent: str, shown: str) -> None:
    game = any_site.create("mano-a-mano", players=0, visibility="public")
    assert game.joined(sent) == 0
    assert game.view(0)["seats"][0]["name"] == shown
    assert game.events()["events"][0]["data"] == {"name": shown, "kind": "human"}
    assert any_site.get("/v1/games")["games"][0]["seats"][0]["name"] == shown


# ---- members ----


def members_of(schema: str) -> Iterator[str]:
    node, _ = resolve({"$ref": f"#/components/schemas/{schema}"}, "")
    yield from node["properties"]


SCHEMA_OF = {"createGame": "NewGame", "joinGame": "NewPlayer", "applyAction": "Action"}
MEMBERS = [(operation, member) for operation, schema in SCHEMA_OF.items() for member in members_of(schema)]
NULLABLE = ("createGame", "turn_seconds")
RULES = list(members_of("RuleOverrides"))


@pytest.mark.parametrize(("operation", "member"), [each for each in MEMBERS if each != NULLABLE])
def test_null_is_not_a_value(target: Target, operation: str, member: str) -> None:
    response = target.send_changed(operation, **{member: None})
    assert answer(response) == (422, "validation_failed")
    assert [(error["pointer"], error["code"]) for error in body_of(response)["errors"]] == [(f"/{member}", "null")]


def test_null_is_a_game_without_a_clock(site: Site) -> None:
    assert site.create("mano-a-mano", turn_seconds=None).view(0)["turn"]["deadline"] is None


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "covered_from_trick"])
def test_null_is_not_a_rule(target: Target, rule: str) -> None:
    response = target.send_changed("createGame", rules={rule: None})
    assert (answer(response), pointers(response)) == ((422, "validation_failed"), [f"/rules/{rule}"])


VALUES: list[object] = [True, False, 0, 1, 2, 3, 7, 12, 40, 100, -1, 2**53, 2**64, -(2**64), 10**30, 0.5, 1.5]
VALUES += ["", "0", "1", "true", "null", "x", " ", "\0", "A" * 100, "paulista", "public", "vira", "7H", "9Z", "7h"]
VALUES += ["play", "at", "dry", "top", "lose_game", "forbidden", "french40", "nobody", "01234567", "0123456"]
VALUES += [
    [],
    [[]],
    [None],
    [1],
    [1, 3],
    [1.5],
    ["x"],
    ["7H"],
    [True],
    {},
    {"name": "Ana"},
    {"x": 1},
    [{}],
    [{"name": ""}],
]
VALUES += [[{"name": "Ana"}] * 2, [{"name": 7}], [{"name": "Ana", "x": 1}], {"target": "12"}, {"target": 9}, {"a": 1}]


def is_of_contract(schema: str, body: object) -> bool:
    try:
        validate(f"/components/schemas/{schema}", body)
    except ContractBrokenError:
        return False
    return True


def check_as_contract(response: TestResponse, pointer: str, is_valid: bool) -> None:
    """A value that the contract refuses is refused by name; one that it takes is not of the wrong type."""
    told = body_of(response).get("errors", []) if response.status_code == 422 else []
    if is_valid:  # it may belong elsewhere, or not be playable
        fine = ("unknown", "unplayable", "out_of_range")
        assert all(error["pointer"] != pointer or error["code"] in fine for error in told), told
    else:
        assert response.status_code == 422
        assert any(error["pointer"].startswith(pointer) for error in told), told


@pytest.mark.parametrize(("operation", "member"), [pair for pair in MEMBERS if pair[1] not in ("name", "metadata")])
def test_a_member_takes_what_the_contract_says(site: Site, operation: str, member: str) -> None:
    target = Target(site)
    base = {name: value for name, value in target.routes()[operation][3].items() if name != "card"}
    for value in VALUES:
        body = {**base, member: value}
        response = target.send(operation, body)
        check_as_contract(response, f"/{member}", is_of_contract(SCHEMA_OF[operation], body))
        if response.status_code < 300:
            target = Target(site)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_takes_what_the_contract_says(site: Site, rule: str) -> None:
    for value in VALUES:
        response = site.send("POST", "/v1/games", {"variant": "paulista", "rules": {rule: value}})
        check_as_contract(response, f"/rules/{rule}", is_of_contract("RuleOverrides", {rule: value}))


NUMBERS = [
    ("createGame", "/seats", {"seats": ...}),
    ("createGame", "/rules/target", {"rules": {"target": ...}}),
    ("createGame", "/rules/legs", {"rules": {"legs": ...}}),
    ("createGame", "/rules/covered_from_trick", {"rules": {"covered_from_trick": ...}}),
    ("createGame", "/rules/ladder/0", {"rules": {"ladder": [..., 3]}}),
    ("joinGame", "/seat", {"seat": ...}),
    ("applyAction", "/expected_version", {"expected_version": ...}),
    ("applyAction", "/slot", {"slot": ...}),
    ("applyAction", "/to", {"to": ...}),
    ("applyAction", "/at", {"at": ...}),
    ("applyAction", "/take_for", {"take_for": ...}),
]
NO_NUMBERS = ["1.0", "2.0", "1e0", "-0.0", "true", "false", '"1"', '"2"', "[2]", "{}", "1" + "0" * 400]


@pytest.mark.parametrize(("operation", "pointer", "members"), NUMBERS, ids=[pointer for _, pointer, _ in NUMBERS])
@pytest.mark.parametrize("number", [*NO_NUMBERS, str(2**63), str(2**64), str(-(2**63) - 1)])
def test_a_whole_number_is_written_as_one(
    target: Target, operation: str, pointer: str, members: Body, number: str
) -> None:
    base = target.routes()[operation][3]
    data = json.dumps({**base, **members}, default=lambda _: "?").replace('"?"', number)
    response = target.send_bytes(operation, data.encode())
    assert answer(response) in ((422, "validation_failed"), (422, "unplayable_rules"))
    assert any(pointer.startswith(told) for told in pointers(response))


UNKNOWN: list[tuple[str, Body, str]] = [
    ("createGame", {"x": 1}, "/x"),
    ("createGame", {"": 1}, "/"),
    ("createGame", {"a/b~c": 1}, "/a~1b~0c"),
    ("createGame", {"Variant": "paulista"}, "/Variant"),
    ("createGame", {"rules": {"x": 1}}, "/rules/x"),
    ("createGame", {"rules": {"seats": 4}}, "/rules/seats"),
    ("createGame", {"rules": {"name": "x"}}, "/rules/name"),
    ("createGame", {"players": [{"name": "Ana", "x": 1}]}, "/players/0/x"),
    ("createGame", {"players": [None, {"name": "Ana", "token": "x"}]}, "/players/1/token"),
    ("createGame", {"stand_in": "careful"}, "/stand_in"),
    ("createGame", {"deadline": None}, "/deadline"),
    ("createGame", {"players": [{"bot": "careful"}]}, "/players/0/bot"),
    ("createGame", {"seed": "00" * 32}, "/seed"),
    ("createGame", {"_schema": 1}, "/_schema"),
    ("createGame", {"__class__": 1}, "/__class__"),
    ("joinGame", {"x": 1}, "/x"),
    ("joinGame", {"bot": "careful"}, "/bot"),
    ("joinGame", {"token": "A" * 43}, "/token"),
    ("joinGame", {"_schema": 1}, "/_schema"),
    ("applyAction", {"x": 1}, "/x"),
    ("applyAction", {"seat": 0}, "/seat"),
    ("applyAction", {"token": "A" * 43}, "/token"),
    ("applyAction", {"cards": ["7H"]}, "/cards"),
    ("cancelGame", {"x": 1}, "/x"),
    ("cancelGame", {"expected_version": 1}, "/expected_version"),
    ("leaveSeat", {"x": None}, "/x"),
    ("leaveSeat", {"stand_in": "careful"}, "/stand_in"),
    ("rematch", {"name": "Ana"}, "/name"),
    ("rematch", {"seat": 0}, "/seat"),
    ("returnToSeat", {"seat": 0}, "/seat"),
    ("returnToSeat", {"expected_version": 1}, "/expected_version"),
]


@pytest.mark.parametrize(("operation", "members", "pointer"), UNKNOWN)
def test_an_unknown_member_is_refused(target: Target, operation: str, members: Body, pointer: str) -> None:
    response = target.send_changed(operation, **members)
    assert answer(response) == (422, "validation_failed")
    assert (pointer, "unknown") in [(error["pointer"], error["code"]) for error in body_of(response)["errors"]]


def test_nobody_else_can_act_for_a_seat_yet(target: Target) -> None:
    response = target.send_changed("createGame", turn_seconds=30, on_timeout="bot")
    assert answer(response) == (422, "validation_failed")
    assert [(error["pointer"], error["code"]) for error in body_of(response)["errors"]] == [("/on_timeout", "invalid")]


@pytest.mark.parametrize(
    ("operation", "body", "missing"),
    [
        ("createGame", {}, ["/variant"]),
        ("createGame", {"variant": "paulista", "players": [{}]}, ["/players/0/name"]),
        ("joinGame", {}, ["/name"]),
        ("joinGame", {"seat": 1}, ["/name"]),
        ("applyAction", {}, ["/expected_version", "/type"]),
        ("applyAction", {"type": "fold"}, ["/expected_version"]),
        ("applyAction", {"expected_version": 1}, ["/type"]),
        ("applyAction", {"type": "cut", "expected_version": 1}, ["/cut"]),
        ("applyAction", {"type": "deal", "expected_version": 1}, ["/deal_from", "/deal_style"]),
        ("applyAction", {"type": "deal", "expected_version": 1, "deal_from": "top"}, ["/deal_style"]),
    ],
)
def test_a_missing_member_is_named(target: Target, operation: str, body: Body, missing: list[str]) -> None:
    response = target.send(operation, body)
    assert answer(response) == (422, "validation_failed")
    assert {error["code"] for error in body_of(response)["errors"]} == {"missing"}
    assert sorted(pointers(response)) == missing


def test_every_fault_is_told_at_once(target: Target) -> None:
    response = target.send("createGame", {"rules": {"target": "x", "y": 1}, "players": [7], "seats": 3})
    assert sorted(pointers(response)) == ["/players/0", "/rules/target", "/rules/y", "/seats", "/variant"]


# ---- metadata ----


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        "x",
        7,
        True,
        {"k": None},
        {"k": 1},
        {"k": True},
        {"k": ["x"]},
        {"k": {"x": "y"}},
        {"k": "\0"},
        {"k": "a\nb"},
        {"k": "\x7f"},
        {"k\0": "x"},
        {"": "x"},
        {"k" * 41: "x"},
        {"k": "x" * 1_025},
        {"k": "x" * 1_017},
        {"k": "ã" * 509},
        {"k": '"' * 509},
        {f"k{number}": "x" * 100 for number in range(10)},
    ],
)
def test_metadata_is_small_plain_text(target: Target, metadata: object) -> None:
    response = target.send_changed("createGame", metadata=metadata)
    assert answer(response) == (422, "validation_failed")
    assert all(told.startswith("/metadata") for told in pointers(response))


@pytest.mark.parametrize(
    "metadata", [{}, {"k" * 40: "v"}, {"k": "x" * 1_016}, {"k": ""}, {"k": "👍🏽\u200d"}, {"_schema": "x"}]
)
def test_metadata_that_fits(site: Site, metadata: Body) -> None:
    assert site.create("simples", metadata=metadata).view(0)["metadata"] == metadata


# ---- actions ----


@pytest.mark.parametrize(
    "card", [1.5, "0", -1, True, "", "7h", "h7", "7", "H", "10H ", "0H", "8C", "1️⃣C", "7H7H", "13S", [], {}]
)
def test_what_is_no_card(target: Target, card: object) -> None:
    response = target.send_changed("applyAction", card=card)
    assert (answer(response), pointers(response)) == ((422, "validation_failed"), ["/card"])


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (2, "version_conflict"),
        (999, "version_conflict"),
        (2**53 - 1, "version_conflict"),
        (2**53, "validation_failed"),
        (0, "validation_failed"),
        (-1, "validation_failed"),
        ("1", "validation_failed"),
    ],
)
def test_a_version_from_elsewhere(target: Target, version: object, code: str) -> None:
    response = target.send_changed("applyAction", expected_version=version)
    assert answer(response) == ({"version_conflict": 409, "validation_failed": 422}[code], code)


def test_a_stale_version(site: Site) -> None:
    game = site.create("mano-a-mano")
    seat = game.to_act()
    game.act(seat, game.view(seat)["legal_actions"][0])
    before = site.stored()
    for version in (1,):
        response = game.post(0, {"type": "resign", "expected_version": version})
        assert answer(response) == (409, "version_conflict")
        assert body_of(response)["game"] == game.view(0)
    assert site.stored() == before


FOREIGN_MEMBERS = [
    ({"type": "play"}, ["to", "penalty", "cut", "at", "take_for", "deal_from", "deal_style"]),
    ({"type": "raise"}, ["card", "slot", "covered", "cut", "at", "take_for", "deal_from", "deal_style"]),
    ({"type": "cut", "cut": "none"}, ["card", "slot", "covered", "to", "penalty", "deal_from", "deal_style"]),
    (
        {"type": "deal", "deal_from": "top", "deal_style": "one_by_one"},
        ["card", "slot", "covered", "to", "penalty", "cut", "at", "take_for"],
    ),
]
FOREIGN_MEMBERS += [
    ({"type": kind}, [name for name in members_of("Action") if name not in ("type", "expected_version")])
    for kind in ("accept", "fold", "show", "resign")
]
A_VALUE: Body = {"card": "7H", "slot": 0, "covered": False, "to": 3, "penalty": "lose_game", "cut": "at", "at": 3}
A_VALUE |= {"take_for": 0, "deal_from": "top", "deal_style": "one_by_one"}


@pytest.mark.parametrize(
    ("action", "member"), [(action, member) for action, members in FOREIGN_MEMBERS for member in members], ids=str
)
def test_a_member_of_another_type_of_action(target: Target, action: Body, member: str) -> None:
    response = target.send("applyAction", {**action, "expected_version": 1, member: A_VALUE[member]})
    assert answer(response) == (422, "validation_failed")
    assert (f"/{member}", "unknown") in [(error["pointer"], error["code"]) for error in body_of(response)["errors"]]


@pytest.mark.parametrize(
    ("action", "pointer"),
    [
        ({"type": "play"}, "/card"),
        ({"type": "play", "covered": True}, "/card"),
        ({"type": "play", "card": "7H", "slot": 0}, "/slot"),
        ({"type": "cut", "cut": "at"}, "/at"),
        ({"type": "cut", "cut": "dry", "at": 3}, "/at"),
        ({"type": "cut", "cut": "none", "at": 3}, "/at"),
        ({"type": "cut", "cut": "at", "at": 3, "take_for": 0}, "/take_for"),
        ({"type": "Play", "card": "7H"}, "/type"),
        ({"type": "truco"}, "/type"),
        ({"type": ""}, "/type"),
        ({"type": "raise", "penalty": "forbidden"}, "/penalty"),
    ],
)
def test_members_that_do_not_go_together(target: Target, action: Body, pointer: str) -> None:
    response = target.send("applyAction", {**action, "expected_version": 1})
    assert (answer(response), pointers(response)) == ((422, "validation_failed"), [pointer])


# ---- keys and waits ----

WITH_KEY = [*WITH_BODY, "rematch", "returnToSeat"]
WITH_SECRET_KEY = ["createGame", "joinGame", "rematch"]
NO_KEYS = ["", " ", "k" * 65, "k" * 10_000, "a" * 30 + " " + "b", "a" * 30 + "\t", "a" * 30 + "\u00e9", "\x7f" * 30]
NO_SECRETS = ["k", "k" * 21]


def send_with_key(target: Target, operation: str, key: str) -> TestResponse:
    method, path, token, body = target.routes()[operation]
    return target.site.send(method, path, body, headers={**bearer(token), "Idempotency-Key": key})


@pytest.mark.parametrize(
    ("operation", "key"),
    [(operation, key) for operation in WITH_KEY for key in NO_KEYS]
    + [(operation, key) for operation in WITH_SECRET_KEY for key in NO_SECRETS],
)
def test_what_is_no_idempotency_key_is_refused(target: Target, operation: str, key: str) -> None:
    assert answer(send_with_key(target, operation, key)) == (400, "invalid_header")


@pytest.mark.parametrize("key", [*NO_KEYS, *NO_SECRETS, "k" * 22])
@pytest.mark.parametrize("operation", ["cancelGame", "leaveSeat"])
def test_a_delete_reads_no_idempotency_key(site: Site, operation: str, key: str) -> None:
    assert answer(send_with_key(Target(site), operation, key)) == (204, None)


@pytest.mark.parametrize("below", ["", "/events"])
@pytest.mark.parametrize("key", [*NO_KEYS, *NO_SECRETS, "k" * 22])
def test_a_get_reads_no_idempotency_key(target: Target, below: str, key: str) -> None:
    assert answer(target.game.send("GET", below, headers={"Idempotency-Key": key})) == (200, None)


NO_NUMBERS = ["", "x", "-1", "+1", "1e9", "0.5", "1.0", " 1", "0x1", "\u0661", str(2**53), "9" * 17]


@pytest.mark.parametrize(("name", "below"), [("wait", ""), ("wait", "/events"), ("after_version", "")])
@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_wait_is_refused(target: Target, name: str, below: str, text: str) -> None:
    for token in (None, target.game.tokens[0], target.game.host_token):
        for texts in ([text], ["1", text], ["1", "1"]):
            response = target.game.send("GET", below, token=token, query_string={name: texts})
            assert answer(response) == (400, "invalid_parameter"), texts


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "1-0", "9" * 17, "\u00b9"])
def test_what_is_no_last_event_id_is_refused(target: Target, text: str) -> None:
    for token in (None, target.game.tokens[0], target.game.host_token):
        response = target.game.send("GET", "/events/stream", token=token, headers={"Last-Event-ID": text})
        assert answer(response) == (400, "invalid_header")


# ---- tokens ----


def malformed(token: str) -> list[str]:
    return [
        "",
        "Bearer",
        "Bearer ",
        token,
        f"Basic {token}",
        f"Token {token}",
        f"Bearer{token}",
        f"Bearer:{token}",
        f"Bearer {token} x",
        f"Bearer {token},",
        f"Bearer {token}, Bearer {token}",
        f"Bearer {token}=",
        f"Bearer {token[:-1]}",
        f"Bearer {token}A",
        f"Bearer {token.swapcase()}",
        f"Bearer {token[:-1]}\u00e9",
        f'Bearer "{token}"',
        f"Bearer token={token}",
        "Bearer " + "A" * 10_000,
        "Bearer null",
        "Basic dXNlcjpwYXNz",
        "Negotiate",
    ]


@pytest.mark.parametrize("number", range(len(malformed("A" * 43))))
def test_a_malformed_authorization_is_refused_everywhere(target: Target, number: int) -> None:
    header = {"Authorization": malformed(target.game.tokens[0])[number]}
    for game in (target.game, target.lobby):
        for method, below, body in (
            ("GET", "", None),
            ("GET", "/events", None),
            ("GET", "/record", None),
            ("POST", "/actions", {"type": "resign", "expected_version": 1}),
            ("POST", "/seats", {"name": "Gil"}),
            ("DELETE", "", None),
            ("DELETE", "/seats/0", None),
            ("GET", "/events/stream", None),
            ("POST", "/rematch", None),
            ("POST", "/seats/0/return", None),
        ):
            assert answer(game.send(method, below, body, headers=header)) == (401, "invalid_token")


def test_the_scheme_is_read_in_any_case(target: Target) -> None:
    token = target.game.tokens[0]
    for header in (f"bearer {token}", f"BEARER {token}", f"Bearer   {token}", f"Bearer {token} "):
        assert body_of(target.game.send("GET", "", headers={"Authorization": header}))["viewer"]["seat"] == 0


@pytest.mark.parametrize("name", ["token", "access_token", "authorization", "Authorization", "bearer"])
def test_a_token_elsewhere_is_ignored(target: Target, name: str) -> None:
    token = target.game.tokens[0]
    view = target.game.send("GET", "", query_string={name: token}, headers={"Cookie": f"{name}={token}"})
    assert body_of(view)["viewer"]["seat"] is None
    act = {"type": "resign", "expected_version": 1}
    assert answer(target.game.send("POST", f"/actions?{name}={token}", act)) == (401, "missing_token")


# ---- paths ----

STRANGE_IDS = [
    "..",
    "../healthz",
    "%2e%2e",
    "..%2f..%2fhealthz",
    "%00",
    "0" * 25 + "%00",
    "0" * 26 + "%00",
    "0" * 26 + "%0a",
    "%0a" + "0" * 26,
    "0" * 25,
    "0" * 27,
    "0" * 5_000,
    "{}",
    "{" + "0" * 24 + "}",
    "0" * 13 + "}:state" + "0" * 6,
    "*",
    "0" * 25 + "*",
    "0" * 25 + "?",
    "i" * 26,
    "l" * 26,
    "o" * 26,
    "u" * 26,
    "A" * 26,
    "0" * 25 + "Z",
    "0" * 25 + "%C3%A9",
    "%D9%A0" * 26,
    "%EF%BC%90" * 26,
    "0" * 25 + "%20",
    "0" * 25 + "%FF",
    "0" * 25 + "-",
    "null",
    "undefined",
    "0",
]
"""Digits of other scripts too, and all that the base32 of ids leaves out."""


@pytest.fixture(scope="module")
def storeless() -> Site:
    """A service whose store nobody can reach: whatever asks for a key is a 503."""
    return make_site(Settings(redis_url=f"redis://127.0.0.1:{free_port()}/0"))


@pytest.mark.parametrize("game_id", STRANGE_IDS)
def test_what_is_no_id_is_not_found_and_never_a_key(storeless: Site, game_id: str) -> None:
    for method, below, body in (
        ("GET", "", None),
        ("DELETE", "", None),
        ("GET", "/events", None),
        ("GET", "/record", None),
        ("POST", "/seats", {"name": "Gil"}),
        ("POST", "/actions", {"type": "resign", "expected_version": 1}),
        ("DELETE", "/seats/0", None),
        ("GET", "/events/stream", None),
        ("POST", "/rematch", None),
        ("POST", "/seats/0/return", None),
    ):
        response = storeless.send(method, f"/v1/games/{game_id}{below}", body, "A" * 43)
        assert answer(response)[0] in (404, 405), (method, below)
        assert answer(response)[1] in ("game_not_found", "not_found", "method_not_allowed"), (method, below)


def test_a_good_id_does_ask_the_store(storeless: Site) -> None:
    assert answer(storeless.send("GET", f"/v1/games/{'0' * 26}")) == (503, "storage_unavailable")


def test_an_upper_case_id_is_no_id(target: Target) -> None:
    assert answer(target.site.send("GET", f"/v1/games/{target.game.id.upper()}")) == (404, "game_not_found")


def test_a_problem_names_the_path_as_text(target: Target) -> None:
    response = target.site.send("GET", "/v1/games/%3Cscript%3E%00")
    assert response.mimetype == "application/problem+json"
    assert body_of(response)["instance"] == "/v1/games/<script>\0"


def test_a_game_of_two_has_no_third_seat(target: Target) -> None:
    game: Started = target.game
    assert answer(game.leave(2, game.tokens[0])) == (404, "not_found")
    assert answer(game.send("POST", "/seats", {"name": "Gil", "seat": 2})) == (422, "validation_failed")
