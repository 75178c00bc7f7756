"""A gateway and a worker over a state service: what they have in place of a database."""

from pathlib import Path

import pytest

from commonhold.ops.service_settings import StateService
from commonhold.ops.settings import read_settings
from commonhold_gateway.settings import GatewaySettings
from commonhold_maintenance.settings import MaintenanceSettings
from tests.support.helm import (
    DEFAULT,
    OVER_STATE,
    RenderError,
    environment_of,
    notes,
    render,
)
from tests.support.markdown import fences, section
from tests.support.repository import ROOT

URLS = {"gateway": "https://state.example.org", "maintenance": "http://state.memory:6367"}
KEYS = {"gateway": "token", "maintenance": "keeper"}
TOKEN_FILE = "/run/commonhold/state/token"
BESIDE = "gateway.stateService.url=http://here-commonhold-state:6367"
BESIDE_SECRET = "gateway.stateService.existingSecret=memory-state"


@pytest.mark.parametrize("component", URLS)
class TestPod:
    def test_it_is_told_of_the_service_and_of_no_database(self, component: str) -> None:
        environment = environment_of(render(OVER_STATE).container(component))
        assert environment["COMMONHOLD_STATE_URL"] == URLS[component]
        assert environment["NEOSIAN_CLIENT_TOKEN_FILE"] == TOKEN_FILE
        assert not [name for name in environment if "POSTGRES" in name or "POOL" in name]

    def test_its_token_is_a_file_of_the_secret_and_the_only_one_for_a_store(
        self, component: str
    ) -> None:
        pod = render(OVER_STATE).deployment(component)["spec"]["template"]["spec"]
        secrets = {each["name"]: each["secret"] for each in pod["volumes"] if "secret" in each}
        assert secrets.keys() - {"tokens"} == {"state-token"}
        assert secrets["state-token"]["secretName"] == "memory-state"
        assert secrets["state-token"]["items"] == [{"key": KEYS[component], "path": "token"}]
        (mount,) = [
            each
            for each in render(OVER_STATE).container(component)["volumeMounts"]
            if each["name"] == "state-token"
        ]
        assert (mount["mountPath"], mount["readOnly"]) == ("/run/commonhold/state", True)

    def test_it_waits_for_no_schema(self, component: str) -> None:
        pod = render(OVER_STATE).deployment(component)["spec"]["template"]["spec"]
        assert "initContainers" not in pod

    def test_it_reaches_the_service_and_no_database(self, component: str) -> None:
        policy = render(OVER_STATE).one("NetworkPolicy", f"here-commonhold-{component}")["spec"]
        memory = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "memory"}}}
        reached = {
            port["port"]: rule.get("to") for rule in policy["egress"] for port in rule["ports"]
        }
        assert reached == {53: None, 443: [memory], 6367: [memory]}


def test_the_services_take_what_they_are_told() -> None:
    gateway = read_settings(GatewaySettings, _given("gateway", NEOSIAN_SERVE_TOKEN="y"))
    worker = read_settings(MaintenanceSettings, _given("maintenance"))
    assert isinstance(gateway.place, StateService)
    assert isinstance(worker.place, StateService)


def _given(component: str, **secrets: str) -> dict[str, str]:
    """What a service is told, with the contents of its files in their place."""
    told = environment_of(render(OVER_STATE).container(component)).items()
    given = {name: value for name, value in told if not name.endswith("_FILE")}
    return {**given, "NEOSIAN_CLIENT_TOKEN": "x", **secrets}


def test_the_values_of_the_page_are_such_a_release(tmp_path: Path) -> None:
    page = (ROOT / "docs/howto/install-in-a-cluster.md").read_text()
    (shown,) = fences(section(page, "Over a state service elsewhere"), "yaml")
    values = tmp_path / "values.yaml"
    values.write_text(shown)
    chart = render(values)
    assert chart.kind("Deployment").keys() == {"here-commonhold-gateway"}
    assert "COMMONHOLD_STATE_URL" in environment_of(chart.container("gateway"))


def test_there_is_no_migration_and_no_sum_of_connections() -> None:
    chart = render(OVER_STATE, "postgres.maxConnections=1")
    assert chart.kind("Job") == {}
    assert "here-commonhold-migrate" not in chart.kind("NetworkPolicy")
    assert "Database connections: none." in notes(OVER_STATE)
    assert "migrate" not in notes(OVER_STATE)


def test_two_workers_never_run_at_a_time() -> None:
    strategy = render(OVER_STATE).deployment("maintenance")["spec"]["strategy"]
    assert strategy == {"type": "Recreate"}
    assert render(OVER_STATE).deployment("gateway")["spec"]["strategy"]["type"] == "RollingUpdate"
    with pytest.raises(RenderError, match=r"maintenance\.replicas must be 1 over a state service"):
        render(OVER_STATE, "maintenance.replicas=2")


def test_beside_a_state_service_of_the_release_only_that_one_has_the_database() -> None:
    chart = render(DEFAULT, BESIDE, BESIDE_SECRET, "postgres.maxConnections=45")
    assert "NEOSIAN_POSTGRES_DSN_FILE" in environment_of(chart.container("state"))
    assert "NEOSIAN_POSTGRES_DSN_FILE" not in environment_of(chart.container("gateway"))
    assert len(chart.kind("Job")) == 1
    with pytest.raises(RenderError, match="the connection budget is 45 and"):
        render(DEFAULT, BESIDE, BESIDE_SECRET, "postgres.maxConnections=44")


@pytest.mark.parametrize(
    "override",
    ["postgres.existingSecret=memory-app", "migration.existingSecret=memory-owner"],
)
def test_a_database_that_nothing_would_use_is_refused(override: str) -> None:
    with pytest.raises(RenderError, match="would be a second store: every service here is over"):
        render(OVER_STATE, override)


@pytest.mark.parametrize(
    "override", ["gateway.stateService.existingSecret=", "gateway.stateService.url="]
)
def test_the_address_and_the_token_go_together(override: str) -> None:
    with pytest.raises(RenderError, match=r"url and gateway\.stateService\.existingSecret go"):
        render(OVER_STATE, override)
