"""The stack of docker-compose.yml under a name, ports and credentials of its own."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.support.ports import free_port
from tests.support.processes import wait_until
from tests.support.repository import ROOT
from tests.support.service_checker import Doors

PORTS = (
    "STATE_PORT",
    "STATE_OPS_PORT",
    "GATEWAY_PORT",
    "GATEWAY_OPS_PORT",
    "MAINTENANCE_OPS_PORT",
    "BALANCER_STATE_PORT",
    "BALANCER_PORT",
    "EDGE_PORT",
    "PROMETHEUS_PORT",
    "ALERTMANAGER_PORT",
    "GRAFANA_PORT",
)
COMMAND_SECONDS = 300


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    environment: dict[str, str]
    secrets: Path
    start_seconds: float = 0.0

    @property
    def state_url(self) -> str:
        return self.url("STATE_PORT")

    @property
    def prometheus_url(self) -> str:
        return self.url("PROMETHEUS_PORT")

    @property
    def balanced_url(self) -> str:
        """MCP, every request on the other replica."""
        return f"{self.url('BALANCER_PORT')}/mcp"

    @property
    def token(self) -> str:
        return (self.secrets / "serve_token").read_text()

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def balanced_doors(self) -> Doors:
        return Doors(
            state_port=self.port("BALANCER_STATE_PORT"),
            gateway_port=self.port("BALANCER_PORT"),
            token=self.token,
        )

    def port(self, name: str) -> int:
        return int(self.environment[name])

    def url(self, port: str) -> str:
        return f"http://127.0.0.1:{self.environment[port]}"

    def compose(self, *arguments: str, **settings: str) -> str:
        return run(["docker", "compose", *arguments], {**self.environment, **settings})

    def make(self, *arguments: str) -> str:
        return run(["make", *arguments], self.environment)

    def containers(self) -> dict[str, dict[str, Any]]:
        """What the engine says of each container, by its service."""
        names = self.compose("ps", "--all", "--quiet").split()
        told = json.loads(run(["docker", "inspect", *names], self.environment))
        return {one["Config"]["Labels"]["com.docker.compose.service"]: one for one in told}

    def crash(self, service: str) -> None:
        """Kill the process as a fault would, so that its restart policy brings it back."""
        before = self.containers()[service]
        try:
            os.kill(before["State"]["Pid"], signal.SIGKILL)
        except (PermissionError, ProcessLookupError):
            # The engine's processes are another user's or another machine's.
            self.compose("kill", service)
            self.compose("start", service)
        wait_until(lambda: self._runs_anew(service, before), f"{service} runs again", seconds=60)

    def _runs_anew(self, service: str, before: dict[str, Any]) -> bool:
        state = self.containers()[service]["State"]
        return bool(state["Running"]) and state["StartedAt"] != before["State"]["StartedAt"]


@contextmanager
def running_stack(*profiles: str, settings: Mapping[str, str] | None = None) -> Iterator[Stack]:
    """Build the images, start everything, and leave nothing behind."""
    run(["make", "images"], {})
    with prepared_stack(*profiles, settings=settings) as stack:
        started = time.monotonic()
        stack.compose("up", "--detach", "--wait")
        yield msgspec.structs.replace(stack, start_seconds=time.monotonic() - started)


@contextmanager
def prepared_stack(*profiles: str, settings: Mapping[str, str] | None = None) -> Iterator[Stack]:
    """Everything but the start; what was started is removed."""
    folder = Path(tempfile.mkdtemp(prefix="commonhold-secrets-"))
    environment = {
        **name_and_ports(),
        "COMPOSE_PROFILES": ",".join(profiles),
        # A developer's own settings are none of the tests'.
        "COMPOSE_ENV_FILES": os.devnull,
        "SECRETS": str(folder),
        **(settings or {}),
    }
    stack = Stack(environment=environment, secrets=folder)
    try:
        stack.make("certificates")
        yield stack
    finally:
        stack.compose("--profile", "*", "down", "--volumes", "--timeout", "10")
        shutil.rmtree(folder)


def name_and_ports() -> dict[str, str]:
    """What keeps a stack apart from every other on this machine."""
    project = f"commonhold-test-{secrets.token_hex(4)}"
    return {"COMPOSE_PROJECT_NAME": project, **{name: str(free_port()) for name in PORTS}}


def run(command: Sequence[str], environment: Mapping[str, str]) -> str:
    try:
        return subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
            timeout=COMMAND_SECONDS,
        ).stdout
    except subprocess.CalledProcessError as error:
        error.add_note(error.stderr)
        raise
