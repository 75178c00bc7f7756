"""Every flow that the release needs passes, and no other connects, from pods in it and outside."""

import functools
from collections.abc import Iterator

import msgspec
import pytest

from tests.cluster.conftest import Demo
from tests.support.cluster.commands import Namespace, eventually, is_ready, new_namespace
from tests.support.cluster.probes import LISTENING, Probe, probe_pod
from tests.support.cluster.releases import DEMO_POSTGRES, MONITORING, Release

HTTP = {"state": 6367, "gateway": 6368}
OPS = {"state": 9367, "gateway": 9368, "maintenance": 9369}
POSTGRES = {"postgres"}
ELSEWHERE = {"outside", "cluster API"}
"""What is no business of the release's."""
FLOWS = {
    "state": POSTGRES,
    "gateway": POSTGRES,
    "maintenance": POSTGRES,
    "migrate": POSTGRES,
    "test": set(HTTP),
    "client": {*HTTP, *ELSEWHERE},
    "stranger": ELSEWHERE,
    "monitoring": {*(f"{word} ops" for word in OPS), *ELSEWHERE},
}
"""What may be reached from where, by the names of Services, so that DNS must pass too."""


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    probes: dict[str, Probe]
    targets: dict[str, str]


@pytest.fixture(scope="module")
def ground(demos: dict[int, Demo]) -> Iterator[Ground]:
    """The release's own pods, and probes beside them and in two other namespaces."""
    release = demos[4].release
    here = release.namespace
    watching = [f"{name}={value}" for name, value in MONITORING.items()]
    with new_namespace("stranger") as far, new_namespace("watch", *watching) as watch:
        probes = {word: _pod_of(release, word) for word in OPS}
        for word in ("migrate", "test"):
            probes[word] = _start(here, word, labels=_labels(release, word))
        probes["client"] = _start(here, "client")
        probes["stranger"] = _start(far, "stranger")
        probes["monitoring"] = _start(watch, "monitoring")
        for probe in probes.values():
            eventually(functools.partial(_is_up, probe), f"{probe.pod} is up")
        yield Ground(probes=probes, targets=_targets(release, stranger=probes["stranger"]))
        here.kubectl("delete", "pod", "--selector", "probe=yes", "--wait=false")


@pytest.mark.parametrize("source", FLOWS)
def test_from_there_connect_the_needed_flows_and_no_others(ground: Ground, source: str) -> None:
    probe = ground.probes[source]
    # Behind its own Service a pod may meet itself, which no policy denies.
    others = {
        name: target
        for name, target in ground.targets.items()
        if source not in OPS or not name.startswith(source)
    }
    # A policy takes some seconds to reach a new pod.
    eventually(lambda: probe.opened(others) == FLOWS[source], f"{source} settles")
    assert probe.opened(others) == FLOWS[source]


def _pod_of(release: Release, component: str) -> Probe:
    pods = release.pods(component)
    return Probe(namespace=release.namespace, pod=pods[0]["metadata"]["name"])


def _labels(release: Release, component: str) -> dict[str, str]:
    """Labels by which the policies know a pod of that kind."""
    labels: dict[str, str] = release.pods("state")[0]["metadata"]["labels"]
    wanted = ("app.kubernetes.io/name", "app.kubernetes.io/instance")
    return {name: labels[name] for name in wanted} | {"app.kubernetes.io/component": component}


def _start(namespace: Namespace, word: str, *, labels: dict[str, str] | None = None) -> Probe:
    pod = f"probe-{word}"
    namespace.apply(probe_pod(pod, labels={"probe": "yes", **(labels or {})}))
    return Probe(namespace=namespace, pod=pod)


def _is_up(probe: Probe) -> bool:
    return is_ready(probe.namespace.get("pod", probe.pod))


def _targets(release: Release, *, stranger: Probe) -> dict[str, str]:
    space = release.namespace.name
    names = {word: (release.deployment(word), port) for word, port in HTTP.items()}
    names |= {f"{word} ops": (release.deployment(word), port) for word, port in OPS.items()}
    names["postgres"] = (DEMO_POSTGRES, 5432)
    outside = stranger.namespace.get("pod", stranger.pod)["status"]["podIP"]
    return {
        **{name: f"{service}.{space}:{port}" for name, (service, port) in names.items()},
        "outside": f"{outside}:{LISTENING}",
        "cluster API": "kubernetes.default:443",
    }
