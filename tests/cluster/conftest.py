"""A cluster to install into, and the two releases that most tests share.

The cluster is the one of KUBECONFIG, with the images loaded: deploy/offline/README.md, "A cluster".
"""

import base64
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import msgspec
import pytest

from tests.support.cluster.callers import Callers, Entrances
from tests.support.cluster.commands import CommandError, Namespace, eventually, new_namespace, run
from tests.support.cluster.releases import (
    DEMO_SECRET,
    SCOPE,
    Release,
    admit_to_postgres,
    install_demo,
)
from tests.support.helm import MAJORS, helm

HERE = Path(__file__).parent
IMAGES = (
    *("commonhold-state:local", "commonhold-gateway:local", "commonhold-maintenance:local"),
    *("postgres:17", "prom/prometheus:v2.53.3"),
)
# The first test of a release waits for its installation too.
TEST_SECONDS = 900
SKIPPED = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if item.path.is_relative_to(HERE)]
    for item in ours:
        item.add_marker(pytest.mark.timeout(TEST_SECONDS))
    if not os.environ.get("KUBECONFIG"):
        config.stash[SKIPPED] = len(ours)
        for item in ours:
            item.add_marker(pytest.mark.skip(reason="KUBECONFIG names no cluster"))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if skipped := config.stash.get(SKIPPED, 0):
        terminalreporter.write_line(
            f"{skipped} tests were skipped for lack of a cluster: `make cluster` starts one"
            " and prints the KUBECONFIG to export"
        )


class Demo(msgspec.Struct, frozen=True, kw_only=True):
    """A release of everything, with its own Postgres."""

    release: Release
    host: str
    install_seconds: float

    @property
    def token(self) -> str:
        """What clients present now."""
        return self.secret("token")

    def secret(self, key: str) -> str:
        entries = self.release.namespace.get("secret", DEMO_SECRET)["data"]
        return base64.b64decode(entries[key]).decode()

    def status_for(self, token: str) -> int:
        """What the state service answers to a bearer of the token."""
        connection = HTTPConnection(self.host, self.release.port("state"), timeout=30)
        connection.request("GET", "/v1/capabilities", headers={"Authorization": f"Bearer {token}"})
        status = connection.getresponse().status
        connection.close()
        return status

    def entrances(self) -> Entrances:
        return Entrances(
            host=self.host,
            state_port=self.release.port("state"),
            gateway_port=self.release.port("gateway"),
        )

    def callers(self) -> Callers:
        return Callers(self.entrances(), token=self.token, mount="project", scope=SCOPE)


@pytest.fixture(scope="session")
def node_host() -> str:
    """Where NodePorts answer: the first node, or CLUSTER_HOST."""
    path = "jsonpath={.items[0].status.addresses[?(@.type=='InternalIP')].address}"
    return os.environ.get("CLUSTER_HOST") or run("kubectl", "get", "nodes", "--output", path)


@pytest.fixture(scope="session")
def images() -> None:
    """The images of this checkout are on the nodes, or nothing below can start."""
    names = "jsonpath={.items[*].status.images[*].names}"

    def is_there(image: str) -> bool:
        return f"/{image}" in run("kubectl", "get", "nodes", "--output", names)

    # A node tells of what was just loaded with its next report.
    for image in IMAGES:
        eventually(partial(is_there, image), f"the cluster has {image}: `make cluster` loads it")


@pytest.fixture(scope="session")
def resource_metrics(images: None) -> None:
    """The cluster measures its pods, as autoscaling needs."""
    try:
        run("kubectl", "top", "node")
    except CommandError as error:
        pytest.fail(f"the cluster has no resource metrics: `make cluster` adds them ({error})")


@pytest.fixture(scope="session")
def demos(images: None, node_host: str) -> Iterator[dict[int, Demo]]:
    """A release by each helm, installed at the same time in two namespaces."""
    for major in MAJORS:
        helm(major)
    with ExitStack() as stack:
        spaces = {major: stack.enter_context(new_namespace(f"helm{major}")) for major in MAJORS}

        def install(major: int) -> Demo:
            began = time.monotonic()
            release = install_demo(spaces[major], major=major)
            seconds = time.monotonic() - began
            return Demo(release=release, host=node_host, install_seconds=seconds)

        with ThreadPoolExecutor() as executor:
            yield dict(zip(MAJORS, executor.map(install, MAJORS), strict=True))


@pytest.fixture(params=MAJORS, ids=lambda major: f"helm{major}")
def demo(request: pytest.FixtureRequest, demos: dict[int, Demo]) -> Demo:
    return demos[request.param]


@pytest.fixture(scope="session")
def site(demos: dict[int, Demo]) -> Namespace:
    """A namespace whose Postgres takes further releases, each in a schema of its own."""
    namespace = demos[3].release.namespace
    admit_to_postgres(namespace)
    return namespace
