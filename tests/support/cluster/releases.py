"""Releases of the chart, as one of the two helms manages them."""

import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.support.cluster.commands import (
    Manifest,
    Namespace,
    container_statuses,
    eventually,
    is_ready,
    run,
)
from tests.support.helm import CHART, helm

DEMO = CHART / "examples/demo-values.yaml"
DEMO_SECRET = "commonhold-demo"
DEMO_POSTGRES = "commonhold-demo-postgres"
INSTALL_SECONDS = 300.0
ROLLBACK_FLAG = {3: "--atomic", 4: "--rollback-on-failure"}
REPLICAS = {"state": 2, "gateway": 2, "maintenance": 1}
SCOPE = "project:demo"

# Two releases of ten pods must find room on two processors, and their pools in one Postgres. The
# limits are the chart's.
SMALL = {"requests": {"cpu": "20m", "memory": "96Mi"}}
SERVING = {"poolSize": 4, "resources": SMALL, "service": {"type": "NodePort"}}
GARDENS = f"""
[gardens.demo]
mounts = [{{scope = "{SCOPE}", path = "project"}}]
interval = "1h"
"""
MONITORING = {"commonhold.example/monitoring": "yes"}
"""Labels of a namespace that may read the metrics."""
WHOLE: dict[str, Any] = {
    "image": {"tag": "local"},
    "state": SERVING,
    "gateway": SERVING,
    "tokens": {"previousKey": "previous"},
    "networkPolicy": {"monitoring": [{"namespaceSelector": {"matchLabels": MONITORING}}]},
    "maintenance": {"enabled": True, "gardens": {"toml": GARDENS}, "resources": SMALL},
}
"""Values of a whole release, beside those of the demo: all three services."""

ALONE: dict[str, Any] = {
    "image": {"tag": "local"},
    "postgres": {"existingSecret": DEMO_SECRET, "fromParts": True},
    "tokens": {"existingSecret": DEMO_SECRET},
    "state": {**SERVING, "replicas": 1},
    "gateway": {"enabled": False},
}
"""Values of a release of one pod, on a Postgres that is there."""


def merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return values with changes laid over them, as helm lays one file over another."""
    result = dict(values)
    for name, change in changes.items():
        before = result.get(name)
        if isinstance(before, dict) and isinstance(change, dict):
            result[name] = merged(before, change)
        else:
            result[name] = change
    return result


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A release and the values that it is installed with."""

    namespace: Namespace
    major: int
    values: dict[str, Any]
    name: str = "memory"
    files: tuple[Path, ...] = ()

    @property
    def fullname(self) -> str:
        return f"{self.name}-commonhold"

    @property
    def selector(self) -> str:
        return f"app.kubernetes.io/instance={self.name}"

    def deployment(self, component: str) -> str:
        return f"{self.fullname}-{component}"

    def helm(self, verb: str, *arguments: str, seconds: float = INSTALL_SECONDS) -> str:
        command = (helm(self.major), verb, self.name, "--namespace", self.namespace.name)
        return run(*command, *arguments, seconds=seconds)

    def with_values(self, *arguments: str, verb: str, changes: dict[str, Any] | None = None) -> str:
        """Run a verb that takes the chart and the values, which `changes` are laid over."""
        values = merged(self.values, changes or {})
        files = [part for file in self.files for part in ("--values", str(file))]
        command = [helm(self.major), verb, self.name, str(CHART)]
        command += ["--namespace", self.namespace.name, *files, "--values", "-", *arguments]
        return run(*command, stdin=json.dumps(values), seconds=INSTALL_SECONDS)

    def install(self, *arguments: str) -> str:
        return self.with_values("--wait", "--timeout", "4m", *arguments, verb="install")

    def upgrade(self, *arguments: str, **changes: Any) -> str:
        return self.with_values(
            "--wait", "--timeout", "4m", *arguments, verb="upgrade", changes=changes
        )

    def render(self, *arguments: str, **changes: Any) -> str:
        return self.with_values(*arguments, verb="template", changes=changes)

    def pods(self, component: str) -> list[Manifest]:
        return self.namespace.pods(f"{self.selector},app.kubernetes.io/component={component}")

    def all_pods(self) -> list[Manifest]:
        """Every pod of the services."""
        kinds = f"app.kubernetes.io/component in ({','.join(REPLICAS)})"
        return self.namespace.pods(f"{self.selector},{kinds}")

    def settle(self, component: str, count: int) -> None:
        """Wait until there are so many pods, all ready, and none that still ends."""

        def settled() -> bool:
            pods = self.pods(component)
            return len(pods) == count and all(is_ready(pod) for pod in pods)

        eventually(settled, f"{self.deployment(component)} has {count} pods")

    def settle_all(self, **replicas: int) -> None:
        """Wait until every service has its pods: those that a whole release has, or so many."""
        for component, count in (REPLICAS | replicas).items():
            self.settle(component, count)

    def port(self, component: str, *, named: str = "http") -> int:
        """The port of a node that leads to the Service."""
        service = self.namespace.get("service", self.deployment(component))
        ports = {port["name"]: port["nodePort"] for port in service["spec"]["ports"]}
        return int(ports[named])

    def psql(self, statement: str, *, database: str = "commonhold") -> str:
        """Run SQL in the demo's Postgres as the role of the services, its administrator."""
        pod = f"{DEMO_POSTGRES}-0"
        command = ["psql", "--username=commonhold", f"--dbname={database}", "--no-psqlrc"]
        command += ["--host=/var/run/postgresql", "--tuples-only", "--no-align"]
        command += ["--set=ON_ERROR_STOP=1", "--file=-"]
        return self.namespace.execute(pod, *command, stdin=statement)


def alone(site: Namespace, *, major: int = 4, **changes: Any) -> Release:
    """A release of one pod, not installed, in a schema of its own beside others on a site."""
    word = f"alone{secrets.token_hex(3)}"
    values = merged(ALONE, merged({"postgres": {"schema": word}}, changes))
    return Release(namespace=site, major=major, name=word, values=values)


def install_demo(
    namespace: Namespace, *, major: int, values: dict[str, Any] | None = None
) -> Release:
    """Install from nothing with a Postgres of its own: everything, unless `values` say else."""
    release = Release(namespace=namespace, major=major, values=values or WHOLE, files=(DEMO,))
    parts = {"host": DEMO_POSTGRES, "port": "5432", "username": "commonhold"}
    parts |= {"dbname": "commonhold", "password": secrets.token_hex(12)}
    parts |= {"token": secrets.token_hex(12), "previous": secrets.token_hex(12)}
    namespace.put_secret(DEMO_SECRET, parts)
    release.install(ROLLBACK_FLAG[major])
    return release


def admit_to_postgres(namespace: Namespace, *, guest: Namespace | None = None) -> None:
    """Let other releases use the demo's Postgres, which lets only its own in.

    They are those of the namespace, or of the one that is named.
    """
    peer: Manifest = {"podSelector": {}} if guest is None else peer_of(guest)
    name = f"{(guest or namespace).name}-to-postgres"
    admit(namespace, {"app.kubernetes.io/name": DEMO_POSTGRES}, name=name, peer=peer, port=5432)


def admit(
    namespace: Namespace, labels: dict[str, str], *, name: str, peer: Manifest, port: int
) -> None:
    """Let a peer call a port of the pods with these labels, by a policy of that name."""
    policy = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name},
        "spec": {
            "podSelector": {"matchLabels": labels},
            "ingress": [{"from": [peer], "ports": [{"port": port}]}],
        },
    }
    namespace.apply(policy)


def peer_of(namespace: Namespace) -> Manifest:
    """Every pod of a namespace, as a policy names them."""
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}}}


def restarts(pods: Sequence[Manifest]) -> int:
    """How often containers of the pods were started again."""
    return sum(status["restartCount"] for pod in pods for status in container_statuses(pod))
