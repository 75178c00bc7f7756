"""A gateway and a worker in one namespace, over the state service of a release in another."""

import secrets
from typing import Any

from tests.cluster.conftest import Demo
from tests.support.cluster.commands import Namespace, new_namespace
from tests.support.cluster.releases import GARDENS, SMALL, Release, admit, peer_of
from tests.support.helm import OVER_STATE

PORT = 6367


def test_they_serve_without_a_database_through_the_policies_of_both(demos: dict[int, Demo]) -> None:
    upstream = demos[4]
    with new_namespace("over") as guest:
        _admit(guest, upstream.release)
        guest.put_secret("memory-state", {"token": upstream.token, "keeper": upstream.token})
        guest.put_secret("memory-tokens", {"token": secrets.token_hex(12)})
        values = _values(upstream.release)
        release = Release(namespace=guest, major=4, values=values, files=(OVER_STATE,))
        release.install()
        assert "ok: the gateway reads what it wrote" in release.helm("test", "--logs")
        assert guest.get("jobs")["items"] == []
        release.settle("maintenance", 1)


def _values(upstream: Release) -> dict[str, Any]:
    host = f"{upstream.deployment('state')}.{upstream.namespace.name}"
    service = {"resources": SMALL, "stateService": {"url": f"http://{host}:{PORT}"}}
    return {
        "image": {"tag": "local"},
        "gateway": {**service, "replicas": 1},
        "maintenance": {**service, "gardens": {"toml": GARDENS, "existingConfigMap": ""}},
        "networkPolicy": {"stateService": {"ports": [PORT], "to": [peer_of(upstream.namespace)]}},
    }


def _admit(guest: Namespace, upstream: Release) -> None:
    """Let the other namespace's pods call the state service, as `networkPolicy.clients` would."""
    labels = {
        "app.kubernetes.io/instance": upstream.name,
        "app.kubernetes.io/component": "state",
    }
    name = f"{guest.name}-to-state"
    admit(upstream.namespace, labels, name=name, peer=peer_of(guest), port=PORT)
