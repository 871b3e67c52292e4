"""schemathesis against the service in this process: every check, half of the cases with real games and valid tokens."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import hypothesis
import pytest
import schemathesis
from flask.testing import FlaskClient
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.transport import Response

from tests.api.conftest import make_site
from tests.api.driver import UNLIMITED, Site, Started
from tests.table import PlayedTable, table, undealt_table

NAMES = st.text("abcXYZ àéçñ 木ñ😀🇧🇷 7'-.", min_size=1, max_size=24).filter(
    lambda name: any(char.isalnum() for char in name) and name == name.strip()
)
schemathesis.openapi.format("player-name", NAMES)

SEATS = 4
HANDS = "3C 2C AC / KD JD QD / 6H 7H QH / 6S 7S QS"
MOMENTS: dict[str, Callable[[], PlayedTable]] = {
    "leading": lambda: table("paulista", HANDS, "4D"),
    "second trick": lambda: table("paulista", HANDS, "4D").plays("3C", "KD", "6H", "6S"),
    "raised": lambda: table("paulista", HANDS, "4D").plays("3C").raises(),
    "deciding": lambda: table("tradicional", HANDS, "4D", score=(11, 4)),
    "at eleven": lambda: table("tradicional", HANDS, "4D", score=(11, 4)).accepts(),
    "blind": lambda: table("espanhol", score=(11, 11)),
    "cutting": lambda: undealt_table("tradicional", HANDS, "4D"),
    "dealing": lambda: undealt_table("tradicional", HANDS, "4D").cuts(),
}


NOBODY_WAITS = replace(UNLIMITED, waits_per_worker=0)
"""A wait lasts up to 25 seconds and a stream up to 5 minutes: too long for random cases. With no place for anybody
both still read the request, look at the game, and answer or stream what there is. The waiting itself is proven in
test_waiting.py and test_stream.py.
"""


@cache
def site() -> Site:
    """The service on an embedded store; games are made there without checks, which are schemathesis's here."""
    logging.disable(logging.WARNING)  # it warns of such a store
    made = make_site(NOBODY_WAITS)
    logging.disable(logging.NOTSET)
    made.app.test_client_class = FlaskClient
    return made


schema = schemathesis.openapi.from_wsgi("/openapi.yaml", site().app)
schema.config.checks.negative_data_rejection.expected_statuses += ["411", "413"]
OPERATIONS = {found.ok().definition.raw["operationId"]: found.ok() for found in schema.get_all_operations()}


# ---- real games ----


@cache
def stored(moment: str) -> PlayedTable:
    return MOMENTS[moment]()


def game_at(moment: str, is_public: bool) -> Started:
    """A game of its own, which a case may change."""
    order = {"visibility": "public" if is_public else "private"}
    if moment == "lobby":
        return site().create("paulista", 2, seats=SEATS, **order)
    if moment == "finished":
        game = site().create("paulista", seats=SEATS, **order)
        game.resign(1)
        return game
    return site().seated(stored(moment), **order)


@dataclass(frozen=True)
class Holder:
    """Somebody with a token of a real game."""

    game: Started
    token: str
    is_informed: bool

    def take(self, case: Case) -> None:
        """Make *case* this one's: the game in its path, the token in its header, and what else it would know."""
        if "id" not in case.operation.path_parameters:
            return
        if not is_negative(case, ParameterLocation.PATH):
            case.path_parameters["id"] = self.game.id
        if case.meta is None or getattr(case.meta.phase.data, "parameter", None) != "Authorization":
            case.headers["Authorization"] = f"Bearer {self.token}"
        if self.is_informed and isinstance(case.body, dict) and not is_negative(case, ParameterLocation.BODY):
            known = {"expected_version": self.game.version, "join_code": self.game.join_code}
            case.body.update({name: known[name] for name in known.keys() & case.body.keys() if known[name]})


def is_negative(case: Case, location: ParameterLocation) -> bool:
    return case.meta is not None and case.meta.is_negative_at(location)


@st.composite
def holders(draw: st.DrawFn) -> Holder:
    game = game_at(draw(st.sampled_from(["lobby", "finished", *MOMENTS])), draw(st.booleans()))
    token = draw(st.sampled_from([game.host_token, *game.tokens.values()]))
    return Holder(game, token, draw(st.booleans()))


# ---- what no schema can say ----

IN_WORDS = {
    "createGame": {("/players", "too_long"), ("/metadata", "too_long")},
    "joinGame": {("/seat", "out_of_range")},
    "applyAction": {(f"/{name}", "invalid") for name in ("card", "slot", "at", "take_for")},
}
"""More players than seats, metadata too long as a whole, a seat of a greater game, members that exclude each other."""


def is_beyond_the_schema(case: Case, response: Response) -> bool:
    """Whether a request that fits its schema is refused for what the contract says in words.

    Only then is `positive_data_acceptance` left out: for the above, rules that fit one by one but not together, members
    that belong to another type of action, whole numbers written 2.0, cursors, which nobody can make up, and a key
    that an earlier case had for another body.
    """
    if response.status_code not in (400, 422) or case.meta is None or not case.meta.generation.mode.is_positive:
        return False
    problem = json.loads(response.content)
    if problem["code"] == "idempotency_key_reused":
        return "Idempotency-Key" in case.headers
    if problem["code"] == "invalid_parameter":
        return "cursor" in case.query
    name = case.operation.definition.raw["operationId"]
    return problem["code"] == "unplayable_rules" or all(
        (error["pointer"], error["code"]) in IN_WORDS.get(name, ())
        or is_written_with_a_point(case.body, error["pointer"])
        or (name == "applyAction" and error["code"] in ("unknown", "missing"))
        for error in problem["errors"]
    )


def is_written_with_a_point(body: Any, pointer: str) -> bool:
    for part in pointer.split("/")[1:]:
        if isinstance(body, dict):
            body = body.get(part)
        elif isinstance(body, list):
            body = body[int(part)]
    return isinstance(body, float) and body.is_integer()


def left_out(case: Case, response: Response) -> list[Any]:
    """The checks that the contract contradicts in this case."""
    checks = ["positive_data_acceptance"] if is_beyond_the_schema(case, response) else []
    if case.operation.definition.raw["operationId"] == "cancelGame" and response.status_code == 204:
        checks.append("ignored_auth")  # it asks again without a token, but now there is no game
    return [CHECKS.get_one(name) for name in checks]


class Counted:
    """How many cases were sent, and what they were answered."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()

    def send(self, case: Case) -> None:
        response = case.call()
        self.statuses[response.status_code] += 1
        case.validate_response(response, excluded_checks=left_out(case, response))


@pytest.fixture
def counted(record_property: Callable[[str, object], None]) -> Any:
    counted = Counted()
    yield counted
    record_property(CASES_PROPERTY, counted.statuses.total())


CASES_PROPERTY = "schemathesis cases"
"""Summed up at the end of the run by conftest.py."""

OFF: dict[str, Any] = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


# ---- random cases ----

STRANGERS: dict[str, int] = {
    "listVariants": 30,
    "getVariant": 70,
    "createGame": 650,
    "listGames": 400,
    "joinGame": 150,
    "getGame": 100,
    "cancelGame": 60,
    "applyAction": 220,
    "listEvents": 100,
    "leaveSeat": 60,
    "getRecord": 60,
    "streamEvents": 60,
    "rematch": 60,
    "returnToSeat": 60,
}
HOLDERS: dict[str, int] = {
    "joinGame": 600,
    "getGame": 300,
    "cancelGame": 200,
    "applyAction": 1_200,
    "listEvents": 300,
    "leaveSeat": 300,
    "getRecord": 200,
    "streamEvents": 200,
    "rematch": 300,
    "returnToSeat": 200,
}
"""Cases of each operation."""
PARTS = 2
SEED = 20
"""The cases are the same in each run; another number gives others."""


def of_operation(name: str) -> st.SearchStrategy[Case]:
    """Good and bad cases in turn; of an operation that takes nothing, good ones."""
    operation = OPERATIONS[name]
    modes = [GenerationMode.POSITIVE] if name == "listVariants" else list(GenerationMode)
    return st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes])


@pytest.mark.parametrize("name", STRANGERS)
def test_random_cases_of_strangers(counted: Counted, name: str) -> None:
    @hypothesis.seed(SEED)
    @settings(max_examples=STRANGERS[name], phases=[Phase.generate], **OFF)
    @hypothesis.given(case=of_operation(name))
    def send(case: Case) -> None:
        counted.send(case)

    send()
    assert counted.statuses.total() >= STRANGERS[name]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", HOLDERS)
def test_random_cases_with_tokens(counted: Counted, name: str, part: int) -> None:
    quota = HOLDERS[name] // PARTS

    @hypothesis.seed(SEED + part)
    @settings(max_examples=quota, phases=[Phase.generate], **OFF)
    @hypothesis.given(case=of_operation(name), holder=holders())
    def send(case: Case, holder: Holder) -> None:
        holder.take(case)
        counted.send(case)

    send()
    assert counted.statuses.total() >= quota


def test_there_are_enough_random_cases_and_half_have_tokens() -> None:
    assert sum(HOLDERS.values()) >= sum(STRANGERS.values())
    assert sum(HOLDERS.values()) + sum(STRANGERS.values()) >= 5_000


# ---- every boundary of the contract ----


@pytest.mark.parametrize("who", ["stranger", "holder"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_cases_at_the_boundaries(counted: Counted, name: str, who: str) -> None:
    moments = ["lobby", "finished", *MOMENTS]
    cases = schema.iter_coverage_cases(
        OPERATIONS[name], generation_modes=list(GenerationMode), generation_config=schema.config.generation
    )
    for number, case in enumerate(cases):
        if who == "holder":
            game = game_at(moments[number % len(moments)], is_public=True)
            Holder(game, game.tokens[0], is_informed=True).take(case)
        counted.send(case)
    assert counted.statuses.total() > 0


# ---- one request after another ----


class Session(schema.as_state_machine()):  # type: ignore[misc]
    """Requests that use what earlier ones answered: the ids, and here also the tokens."""

    counted: Counted

    def __init__(self) -> None:
        super().__init__()
        self._tokens: dict[str, list[str]] = {}

    def before_call(self, case: Case) -> None:
        for token in self._tokens.get(str(case.path_parameters.get("id")), [])[-1:]:
            case.headers["Authorization"] = f"Bearer {token}"

    def after_call(self, response: Response, case: Case) -> None:
        super().after_call(response, case)
        self.counted.statuses[response.status_code] += 1
        if response.status_code == 201:
            body = json.loads(response.content)
            tokens = [seat["token"] for seat in body["seats"]] if "seats" in body else [body["token"]]
            self._tokens.setdefault(body["game"]["id"], []).extend(tokens)

    def validate_response(self, response: Response, case: Case, *args: Any, **kwargs: Any) -> None:
        case.validate_response(response, excluded_checks=left_out(case, response), recorder=self.recorder)


@pytest.mark.parametrize("part", range(PARTS))
def test_sessions(counted: Counted, part: int) -> None:
    class Part(Session):
        pass

    Part.counted = counted
    hypothesis.seed(SEED + part)(Part)
    run_state_machine_as_test(Part, settings=settings(max_examples=50, stateful_step_count=12, **OFF))
    assert counted.statuses[201] > 0
