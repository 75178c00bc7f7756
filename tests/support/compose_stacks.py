"""The stack of docker-compose.yml under a name, ports and credentials of its own."""

import os
import secrets
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from tests.support.ports import free_port
from tests.support.repository import ROOT

PROFILE = "replicas"
PORTS = (
    "STATE_PORT",
    "STATE_OPS_PORT",
    "GATEWAY_PORT",
    "GATEWAY_OPS_PORT",
    "MAINTENANCE_OPS_PORT",
    "BALANCER_PORT",
    "PROMETHEUS_PORT",
)
SECRETS = ("NEOSIAN_SERVE_TOKEN", "POSTGRES_PASSWORD", "POSTGRES_SERVE_PASSWORD")
COMMAND_SECONDS = 300


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    project: str
    environment: dict[str, str]
    start_seconds: float

    @property
    def state_url(self) -> str:
        return self._url("STATE_PORT")

    @property
    def prometheus_url(self) -> str:
        return self._url("PROMETHEUS_PORT")

    @property
    def balanced_url(self) -> str:
        """MCP, every request on the other replica."""
        return f"{self._url('BALANCER_PORT')}/mcp"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.environment['NEOSIAN_SERVE_TOKEN']}"}

    def compose(self, *arguments: str) -> str:
        return compose(self.project, self.environment, *arguments)

    def _url(self, port: str) -> str:
        return f"http://127.0.0.1:{self.environment[port]}"


@contextmanager
def running_stack() -> Iterator[Stack]:
    """Build the images, start everything, and leave nothing behind."""
    _run(["make", "images"], os.environ)
    project = f"commonhold-test-{secrets.token_hex(4)}"
    environment = {
        **{name: str(free_port()) for name in PORTS},
        **{name: secrets.token_hex(32) for name in SECRETS},
    }
    try:
        started = time.monotonic()
        compose(project, environment, "up", "--detach", "--wait")
        yield Stack(
            project=project,
            environment=environment,
            start_seconds=time.monotonic() - started,
        )
    finally:
        compose(project, environment, "down", "--volumes", "--timeout", "10")


def compose(project: str, environment: Mapping[str, str], *arguments: str) -> str:
    names = ["--project-name", project, "--profile", PROFILE]
    command = ["docker", "compose", "--env-file", os.devnull, *names, *arguments]
    return _run(command, {**os.environ, **environment})


def _run(command: list[str], environment: Mapping[str, str]) -> str:
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=COMMAND_SECONDS,
    ).stdout
