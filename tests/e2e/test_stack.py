"""The stack of docker-compose.yml as an operator meets it: started, scraped, restarted."""

import asyncio
import contextlib
import json
import os
import secrets
import subprocess
import time
from collections.abc import Iterator, Mapping
from typing import Any

import aiohttp
import msgspec
import pytest

from tests.support.ports import free_port
from tests.support.repository import ROOT

pytestmark = pytest.mark.docker

START_SECONDS = 60
WRITERS = 16
NUMERIC_USER = "10001"


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    project: str
    environment: dict[str, str]
    start_seconds: float

    @property
    def state_url(self) -> str:
        return f"http://127.0.0.1:{self.environment['STATE_PORT']}"

    @property
    def prometheus_url(self) -> str:
        return f"http://127.0.0.1:{self.environment['PROMETHEUS_PORT']}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.environment['NEOSIAN_SERVE_TOKEN']}"}

    def compose(self, *arguments: str) -> str:
        return _compose(self.project, self.environment, *arguments)


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """The whole stack under a name, ports and credentials of its own."""
    _run(["make", "images"], os.environ)
    project = f"commonhold-test-{secrets.token_hex(4)}"
    environment = {
        "STATE_PORT": str(free_port()),
        "STATE_OPS_PORT": str(free_port()),
        "PROMETHEUS_PORT": str(free_port()),
        "NEOSIAN_SERVE_TOKEN": secrets.token_hex(32),
        "POSTGRES_PASSWORD": secrets.token_hex(32),
        "POSTGRES_SERVE_PASSWORD": secrets.token_hex(32),
    }
    try:
        started = time.monotonic()
        _compose(project, environment, "up", "--detach", "--wait")
        yield Stack(
            project=project,
            environment=environment,
            start_seconds=time.monotonic() - started,
        )
    finally:
        _compose(project, environment, "down", "--volumes", "--timeout", "10")


def test_it_is_healthy_within_a_minute(stack: Stack) -> None:
    services = [json.loads(line) for line in stack.compose("ps", "--format", "json").splitlines()]
    health = {service["Service"]: service["Health"] for service in services}
    assert health == {"postgres": "healthy", "state": "healthy", "prometheus": "healthy"}
    assert stack.start_seconds < START_SECONDS


def test_it_publishes_on_loopback_alone(stack: Stack) -> None:
    config = json.loads(stack.compose("config", "--format", "json"))
    published = [
        port for service in config["services"].values() for port in service.get("ports", ())
    ]
    assert {port["host_ip"] for port in published} == {"127.0.0.1"}


def test_the_service_runs_as_nobody_who_could_write_to_its_image(stack: Stack) -> None:
    probe = "import os; print(os.getuid()); open('/venv/planted', 'w')"
    with pytest.raises(subprocess.CalledProcessError) as refused:
        stack.compose("exec", "-T", "state", "python", "-c", probe)
    assert refused.value.stdout.strip() == NUMERIC_USER
    assert "Read-only file system" in refused.value.stderr


def test_the_service_cannot_change_the_schema(stack: Stack) -> None:
    drop = "SET ROLE commonhold_serve; DROP TABLE commonhold.documents"
    command = ("psql", "--username=commonhold", "--dbname=commonhold", f"--command={drop}")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        stack.compose("exec", "-T", "postgres", *command)
    assert "must be owner of table documents" in refused.value.stderr


async def test_prometheus_scrapes_the_service(stack: Stack) -> None:
    query = {"query": 'up{job="commonhold-state"}'}
    async with aiohttp.ClientSession() as client, asyncio.timeout(30):
        while True:
            async with client.get(f"{stack.prometheus_url}/api/v1/query", params=query) as response:
                result = (await response.json())["data"]["result"]
            if result and result[0]["value"][1] == "1":
                return
            await asyncio.sleep(0.5)


async def test_a_restart_of_postgres_under_load_loses_no_acknowledged_write(stack: Stack) -> None:
    stop = asyncio.Event()
    async with aiohttp.ClientSession(stack.state_url, headers=stack.headers) as client:
        writers = [asyncio.create_task(_write_until(stop, client, name)) for name in range(WRITERS)]
        await asyncio.to_thread(stack.compose, "restart", "postgres")
        await _served_again(client)
        stop.set()
        acknowledged = await asyncio.gather(*writers)
        kept = [await _versions(client, name) for name in range(WRITERS)]
    for versions, present in zip(acknowledged, kept, strict=True):
        assert versions
        assert set(versions.items()) <= set(present.items())


@pytest.mark.parametrize("name", ["NEOSIAN_SERVE_TOKEN", "POSTGRES_PASSWORD"])
def test_without_a_credential_it_stops_and_says_which(name: str) -> None:
    complete = dict.fromkeys(
        ("NEOSIAN_SERVE_TOKEN", "POSTGRES_PASSWORD", "POSTGRES_SERVE_PASSWORD"), "x"
    )
    with pytest.raises(subprocess.CalledProcessError) as refused:
        _compose("commonhold-test-none", {**complete, name: ""}, "config", "--quiet")
    assert (
        f"required variable {name} is missing a value: make up writes one" in refused.value.stderr
    )


async def _write_until(
    stop: asyncio.Event, client: aiohttp.ClientSession, name: int
) -> dict[int, str]:
    """Write one document again and again; return what was acknowledged, by version."""
    acknowledged = {}
    while not stop.is_set():
        content = secrets.token_hex(8)
        with contextlib.suppress(aiohttp.ClientError):
            document = await _write(client, path=f"load/{name}", content=content)
            if document is not None:
                acknowledged[document["version"]] = content
    return acknowledged


async def _write(
    client: aiohttp.ClientSession, *, path: str, content: str
) -> dict[str, Any] | None:
    """Return the written document, or None when the service answered that it cannot now."""
    body = {"scope": "stack:test", "path": path, "content": content}
    async with client.post("/v1/memory/write", json=body) as response:
        assert response.status in {200, 503}
        if response.status != 200:
            return None
        document: dict[str, Any] = (await response.json())["document"]
        return document


async def _served_again(client: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(30):
        while True:
            if await _write(client, path="after/restart", content="back") is not None:
                return
            await asyncio.sleep(0.2)


async def _versions(client: aiohttp.ClientSession, name: int) -> dict[int, str]:
    versions: dict[int, str] = {}
    cursor = None
    while True:
        body = {"scope": "stack:test", "path": f"load/{name}", "cursor": cursor}
        async with client.post("/v1/memory/versions", json=body) as response:
            page = await response.json()
        versions |= {row["version"]: row["content"] for row in page["versions"]}
        cursor = page["next_cursor"]
        if cursor is None:
            return versions


def _compose(project: str, environment: dict[str, str], *arguments: str) -> str:
    command = ["docker", "compose", "--env-file", os.devnull, "--project-name", project, *arguments]
    return _run(command, {**os.environ, **environment})


def _run(command: list[str], environment: Mapping[str, str]) -> str:
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=300
    ).stdout
