"""The Redis that compose.yaml and the dev overlay start keeps what it has acknowledged, and forgets nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
import yaml
from redis.backoff import ConstantBackoff, NoBackoff
from redis.retry import Retry

from tests.deploy.manifests import container, named
from tests.live_server import ROOT
from tests.redis_server import RedisServer, free_port, server_binary

PASSWORD = "a word, not $HOME or 'quoted' or #hidden"
DURABLE = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction", "save": ""}


def check(client: redis.Redis) -> None:
    assert {name: client.config_get(name)[name] for name in DURABLE} == DURABLE


def test_compose() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    program, *options = services["redis"]["command"]
    assert program == "redis-server"
    assert services["truco"]["environment"]["REDIS_URL"] == "redis://redis:6379/0"
    with RedisServer(*options) as server, redis.Redis.from_url(server.url, decode_responses=True) as client:
        check(client)


def test_component(tmp_path: Path) -> None:
    [conf] = named("dev", "ConfigMap", "truco-redis")["data"].values()
    with started(tmp_path, conf) as (process, client):
        check(client)
        assert int(client.config_get("maxmemory")["maxmemory"]) < limit_bytes() / 2, "room for a copy while it rewrites"
        port = client.connection_pool.connection_kwargs["port"]
        with redis.Redis(port=port, retry=Retry(NoBackoff(), 0)) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
        client.set("game", "1")
        process.terminate()
        assert process.wait() == 0
    with started(tmp_path, conf) as (_, client):
        assert client.get("game") == "1"


def limit_bytes() -> int:
    limit: str = container("dev", "StatefulSet", "truco-redis")["resources"]["limits"]["memory"]
    return int(limit.removesuffix("Mi")) * 2**20


@contextmanager
def started(directory: Path, conf: str) -> Iterator[tuple[subprocess.Popen[bytes], redis.Redis]]:
    """The container's own command, with other places for what is mounted there."""
    spec = container("dev", "StatefulSet", "truco-redis")
    port = free_port()
    (directory / "redis.conf").write_text(conf.replace("/data", str(directory)) + f"port {port}\nbind 127.0.0.1\n")
    program = directory / "redis-server"
    if not program.exists():
        program.symlink_to(server_binary())
    command = [*spec["command"], *spec["args"]]
    assert sum("/etc/redis/" in word for word in command) == 1
    process = subprocess.Popen(
        [word.replace("/etc/redis/", f"{directory}/") for word in command],
        env={"PATH": f"{directory}:{os.defpath}", spec["env"][0]["name"]: PASSWORD},
        stdout=subprocess.DEVNULL,
    )
    patience = Retry(ConstantBackoff(0.02), 500)
    patience.update_supported_errors([redis.BusyLoadingError])
    try:
        with redis.Redis(port=port, password=PASSWORD, decode_responses=True, retry=patience) as client:
            client.ping()
            yield process, client
    finally:
        process.terminate()
        process.wait()
