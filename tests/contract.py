"""openapi.yaml as a judge: every response in every test is held against it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from werkzeug.test import TestResponse

PATH = Path(__file__).parents[1] / "openapi.yaml"
SPEC: dict[str, Any] = yaml.safe_load(PATH.read_text("utf-8"))
METHODS = ("get", "post", "put", "patch", "delete")
PROBLEM = "application/problem+json"

_URI = "urn:openapi"
_REGISTRY = Registry().with_resource(_URI, Resource(SPEC, DRAFT202012))


class ContractBrokenError(AssertionError):
    """The service answered what its contract does not say."""


@cache
def _validator(pointer: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"{_URI}#{pointer}"}, registry=_REGISTRY, format_checker=FormatChecker())


def validate(pointer: str, value: object) -> None:
    """Raises `ContractBrokenError` unless *value* fits the schema at *pointer* of the contract."""
    errors = [f"{error.json_path}: {error.message}" for error in _validator(pointer).iter_errors(value)]
    if errors:
        raise ContractBrokenError(f"{pointer}: {errors[:5]}")


def step(name: str) -> str:
    """*name* as a step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def resolve(node: dict[str, Any], pointer: str) -> tuple[dict[str, Any], str]:
    """*node*, or what its $ref points to, with its pointer."""
    while "$ref" in node:
        pointer = node["$ref"].removeprefix("#")
        node = SPEC
        for part in pointer.strip("/").split("/"):
            node = node[part.replace("~1", "/").replace("~0", "~")]
    return node, pointer


_PATHS = [(re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) + r"/?"), path) for path in SPEC["paths"]]


def template_of(path: str) -> str | None:
    """The contract's path that *path* is one of."""
    return next((template for pattern, template in _PATHS if pattern.fullmatch(path)), None)


def check(method: str, path: str, response: TestResponse) -> None:
    """Raises `ContractBrokenError` unless the contract knows this answer to *method* *path*."""
    if response.status_code == 500:
        raise ContractBrokenError(f"{method} {path} failed: {response.get_data()!r}")
    template, verb = template_of(path), "get" if method == "HEAD" else method.lower()
    if template is None or verb not in SPEC["paths"][template]:
        return _check_outside(method, path, response)
    where = f"{method} {template} {response.status_code}"
    declared = SPEC["paths"][template][verb]["responses"].get(str(response.status_code))
    if declared is None:
        raise ContractBrokenError(f"{where} is not declared: {response.get_data()[:300]!r}")
    pointer = f"/paths/{step(template)}/{verb}/responses/{response.status_code}"
    target, pointer = resolve(declared, pointer)
    _check_headers(where, target.get("headers", {}), response)
    _check_body(where, target.get("content", {}), pointer, method, response)
    if response.mimetype == PROBLEM and method != "HEAD":
        description = declared.get("description", target["description"])
        _check_problem(where, path, response, description)
    return None


def _check_headers(where: str, declared: dict[str, Any], response: TestResponse) -> None:
    for name, header in declared.items():
        header, _ = resolve(header, "")
        value = response.headers.get(name)
        if value is None:
            if header.get("required"):
                raise ContractBrokenError(f"{where} lacks {name}")
        elif not re.search(header["schema"].get("pattern", ""), value):
            raise ContractBrokenError(f"{where} has {name}: {value}")


def _check_body(where: str, content: dict[str, Any], pointer: str, method: str, response: TestResponse) -> None:
    body = response.get_data()
    if content and response.mimetype not in content:
        raise ContractBrokenError(f"{where} answers {response.mimetype}, not {list(content)}")
    if bool(body) != (bool(content) and method != "HEAD"):
        raise ContractBrokenError(f"{where} has a body of {len(body)} bytes")
    if body and response.mimetype.endswith("json"):
        validate(f"{pointer}/content/{step(response.mimetype)}/schema", json.loads(body))


def _check_problem(where: str, path: str, response: TestResponse, description: str) -> None:
    """*description*: that of the operation's response, which names its codes."""
    problem = json.loads(response.get_data())
    if f"`{problem['code']}`" not in description:
        raise ContractBrokenError(f"{where} does not declare {problem['code']}")
    told = (problem["status"], problem["type"], problem["instance"])
    if told != (response.status_code, f"/problems/{problem['code']}", path):
        raise ContractBrokenError(f"{where} says of itself {told}")
    if ("game" in problem) != (problem["code"] == "version_conflict"):
        raise ContractBrokenError(f"{where} {problem['code']}: game belongs to version_conflict")


def _check_outside(method: str, path: str, response: TestResponse) -> None:
    """What is not in the contract answers with problems, but for what HTTP itself asks for."""
    if method == "OPTIONS" and response.status_code in (200, 204) and not response.get_data():
        return
    if response.mimetype != PROBLEM:
        raise ContractBrokenError(f"{method} {path} answers {response.status_code} {response.mimetype}")
    if method != "HEAD":
        validate("/components/schemas/Problem", json.loads(response.get_data()))


class ContractClient(FlaskClient):
    """A test client that holds every answer against the contract."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **kwargs)
        request = response.request
        if not request.path.startswith(("/docs/", "/web/")):
            check(request.method, request.path, response)
        return response
