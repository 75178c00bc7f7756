"""The stack of docker-compose.yml as an operator meets it: started, scraped, restarted."""

import asyncio
import contextlib
import json
import secrets
import subprocess
from typing import Any

import aiohttp
import pytest

from tests.support.compose_stacks import SECRETS, Stack, compose

pytestmark = pytest.mark.docker

START_SECONDS = 60
WRITERS = 16
NUMERIC_USER = "10001"


def test_it_is_healthy_within_a_minute(stack: Stack) -> None:
    services = [json.loads(line) for line in stack.compose("ps", "--format", "json").splitlines()]
    health = {service["Service"]: service["Health"] for service in services}
    names = ("postgres", "state", "gateway", "gateway-b", "maintenance", "balancer", "prometheus")
    assert health == dict.fromkeys(names, "healthy")
    assert stack.start_seconds < START_SECONDS


def test_it_publishes_on_loopback_alone(stack: Stack) -> None:
    config = json.loads(stack.compose("config", "--format", "json"))
    published = [
        port for service in config["services"].values() for port in service.get("ports", ())
    ]
    assert {port["host_ip"] for port in published} == {"127.0.0.1"}


@pytest.mark.parametrize("service", ["state", "gateway", "maintenance"])
def test_a_service_runs_as_nobody_who_could_write_to_its_image(stack: Stack, service: str) -> None:
    probe = "import os; print(os.getuid()); open('/venv/planted', 'w')"
    with pytest.raises(subprocess.CalledProcessError) as refused:
        stack.compose("exec", "-T", service, "python", "-c", probe)
    assert refused.value.stdout.strip() == NUMERIC_USER
    assert "Read-only file system" in refused.value.stderr


def test_the_service_cannot_change_the_schema(stack: Stack) -> None:
    drop = "SET ROLE commonhold_serve; DROP TABLE commonhold.documents"
    command = ("psql", "--username=commonhold", "--dbname=commonhold", f"--command={drop}")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        stack.compose("exec", "-T", "postgres", *command)
    assert "must be owner of table documents" in refused.value.stderr


@pytest.mark.parametrize("service", ["state", "gateway", "maintenance"])
async def test_prometheus_scrapes_the_service(stack: Stack, service: str) -> None:
    query = {"query": f'up{{job="commonhold-{service}"}}'}
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
    complete = dict.fromkeys(SECRETS, "x")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        compose("commonhold-test-none", {**complete, name: ""}, "config", "--quiet")
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
