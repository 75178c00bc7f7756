"""What every pod has (the rules of `restricted`, secrets as files), and what each service gets."""

import re
from pathlib import Path
from typing import Any

import pytest

from commonhold.ops.settings import read_settings
from commonhold_gateway.hosts import LOOPBACK_HOSTS, LOOPBACK_ORIGINS
from commonhold_gateway.settings import GatewaySettings
from commonhold_maintenance.settings import MaintenanceSettings
from commonhold_state.settings import StateSettings
from tests.support.helm import (
    CHART,
    CI_VALUES,
    DEFAULT,
    EXAMPLE_VALUES,
    FULL,
    STATE_ONLY,
    containers_of,
    environment_of,
    render,
)

VALUES = [*CI_VALUES, *EXAMPLE_VALUES]
SERVICES = ("state", "gateway", "maintenance")


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
class TestRestricted:
    def test_every_pod_runs_without_root_under_the_default_profile(self, values: Path) -> None:
        for pod in render(values).pods().values():
            assert pod["securityContext"]["runAsNonRoot"] is True
            assert pod["securityContext"]["runAsUser"] == 10001
            assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}

    def test_every_container_may_do_nothing_more(self, values: Path) -> None:
        for pod in render(values).pods().values():
            for container in containers_of(pod):
                assert container["securityContext"] == {
                    "allowPrivilegeEscalation": False,
                    "privileged": False,
                    "readOnlyRootFilesystem": True,
                    "runAsNonRoot": True,
                    "capabilities": {"drop": ["ALL"]},
                }

    def test_no_pod_is_told_of_the_cluster(self, values: Path) -> None:
        for pod in render(values).pods().values():
            assert pod["automountServiceAccountToken"] is False
            assert pod["enableServiceLinks"] is False

    def test_secrets_are_files_and_never_variables(self, values: Path) -> None:
        for pod in render(values).pods().values():
            for container in containers_of(pod):
                named = [entry for entry in container.get("env", []) if "valueFrom" in entry]
                assert named == []
                assert "envFrom" not in container

    def test_what_a_container_said_last_is_shown_with_its_pod(self, values: Path) -> None:
        for pod in render(values).pods().values():
            for container in containers_of(pod):
                assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"

    def test_what_is_secret_is_read_by_the_group_of_the_pod_alone(self, values: Path) -> None:
        for pod in render(values).pods().values():
            security = pod["securityContext"]
            assert security["fsGroup"] == security["runAsGroup"] == 10001
            modes = {each["secret"]["defaultMode"] for each in pod["volumes"] if "secret" in each}
            assert modes == {0o440}

    def test_every_container_has_a_memory_limit_and_requests(self, values: Path) -> None:
        for pod in render(values).pods().values():
            for container in containers_of(pod):
                assert container["resources"]["limits"]["memory"]
                assert container["resources"]["requests"].keys() == {"cpu", "memory"}

    def test_every_mount_has_its_volume_and_the_reverse(self, values: Path) -> None:
        for pod in render(values).pods().values():
            used = {
                mount["name"]
                for container in containers_of(pod)
                for mount in container.get("volumeMounts", [])
            }
            assert used == {volume["name"] for volume in pod["volumes"]}


class TestImages:
    def test_a_tag_of_the_service_wins_over_that_of_all(self) -> None:
        image = render(FULL, "image.tag=all").container("gateway")["image"]
        assert image == "registry.example.org/agents/commonhold-gateway:special"

    def test_a_digest_wins_over_any_tag(self) -> None:
        image = render(FULL, "image.tag=all").container("state")["image"]
        assert image == f"registry.example.org/agents/commonhold-state@sha256:{'0' * 63}1"

    def test_without_either_it_is_the_charts_own(self) -> None:
        assert render().container("state")["image"] == "commonhold-state:0.1.0"

    def test_the_migration_runs_an_image_that_is_there_anyway(self) -> None:
        chart = render(DEFAULT, "state.enabled=false")
        (container,) = chart.job()["spec"]["template"]["spec"]["containers"]
        assert container["image"] == "commonhold-gateway:0.1.0"

    def test_pull_secrets_reach_every_pod(self) -> None:
        pods = render(FULL).pods().values()
        assert [pod["imagePullSecrets"] for pod in pods] == [[{"name": "registry"}]] * len(pods)


class TestSettings:
    """What a pod is given, read by the service itself."""

    def _read(self, record: Any, component: str, values: Path, tmp_path: Path) -> Any:
        environment = environment_of(render(values).container(component))
        for name, text in (("dsn", "postgresql://x"), ("current", "t0"), ("previous", "t1")):
            (tmp_path / name).write_text(text)
        for name, value in environment.items():
            if name.endswith("_FILE"):
                environment[name] = str(tmp_path / Path(value).name)
        return read_settings(record, environment)

    def test_the_state_service_starts_on_them(self, tmp_path: Path) -> None:
        settings = self._read(StateSettings, "state", FULL, tmp_path)
        assert settings.dsn.reveal() == "postgresql://x"
        assert (settings.schema, settings.log_level, settings.pool_size) == (
            "agents",
            "warning",
            10,
        )
        assert len(settings.tokens) == len(settings.previous_tokens) == 1
        assert str(settings.listen).endswith(":6367")
        assert settings.in_flight_bytes == 134217728

    def test_the_gateway_starts_on_them(self, tmp_path: Path) -> None:
        settings = self._read(GatewaySettings, "gateway", FULL, tmp_path)
        mounts = [(m.scope, m.mount_path, m.read_only, m.edit_only) for m in settings.mounts.mounts]
        assert mounts == [
            ("kb:handbook", "kb", True, False),
            ("kb:board", "board", False, True),
            ("kb:notes", "notes", False, False),
        ]
        assert settings.clients == "/etc/commonhold/clients/clients.toml"
        assert settings.public_url == "https://mcp.example.org/mcp"
        assert {*LOOPBACK_HOSTS, "mcp.example.org", "memory-gateway.space.svc"} < {
            *settings.allowed_hosts
        }
        assert {*settings.allowed_origins} == {*LOOPBACK_ORIGINS, "https://chat.example.org"}

    def test_without_a_previous_table_none_is_named(self) -> None:
        chart = render()
        assert "COMMONHOLD_SERVE_TOKEN_PREVIOUS_FILE" not in environment_of(
            chart.container("state")
        )
        (tokens,) = [v for v in chart.pod_spec("state")["volumes"] if v["name"] == "tokens"]
        assert tokens["secret"]["items"] == [{"key": "token", "path": "current"}]

    def test_the_worker_starts_on_them(self, tmp_path: Path) -> None:
        settings = self._read(MaintenanceSettings, "maintenance", FULL, tmp_path)
        assert settings.gardens == "/etc/commonhold/gardens/gardens.toml"
        assert str(settings.ops_listen).endswith(":9369")
        assert (settings.lease_seconds, settings.pass_seconds) == (60, 3600)

    def test_the_worker_gets_its_gardens_and_its_model(self) -> None:
        environment = environment_of(render(FULL).container("maintenance"))
        assert environment["COMMONHOLD_GARDENS"] == "/etc/commonhold/gardens/gardens.toml"
        assert environment["COMMONHOLD_MODEL_KEY_FILE"] == "/run/commonhold/model/key"
        assert "NEOSIAN_SERVE_TOKEN_FILE" not in environment

    def test_ports_are_those_listened_on(self) -> None:
        ports = {
            component: {
                p["name"]: p["containerPort"] for p in render(FULL).container(component)["ports"]
            }
            for component in SERVICES
        }
        assert ports == {
            "state": {"http": 6367, "ops": 9367},
            "gateway": {"http": 6368, "ops": 9368},
            "maintenance": {"ops": 9369},
        }


class TestLifecycle:
    @pytest.mark.parametrize("component", SERVICES)
    def test_liveness_asks_nothing_of_others_and_readiness_says_ready(self, component: str) -> None:
        container = render(FULL).container(component)
        paths = {kind: container[kind]["httpGet"] for kind in container if kind.endswith("Probe")}
        assert paths == {
            "startupProbe": {"path": "/livez", "port": "ops"},
            "livenessProbe": {"path": "/livez", "port": "ops"},
            "readinessProbe": {"path": "/readyz", "port": "ops"},
        }

    @pytest.mark.parametrize("component", SERVICES)
    def test_a_slow_start_and_a_busy_moment_are_no_death(self, component: str) -> None:
        container = render(FULL).container(component)
        patience = {
            kind: container[kind]["periodSeconds"] * container[kind]["failureThreshold"]
            for kind in ("startupProbe", "livenessProbe")
        }
        assert min(patience.values()) >= 60

    @pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
    def test_leaving_and_draining_end_before_the_grace_period(self, values: Path) -> None:
        chart = render(values)
        for deployment in chart.kind("Deployment").values():
            pod = deployment["spec"]["template"]["spec"]
            (container,) = pod["containers"]
            drain = float(environment_of(container)["COMMONHOLD_DRAIN_SECONDS"])
            hook = container.get("lifecycle", {"preStop": {"exec": {"command": ["sleep", "0"]}}})
            leave = float(hook["preStop"]["exec"]["command"][1])
            # Ten seconds more: the longest that closing the pool may take.
            assert leave + drain + 10 < pod["terminationGracePeriodSeconds"]

    def test_a_longer_drain_lengthens_the_grace_period(self) -> None:
        pod = render(DEFAULT, "state.drainSeconds=120").pod_spec("state")
        assert pod["terminationGracePeriodSeconds"] == 140

    def test_a_replica_is_added_before_one_is_taken(self) -> None:
        strategy = render().deployment("state")["spec"]["strategy"]
        assert strategy == {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
        }

    @pytest.mark.parametrize("component", ["state", "gateway"])
    def test_memory_holds_what_the_bodies_may_take(self, component: str) -> None:
        container = render().container(component)
        limit = int(re.sub("Mi$", "", container["resources"]["limits"]["memory"])) * 2**20
        bodies = int(environment_of(container)["COMMONHOLD_IN_FLIGHT_BYTES"])
        assert 128 * 2**20 + 4 * bodies <= limit

    @pytest.mark.parametrize("component", ["gateway", "maintenance"])
    def test_a_changed_file_restarts_the_pods_that_read_it(self, component: str) -> None:
        files = {"gateway": "gateway.clients.toml", "maintenance": "maintenance.gardens.toml"}
        before, after = (
            render(FULL, *change).deployment(component)["spec"]["template"]["metadata"]
            for change in ((), (f"{files[component]}=other",))
        )
        assert before["annotations"]["checksum/config"] != after["annotations"]["checksum/config"]

    @pytest.mark.parametrize("component", SERVICES)
    def test_another_release_of_the_chart_alone_restarts_nothing(self, component: str) -> None:
        template = render(FULL).deployment(component)["spec"]["template"]
        assert (
            not {"helm.sh/chart", "app.kubernetes.io/version"}
            & template["metadata"]["labels"].keys()
        )

    def test_a_new_revision_restarts_nothing(self) -> None:
        # `helm template` knows of the first revision alone, so that two cannot be compared.
        templates = (CHART / "templates").rglob("*.*")
        using = [path for path in templates if ".Release.Revision" in path.read_text()]
        assert using == [CHART / "templates/migration/job.yaml"]


class TestPlacement:
    def test_what_is_asked_for_reaches_the_pods(self) -> None:
        pod = render(FULL).pod_spec("state")
        metadata = render(FULL).deployment("state")["spec"]["template"]["metadata"]
        assert pod["priorityClassName"] == "important"
        assert pod["nodeSelector"] == {"kubernetes.io/arch": "amd64"}
        assert pod["tolerations"] == [{"key": "agents", "operator": "Exists"}]
        assert "podAntiAffinity" in pod["affinity"]
        assert "topologySpreadConstraints" not in pod
        assert (metadata["labels"]["mesh"], metadata["labels"]["team"]) == ("on", "agents")
        assert metadata["annotations"]["note"] == "1"
        assert {"name": "ca", "configMap": {"name": "ca"}} in pod["volumes"]
        assert environment_of(pod["containers"][0])["TZ"] == "UTC"

    def test_replicas_spread_over_zones_and_nodes_where_that_can_be_had(self) -> None:
        spread = render().pod_spec("state")["topologySpreadConstraints"]
        assert [(each["topologyKey"], each["whenUnsatisfiable"]) for each in spread] == [
            ("topology.kubernetes.io/zone", "ScheduleAnyway"),
            ("kubernetes.io/hostname", "ScheduleAnyway"),
        ]
        selector = render().deployment("state")["spec"]["selector"]
        assert all(each["labelSelector"] == selector for each in spread)

    def test_an_account_of_ones_own_is_used_and_none_is_made(self) -> None:
        chart = render(STATE_ONLY)
        assert chart.kind("ServiceAccount") == {}
        assert chart.pod_spec("state")["serviceAccountName"] == "existing"
