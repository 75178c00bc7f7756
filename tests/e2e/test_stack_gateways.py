"""Two gateways behind the balancer of docker-compose.yml, as an agent meets them."""

import asyncio
import contextlib
import re
import secrets

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from tests.support.compose_stacks import Stack
from tests.support.mcp_clients import ERAS, mcp_client, texts

pytestmark = pytest.mark.docker

CALLS = 20
WRITES_BETWEEN = 20
PATIENCE_SECONDS = 60.0
REPLICAS = ("gateway", "gateway-b")


class Acknowledged:
    """The documents that a gateway has answered for, as they become more."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._grown = asyncio.Event()

    def add(self, path: str) -> None:
        self.paths.append(path)
        self._grown.set()

    async def grown_by(self, count: int) -> None:
        goal = len(self.paths) + count
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.paths) < goal:
                self._grown.clear()
                await self._grown.wait()


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_whose_every_request_meets_the_other_replica_notices_nothing(
    stack: Stack, era: str
) -> None:
    path = f"/user/alternating/{secrets.token_hex(4)}"
    before = [_calls_of(stack, replica) for replica in REPLICAS]
    async with mcp_client(stack.balanced_url, headers=stack.headers, era=era) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"memory"}
        await _create(client, path, "0")
        for number in range(1, CALLS):
            edit = {"old_str": str(number - 1), "new_str": str(number)}
            answer = await client.call_tool(
                "memory", {"command": "str_replace", "path": path, **edit}
            )
            assert texts(answer) == [f"Edited {path} (v{number + 1})"]
    served = [
        _calls_of(stack, replica) - count for replica, count in zip(REPLICAS, before, strict=True)
    ]
    assert sum(served) == CALLS
    assert all(served)


async def test_a_replica_that_is_killed_takes_nothing_acknowledged_along(stack: Stack) -> None:
    folder = f"/user/killed/{secrets.token_hex(4)}"
    acknowledged = Acknowledged()
    async with mcp_client(stack.balanced_url, headers=stack.headers) as client:
        writing = asyncio.create_task(_write_until_cancelled(client, folder, acknowledged))
        await acknowledged.grown_by(WRITES_BETWEEN)
        await asyncio.to_thread(stack.compose, "kill", "gateway-b")
        await acknowledged.grown_by(WRITES_BETWEEN)
        await asyncio.to_thread(stack.compose, "start", "--wait", "gateway-b")
        await acknowledged.grown_by(WRITES_BETWEEN)
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writing
        listed = texts(await client.call_tool("memory", {"command": "view", "path": folder}))[0]
    assert set(acknowledged.paths) <= set(re.findall(r"^- (\S+)$", listed, re.MULTILINE))


async def _write_until_cancelled(client: Client, folder: str, acknowledged: Acknowledged) -> None:
    """One document after another; what broke with its replica is told as an error."""
    number = 0
    while True:
        number += 1
        path = f"{folder}/{number:05}"
        with contextlib.suppress(MCPError):
            await _create(client, path, "x")
            acknowledged.add(path)


async def _create(client: Client, path: str, content: str) -> None:
    answer = await client.call_tool(
        "memory", {"command": "create", "path": path, "content": content}
    )
    assert texts(answer)[0].startswith(f"Created {path} ")


def _calls_of(stack: Stack, replica: str) -> int:
    """Calls of the memory tool that the replica has answered."""
    program = (
        "import urllib.request;"
        "print(urllib.request.urlopen('http://127.0.0.1:9368/metrics').read().decode())"
    )
    metrics = stack.compose("exec", "-T", replica, "python", "-c", program)
    found = re.findall(
        r'^commonhold_tool_calls_total\{outcome="ok",tool="memory"\} (\S+)$', metrics, re.MULTILINE
    )
    return int(float(found[0])) if found else 0
