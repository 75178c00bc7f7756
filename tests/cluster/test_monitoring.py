"""A Prometheus finds every pod by the configuration that is shipped, and the kinds are accepted."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.cluster.conftest import Demo
from tests.support.cluster.commands import (
    Manifest,
    Namespace,
    eventually,
    is_ready,
    new_namespace,
    run,
)
from tests.support.cluster.releases import MONITORING, REPLICAS, Release, alone
from tests.support.helm import CHART, FULL, render_text
from tests.support.repository import ROOT

EXAMPLE = CHART / "examples/prometheus.yaml"
GROUPS = ("monitoring.coreos.com", "gateway.networking.k8s.io")
MADE_HERE = "commonhold.example/made-by=tests"
ROUTED = {"httpRoute": {"enabled": True, "parentRefs": [{"name": "edge"}], "hostnames": ["a.b"]}}


@pytest.fixture
def prometheus() -> Iterator[Namespace]:
    """The example, in a namespace of ours instead of `monitoring`."""
    labels = [f"{name}={value}" for name, value in MONITORING.items()]
    with new_namespace("prometheus", *labels) as namespace:
        text = EXAMPLE.read_text().replace("namespace: monitoring", f"namespace: {namespace.name}")
        namespace.kubectl("apply", "--server-side", "--filename", "-", stdin=text)
        yield namespace
        namespace.kubectl("delete", "--wait=false", "--filename", "-", stdin=text)


def test_a_prometheus_scrapes_every_pod_of_all_three_services(
    demos: dict[int, Demo], prometheus: Namespace
) -> None:
    space = demos[4].release.namespace.name
    wanted = Counter({f"commonhold-{word}": count for word, count in REPLICAS.items()})

    def scraped() -> bool:
        targets = [one for one in _targets(prometheus) if one["labels"]["namespace"] == space]
        up = Counter(one["labels"]["job"] for one in targets if one["health"] == "up")
        return up == wanted

    eventually(lambda: any(is_ready(pod) for pod in prometheus.pods("app=prometheus")), "it runs")
    eventually(scraped, "every pod is scraped")


def test_monitors_and_rules_are_there_when_their_kinds_are(site: Namespace) -> None:
    release = alone(site)
    _remove_leftovers()
    if present := _definitions(GROUPS):
        pytest.fail(f"the cluster has {present[0]} already, so that nothing can be absent")
    assert _monitors_of(release) == set()
    try:
        run(str(ROOT / "deploy/offline/kubernetes.sh"), "crds", MADE_HERE, seconds=900)
        eventually(
            lambda: _monitors_of(release) == {"ServiceMonitor", "PrometheusRule"}, "it sees them"
        )
        watched = {"serviceMonitor": True, "prometheusRule": True}
        _accept(site, alone(site, state=ROUTED, metrics=watched).render())
        watched = {"serviceMonitor": False, "podMonitor": True}
        _accept(site, alone(site, metrics=watched).render())
        kinds = ("podmonitors", "prometheusrules", "httproutes", "servicemonitors")
        assert all(site.get(kind)["items"] for kind in kinds)
        # The test's pod wants the account to be there already, and a dry run makes none.
        whole = render_text(FULL, arguments=["--skip-tests"]).replace(
            "namespace: space", f"namespace: {site.name}"
        )
        site.kubectl("apply", "--server-side", "--dry-run=server", "--filename", "-", stdin=whole)
    finally:
        _remove_leftovers()
    assert _definitions(GROUPS) == []


def test_of_definitions_that_are_left_only_those_made_here_are_removed(site: Namespace) -> None:
    """As a run that was interrupted leaves them, beside somebody else's of the same group."""
    group = f"{site.name}.example"
    try:
        site.apply(_definition(group, "others"), _definition(group, "ours", MADE_HERE))
        _remove_leftovers()
        left = _definitions((group,))
    finally:
        run("kubectl", "delete", *_definitions((group,)))
    assert left == [f"customresourcedefinition.apiextensions.k8s.io/others.{group}"]


def _targets(prometheus: Namespace) -> list[dict[str, Any]]:
    (pod,) = prometheus.pods("app=prometheus")
    path = f"/api/v1/namespaces/{prometheus.name}/pods/{pod['metadata']['name']}:9090/proxy"
    said = json.loads(prometheus.kubectl("get", "--raw", f"{path}/api/v1/targets?state=active"))
    targets: list[dict[str, Any]] = said["data"]["activeTargets"]
    return targets


def _remove_leftovers() -> None:
    """Take away what this run or one that was interrupted has added, and nobody else's."""
    run("kubectl", "delete", "customresourcedefinitions", "--selector", MADE_HERE)


def _definitions(groups: tuple[str, ...]) -> list[str]:
    names = run("kubectl", "get", "customresourcedefinitions", "--output", "name").split()
    return [name for name in names if name.endswith(groups)]


def _definition(group: str, plural: str, *labels: str) -> Manifest:
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "labels": dict(label.split("=") for label in labels),
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural.capitalize()},
            "versions": [version],
        },
    }


def _monitors_of(release: Release) -> set[str]:
    """The kinds of the Prometheus Operator that an install would make on this server."""
    said = release.with_values("--dry-run=server", verb="install")
    return set(re.findall(r"^kind: (\w*Monitor|PrometheusRule)$", said, re.MULTILINE))


def _accept(site: Namespace, text: str) -> None:
    """Make the objects that need the definitions, and see that the server keeps them."""
    manifests: list[Manifest] = [one for one in yaml.safe_load_all(text) if one]
    ours = [one for one in manifests if one["apiVersion"].startswith(GROUPS)]
    assert ours
    site.apply(*ours)
