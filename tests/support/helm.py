"""The chart rendered by a real helm, as the tests of it read it."""

import functools
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.support.repository import ROOT

CHART = ROOT / "helm/commonhold"
CI_VALUES = sorted(CHART.glob("ci/*-values.yaml"))
EXAMPLE_VALUES = sorted(CHART.glob("examples/*-values.yaml"))
DEFAULT = CHART / "ci/default-values.yaml"
FULL = CHART / "ci/full-values.yaml"
STATE_ONLY = CHART / "ci/state-only-values.yaml"
OVER_STATE = CHART / "ci/over-state-values.yaml"
MAJORS = (3, 4)
MONITORING = "monitoring.coreos.com/v1"

Manifest = dict[str, Any]


class RenderError(Exception):
    """What helm said when it refused."""


@functools.cache
def helm(major: int = 4) -> str:
    """Return the path of that helm, fetched on first use."""
    command = [str(ROOT / "deploy/offline/helm.sh"), str(major)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


@functools.cache
def render(
    values: Path = DEFAULT,
    *overrides: str,
    major: int = 4,
    release: str = "here",
    arguments: tuple[str, ...] = (),
) -> "Chart":
    """Render with a values file, `--set` overrides, and further arguments of `helm template`.

    What it returns is shared: it is read and never changed.
    """
    return Chart(render_text(values, overrides, major=major, release=release, arguments=arguments))


def _run(command: tuple[str, ...]) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60, env=environment
    )
    if done.returncode != 0:
        raise RenderError(done.stderr)
    return done.stdout


def render_text(
    values: Path,
    overrides: Sequence[str] = (),
    *,
    major: int = 4,
    release: str = "here",
    arguments: Sequence[str] = (),
) -> str:
    command = [helm(major), "template", release, str(CHART), "--namespace", "space"]
    command += ["--values", str(values), *arguments]
    for override in overrides:
        command += ["--set", override]
    return _run(tuple(command))


@functools.cache
def notes(values: Path) -> str:
    """Return what `helm install` says in the end; helm 3 would ask a cluster for it."""
    command = [helm(4), "install", "here", str(CHART), "--namespace", "space"]
    command += ["--values", str(values), "--dry-run=client"]
    _objects, _, said = _run(tuple(command)).partition("\nNOTES:\n")
    return said


class Chart:
    """The objects of one rendering."""

    def __init__(self, text: str) -> None:
        loaded = yaml.load_all(text, Loader=yaml.CSafeLoader)
        self.objects: list[Manifest] = [manifest for manifest in loaded if manifest]

    def kind(self, kind: str) -> dict[str, Manifest]:
        found = [manifest for manifest in self.objects if manifest["kind"] == kind]
        return {manifest["metadata"]["name"]: manifest for manifest in found}

    def one(self, kind: str, name: str) -> Manifest:
        return self.kind(kind)[name]

    def deployment(self, component: str) -> Manifest:
        return next(
            manifest
            for manifest in self.kind("Deployment").values()
            if manifest["metadata"]["labels"]["app.kubernetes.io/component"] == component
        )

    def pod_spec(self, component: str) -> Manifest:
        spec: Manifest = self.deployment(component)["spec"]["template"]["spec"]
        return spec

    def container(self, component: str) -> Manifest:
        container: Manifest = self.pod_spec(component)["containers"][0]
        return container

    def job(self) -> Manifest:
        (job,) = self.kind("Job").values()
        return job

    def pods(self) -> dict[str, Manifest]:
        """Return every pod that an object of ours makes, by the object's name."""
        found = {name: pod["spec"] for name, pod in self.kind("Pod").items()}
        for kind in ("Deployment", "Job"):
            for name, manifest in self.kind(kind).items():
                found[name] = manifest["spec"]["template"]["spec"]
        return found


def environment_of(container: Manifest) -> dict[str, str]:
    return {variable["name"]: variable.get("value", "") for variable in container["env"]}


def containers_of(pod: Manifest) -> list[Manifest]:
    return [*pod.get("initContainers", []), *pod["containers"]]
