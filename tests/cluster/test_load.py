"""What a release does with more work than usual: it grows, and no limit of memory is met."""

import asyncio
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from tests.cluster.conftest import Demo
from tests.support.cluster.commands import Namespace, eventually
from tests.support.cluster.releases import Release, alone, restarts
from tests.support.cluster.tools import ToolClient
from tests.support.histories.records import Answered
from tests.support.load.clients import Client

CLIENTS = 12
HEAVY_CLIENTS = 4
"""At each of the two services."""
HEAVY_SECONDS = 8
HEAVY_BYTES = 8 << 20
SCALING_SECONDS = 300.0
# A tenth of a processor asked for, and no waiting for the load to prove that it lasts.
SCALING = {
    "resources": {"requests": {"cpu": "100m", "memory": "96Mi"}},
    "autoscaling": {
        "enabled": True,
        "minReplicas": 1,
        "maxReplicas": 2,
        "behavior": {
            "scaleUp": {"stabilizationWindowSeconds": 0},
            "scaleDown": {"stabilizationWindowSeconds": 0},
        },
    },
}


def test_load_adds_a_replica_that_goes_when_it_ends(
    resource_metrics: None, site: Namespace, node_host: str, demos: dict[int, Demo]
) -> None:
    release = alone(site, state=SCALING)
    release.install()
    with _load(node_host, release, token=demos[3].token):
        eventually(lambda: _wanted(release) == 2, "a replica is added", seconds=SCALING_SECONDS)
        release.settle("state", 2)
    eventually(lambda: _wanted(release) == 1, "it is taken away", seconds=SCALING_SECONDS)
    release.settle("state", 1)
    release.helm("uninstall")


def test_heavy_bodies_at_the_default_limits_end_no_container(demos: dict[int, Demo]) -> None:
    demo = demos[4]
    everything = demo.release.namespace.pods(demo.release.selector)
    before = restarts(everything)
    answered = asyncio.run(_write_heavily(demo))
    assert all(answered)
    everything = demo.release.namespace.pods(demo.release.selector)
    assert restarts(everything) == before


def _wanted(release: Release) -> int:
    deployment = release.namespace.get("deployment", release.deployment("state"))
    return int(deployment["spec"]["replicas"])


@contextmanager
def _load(host: str, release: Release, *, token: str) -> Iterator[None]:
    """Read through the Service from several clients while the block lasts."""
    stop = Event()
    port = release.port("state")

    async def read(number: int) -> None:
        client = Client([port], host=host, token=token, name=f"l{number}", patience=60)
        while not stop.is_set():
            await client.call("memory/list_documents", {"scope": "load:scope"})
            client.attempts.clear()
        client.close()

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                group.create_task(read(number))

    with ThreadPoolExecutor(max_workers=1) as executor:
        working = executor.submit(asyncio.run, work())
        try:
            yield
        finally:
            stop.set()
            working.result()


async def _write_heavily(demo: Demo) -> tuple[int, int]:
    """Write large documents through both services for a while; returns how many each took."""
    entrances = demo.entrances()
    content = "x" * HEAVY_BYTES
    end = time.monotonic() + HEAVY_SECONDS

    async def write(number: int) -> int:
        ports = [entrances.state_port]
        client = Client(ports, host=entrances.host, token=demo.token, name="h", patience=60)
        answered = 0
        while time.monotonic() < end:
            request = {"scope": "load:heavy", "path": f"d{number}", "content": content}
            attempt = await client.call("memory/write", request)
            answered += isinstance(attempt.outcome, Answered)
            client.attempts.clear()
        client.close()
        return answered

    async def create(number: int) -> int:
        tool = ToolClient(entrances.host, entrances.gateway_port, token=demo.token, patience=60)
        answered = 0
        while time.monotonic() < end:
            path = f"/project/heavy/d{number}"
            arguments: dict[str, str | int] = {"command": "create", "path": path}
            arguments["file_text"] = content
            outcome = await tool.call(arguments, key=secrets.token_hex(8))
            answered += isinstance(outcome, Answered)
        await tool.close()
        return answered

    seats = range(HEAVY_CLIENTS)
    written, created = await asyncio.gather(
        asyncio.gather(*(write(seat) for seat in seats)),
        asyncio.gather(*(create(seat) for seat in seats)),
    )
    return sum(written), sum(created)
