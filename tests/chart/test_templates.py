"""Every template renders under some values file, and has a module of tests."""

import re
from pathlib import Path

import pytest

from tests.support.helm import CHART, CI_VALUES, MONITORING, render_text
from tests.support.repository import ROOT

TESTS = ROOT / "tests/chart"
KINDS = ("ServiceMonitor", "PodMonitor", "PrometheusRule")
# The module that holds each template to what it is for, whatever it may show elsewhere.
MODULES = {
    "NOTES.txt": "test_notes",
    "_budget.tpl": "test_validation",
    "_deployment.tpl": "test_pods",
    "_names.tpl": "test_rendering",
    "_pods.tpl": "test_pods",
    "_postgres.tpl": "test_migration",
    "_service.tpl": "test_routing",
    "_stateservice.tpl": "test_over_state",
    "_validate.tpl": "test_validation",
    "extraobjects.yaml": "test_objects",
    "gateway/_settings.tpl": "test_pods",
    "gateway/configmap.yaml": "test_objects",
    "gateway/deployment.yaml": "test_pods",
    "gateway/hpa.yaml": "test_availability",
    "gateway/httproute.yaml": "test_routing",
    "gateway/ingress.yaml": "test_routing",
    "gateway/pdb.yaml": "test_availability",
    "gateway/service.yaml": "test_routing",
    "maintenance/_settings.tpl": "test_pods",
    "maintenance/configmap.yaml": "test_objects",
    "maintenance/deployment.yaml": "test_pods",
    "maintenance/pdb.yaml": "test_availability",
    "maintenance/service.yaml": "test_routing",
    "migration/job.yaml": "test_migration",
    "networkpolicy.yaml": "test_network_policies",
    "observability/dashboards.yaml": "test_dashboards",
    "observability/monitors.yaml": "test_rules",
    "observability/rules.yaml": "test_rules",
    "serviceaccount.yaml": "test_objects",
    "state/deployment.yaml": "test_pods",
    "state/hpa.yaml": "test_availability",
    "state/httproute.yaml": "test_routing",
    "state/ingress.yaml": "test_routing",
    "state/pdb.yaml": "test_availability",
    "state/service.yaml": "test_routing",
    "test/pod.yaml": "test_smoke_pod",
}


def _templates() -> set[str]:
    folder = CHART / "templates"
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_every_template_has_its_module_of_tests() -> None:
    assert MODULES.keys() == _templates()
    modules = {path.stem for path in TESTS.glob("test_*.py")}
    assert set(MODULES.values()) <= modules


def test_every_template_renders_something_under_some_values() -> None:
    everywhere = [f"--api-versions={MONITORING}/{kind}" for kind in KINDS]
    rendered: set[str] = set()
    for values in CI_VALUES:
        text = render_text(values, arguments=everywhere)
        rendered |= set(re.findall(r"^# Source: commonhold/templates/(\S+)$", text, re.MULTILINE))
    assert rendered == {name for name in _templates() if name.endswith(".yaml")}


@pytest.mark.parametrize("values", CI_VALUES, ids=lambda path: path.stem)
def test_no_values_file_leaves_a_blank_where_text_belongs(values: Path) -> None:
    text = render_text(values)
    assert not re.search(r"<no value>|%!\w\(|\bmap\[", text)
