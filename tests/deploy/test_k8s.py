"""What the overlays say is true of each other, of the service, and of what a deploy must not do to players."""

from __future__ import annotations

import re
from math import ceil
from typing import Any

import pytest
import yaml

from service.api.read import LONGEST_WAIT_SECONDS
from service.api.stream import COMMENT_EVERY_SECONDS
from service.settings import Settings
from tests.deploy.manifests import OVERLAYS, Manifest, container, named, of_kind, pods, rendered
from tests.deploy.test_gunicorn_conf import configured
from tests.live_server import ROOT

README = (ROOT / "README.md").read_text("utf-8")
GUIDE = (ROOT / "k8s" / "README.md").read_text("utf-8")
"""Settings that the manifests give already and the service does not know yet."""

pytestmark = pytest.mark.parametrize("overlay", OVERLAYS)


def are_of(manifest: Manifest, labels: dict[str, str]) -> bool:
    return labels.items() <= manifest["metadata"].get("labels", {}).items()


def selectors(overlay: str) -> list[dict[str, str]]:
    """The labels by which services, budgets and policies find pods of ours."""
    found = [service["spec"]["selector"] for service in of_kind(overlay, "Service")]
    found += [budget["spec"]["selector"]["matchLabels"] for budget in of_kind(overlay, "PodDisruptionBudget")]
    for policy in of_kind(overlay, "NetworkPolicy"):
        found.append(policy["spec"]["podSelector"]["matchLabels"])
        peers = [peer for rule in policy["spec"].get("ingress", []) for peer in rule.get("from", [])]
        peers += [peer for rule in policy["spec"].get("egress", []) for peer in rule.get("to", [])]
        found += [peer["podSelector"]["matchLabels"] for peer in peers if "podSelector" in peer]
    for template in pods(overlay):
        spread = template["spec"].get("topologySpreadConstraints", [])
        found += [constraint["labelSelector"]["matchLabels"] for constraint in spread]
    return found


def port_names(template: Manifest) -> set[str]:
    return {port["name"] for each in template["spec"]["containers"] for port in each["ports"]}


def test_every_selector_finds_one_kind_of_pod(overlay: str) -> None:
    for labels in selectors(overlay):
        assert len([template for template in pods(overlay) if are_of(template, labels)]) == 1, labels


def test_every_port_that_is_named_is_open(overlay: str) -> None:
    for service in of_kind(overlay, "Service"):
        [template] = [template for template in pods(overlay) if are_of(template, service["spec"]["selector"])]
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= port_names(template)
    for policy in of_kind(overlay, "NetworkPolicy"):
        rules = policy["spec"].get("ingress", []) + policy["spec"].get("egress", [])
        wanted = {port["port"] for rule in rules for port in rule["ports"] if isinstance(port["port"], str)}
        assert wanted <= set().union(*map(port_names, pods(overlay)))
    for monitor in of_kind(overlay, "ServiceMonitor"):
        [service] = [
            service
            for service in of_kind(overlay, "Service")
            if are_of(service, monitor["spec"]["selector"]["matchLabels"])
        ]
        assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} <= {
            port["name"] for port in service["spec"]["ports"]
        }
    for ingress in of_kind(overlay, "Ingress"):
        for path in paths(ingress):
            backend = path["backend"]["service"]
            ports = named(overlay, "Service", backend["name"])["spec"]["ports"]
            assert backend["port"]["name"] in {port["name"] for port in ports}


def paths(ingress: Manifest) -> list[Manifest]:
    [rule] = ingress["spec"]["rules"]
    return list(rule["http"]["paths"])


def test_only_readiness_asks_for_redis(overlay: str) -> None:
    truco = container(overlay, "Deployment", "truco")
    assert truco["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert truco["startupProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert truco["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}


def environ(overlay: str) -> dict[str, str]:
    return dict(named(overlay, "ConfigMap", "truco")["data"])


def test_the_service_takes_the_settings(overlay: str) -> None:
    given = environ(overlay)
    assert given.keys() <= set(re.findall(r"^\| `([A-Z_]+)`", README, re.MULTILINE))
    Settings.from_env(given)
    settings = configured(**given, REDIS_URL="redis://127.0.0.1:1")
    assert settings["workers"] == given["WEB_CONCURRENCY"]


def test_a_pod_has_time_to_end(overlay: str) -> None:
    truco = container(overlay, "Deployment", "truco")
    given = environ(overlay)
    needs = (
        truco["lifecycle"]["preStop"]["sleep"]["seconds"]
        + ceil(float(given["TRUCO_DRAIN_SECONDS"]))
        + int(given["TRUCO_GRACEFUL_SECONDS"])
    )
    pod = named(overlay, "Deployment", "truco")["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > needs


def test_each_worker_may_use_a_core(overlay: str) -> None:
    truco = container(overlay, "Deployment", "truco")
    assert truco["resources"]["limits"]["cpu"] == environ(overlay)["WEB_CONCURRENCY"]


def test_the_autoscaler_has_the_last_word(overlay: str) -> None:
    [scaler] = of_kind(overlay, "HorizontalPodAutoscaler")
    target = scaler["spec"]["scaleTargetRef"]
    assert "replicas" not in named(overlay, target["kind"], target["name"])["spec"]


def test_secrets_are_named_in_the_guide_and_not_rendered(overlay: str) -> None:
    assert not of_kind(overlay, "Secret")
    wanted = {
        (variable["valueFrom"]["secretKeyRef"]["name"], variable["valueFrom"]["secretKeyRef"]["key"])
        for template in pods(overlay)
        for each in template["spec"]["containers"]
        for variable in each.get("env", [])
    }
    assert ("truco", "redis-url") in wanted
    for name, key in wanted:
        assert re.search(rf"^\| `{name}` \| `{key}` \|", GUIDE, re.MULTILINE), (name, key)


def test_the_stream_is_not_held_back(overlay: str) -> None:
    if overlay == "dev":
        assert not of_kind(overlay, "Ingress"), "kubectl port-forward holds nothing back"
        return
    contract = yaml.safe_load((ROOT / "openapi.yaml").read_text("utf-8"))
    asked = {re.sub(r"\{\w+\}", "0" * 26, path) for path in contract["paths"]}
    streams = named(overlay, "Ingress", "truco-stream")
    [stream] = paths(streams)
    assert {path for path in asked if re.match(stream["path"], path)} == {f"/v1/games/{'0' * 26}/events/stream"}
    assert nginx(streams, "use-regex") == "true"
    assert nginx(streams, "proxy-buffering") == "off"
    assert int(nginx(streams, "proxy-read-timeout")) > COMMENT_EVERY_SECONDS
    others = named(overlay, "Ingress", "truco")
    assert [path["path"] for path in paths(others)] == ["/"]
    assert int(nginx(others, "proxy-read-timeout")) > LONGEST_WAIT_SECONDS


def nginx(ingress: Manifest, name: str) -> str:
    annotations: dict[str, Any] = ingress["metadata"]["annotations"]
    return str(annotations[f"nginx.ingress.kubernetes.io/{name}"])


def test_everything_is_in_the_overlays_namespace(overlay: str) -> None:
    [namespace] = of_kind(overlay, "Namespace")
    for manifest in rendered(overlay):
        if manifest is not namespace:
            assert manifest["metadata"]["namespace"] == namespace["metadata"]["name"]
