"""Pods that try connections, to learn which of them a NetworkPolicy lets pass."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from tests.support.cluster.commands import Manifest, Namespace

IMAGE = "commonhold-state:local"
LISTENING = 8080
TRY_SECONDS = 2
TRY = f"""
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor

def opens(address):
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout={TRY_SECONDS}).close()
    except OSError:
        return False
    return True

targets = json.loads(sys.argv[1])
with ThreadPoolExecutor(len(targets)) as executor:
    opened = executor.map(opens, targets.values())
print(json.dumps([name for name, is_open in zip(targets, opened) if is_open]))
"""


def probe_pod(name: str, *, labels: Mapping[str, str] | None = None) -> Manifest:
    """A pod that Pod Security `restricted` admits, listening on `LISTENING`."""
    container: dict[str, Any] = {
        "name": "probe",
        "image": IMAGE,
        "command": ["python", "-m", "http.server", str(LISTENING)],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
    }


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """A pod with Python in which connections are tried: one of the above, or one of ours."""

    namespace: Namespace
    pod: str

    def opened(self, targets: Mapping[str, str]) -> set[str]:
        """The names of the targets, `host:port`, that take a connection from here."""
        said = self.namespace.execute(self.pod, "python", "-c", TRY, json.dumps(dict(targets)))
        return set(json.loads(said))
