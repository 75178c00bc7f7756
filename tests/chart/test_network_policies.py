"""Which flows are allowed: the deny that covers all pods, and what each may do."""

from typing import Any

from tests.support.helm import CHART, DEFAULT, FULL, STATE_ONLY, Chart, render

ANYWHERE: list[Any] = []


def _policy(chart: Chart, component: str) -> Any:
    prefix = "memory" if "memory-deny" in chart.kind("NetworkPolicy") else "here-commonhold"
    return chart.one("NetworkPolicy", f"{prefix}-{component}")["spec"]


def _flows(policy: Any, direction: str, peer: str) -> dict[int, Any]:
    """Return the peers of each port; an absent list of peers is everywhere."""
    return {
        port["port"]: rule.get(peer, ANYWHERE)
        for rule in policy.get(direction, [])
        for port in rule["ports"]
    }


def _namespace(name: str) -> Any:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def test_every_pod_of_the_release_is_under_the_deny() -> None:
    chart = render(FULL)
    selector = _policy(chart, "deny")["podSelector"]["matchLabels"]
    assert _policy(chart, "deny") == {
        "podSelector": {"matchLabels": selector},
        "policyTypes": ["Ingress", "Egress"],
    }
    makers = [*chart.kind("Deployment").values(), *chart.kind("Job").values()]
    pods = [*chart.kind("Pod").values(), *(maker["spec"]["template"] for maker in makers)]
    labels = [pod["metadata"]["labels"] for pod in pods]
    assert len(labels) == 5
    assert all(selector.items() <= each.items() for each in labels)


def test_clients_reach_the_wire_and_monitoring_the_metrics_and_nobody_anything_else() -> None:
    chart = render(FULL)
    agents = _namespace("agents")
    monitoring = _namespace("monitoring")
    test_pod = {
        "podSelector": {
            "matchLabels": {
                "app.kubernetes.io/name": "commonhold",
                "app.kubernetes.io/instance": "here",
                "app.kubernetes.io/component": "test",
            }
        }
    }
    found = {
        component: _flows(_policy(chart, component), "ingress", "from")
        for component in ("state", "gateway", "maintenance", "migrate", "test")
    }
    assert found == {
        "state": {6367: [agents, test_pod], 9367: [monitoring]},
        "gateway": {6368: [agents, test_pod], 9368: [monitoring]},
        "maintenance": {9369: [monitoring]},
        "migrate": {},
        "test": {},
    }


def test_pods_reach_the_database_and_names_and_only_what_else_they_need() -> None:
    chart = render(FULL)
    pooler = [{"podSelector": {"matchLabels": {"app": "pgbouncer"}}}]
    names = [_namespace("kube-system")]
    model = [{"ipBlock": {"cidr": "203.0.113.0/24"}}]
    found = {
        component: _flows(_policy(chart, component), "egress", "to")
        for component in ("state", "gateway", "maintenance", "migrate")
    }
    assert found == {
        "state": {53: names, 6432: pooler},
        "gateway": {53: names, 6432: pooler, 443: ANYWHERE},
        "maintenance": {53: names, 6432: pooler, 443: model},
        "migrate": {53: names, 5432: [{"podSelector": {"matchLabels": {"app": "postgres"}}}]},
    }


def test_a_migration_goes_past_a_pooler_and_the_pods_that_serve_do_not() -> None:
    example = CHART / "examples/cloudnative-pg-values.yaml"
    pooler = {"podSelector": {"matchLabels": {"cnpg.io/poolerName": "memory-db-pooler"}}}
    database = {"podSelector": {"matchLabels": {"cnpg.io/cluster": "memory-db"}}}
    reached = {
        component: _flows(_policy(render(example), component), "egress", "to")[5432]
        for component in ("state", "gateway", "migrate")
    }
    assert reached == {"state": [pooler], "gateway": [pooler], "migrate": [database]}


def test_a_migration_without_flows_of_its_own_reaches_what_the_services_reach() -> None:
    flows = _flows(
        _policy(render(FULL, "networkPolicy.migration.ports=null"), "migrate"), "egress", "to"
    )
    assert flows.keys() == {53, 6432}


def test_by_default_neither_issuer_nor_model_is_reached() -> None:
    chart = render(DEFAULT, "maintenance.enabled=true", "maintenance.gardens.toml=x")
    for component in ("gateway", "maintenance"):
        assert _flows(_policy(chart, component), "egress", "to").keys() == {53, 5432}


def test_the_test_pod_reaches_the_two_services_alone() -> None:
    flows = _flows(_policy(render(FULL), "test"), "egress", "to")
    reached = {
        port: peers[0]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for port, peers in flows.items()
        if port != 53
    }
    assert reached == {6367: "state", 6368: "gateway"}


def test_with_nobody_allowed_in_there_is_no_rule_that_lets_everybody_in() -> None:
    chart = render(
        DEFAULT, "networkPolicy.clients=null", "networkPolicy.monitoring=null", "test.enabled=false"
    )
    assert not _policy(chart, "state").get("ingress")


def test_it_can_be_left_to_others() -> None:
    assert render(STATE_ONLY).kind("NetworkPolicy") == {}
