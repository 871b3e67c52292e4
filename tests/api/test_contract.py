"""Code and contract name the same things, and the contract keeps its own rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any

import pytest
from openapi_spec_validator import validate as validate_openapi

from service.api.games import MOST_EVENTS, MOST_GAMES
from service.api.problems import KINDS
from service.api.read import (
    GREATEST_VERSION,
    LONGEST_KEY,
    LONGEST_NAME,
    LONGEST_TURN_SECONDS,
    LONGEST_WAIT_SECONDS,
    MOST_BODY_BYTES,
    MOST_METADATA_BYTES,
    SHORTEST_SECRET_KEY,
    SHORTEST_TURN_SECONDS,
)
from service.dealer import SeededDealer
from service.engine.actions import ACTIONS, HIGHEST_SLOT, CutKind, Reason
from service.engine.events import EVENTS
from service.engine.record import from_json, to_text, verify
from service.engine.rules import ENUM_FIELDS, MOST_POINTS, PRESETS, RULE_FIELDS, SEATS, STEPS_ALLOWED, Penalty
from service.engine.state import DealFrom, DealStyle, GameReason, HandReason, Kind, Phase
from service.refusals import Code
from service.settings import Settings
from service.store.base import Status
from service.views import SeatKind
from tests.api.driver import Site
from tests.contract import METHODS, SPEC, resolve, step, validate

SCHEMAS: dict[str, Any] = SPEC["components"]["schemas"]
INTRODUCTION: str = SPEC["info"]["description"]
OPERATIONS = [
    (path, method, item[method]) for path, item in SPEC["paths"].items() for method in METHODS if method in item
]
each_operation = pytest.mark.parametrize(
    "operation", [operation for _, _, operation in OPERATIONS], ids=[o["operationId"] for _, _, o in OPERATIONS]
)


def walk(node: object, pointer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the contract with its pointer; examples are data and left out."""
    if isinstance(node, dict):
        yield pointer, node
        for name, below in node.items():
            if name not in ("example", "examples"):
                yield from walk(below, f"{pointer}/{step(str(name))}")
    elif isinstance(node, list):
        for place, below in enumerate(node):
            yield from walk(below, f"{pointer}/{place}")


def enum(schema: str) -> list[object]:
    values: list[object] = SCHEMAS[schema]["enum"]
    return values


# ---- code and contract ----


def test_it_is_openapi_3_1() -> None:
    assert SPEC["openapi"].startswith("3.1.")
    validate_openapi(SPEC)


def test_routes_are_paths(site: Site) -> None:
    routes: dict[str, set[str]] = {}
    for rule in site.app.url_map.iter_rules():
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule).rstrip("/") or "/"
        methods = {method.lower() for method in rule.methods or ()} & set(METHODS)
        routes[path] = routes.get(path, set()) | methods
    del routes["/docs/{path}"], routes["/web/{name}"]  # the pages' own files
    named = {re.sub(r"\{\w+\}", "{}", path): methods for path, methods in routes.items()}
    assert named == {re.sub(r"\{\w+\}", "{}", path): set(METHODS) & set(item) for path, item in SPEC["paths"].items()}


def test_words_of_the_code_are_words_of_the_contract() -> None:
    assert enum("ActionType") == list(ACTIONS)
    assert sorted(map(str, enum("VariantName"))) == sorted(PRESETS)
    assert enum("EventType") == list(EVENTS)
    assert enum("ProblemCode") == list(KINDS)
    for schema, words in (
        ("GameStatus", Status),
        ("HandKind", Kind),
        ("Phase", Phase),
        ("HandReason", HandReason),
        ("GameReason", GameReason),
        ("CutKind", CutKind),
        ("DealFrom", DealFrom),
        ("DealStyle", DealStyle),
    ):
        assert enum(schema) == list(words), schema
    assert enum("TurnKind") == [phase for phase in Phase if phase is not Phase.OVER]
    assert enum("PenaltyKind") == [penalty for penalty in Penalty if penalty is not Penalty.FORBIDDEN]


def test_every_refusal_of_the_code_is_a_problem() -> None:
    reasons = {str(reason) for reason in Reason} - {Reason.HAND_OVER}
    assert reasons | set(map(str, Code)) <= set(KINDS)
    assert Reason.HAND_OVER not in KINDS


def test_problems_have_the_status_of_their_response() -> None:
    for path, method, operation in OPERATIONS:
        for status, declared in operation["responses"].items():
            description = declared.get("description") or resolve(declared, "")[0]["description"]
            for code in re.findall(r"`([a-z_]+)`", description):
                if code in KINDS:
                    assert KINDS[code].status == int(status), (path, method, code)


def test_the_table_of_problems_has_each_with_its_status() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| (\d{3}) \|", INTRODUCTION, re.MULTILINE))
    assert table == {code: str(kind.status) for code, kind in KINDS.items()}


def test_every_problem_has_an_example_with_its_title() -> None:
    examples = {
        name: example["value"]
        for response in SPEC["components"]["responses"].values()
        for content in response.get("content", {}).values()
        for name, example in content["examples"].items()
    }
    assert set(examples) == set(KINDS)
    for code, example in examples.items():
        kind = KINDS[code]
        told = (example["code"], example["type"], example["title"], example["status"])
        assert told == (code, f"/problems/{code}", kind.title, kind.status)


def test_the_rule_set_is_the_codes() -> None:
    rules = SCHEMAS["RuleSet"]["properties"]
    overrides = SCHEMAS["RuleOverrides"]["properties"]
    assert set(rules) == set(SCHEMAS["RuleSet"]["required"]) == set(RULE_FIELDS)
    assert set(overrides) == set(RULE_FIELDS) - {"seats"}
    for name, words in ENUM_FIELDS.items():
        for schema in (rules, overrides):
            assert resolve(schema[name], "")[0]["enum"] == list(words), name
    assert (rules["ladder"]["minItems"], rules["ladder"]["maxItems"]) == STEPS_ALLOWED
    assert rules["ladder"]["items"]["maximum"] == rules["target"]["maximum"] == MOST_POINTS
    assert tuple(rules["seats"]["enum"]) == SEATS


def test_an_action_has_the_members_of_all_types() -> None:
    members = {field.name for action in ACTIONS.values() for field in fields(action)}
    assert set(SCHEMAS["Action"]["properties"]) == members | {"type", "expected_version"}
    assert set(SCHEMAS["RecordAction"]["properties"]) == members | {"type", "seat"}
    assert SCHEMAS["SlotNumber"]["maximum"] == HIGHEST_SLOT


def test_event_data_has_the_members_of_all_types() -> None:
    members = {field.name for event in EVENTS.values() for field in fields(event)} - {"seat"}
    assert set(SCHEMAS["EventData"]["properties"]) == members


def table_of(schema: str) -> dict[str, str]:
    """What the table in the description of *schema* says of each type."""
    rows = re.findall(r"^\| (`[^|]+`) \| ([^|]*)\|", SCHEMAS[schema]["description"], re.MULTILINE)
    return {name: members for names, members in rows for name in re.findall(r"`(\w+)`", names)}


def test_the_tables_of_members_are_the_codes() -> None:
    told = {"EventData": table_of("EventData"), "Action": table_of("Action")}
    for schema, kinds in (("EventData", EVENTS), ("Action", ACTIONS)):
        assert set(told[schema]) == set(kinds)
        for name, kind in kinds.items():
            properties = set(SCHEMAS[schema]["properties"])
            members = {field.name for field in fields(kind)} - {"seat"}
            values = words_of_enums(schema, members)
            written = set(re.findall(r"`(\w+)`", told[schema][name])) & properties
            assert written - values <= members <= written, (name, written)


def words_of_enums(schema: str, members: set[str]) -> set[object]:
    """The values that *members* may have, which the table names too: `cut: at` has the member `at` as a word."""
    found: set[object] = set()
    for member in members:
        node, _ = resolve(SCHEMAS[schema]["properties"][member], "")
        found |= set(node.get("enum", ()))
    return found


def test_limits_are_the_codes() -> None:
    parameters = {
        (operation["operationId"], parameter.get("name")): parameter.get("schema")
        for _, _, operation in OPERATIONS
        for parameter in operation.get("parameters", [])
    }
    assert parameters["listGames", "limit"]["maximum"] == MOST_GAMES
    assert parameters["listEvents", "limit"]["maximum"] == MOST_EVENTS
    assert parameters["listEvents", "after"]["maximum"] == SCHEMAS["GameVersion"]["maximum"] == GREATEST_VERSION
    assert SCHEMAS["PlayerName"]["maxLength"] == LONGEST_NAME
    assert f"{MOST_BODY_BYTES} bytes" in INTRODUCTION
    assert f"{MOST_METADATA_BYTES} bytes" in INTRODUCTION
    assert f"| events kept | the latest {Settings().events_kept} |" in INTRODUCTION
    assert f"| turn | {SHORTEST_TURN_SECONDS}-{LONGEST_TURN_SECONDS} seconds, or no clock |" in INTRODUCTION
    assert f"| wait | {LONGEST_WAIT_SECONDS} seconds; a longer one counts as {LONGEST_WAIT_SECONDS} |" in INTRODUCTION
    keys = f"1-{LONGEST_KEY} visible ASCII characters, {SHORTEST_SECRET_KEY}-{LONGEST_KEY} for"
    assert f"| `Idempotency-Key` | {keys} " in INTRODUCTION
    for name, shortest in (("IdempotencyKey", 1), ("SecretIdempotencyKey", SHORTEST_SECRET_KEY)):
        schema = SPEC["components"]["parameters"][name]["schema"]
        assert (schema["minLength"], schema["maxLength"]) == (shortest, LONGEST_KEY)
    turn = SCHEMAS["TurnSeconds"]
    assert (turn["minimum"], turn["maximum"]) == (SHORTEST_TURN_SECONDS, LONGEST_TURN_SECONDS)


def test_the_default_limits_are_told() -> None:
    settings = Settings()
    create, join, read, act = (
        rate.removesuffix("/minute")
        for rate in (settings.rate_create, settings.rate_join, settings.rate_read, settings.rate_act)
    )
    assert f"in a minute from an address {create} `createGame`, {join} `joinGame` and `rematch`" in INTRODUCTION
    assert f"{read} reads without a token" in INTRODUCTION
    assert f"in a minute with a token {act} `applyAction`" in INTRODUCTION
    waits = f"{settings.waits_per_seat} of a seat, {settings.waits_per_address} from an address, "
    assert f"{waits}{settings.waits_per_worker} in a process" in INTRODUCTION


def test_the_default_life_is_told() -> None:
    settings = Settings()
    assert (settings.lobby_ttl_seconds, settings.game_ttl_seconds) == (3_600, 7 * 86_400)
    assert settings.finished_ttl_seconds == 7 * 86_400
    assert "a lobby expires after an hour" in INTRODUCTION
    assert "a game after 7 days, a finished one 7 days after its last change" in INTRODUCTION


# ---- the contract's own rules ----


@each_operation
def test_an_operation_is_described(operation: Mapping[str, Any]) -> None:
    for member in ("operationId", "summary", "description", "tags"):
        assert operation[member]
    assert operation["tags"][0] in [tag["name"] for tag in SPEC["tags"]]


@each_operation
def test_an_operation_declares_its_errors(operation: Mapping[str, Any]) -> None:
    statuses = set(operation["responses"])
    assert {"405", "500"} <= statuses
    assert any(status.startswith("2") for status in statuses)
    if "requestBody" in operation:
        assert {"400", "411", "413", "415", "422"} <= statuses
    if operation.get("security"):
        assert "401" in statuses
    is_v1 = "406" in statuses
    assert is_v1 == (operation["tags"][0] != "Operations")


def test_operation_ids_are_one_each() -> None:
    ids = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(ids)) == len(ids)
    assert {"listVariants", "getVariant", "createGame", "listGames", "getGame", "joinGame", "leaveSeat"} <= set(ids)
    assert {"applyAction", "listEvents", "getRecord", "cancelGame"} <= set(ids)
    assert {"streamEvents", "rematch", "returnToSeat"} <= set(ids)


def test_path_parameters_are_declared() -> None:
    for path, item in SPEC["paths"].items():
        shared = [resolve(parameter, "")[0] for parameter in item.get("parameters", [])]
        for method in METHODS:
            own = [resolve(parameter, "")[0] for parameter in item.get(method, {}).get("parameters", [])]
            if method in item:
                named = {parameter["name"] for parameter in shared + own if parameter["in"] == "path"}
                assert named == set(re.findall(r"\{(\w+)\}", path)), (path, method)


def test_later_versions_are_not_in_it() -> None:
    names = {name for _, node in walk(SPEC) for name in node.get("properties", {})}
    names |= {node["name"] for _, node in walk(SPEC) if "in" in node and isinstance(node.get("name"), str)}
    assert not names & {"bot", "stand_in"}
    assert not set(enum("EventType")) & {"stood_in", "returned"}
    assert enum("OnTimeout") == ["play"]
    assert enum("SeatKind") == list(SeatKind)
    assert "bot" not in enum("SeatKind")


OPEN = {"/components/schemas/Metadata"}


def test_every_object_is_closed() -> None:
    for pointer, node in walk(SPEC):
        types = node.get("type")
        if types == "object" or (isinstance(types, list) and "object" in types and "properties" in node):
            is_open = node.get("additionalProperties") is not False
            assert is_open == (pointer in OPEN), pointer


def test_every_member_required_is_declared() -> None:
    for pointer, node in walk(SPEC):
        if isinstance(node.get("required"), list):
            assert set(node["required"]) <= set(node.get("properties", {})), pointer


def test_what_is_sent_has_every_member() -> None:
    """A client may rely on each member of an answer; what depends on a type is left out where it does not belong."""
    by_type = {"Action", "EventData", "RecordAction", "Problem"}
    sent = set(answered())
    for name in sent - by_type:
        schema = SCHEMAS[name]
        if "properties" in schema:
            assert set(schema["required"]) == set(schema["properties"]), name


def reached(node: object, found: set[str]) -> None:
    """Adds the schemas that *node* refers to, near and far."""
    for _, below in walk(node):
        reference = below.get("$ref", "")
        name = reference.rsplit("/", 1)[-1]
        if reference.startswith("#/components/schemas/") and name not in found:
            found.add(name)
            reached(SCHEMAS[name], found)
        elif reference.startswith("#/components/") and "/examples/" not in reference and name not in found:
            reached(resolve(below, "")[0], found)


def answered() -> set[str]:
    found: set[str] = set()
    for _, _, operation in OPERATIONS:
        reached(operation["responses"], found)
    return found


def asked() -> set[str]:
    found: set[str] = set()
    for _, _, operation in OPERATIONS:
        reached(operation.get("requestBody", {}), found)
    return found


def test_bodies_are_flat() -> None:
    """Generators make clean classes of them: no choice between schemas, no const."""
    for name in asked():
        for pointer, node in walk(SCHEMAS[name]):
            assert not {"oneOf", "anyOf", "allOf", "const", "discriminator"} & set(node), (name, pointer)


def test_there_is_no_const_anywhere() -> None:
    assert not [pointer for pointer, node in walk(SPEC) if "const" in node]


def test_everything_is_referred_to() -> None:
    references = {node["$ref"] for _, node in walk(SPEC) if isinstance(node.get("$ref"), str)}
    references |= {
        example["$ref"]
        for _, node in walk(SPEC)
        if isinstance(node.get("examples"), dict)
        for example in node["examples"].values()
        if "$ref" in example
    }
    schemes = {name for _, _, operation in OPERATIONS for each in operation.get("security", []) for name in each}
    for kind, components in SPEC["components"].items():
        for name in components:
            used = name in schemes if kind == "securitySchemes" else f"#/components/{kind}/{name}" in references
            assert used, (kind, name)


def test_every_pattern_is_anchored() -> None:
    patterns = [node["pattern"] for _, node in walk(SPEC) if isinstance(node.get("pattern"), str)]
    assert patterns
    assert not [pattern for pattern in patterns if not re.fullmatch(r"\^.*\$", pattern)]


# ---- examples ----


def example_values() -> Iterator[tuple[str, str, object]]:
    """Every example: where it stands, the pointer of its schema, its value."""
    for pointer, node in walk(SPEC):
        if "schema" in node:
            schema = f"{pointer}/schema"
            if "example" in node:
                yield pointer, schema, node["example"]
            for name, example in node.get("examples", {}).items():
                yield f"{pointer}/{name}", schema, resolve(example, "")[0]["value"]
    for name, schema in SCHEMAS.items():
        for place, value in enumerate(schema.get("examples", [])):
            yield f"{name}/{place}", f"/components/schemas/{name}", value


EXAMPLES = list(example_values())


@pytest.mark.parametrize(
    ("schema", "value"), [example[1:] for example in EXAMPLES], ids=[example[0] for example in EXAMPLES]
)
def test_an_example_is_valid(schema: str, value: object) -> None:
    validate(schema, value)


def test_there_are_examples_of_everything_sent() -> None:
    for _, _, operation in OPERATIONS:
        for status, declared in operation["responses"].items():
            for media, content in resolve(declared, "")[0].get("content", {}).items():
                if media.endswith("json"):
                    assert content.get("examples"), (operation["operationId"], status)
        for content in operation.get("requestBody", {}).get("content", {}).values():
            assert content["examples"], operation["operationId"]


def test_an_example_of_each_action_and_body(site: Site) -> None:
    """The examples of actions are read by the service as they stand."""
    game = site.create("mano-a-mano")
    content = SPEC["paths"]["/v1/games/{id}/actions"]["post"]["requestBody"]["content"]["application/json"]
    values = [example["value"] for example in content["examples"].values()]
    assert {value["type"] for value in values} == set(ACTIONS)
    for value in values:
        status, code = game.refusal(0, **value)
        assert (status, code) in ((409, "version_conflict"), (422, "validation_failed")), value
    content = SPEC["paths"]["/v1/games"]["post"]["requestBody"]["content"]["application/json"]
    for example in content["examples"].values():
        assert site.send("POST", "/v1/games", example["value"]).status_code == 201


def test_values_of_code_enums_are_words() -> None:
    words: tuple[type[StrEnum], ...] = (Reason, Code, Phase, Kind, HandReason, GameReason, Status)
    for kind in words:
        assert all(re.fullmatch("[a-z_]+", word) for word in kind)


def test_the_records_examples_are_one_game_and_true() -> None:
    record = from_json(SPEC["components"]["examples"]["Record"]["value"])
    content = SPEC["paths"]["/v1/games/{id}/record"]["get"]["responses"]["200"]["content"]
    assert content["text/plain"]["examples"]["oneHand"]["value"] == to_text(record)
    assert verify(record, SeededDealer()) is None
