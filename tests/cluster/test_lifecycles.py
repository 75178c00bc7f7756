"""A release from its first object to its last, by helm and without it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.cluster.commands import Namespace, eventually, names_of, new_namespace, run
from tests.support.cluster.releases import (
    ALONE,
    DEMO_POSTGRES,
    DEMO_SECRET,
    Release,
    alone,
    install_demo,
)
from tests.support.helm import MAJORS

LEFT = {
    f"secret/{DEMO_SECRET}",
    f"persistentvolumeclaim/data-{DEMO_POSTGRES}-0",
    "pod/memory-commonhold-test",
}
"""What the page on installing says is left: a Secret made before, the claim on the data, and the
pod of the last test."""
OF_EVERY_NAMESPACE = {"configmap/kube-root-ca.crt", "serviceaccount/default"}
PASSING = {"events", "events.events.k8s.io", "pods.metrics.k8s.io"}


def test_an_uninstall_leaves_nothing_but_what_the_page_says(images: None) -> None:
    with ThreadPoolExecutor() as executor:
        for left in executor.map(_install_and_uninstall, MAJORS):
            assert left == LEFT


@pytest.mark.parametrize("major", MAJORS, ids=lambda major: f"helm{major}")
def test_what_helm_renders_is_applied_without_helm(site: Namespace, major: int) -> None:
    release = alone(site, major=major)
    text = release.render("--skip-tests")
    site.kubectl("apply", "--server-side", "--filename", "-", stdin=text)
    release.settle("state", 1)
    before = names_of(release.all_pods())
    said = site.kubectl("apply", "--server-side", "--filename", "-", stdin=text)
    assert "serverside-applied" in said
    release.settle("state", 1)
    assert names_of(release.all_pods()) == before
    site.kubectl("delete", "--wait=false", "--filename", "-", stdin=text)


def _install_and_uninstall(major: int) -> set[str]:
    with new_namespace(f"gone{major}") as namespace:
        release: Release = install_demo(namespace, major=major, values=ALONE)
        assert "persistentvolumeclaim" in "".join(_everything(namespace))
        release.helm("test")
        release.helm("uninstall", "--wait")
        eventually(lambda: not release.all_pods(), "the pods have ended")
        # Slices go with their Service a moment later, by the garbage collector.
        eventually(lambda: not _names(namespace, "endpointslices"), "the slices are gone")
        return _everything(namespace) - OF_EVERY_NAMESPACE


def _everything(namespace: Namespace) -> set[str]:
    listable = run("kubectl", "api-resources", "--namespaced", "--verbs=list", "--output=name")
    return _names(namespace, ",".join(sorted(set(listable.split()) - PASSING)))


def _names(namespace: Namespace, kinds: str) -> set[str]:
    return set(namespace.kubectl("get", kinds, "--output", "name").split())
