"""Who asks: the bearer token of a seat or a host, and the API key of a platform."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from typing import Final

from flask import request

from service.api.problems import ProblemError
from service.tokens import platform_of

_BEARER: Final = re.compile(r"Bearer +([A-Za-z0-9_-]{43}) *", re.IGNORECASE)
"""256 bits in base64url."""


def token() -> str | None:
    """The bearer token, None if none is sent. Raises `ProblemError`: 401 for a header that carries no token of ours."""
    header = request.headers.get("Authorization")
    if header is None:
        return None
    match = _BEARER.fullmatch(header)
    if match is None:
        raise ProblemError("invalid_token", "Authorization must be Bearer and a token of this game")
    return match[1]


_API_KEY: Final = "X-API-Key"


def has_api_key() -> bool:
    return _API_KEY in request.headers


def platform(keys: Mapping[str, str]) -> bytes:
    """Whose API key the request has; *keys* with their platforms' labels.

    Raises `ProblemError`: 401 if it has none, or none of *keys*.
    """
    sent = request.headers.get(_API_KEY)
    if sent is None:
        raise ProblemError("missing_token", "this needs an X-API-Key")
    labels = [label for key, label in keys.items() if hmac.compare_digest(sent.encode(), key.encode())]
    if not labels:
        raise ProblemError("invalid_token", "the X-API-Key is not known")
    return platform_of(labels[0])
