"""Outside /v1: is the process up, can it serve, and what is its contract."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from flask import Blueprint, Response, request
from flask_swagger_ui import get_swaggerui_blueprint

from service.api.problems import RETRY_AFTER_SECONDS, ProblemError
from service.games import Games
from service.waiting import Waiting

CONTRACT: Final = Path(__file__).parents[2] / "openapi.yaml"
CONTRACT_URL: Final = "/openapi.yaml"


def routes(games: Games, waiting: Waiting) -> Blueprint:
    """Health, readiness and the contract."""
    health = Blueprint("health", __name__)
    contract = CONTRACT.read_bytes()

    @health.get("/healthz")
    def get_health() -> Response:
        """The process answers; never touches the store."""
        return Response('{"status":"ok"}', mimetype="application/json")

    @health.get("/readyz")
    def get_readiness() -> Response:
        if waiting.is_draining:
            raise ProblemError("draining", "send requests elsewhere", headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
        games.check_store()
        return Response('{"status":"ready"}', mimetype="application/json")

    @health.get(CONTRACT_URL)
    def get_openapi() -> Response:
        response = Response(contract, mimetype="application/yaml")
        response.add_etag()
        response.make_conditional(request)
        return response

    return health


def docs() -> Blueprint:
    """The API reference at /docs: Swagger UI from its own package, nothing from elsewhere."""
    config = {"app_name": "Truco API", "validatorUrl": None, "oauth2RedirectUrl": None}
    docs: Blueprint = get_swaggerui_blueprint("/docs", CONTRACT_URL, config)
    docs.add_url_rule("", "show")  # without it only GET finds /docs: no Allow, no 405
    return docs
