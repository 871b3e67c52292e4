"""Alerts and dashboard: written as their readers expect, and about metrics that the service has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import promql_parser
import pytest

from service.settings import Settings
from tests.deploy.manifests import named, of_kind
from tests.live_server import ROOT

METRICS: Final = {
    "truco_requests_total": {"route", "method", "status", "code"},
    "truco_commits_total": set(),
    "truco_conflicts_total": set(),
    "truco_replays_total": {"operation"},
    "truco_action_seconds": {"type"},
    "truco_redis_seconds": {"command"},
    "truco_bot_seconds": {"kind"},
    "truco_games_total": {"status"},
    "truco_waiters": {"kind"},
    "truco_sweeper_lag_seconds": set(),
}
"""The service's metrics with their labels."""
OF_THE_CLUSTER: Final = {"up", "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"}
"""Prometheus's own, and the kubelets'."""
OF_A_TARGET: Final = {"job", "namespace", "pod"}
"""Labels that Prometheus adds to each series."""

SOURCE = ROOT / "service" / "metrics.py"


def dashboard() -> dict[str, Any]:
    [text] = named("prod", "ConfigMap", "truco-dashboard")["data"].values()
    found: dict[str, Any] = json.loads(text)
    return found


def alerts() -> list[dict[str, Any]]:
    [rule] = of_kind("prod", "PrometheusRule")
    return [alert for group in rule["spec"]["groups"] for alert in group["rules"]]


def expressions() -> Iterator[tuple[str, str]]:
    """Every expression with where it is."""
    for alert in alerts():
        yield alert["alert"], alert["expr"]
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "1m")


def selectors(
    expression: promql_parser.Expr, grouped: frozenset[str] = frozenset()
) -> Iterator[tuple[str, frozenset[str]]]:
    """Each metric that is asked for, with the labels that it is asked by."""
    if isinstance(expression, promql_parser.VectorSelector):
        yield expression.name, grouped | {matcher.name for matcher in expression.matchers.matchers}
    modifier = getattr(expression, "modifier", None)
    if isinstance(expression, promql_parser.AggregateExpr) and modifier is not None:
        grouped = grouped | set(modifier.labels)
    for name in ("lhs", "rhs", "expr", "vector_selector"):
        if isinstance(inner := getattr(expression, name, None), promql_parser.Expr):
            yield from selectors(inner, grouped)
    for inner in getattr(expression, "args", ()):
        yield from selectors(inner, grouped)


def family(name: str) -> str:
    """The metric that a series belongs to."""
    return re.sub(r"(?<=_seconds)_(bucket|sum|count)$", "", name)


def test_every_metric_is_one_of_the_service() -> None:
    for place, expression in expressions():
        asked = list(selectors(promql_parser.parse(expression)))
        assert asked, place
        for name, labels in asked:
            if name not in OF_THE_CLUSTER:
                ours = labels - OF_A_TARGET - ({"le"} if name.endswith("_bucket") else set())
                assert ours <= METRICS[family(name)], f"{place}: {name}"


@pytest.mark.skipif(not SOURCE.exists(), reason="starts to count when the service has its metrics")
def test_the_service_defines_them() -> None:
    """By the names in its source."""
    source = SOURCE.read_text("utf-8")
    for name in METRICS:
        assert re.search(rf"""["']({name}|{name.removesuffix("_total")})["']""", source), name


def test_every_metric_of_the_service_is_on_the_dashboard() -> None:
    asked = {name for panel in dashboard()["panels"] for target in panel["targets"] for name in names(target["expr"])}
    assert asked - OF_THE_CLUSTER == METRICS.keys()


def names(expression: str) -> set[str]:
    parsed = promql_parser.parse(expression.replace("$__rate_interval", "1m"))
    return {family(name) for name, _ in selectors(parsed)}


def test_a_legend_names_labels_that_are_left() -> None:
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            grouped = {label for by in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in by.split(", ")}
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) == grouped - {"le"}, panel["title"]


def test_panels_have_places_of_their_own() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells


def test_alerts_say_what_to_do() -> None:
    assert len({alert["alert"] for alert in alerts()}) == len(alerts())
    for alert in alerts():
        assert alert["labels"]["severity"] in {"critical", "warning"}
        assert alert["annotations"].keys() == {"summary", "description"}
        promql_parser.parse(alert["expr"])


def test_the_alert_about_waiters_knows_how_many_a_pod_takes() -> None:
    [alert] = [alert for alert in alerts() if alert["alert"] == "TrucoWaitersNearTheLimit"]
    most = Settings().waits_per_worker * int(named("prod", "ConfigMap", "truco")["data"]["WEB_CONCURRENCY"])
    assert int(alert["expr"].rpartition(" > ")[2]) == most * 8 // 10
    assert str(most) in alert["annotations"]["summary"]
