"""Commands of the cluster's tools, and namespaces that a test run makes and takes away."""

import contextlib
import json
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

COMMAND_SECONDS = 120.0
PATIENCE_SECONDS = 180.0
POLL_SECONDS = 0.5

Manifest = dict[str, Any]


class CommandError(Exception):
    """What a command said when it failed."""


def run(*command: str, stdin: str | None = None, seconds: float = COMMAND_SECONDS) -> str:
    """Return what the command prints."""
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, input=stdin, timeout=seconds
    )
    if done.returncode != 0:
        raise CommandError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def eventually(holds: Callable[[], Any], what: str, *, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until it holds; a command that fails meanwhile is asked again."""
    deadline = time.monotonic() + seconds
    said = ""
    while True:
        try:
            if holds():
                return
        except CommandError as error:
            said = f": {error}"
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds:g} s in vain until {what}{said}")
        time.sleep(POLL_SECONDS)


class Namespace(msgspec.Struct, frozen=True):
    name: str

    def kubectl(
        self, *arguments: str, stdin: str | None = None, seconds: float = COMMAND_SECONDS
    ) -> str:
        return run("kubectl", "--namespace", self.name, *arguments, stdin=stdin, seconds=seconds)

    def get(self, *arguments: str) -> Manifest:
        manifest: Manifest = json.loads(self.kubectl("get", *arguments, "--output", "json"))
        return manifest

    def pods(self, selector: str) -> list[Manifest]:
        """Every pod that the selector names, also those that are ending."""
        pods: list[Manifest] = self.get("pods", "--selector", selector)["items"]
        return pods

    def apply(self, *manifests: Manifest) -> None:
        text = "\n".join(json.dumps(manifest) for manifest in manifests)
        self.kubectl("apply", "--server-side", "--filename", "-", stdin=text)

    def put_secret(self, name: str, entries: Mapping[str, str]) -> None:
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name},
                "stringData": dict(entries),
            }
        )

    def execute(self, pod: str, *command: str, stdin: str | None = None) -> str:
        return self.kubectl("exec", "--stdin", pod, "--", *command, stdin=stdin)

    def events(self) -> str:
        events = self.get("events")["items"]
        return "\n".join(str(event.get("message")) for event in events)

    def logs(self, *arguments: str) -> str:
        return self.kubectl("logs", *arguments)


@contextmanager
def new_namespace(word: str, *labels: str, enforce: str = "restricted") -> Iterator[Namespace]:
    """A namespace of that Pod Security level, deleted at the end; labels are `name=value`."""
    name = f"commonhold-{word}-{secrets.token_hex(3)}"
    run("kubectl", "create", "namespace", name)
    try:
        level = f"pod-security.kubernetes.io/enforce={enforce}"
        run("kubectl", "label", "namespace", name, level, *labels)
        yield Namespace(name)
    finally:
        with contextlib.suppress(CommandError):
            run("kubectl", "delete", "namespace", name, "--wait=false")


def is_ready(pod: Manifest) -> bool:
    conditions = pod["status"].get("conditions", [])
    return "deletionTimestamp" not in pod["metadata"] and any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def container_statuses(pod: Manifest) -> list[Manifest]:
    """None before the kubelet has seen the pod."""
    statuses: list[Manifest] = pod["status"].get("containerStatuses", [])
    return statuses


def names_of(pods: list[Manifest]) -> set[str]:
    return {pod["metadata"]["name"] for pod in pods}
