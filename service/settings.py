"""What can be set from outside. Read once at start, refused there if wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class SettingError(ValueError):
    """An environment variable with a value that the service cannot use."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`redis_url` None: the embedded store, whose games end with the process."""

    redis_url: str | None = field(default=None, repr=False)
    api_keys: frozenset[str] = field(default=frozenset(), repr=False)
    lobby_ttl_seconds: int = 3_600
    game_ttl_seconds: int = 7 * 86_400
    finished_ttl_seconds: int = 7 * 86_400
    events_kept: int = 500

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """The settings in *environ*; an empty variable counts as unset. Raises `SettingError`."""
        return cls(
            redis_url=environ.get("REDIS_URL") or None,
            api_keys=frozenset(environ.get("TRUCO_API_KEYS", "").replace(",", " ").split()),
            lobby_ttl_seconds=_positive(environ, "TRUCO_LOBBY_TTL_SECONDS", cls().lobby_ttl_seconds),
            game_ttl_seconds=_positive(environ, "TRUCO_GAME_TTL_SECONDS", cls().game_ttl_seconds),
            finished_ttl_seconds=_positive(environ, "TRUCO_FINISHED_TTL_SECONDS", cls().finished_ttl_seconds),
            events_kept=_positive(environ, "TRUCO_EVENTS_KEPT", cls().events_kept),
        )


def _positive(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise SettingError(f"{name} is {text!r}, must be a whole number above 0")
    return int(text)
