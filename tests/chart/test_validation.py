"""What is refused before anything is installed, and with which words."""

import json
import re
from typing import Any

import pytest

from commonhold.ops.settings import KNOWN_NAMES
from tests.support.helm import (
    CHART,
    DEFAULT,
    FULL,
    OVER_STATE,
    RenderError,
    environment_of,
    render,
)
from tests.support.markdown import section, tables
from tests.support.repository import ROOT

SERVICES = ("state", "gateway", "maintenance")
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("postgres.existingSecret=", "postgres.existingSecret is missing"),
        ("tokens.existingSecret=", "tokens.existingSecret is missing"),
        ("gateway.mounts=null", "the gateway mounts nothing, so /mcp would be 404"),
        ("gateway.clients.toml=x,gateway.clients.existingConfigMap=y", "not both"),
        ("gateway.sessions=stateful", "gateway.sessions stateful needs one replica"),
        ("state.enabled=false,gateway.enabled=false", "nothing is enabled"),
        ("maintenance.enabled=true", "maintenance has nothing to tend"),
        ("state.terminationGracePeriodSeconds=25", "preStopSeconds + drainSeconds = 25"),
        ("state.drainSeconds=60,state.terminationGracePeriodSeconds=60", "requests are cut off"),
        ("state.autoscaling.enabled=true,state.autoscaling.minReplicas=5", "more than maxReplicas"),
        ("state.rollout.maxSurge=0", "state.rollout: maxSurge and maxUnavailable are both 0"),
        ("gateway.rollout.maxSurge=0%,gateway.rollout.maxUnavailable=0%", "are both 0"),
        (
            (
                "maintenance.enabled=true,maintenance.gardens.toml=x,maintenance.model.name=small,"
                "maintenance.model.url=http://model/v1"
            ),
            "networkPolicy.model.ports is empty, so that nothing could reach maintenance.model.url",
        ),
        (
            (
                "gateway.stateService.url=http://state:6367,gateway.stateService.existingSecret=s,"
                "networkPolicy.stateService.ports=null"
            ),
            "networkPolicy.stateService.ports is empty, so that nothing could reach gateway.state",
        ),
        ("metrics.serviceMonitor=true,metrics.podMonitor=true", "scrape everything twice"),
        (
            "state.extraEnv[0].name=COMMONHOLD_ROOT,state.extraEnv[0].value=/data",
            "state.extraEnv: COMMONHOLD_ROOT would be a second store",
        ),
        (
            "gateway.extraEnv[0].name=COMMONHOLD_STATE_URL,gateway.extraEnv[0].value=x",
            "would be a second store beside postgres.existingSecret",
        ),
        (
            "gateway.extraEnv[0].name=COMMONHOLD_POOL_SIZE_FILE,gateway.extraEnv[0].value=x",
            "COMMONHOLD_POOL_SIZE_FILE is set by the chart",
        ),
        ("replicaCount=3", "replicaCount is no value of this chart: use state.replicas"),
        ("postgresql.enabled=true", "use postgres.existingSecret"),
        ("imagePullSecrets[0].name=x", "use image.pullSecrets"),
        (
            r"commonLabels.app\.kubernetes\.io/component=x",
            "commonLabels: app.kubernetes.io/component is one of the selectors' labels",
        ),
        (
            r"gateway.podLabels.app\.kubernetes\.io/name=x",
            "gateway.podLabels: app.kubernetes.io/name is one of the selectors' labels",
        ),
    ],
)
def test_a_bad_value_is_refused_by_what_is_wrong_with_it(override: str, said: str) -> None:
    with pytest.raises(RenderError) as refusal:
        render(DEFAULT, override)
    assert said in str(refusal.value)


def test_an_address_needs_no_port_where_no_policy_is_made_and_no_pod_calls_it() -> None:
    model = ("maintenance.model.name=small", "maintenance.model.url=http://model/v1")
    worker = ("maintenance.enabled=true", "maintenance.gardens.toml=x")
    render(DEFAULT, *model, *worker, "networkPolicy.enabled=false")
    render(DEFAULT, *model)


def test_a_worker_that_is_never_rolled_over_may_have_a_rollout_of_nothing() -> None:
    render(OVER_STATE, "maintenance.rollout.maxSurge=0")


def test_every_fault_is_said_at_once() -> None:
    with pytest.raises(RenderError) as refusal:
        render(DEFAULT, "postgres.existingSecret=", "tokens.existingSecret=", "replicaCount=2")
    assert len(re.findall("^  - ", str(refusal.value).partition("Error:")[2], re.MULTILINE)) == 3


class TestBudget:
    # By default 33 of state, 27 of gateway, 2 of the migration and 10 in reserve.
    def test_what_fits_exactly_is_installed_and_one_less_is_not(self) -> None:
        render(DEFAULT, "postgres.maxConnections=72")
        with pytest.raises(RenderError) as refusal:
            render(DEFAULT, "postgres.maxConnections=71")
        assert (
            "the connection budget is 72 and postgres.maxConnections is 71: "
            "state (2 replicas + 1 surge) x (pool 10 + 1) = 33; "
            "gateway (2 replicas + 1 surge) x (pool 8 + 1) = 27; migration 2, reserve 10."
        ) in str(refusal.value)

    @pytest.mark.parametrize(
        ("overrides", "budget"),
        [
            # The most that an autoscaler may start counts, not what runs first.
            (("state.autoscaling.enabled=true", "state.autoscaling.maxReplicas=7"), 127),
            # A share of the replicas is rounded up: 5 x 30 % = 1.5.
            (("state.replicas=5", "state.rollout.maxSurge=30%"), 116),
            (("state.rollout.maxSurge=0", "state.rollout.maxUnavailable=1"), 61),
            (("gateway.enabled=false",), 45),
            (("postgres.reservedConnections=0",), 62),
            (("maintenance.enabled=true", "maintenance.gardens.toml=x"), 82),
        ],
    )
    def test_the_sum(self, overrides: tuple[str, ...], budget: int) -> None:
        render(DEFAULT, *overrides, f"postgres.maxConnections={budget}")
        with pytest.raises(RenderError, match=f"the connection budget is {budget} and"):
            render(DEFAULT, *overrides, f"postgres.maxConnections={budget - 1}")

    def test_the_page_on_tuning_has_these_sums(self) -> None:
        (rows,) = tables(
            section((ROOT / "docs/howto/tune.md").read_text(), "Memory and connections")
        )
        sums = [row[1] for row in rows]
        assert {"33 + 27 + 2 + 10 = 72", "72 + 10 = 82"} <= {*sums}

    def test_zero_skips_the_sum(self) -> None:
        render(DEFAULT, "state.replicas=500", "postgres.maxConnections=0")


class TestSchema:
    @pytest.mark.parametrize(
        "override",
        [
            "stat.replicas=2",
            "state.replica=2",
            "state.service.nodePort=1",
            "networkPolicy.postgres.port=1",
            "logLevel=verbose",
            "state.replicas=two",
            "state.image.digest=sha256:1",
            "gateway.stateService.url=https://user:secret@state.example.org",
            "gateway.stateService.url=ftp://state.example.org",
            "metrics.serviceMonitor=perhaps",
            "metrics.runbookBaseUrl=docs/runbooks/",
            "metrics.runbookBaseUrl=https://runbooks.example.org",
            "postgres.schema=Upper",
            "state.inFlightBytes=1024",
            "state.poolSize=0",
        ],
    )
    def test_an_unknown_name_or_a_wrong_type_is_refused(self, override: str) -> None:
        with pytest.raises(RenderError, match="values don't meet the specifications"):
            render(DEFAULT, override)

    def test_every_object_that_names_its_values_is_closed(self) -> None:
        open_ones = [
            path
            for path, part in _parts(SCHEMA, "")
            if "properties" in part and part.get("additionalProperties") is not False
        ]
        assert open_ones == []

    def test_names_that_moved_stay_so_that_they_can_be_named(self) -> None:
        template = (CHART / "templates/_validate.tpl").read_text()
        table = re.search(r'define "commonhold.validate.moved" -}}\n(.*?){{-', template, re.DOTALL)
        assert table is not None
        moved = {line.partition(":")[0] for line in table[1].splitlines()}
        stay = {name for name, part in SCHEMA["properties"].items() if part.get("deprecated")}
        assert moved == stay != set()


def _parts(part: Any, path: str) -> Any:
    if isinstance(part, dict):
        yield path, part
        for name, inner in part.items():
            yield from _parts(inner, f"{path}/{name}")


class TestNames:
    def test_every_variable_of_the_chart_is_one_that_the_services_know(self) -> None:
        known = KNOWN_NAMES | {"NEOSIAN_POSTGRES_DSN", "NEOSIAN_SERVE_TOKEN", "TZ"}
        used = {
            name.removesuffix("_FILE")
            for component in ("state", "gateway", "maintenance")
            for name in environment_of(render(FULL).container(component))
        }
        assert used <= known

    def test_every_variable_that_the_chart_sets_is_refused_in_extra_env(self) -> None:
        template = (CHART / "templates/_validate.tpl").read_text()
        refused = set(re.findall(r"^- ([A-Z_]+)$", template, re.MULTILINE))
        charts = {render(FULL, "state.extraEnv=null"): SERVICES, render(OVER_STATE): SERVICES[1:]}
        used = {
            name.removesuffix("_FILE")
            for chart, components in charts.items()
            for component in components
            for name in environment_of(chart.container(component))
        }
        # Another store: refused with other words.
        assert used - refused == {"NEOSIAN_POSTGRES_DSN", "COMMONHOLD_STATE_URL"}
        assert refused - used == set()
