"""What can be set from outside. Read once at start, refused there if wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from service.logs import LEVELS


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
    rate_create: str = "600/minute"
    rate_join: str = "1200/minute"
    rate_read: str = "12000/minute"
    rate_act: str = "6000/minute"
    waits_per_seat: int = 4
    waits_per_address: int = 100
    waits_per_worker: int = 5_000
    cors_origins: tuple[str, ...] = ("*",)
    trusted_proxies: int = 0
    metrics_port: int | None = None
    log_level: str = "info"

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """The settings in *environ*; an empty variable counts as unset. Raises `SettingError`."""
        return cls(
            redis_url=environ.get("REDIS_URL") or None,
            api_keys=frozenset(_words(environ, "TRUCO_API_KEYS")),
            rate_create=_rate(environ, "TRUCO_RATE_CREATE", cls().rate_create),
            rate_join=_rate(environ, "TRUCO_RATE_JOIN", cls().rate_join),
            rate_read=_rate(environ, "TRUCO_RATE_READ", cls().rate_read),
            rate_act=_rate(environ, "TRUCO_RATE_ACT", cls().rate_act),
            waits_per_seat=_positive(environ, "TRUCO_WAITS_PER_SEAT", cls().waits_per_seat),
            waits_per_address=_positive(environ, "TRUCO_WAITS_PER_ADDRESS", cls().waits_per_address),
            waits_per_worker=_positive(environ, "TRUCO_WAITS_PER_WORKER", cls().waits_per_worker),
            cors_origins=_words(environ, "TRUCO_CORS_ORIGINS") or cls().cors_origins,
            trusted_proxies=_number(environ, "TRUCO_TRUSTED_PROXIES", cls().trusted_proxies, least=0),
            metrics_port=_number(environ, "METRICS_PORT", 0, least=1) or None,
            log_level=_word(environ, "TRUCO_LOG_LEVEL", cls().log_level, LEVELS),
            lobby_ttl_seconds=_positive(environ, "TRUCO_LOBBY_TTL_SECONDS", cls().lobby_ttl_seconds),
            game_ttl_seconds=_positive(environ, "TRUCO_GAME_TTL_SECONDS", cls().game_ttl_seconds),
            finished_ttl_seconds=_positive(environ, "TRUCO_FINISHED_TTL_SECONDS", cls().finished_ttl_seconds),
            events_kept=_positive(environ, "TRUCO_EVENTS_KEPT", cls().events_kept),
        )


def _words(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(environ.get(name, "").replace(",", " ").split())


def _word(environ: Mapping[str, str], name: str, default: str, words: Sequence[str]) -> str:
    word = environ.get(name) or default
    if word not in words:
        raise SettingError(f"{name} is {word!r}, must be one of {', '.join(words)}")
    return word


def _rate(environ: Mapping[str, str], name: str, default: str) -> str:
    rate = environ.get(name) or default
    if rate == "none":
        return ""
    if not re.fullmatch(r"[1-9][0-9]*/(second|minute|hour|day)", rate):
        raise SettingError(f"{name} is {rate!r}, must be like 60/minute, or none")
    return rate


def _positive(environ: Mapping[str, str], name: str, default: int) -> int:
    return _number(environ, name, default, least=1)


def _number(environ: Mapping[str, str], name: str, default: int, least: int) -> int:
    text = environ.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise SettingError(f"{name} is {text!r}, must be a whole number, {least} or more")
    return int(text)
