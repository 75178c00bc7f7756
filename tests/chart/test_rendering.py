"""Every values file renders under both helms into objects that Kubernetes would take."""

import copy
import json
import resource
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.support.chart_readme import README, described_values, renew, walk_values
from tests.support.helm import (
    CHART,
    CI_VALUES,
    DEFAULT,
    EXAMPLE_VALUES,
    FULL,
    MAJORS,
    MONITORING,
    Manifest,
    helm,
    render,
    render_text,
)
from tests.support.repository import ROOT, read_toml

VALUES = [*CI_VALUES, *EXAMPLE_VALUES]
CUSTOM = {"HTTPRoute", "ServiceMonitor", "PodMonitor", "PrometheusRule"}
KUBERNETES = "1.35"
LABELS = ("commonLabels", "state.podLabels", "metrics.labels", "metrics.dashboards.labels")
CRDS = [f"{MONITORING}/{kind}" for kind in ("ServiceMonitor", "PodMonitor", "PrometheusRule")]


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_what_is_rendered_is_valid(values: Path) -> None:
    known = [manifest for manifest in render(values).objects if manifest["kind"] not in CUSTOM]
    assert known
    for manifest in known:
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def test_a_planted_fault_is_seen() -> None:
    manifest = copy.deepcopy(render().deployment("state"))
    manifest["spec"]["template"]["spec"]["containers"][0]["imagePolicy"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError, match="imagePolicy"):
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_both_helms_render_the_same(values: Path) -> None:
    three, four = (render(values, major=major).objects for major in MAJORS)

    # They order hooks and kinds differently.
    def key(manifest: dict[str, object]) -> str:
        return yaml.safe_dump([manifest["kind"], manifest["metadata"]])

    assert sorted(three, key=key) == sorted(four, key=key)


@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_it_lints(values: Path, major: int) -> None:
    command = [helm(major), "lint", "--strict", str(CHART), "--values", str(values)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_renders_in_under_a_second() -> None:
    # Of the processor: what else runs on the machine is no fault of the chart.
    helm()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    render_text(FULL, release="timed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert 0 < after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_no_object_says_a_name_twice_or_a_namespace_other_than_its_own(values: Path) -> None:
    objects = render(values).objects
    names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in objects]
    assert len(names) == len(set(names))
    spaces = {manifest["metadata"].get("namespace", "space") for manifest in objects}
    assert spaces == {"space"}


@pytest.mark.parametrize(
    "release", ["here", "a-release-with-the-longest-name-that-helm-takes-now53"]
)
def test_names_fit_and_begin_with_the_release(release: str) -> None:
    names = [m["metadata"]["name"] for m in render(release=release).objects]
    assert [name for name in names if len(name) > 63 or not name.startswith(release[:30])] == []


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_no_map_says_a_key_twice(values: Path) -> None:
    # A server refuses it, and what merely reads it takes the last.
    part_of, note = r"app\.kubernetes\.io/part-of", r"kubectl\.kubernetes\.io/default-container"
    overrides = [f"{place}.{part_of}=suite" for place in LABELS]
    overrides += [f"state.podAnnotations.{note}=other", "metrics.dashboards.enabled=true"]
    arguments = [f"--api-versions={kind}" for kind in CRDS]
    text = render_text(values, overrides, arguments=arguments)
    found = [_repeated(document) for document in yaml.compose_all(text, Loader=yaml.CSafeLoader)]
    assert [key for keys in found for key in keys] == []
    assert "app.kubernetes.io/part-of: commonhold" not in text


def test_a_key_that_is_said_twice_is_seen() -> None:
    assert [*_repeated(yaml.compose("a: {b: 1, c: [{d: 1, d: 2}]}", Loader=yaml.CSafeLoader))] == [
        "d"
    ]


def _repeated(node: Any) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _value in node.value]
        yield from sorted({key for key in keys if keys.count(key) > 1})
        for _key, value in node.value:
            yield from _repeated(value)
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _repeated(each)


def test_no_secret_is_made() -> None:
    for values in VALUES:
        assert render(values, arguments=("--api-versions", CRDS[0])).kind("Secret") == {}


@pytest.mark.parametrize("values", CI_VALUES, ids=lambda path: path.stem)
def test_the_selectors_are_those_of_every_release(values: Path) -> None:
    # A Deployment's selector cannot be changed, and one with another name takes the old one's
    # pods away before its own are ready: a difference here is an upgrade that fails. The file is
    # written by hand, and grows when a component is added.
    golden = json.loads((Path(__file__).parent / "selectors.json").read_text())
    assert _selectors(render(values).objects) == golden[values.stem.removesuffix("-values")]


def test_no_value_that_an_upgrade_may_change_reaches_a_selector() -> None:
    golden = json.loads((Path(__file__).parent / "selectors.json").read_text())
    labels = ("commonLabels.team=x", "state.podLabels.tier=x")
    changed = render(DEFAULT, *labels, "image.tag=next", "state.replicas=3", "logLevel=debug")
    assert _selectors(changed.objects) == golden["default"]


def _selectors(objects: Sequence[Manifest]) -> dict[str, dict[str, str]]:
    found = {}
    for manifest in objects:
        if manifest["kind"] in {"Deployment", "PodDisruptionBudget", "Service"}:
            selector = manifest["spec"]["selector"]
            name = f"{manifest['kind']}/{manifest['metadata']['name']}"
            found[name] = selector.get("matchLabels", selector)
    return found


def test_the_readme_has_the_values_as_they_are() -> None:
    text = README.read_text()
    assert renew(text) == text, "run `make chart-readme`"


def test_every_value_is_described() -> None:
    described = {path for path, _value, _meaning in described_values()}
    # What the gateway and the worker share with the state service is described there.
    described |= {
        path.replace("state.", f"{other}.", 1)
        for path in described
        for other in ("gateway", "maintenance")
        if path.startswith("state.")
    }
    paths = [path for path, _line, _value in walk_values((CHART / "values.yaml").read_text())]
    leaves = [path for path in paths if not any(other.startswith(f"{path}.") for other in paths)]
    assert [path for path in leaves if not _is_within(path, described)] == []


def _is_within(path: str, described: set[str]) -> bool:
    parts = path.split(".")
    above = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return bool(above & described) or any(known.startswith(f"{path}.") for known in described)


def test_the_versions_are_those_of_the_services() -> None:
    version = read_toml(ROOT / "services/core/pyproject.toml")["project"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version, version)
