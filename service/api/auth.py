"""Who asks: the bearer token of a seat or a host, and the API key of a platform."""

from __future__ import annotations

import hmac
import re
from typing import Final

from flask import request

from service.api.problems import ProblemError

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


def require_api_key(keys: frozenset[str]) -> str | None:
    """The API key of the request, None if none is needed.

    Raises `ProblemError`: 401 if there are *keys* and the request has none of them.
    """
    if not keys:
        return None
    sent = request.headers.get("X-API-Key")
    if sent is None:
        raise ProblemError("missing_token", "creating games here needs an X-API-Key")
    if not any(hmac.compare_digest(sent.encode(), key.encode()) for key in keys):
        raise ProblemError("invalid_token", "the X-API-Key is not known")
    return sent
