"""The generated code is whole and typed; the Python client takes all that the contract shows, and what is to come.

Kotlin, Swift and C# are read by grammars, since no compiler of theirs is at hand.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest
import tree_sitter_c_sharp
import tree_sitter_kotlin
import tree_sitter_swift
from tree_sitter import Language, Node, Parser

from tests.clients.generate import BUILD
from tests.contract import METHODS, SPEC, resolve

SCHEMAS: dict[str, Any] = SPEC["components"]["schemas"]
OPERATIONS: list[str] = [
    item[method]["operationId"] for item in SPEC["paths"].values() for method in METHODS if method in item
]
CLASSES = [name for name, schema in SCHEMAS.items() if "properties" in schema or "enum" in schema]

UNTYPED = re.compile(r"manilhas", re.IGNORECASE)
"""The one member whose type says nothing, because it is a string or a list."""
UNTYPED_API = "Operations"
"""Answers with this very contract, which has no schema."""


@dataclass(frozen=True)
class Client:
    """Where its classes and methods are, below `BUILD`, and patterns of what is declared there."""

    language: str
    models: str
    apis: str
    suffix: str
    method: str
    anything: str
    """A member or an answer whose type says nothing."""
    grammar: ModuleType
    later_word: str | None
    """The member of each enum that stands for words of later versions."""

    def read(self, folder: str) -> dict[str, str]:
        texts = {path.stem: path.read_text("utf-8") for path in (BUILD / folder).glob(f"*{self.suffix}")}
        assert texts
        return texts


CLIENTS = [
    Client(
        "kotlin",
        models="kotlin/src/main/kotlin/truco/client/models",
        apis="kotlin/src/main/kotlin/truco/client/apis",
        suffix=".kt",
        method=r"\bfun {}\(",
        anything=r"^ *va[lr] .*\bAny\b.*|^ *fun .*\) ?: .*\bAny\b.*",
        grammar=tree_sitter_kotlin,
        later_word=r'\bunknown_default_open_api\("unknown_default_open_api"\)',
    ),
    Client(
        "swift",
        models="swift/Sources/TrucoClient/Models",
        apis="swift/Sources/TrucoClient/APIs",
        suffix=".swift",
        method=r"\bfunc {}\(",
        anything=r"^ *public va[lr] .*\b(?:Any|JSONValue)\b.*|^.*\bfunc .*-> .*\b(?:Any|JSONValue)\b.*",
        grammar=tree_sitter_swift,
        later_word=r"\bcase unknownDefaultOpenApi = ",
    ),
    Client(
        "csharp",
        models="csharp/src/TrucoClient/Model",
        apis="csharp/src/TrucoClient/Api",
        suffix=".cs",
        method=r"(?i)\b{}Async\(",
        anything=r"^ *public (?:Option<)?[Oo]bject\b.*",
        grammar=tree_sitter_c_sharp,
        later_word=None,  # the generator has no such thing
    ),
]
each_client = pytest.mark.parametrize("client", CLIENTS, ids=[client.language for client in CLIENTS])


@each_client
def test_it_has_every_operation_and_schema(client: Client) -> None:
    apis = "\n".join(client.read(client.apis).values())
    assert not [name for name in OPERATIONS if not re.search(client.method.format(name), apis)]
    assert not set(CLASSES) - set(client.read(client.models))


@each_client
def test_its_types_say_something(client: Client) -> None:
    texts = {**client.read(client.models), **client.read(client.apis)}
    found = [
        (name, line)
        for name, text in texts.items()
        if not name.startswith(UNTYPED_API)
        for line in re.findall(client.anything, text, re.MULTILINE)
    ]
    assert {name for name, _ in found} == {"RuleSet", "RuleOverrides"}, "the pattern finds what is there"
    assert not [line for _, line in found if not UNTYPED.search(line)]


@each_client
def test_it_is_well_formed(client: Client) -> None:
    parser = Parser(Language(client.grammar.language()))
    for folder in (client.models, client.apis):
        for name, text in client.read(folder).items():
            tree = parser.parse(text.encode())
            assert not list(errors(tree.root_node)), name


def errors(node: Node) -> Iterator[str]:
    if node.is_error or node.is_missing:
        yield f"{node.start_point}: {node.text!r}"
    for child in node.children:
        if child.has_error:
            yield from errors(child)


@pytest.mark.parametrize(
    "client", [client for client in CLIENTS if client.later_word], ids=lambda client: client.language
)
def test_it_takes_words_of_later_versions(client: Client) -> None:
    assert client.later_word is not None
    models = client.read(client.models)
    enums = [name for name in CLASSES if "enum" in SCHEMAS[name]]
    assert not [name for name in enums if not re.search(client.later_word, models[name])]


def test_typescript_says_nothing_of_one_member_only() -> None:
    text = (BUILD / "typescript/schema.d.ts").read_text("utf-8")
    assert set(re.findall(r"^ +(\w+)\??: .*\b(?:any|unknown)\b.*;$", text, re.MULTILINE)) == {"manilhas"}
    assert not [name for name in OPERATIONS if f"    {name}: {{\n" not in text]
    assert not [name for name in SCHEMAS if f"export type {name} = " not in text]


# ---- the Python client ----


@pytest.fixture(scope="module")
def models() -> Iterator[ModuleType]:
    sys.path.insert(0, str(BUILD / "python"))
    yield importlib.import_module("truco_client.models")
    sys.path.remove(str(BUILD / "python"))


def test_python_has_every_operation_and_schema(models: ModuleType) -> None:
    modules = {path.stem for path in (BUILD / "python/truco_client/api").rglob("*.py")}
    assert not {snake(name) for name in OPERATIONS} - modules
    assert not set(CLASSES) - set(models.__all__)
    assert not [name for name in models.__all__ if re.search(r"Type\d", name)], "clients/python.yaml names it"


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def examples() -> Iterator[tuple[str, Any]]:
    """Each example of an answer or a body, with the name of its schema."""
    for item in SPEC["paths"].values():
        for method in METHODS:
            operation = item.get(method, {})
            for part in (operation.get("requestBody", {}), *operation.get("responses", {}).values()):
                for content in resolve(part, "")[0].get("content", {}).values():
                    name = content["schema"].get("$ref", "").rsplit("/", 1)[-1]
                    for example in content.get("examples", {}).values():
                        if name in CLASSES:
                            yield name, resolve(example, "")[0]["value"]


def test_python_loses_nothing_of_an_example(models: ModuleType) -> None:
    seen = set()
    for name, value in examples():
        again = getattr(models, name).from_dict(value).to_dict()
        assert plain(again) == plain(value), name
        seen.add(name)
    assert {"Game", "CreatedGame", "JoinedGame", "ActionResult", "EventPage", "GameRecord", "Problem", "Action"} <= seen


def plain(value: Any) -> Any:
    """*value* with its times written in one way."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
        return datetime.fromisoformat(value).astimezone(UTC)
    return value


def test_python_takes_what_later_versions_say(models: ModuleType) -> None:
    for name, value in examples():
        told = later(value, SCHEMAS[name])
        again = getattr(models, name).from_dict(told)
        assert plain(without_later_members(told)) == plain(again.to_dict()), name


def later(value: Any, schema: dict[str, Any]) -> Any:
    """*value* with another word in each enum, and another member in each object that is no map."""
    schema, _ = resolve(schema, "")
    if "enum" in schema and isinstance(value, str):
        return f"{value}_of_later"
    if isinstance(value, list) and "items" in schema:
        return [later(item, schema["items"]) for item in value]
    if isinstance(value, dict) and "properties" in schema:
        members = {name: later(member, schema["properties"][name]) for name, member in value.items()}
        return {**members, "member_of_later": {"of": [1, None]}}
    return value


def without_later_members(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_later_members(each) for name, each in value.items() if name != "member_of_later"}
    if isinstance(value, list):
        return [without_later_members(item) for item in value]
    return value


def test_a_python_word_of_later_is_no_word_of_now(models: ModuleType) -> None:
    word = models.EventType("table_flipped")
    assert word == "table_flipped" == str(word)
    assert word not in list(models.EventType)
    with pytest.raises(ValueError, match="not a valid"):
        models.EventType(7)
