"""The plain objects: the account, files as ConfigMaps, and what an operator adds."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.support.helm import CI_VALUES, DEFAULT, FULL, STATE_ONLY, RenderError, render


class TestServiceAccount:
    def test_it_has_no_token_and_no_rights(self) -> None:
        chart = render()
        (account,) = chart.kind("ServiceAccount").values()
        assert account["automountServiceAccountToken"] is False
        kinds = {manifest["kind"] for manifest in chart.objects}
        assert not kinds & {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}

    def test_every_pod_runs_under_it(self) -> None:
        chart = render(FULL, "serviceAccount.name=mine")
        assert chart.kind("ServiceAccount").keys() == {"mine"}
        assert {pod["serviceAccountName"] for pod in chart.pods().values()} == {"mine"}

    def test_annotations_reach_it(self) -> None:
        chart = render(DEFAULT, "serviceAccount.annotations.role=db")
        (account,) = chart.kind("ServiceAccount").values()
        assert account["metadata"]["annotations"] == {"role": "db"}


class TestFiles:
    def test_the_files_of_the_services_come_as_they_were_given(self) -> None:
        maps = render(FULL).kind("ConfigMap")
        gardens = tomllib.loads(maps["memory-maintenance-gardens"]["data"]["gardens.toml"])
        assert gardens["gardens"]
        clients = tomllib.loads(maps["memory-gateway-clients"]["data"]["clients.toml"])
        assert clients

    @pytest.mark.parametrize(
        ("overrides", "component", "volume"),
        [
            (
                ("gateway.clients.toml=", "gateway.clients.existingConfigMap=own"),
                "gateway",
                "clients",
            ),
            (
                ("maintenance.gardens.toml=", "maintenance.gardens.existingConfigMap=own"),
                "maintenance",
                "gardens",
            ),
        ],
    )
    def test_one_of_ones_own_is_mounted_and_none_is_made(
        self, overrides: tuple[str, ...], component: str, volume: str
    ) -> None:
        chart = render(FULL, *overrides)
        assert not [name for name in chart.kind("ConfigMap") if volume in name]
        mounted = [each for each in chart.pod_spec(component)["volumes"] if each["name"] == volume]
        assert mounted == [{"name": volume, "configMap": {"name": "own"}}]


class TestExtraObjects:
    def test_maps_and_text_are_both_templates(self) -> None:
        assert {"memory-extra", "here-text"} <= render(FULL).kind("ConfigMap").keys()

    def test_there_are_none_by_default(self) -> None:
        assert render().kind("ConfigMap") == {}

    def test_one_that_names_what_is_not_there_stops_the_rendering(self) -> None:
        bad = '{{ include "commonhold.gone" . }}'
        with pytest.raises(RenderError, match="no template"):
            render(STATE_ONLY, arguments=("--set-json", f"extraObjects={json.dumps([bad])}"))


@pytest.mark.parametrize("values", CI_VALUES, ids=lambda path: path.stem)
def test_the_charts_labels_and_ones_own_are_on_every_object(values: Path) -> None:
    own = ("memory-extra", "here-text")
    for manifest in render(values, "commonLabels.team=agents").objects:
        if manifest["metadata"]["name"] not in own:
            labels = manifest["metadata"]["labels"]
            assert labels["team"] == "agents"
            assert labels["app.kubernetes.io/part-of"] == "commonhold"
            assert labels["helm.sh/chart"] == "commonhold-0.1.0"
