"""Disruption budgets and autoscalers."""

import pytest

from tests.support.helm import DEFAULT, FULL, STATE_ONLY, render


def test_a_budget_keeps_all_but_one() -> None:
    budgets = render().kind("PodDisruptionBudget")
    assert budgets.keys() == {"here-commonhold-state", "here-commonhold-gateway"}
    spec = budgets["here-commonhold-state"]["spec"]
    assert spec["maxUnavailable"] == 1
    assert spec["selector"] == render().deployment("state")["spec"]["selector"]


@pytest.mark.parametrize(
    "overrides",
    [
        ("state.replicas=1",),
        ("state.podDisruptionBudget.enabled=false",),
        ("state.autoscaling.enabled=true", "state.autoscaling.minReplicas=1"),
    ],
)
def test_one_replica_has_none_as_it_would_stop_every_drain(
    overrides: tuple[str, ...],
) -> None:
    budgets = render(DEFAULT, *overrides).kind("PodDisruptionBudget")
    assert budgets.keys() == {"here-commonhold-gateway"}


def test_an_autoscaler_goes_by_the_processor() -> None:
    chart = render(DEFAULT, "state.autoscaling.enabled=true")
    (scaler,) = chart.kind("HorizontalPodAutoscaler").values()
    spec = scaler["spec"]
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "here-commonhold-state"}
    assert spec["scaleTargetRef"] == target
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 4)
    (metric,) = spec["metrics"]
    assert metric["resource"] == {
        "name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 75},
    }


def test_what_is_autoscaled_states_no_replicas_of_its_own() -> None:
    chart = render(DEFAULT, "state.autoscaling.enabled=true")
    assert "replicas" not in chart.deployment("state")["spec"]
    assert chart.deployment("gateway")["spec"]["replicas"] == 2


def test_a_metric_of_ones_own_is_added() -> None:
    scaler = render(FULL).one("HorizontalPodAutoscaler", "memory-state")["spec"]
    assert [metric["type"] for metric in scaler["metrics"]] == ["Resource", "Pods"]
    assert scaler["behavior"] == {"scaleDown": {"stabilizationWindowSeconds": 120}}


def test_neither_is_there_unless_it_has_a_use() -> None:
    chart = render(STATE_ONLY)
    assert chart.kind("HorizontalPodAutoscaler") == chart.kind("PodDisruptionBudget") == {}
