"""What can be set from outside: read once, refused at start if it is wrong."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import fields

import fakeredis
import pytest
import redis
from redis.sentinel import SentinelConnectionPool

from service.app import create_app
from service.settings import SettingError, Settings
from service.store.connect import UrlError, connect

NUMBERS = {
    "TRUCO_LOBBY_TTL_SECONDS": "lobby_ttl_seconds",
    "TRUCO_GAME_TTL_SECONDS": "game_ttl_seconds",
    "TRUCO_FINISHED_TTL_SECONDS": "finished_ttl_seconds",
    "TRUCO_EVENTS_KEPT": "events_kept",
    "TRUCO_WAITS_PER_SEAT": "waits_per_seat",
    "TRUCO_WAITS_PER_ADDRESS": "waits_per_address",
    "TRUCO_WAITS_PER_WORKER": "waits_per_worker",
}
RATES = {f"TRUCO_RATE_{name}": f"rate_{name.lower()}" for name in ("CREATE", "JOIN", "READ", "ACT")}
LISTS = {"TRUCO_API_KEYS": "api_keys", "TRUCO_CORS_ORIGINS": "cors_origins"}
OTHERS = {
    "REDIS_URL": "redis_url",
    "TRUCO_TRUSTED_PROXIES": "trusted_proxies",
    "METRICS_PORT": "metrics_port",
    "TRUCO_LOG_LEVEL": "log_level",
}
KNOWN_WITHIN_SECONDS = 2
ALL = {**NUMBERS, **RATES, **LISTS, **OTHERS}


def read(environ: Mapping[str, str]) -> Settings:
    return Settings.from_env(environ)


def test_what_is_not_set_has_a_default() -> None:
    assert read({}) == Settings()
    assert read(dict.fromkeys(ALL, "")) == Settings()
    assert read({"TRUCO_UNKNOWN": "1", "PATH": "/bin"}) == Settings()


def test_everything_can_be_set() -> None:
    assert set(ALL.values()) == {field.name for field in fields(Settings)}


@pytest.mark.parametrize("name", [*NUMBERS, "TRUCO_TRUSTED_PROXIES"])
def test_numbers(name: str) -> None:
    for text in ("1", "7", "86400"):
        assert getattr(read({name: text}), ALL[name]) == int(text)


@pytest.mark.parametrize("text", ["-1", "1.5", "many", " 1", "1 ", "+1", "1e3", "0x10", "١", "²", "1_000"])
@pytest.mark.parametrize("name", [*NUMBERS, "TRUCO_TRUSTED_PROXIES"])
def test_what_is_no_number(name: str, text: str) -> None:
    with pytest.raises(SettingError, match=name):
        read({name: text})


@pytest.mark.parametrize("name", NUMBERS)
def test_nothing_can_be_kept_or_awaited_for_no_time_at_all(name: str) -> None:
    with pytest.raises(SettingError, match=name):
        read({name: "0"})


def test_no_proxy_need_be_trusted() -> None:
    assert read({"TRUCO_TRUSTED_PROXIES": "0"}) == Settings()


@pytest.mark.parametrize("name", RATES)
def test_rates(name: str) -> None:
    for text in ("1/second", "30/minute", "12000/hour", "5/day"):
        assert getattr(read({name: text}), RATES[name]) == text
    assert getattr(read({name: "none"}), RATES[name]) == ""
    create_app(read({name: "none"}))
    create_app(read({name: "5/day"}))


@pytest.mark.parametrize(
    "text",
    [
        "30",
        "30/",
        "/minute",
        "0/minute",
        "-1/minute",
        "1/year",
        "30/minutes",
        "1.5/hour",
        "30 / minute",
        "x",
        "30/minute\n",
    ],
)
@pytest.mark.parametrize("name", RATES)
def test_what_is_no_rate(name: str, text: str) -> None:
    with pytest.raises(SettingError, match=name):
        read({name: text})


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("text", ["one,two", "one two", " one , two ", "one,,two,", "one\ntwo"])
def test_lists(name: str, text: str) -> None:
    assert sorted(getattr(read({name: text}), LISTS[name])) == ["one", "two"]


def test_secrets_are_not_printed() -> None:
    settings = read({"TRUCO_API_KEYS": "a-secret-key", "REDIS_URL": "redis://:a-secret-word@127.0.0.1/0"})
    assert settings.api_keys == {"a-secret-key"}
    assert "secret" not in f"{settings} {settings!r}"


# ---- where the games are ----


def test_without_a_url_games_live_in_the_process() -> None:
    assert isinstance(connect(None), fakeredis.FakeRedis)
    one, two = connect(None), connect(None)
    one.set("game", "1")
    assert two.get("game") is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://127.0.0.1", {"host": "127.0.0.1"}),
        ("redis://127.0.0.1:7000/3", {"host": "127.0.0.1", "port": 7000, "db": 3}),
        ("redis://:word@127.0.0.1", {"host": "127.0.0.1", "password": "word"}),
        ("redis://ana:w%40rd@127.0.0.1:7000", {"username": "ana", "password": "w@rd", "port": 7000}),
        ("rediss://redis.example:7000", {"host": "redis.example", "port": 7000}),
        ("unix:///run/redis.sock?db=2", {"path": "/run/redis.sock", "db": 2}),
    ],
)
def test_one_server(url: str, expected: dict[str, object]) -> None:
    client = connect(url)
    options = client.connection_pool.connection_kwargs
    assert {name: options.get(name) for name in expected} == expected
    assert is_impatient(options)
    assert issubclass(client.connection_pool.connection_class, redis.SSLConnection) == url.startswith("rediss")


def is_impatient(options: Mapping[str, float]) -> bool:
    """An outage is known within two seconds: two tries, each of a connection and an answer."""
    return 2 * max(options["socket_timeout"], options["socket_connect_timeout"]) < 2


@pytest.mark.parametrize(
    ("url", "hosts", "service", "credentials"),
    [
        ("redis+sentinel://one/truco", [("one", 26_379)], "truco", {}),
        ("redis+sentinel://one:1,two:2,three/truco/", [("one", 1), ("two", 2), ("three", 26_379)], "truco", {}),
        ("redis+sentinel://:word@one/truco", [("one", 26_379)], "truco", {"password": "word"}),
        (
            "redis+sentinel://ana:w%40rd@one,two/truco",
            [("one", 26_379), ("two", 26_379)],
            "truco",
            {"username": "ana", "password": "w@rd"},
        ),
    ],
)
def test_a_master_that_sentinels_know(
    url: str, hosts: list[tuple[str, int]], service: str, credentials: dict[str, str]
) -> None:
    pool = connect(url).connection_pool
    assert isinstance(pool, SentinelConnectionPool)
    assert pool.service_name == service
    asked = [sentinel.connection_pool.connection_kwargs for sentinel in pool.sentinel_manager.sentinels]
    assert [(options["host"], options["port"]) for options in asked] == hosts
    assert all(map(is_impatient, asked))
    assert is_impatient(pool.connection_kwargs)
    assert {name: pool.connection_kwargs[name] for name in credentials} == credentials


FORMS = ["redis://{one}", "redis+sentinel://{one},{two},{three}/truco", "redis+cluster://{one},{two}"]


def check_outage(url: str) -> None:
    """A process starts while its store is away, and says so soon."""
    site = create_app(Settings(redis_url=url)).test_client()
    assert site.get("/healthz").status_code == 200
    asked = time.monotonic()
    assert site.get("/readyz").status_code == 503
    assert time.monotonic() - asked < KNOWN_WITHIN_SECONDS


@pytest.mark.parametrize("form", FORMS)
def test_a_store_that_refuses(form: str) -> None:
    check_outage(form.format(one="127.0.0.1:1", two="127.0.0.1:2", three="127.0.0.1:3"))


@pytest.mark.parametrize("form", FORMS)
def test_a_store_that_does_not_answer(form: str) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        places = [f"127.0.0.1:{server.getsockname()[1]}" for server in servers]
        check_outage(form.format(**dict(zip(("one", "two", "three"), places, strict=True))))


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:6379",
        "localhost",
        "http://127.0.0.1",
        "redis+nothing://127.0.0.1",
        "redis://127.0.0.1:port",
        "redis+sentinel://127.0.0.1",
        "redis+sentinel://127.0.0.1/",
        "redis+sentinel:///truco",
        "redis+sentinel://127.0.0.1:port/truco",
        "redis+sentinel://127.0.0.1,/truco",
        "redis+cluster://",
        "redis+cluster://127.0.0.1:port",
        "redis+cluster://:word@",
        "redis+cluster://127.0.0.1,",
    ],
)
def test_a_url_that_names_no_redis_is_refused_at_start(url: str) -> None:
    with pytest.raises(UrlError, match="REDIS_URL"):
        create_app(read({"REDIS_URL": url}))


def test_a_refused_url_does_not_tell_its_password() -> None:
    for url in (
        "redis+sentinel://:a-secret-word@127.0.0.1:port/truco",
        "redis+sentinel://:a-secret-word@127.0.0.1",
        "redis+cluster://ana:a-secret-word@127.0.0.1:port",
        "redis+cluster://ana:a-secret-word@",
    ):
        with pytest.raises(UrlError) as refused:
            connect(url)
        assert "secret" not in str(refused.value)
