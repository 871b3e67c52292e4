"""Ids, join codes and tokens: random, or made again for a request that is sent again."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ID_LENGTH: Final = 26
JOIN_CODE_LENGTH: Final = 8
TOKEN_BYTES: Final = 32
_NAME_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Retry:
    """What makes a request recognizable when it is sent again: its Idempotency-Key, and who sent it to which route."""

    key: str = field(repr=False)
    scope: str = field(repr=False)

    @property
    def name(self) -> str:
        """Of the record of it; says nothing of the key."""
        digest = hashlib.sha256(f"{self.scope}\n{self.key}".encode()).digest()
        return base64.urlsafe_b64encode(digest[:_NAME_BYTES]).decode("ascii")

    def token(self, nonce: bytes, label: str) -> str:
        """The token that the request is answered with, the same whenever *nonce* and key meet again."""
        digest = hmac.digest(nonce, self.key.encode("ascii") + label.encode("ascii"), "sha256")
        return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


@dataclass(frozen=True, slots=True)
class Asked:
    """One attempt to carry a request out; with a `retry` it leaves a record to be answered from."""

    retry: Retry | None
    body_hash: bytes
    nonce: bytes = field(default_factory=lambda: secrets.token_bytes(TOKEN_BYTES), repr=False)

    def token(self, label: str) -> str:
        return new_token() if self.retry is None else self.retry.token(self.nonce, label)


def is_game_id(text: str) -> bool:
    """Whether *text* could be the id of a game; asked before it touches a key."""
    return len(text) == ID_LENGTH and not set(text) - set(CROCKFORD.lower())


def hash_of(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def new_id() -> str:
    """128 random bits in lower-case Crockford base32."""
    return _crockford(secrets.randbits(128), ID_LENGTH).lower()


def new_join_code() -> str:
    return _crockford(secrets.randbits(5 * JOIN_CODE_LENGTH), JOIN_CODE_LENGTH)


def id_after(game_id: str) -> str:
    """Of the next game after a rematch: the same for everybody who asks."""
    digest = hashlib.sha256(b"rematch:" + game_id.encode("ascii")).digest()
    return _crockford(int.from_bytes(digest[:16]), ID_LENGTH).lower()


def _crockford(number: int, length: int) -> str:
    digits = [CROCKFORD[number >> 5 * place & 31] for place in reversed(range(length))]
    return "".join(digits)
