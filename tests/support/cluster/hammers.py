"""A pod that sees every process of its node, to kill one as an outage of the machine would."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tests.support.cluster.commands import Manifest, Namespace, eventually, is_ready, new_namespace

POD = "hammer"
# The first process of a container ignores the SIGKILL of its own container.
KILL = """
import os, pathlib, signal, sys
uid, name = sys.argv[1:]
for process in pathlib.Path("/proc").iterdir():
    try:
        group = (process / "cgroup").read_text().replace("_", "-")
        status = (process / "status").read_text()
    except OSError:
        continue
    fields = dict(line.split(":", 1) for line in status.splitlines())
    is_first = fields["NSpid"].split()[-1] == "1"
    if uid in group and is_first and fields["Name"].strip() == name:
        os.kill(int(process.name), signal.SIGKILL)
        print("killed", process.name)
"""


class Hammer(msgspec.Struct, frozen=True):
    namespace: Namespace

    def kill_first_process(self, pod: Manifest, *, named: str) -> None:
        said = self.namespace.execute(POD, "python", "-c", KILL, pod["metadata"]["uid"], named)
        assert said.count("killed") == 1, said


@contextmanager
def hammer(image: str) -> Iterator[Hammer]:
    with new_namespace("hammer", enforce="privileged") as namespace:
        container = {
            "name": POD,
            "image": image,
            "command": ["sleep", "infinity"],
            "securityContext": {"runAsUser": 0},
        }
        spec = {"hostPID": True, "terminationGracePeriodSeconds": 0, "containers": [container]}
        namespace.apply(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD}, "spec": spec}
        )
        eventually(lambda: is_ready(namespace.get("pod", POD)), "the hammer runs")
        yield Hammer(namespace)
