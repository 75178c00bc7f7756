"""Two gateways behind the balancer of docker-compose.yml, as an agent meets them."""

import re
import secrets

import pytest
from mcp.client import Client

from tests.support.compose_stacks import Stack
from tests.support.mcp_clients import ERAS, mcp_client, texts

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

CALLS = 20
REPLICAS = ("gateway", "gateway-b")


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


def test_a_gateway_over_the_state_service_serves_without_a_database(stack: Stack) -> None:
    # Nobody waits for what the replica had to do.
    again = ("up", "--detach", "--wait", "--no-deps", "--timeout=1", "gateway-b")
    try:
        stack.compose(*again, COMPOSE_FILE="docker-compose.yml:deploy/over-state.yml")
        assert "commonhold_state_up 1.0" in _metrics_of(stack, "gateway-b")
        assert stack.make("smoke", "SMOKE_GATEWAY=gateway-b:6368").count("is redacted") == 2
        mounted = stack.compose("exec", "-T", "gateway-b", "ls", "/run/secrets").split()
        assert not [name for name in mounted if "dsn" in name]
    finally:
        stack.compose(*again)


async def _create(client: Client, path: str, content: str) -> None:
    answer = await client.call_tool(
        "memory", {"command": "create", "path": path, "content": content}
    )
    assert texts(answer)[0].startswith(f"Created {path} ")


def _calls_of(stack: Stack, replica: str) -> int:
    """Calls of the memory tool that the replica has answered."""
    calls = r'^commonhold_tool_calls_total\{outcome="ok",tool="memory"\} (\S+)$'
    found = re.findall(calls, _metrics_of(stack, replica), re.MULTILINE)
    return int(float(found[0])) if found else 0


def _metrics_of(stack: Stack, replica: str) -> str:
    program = (
        "import urllib.request;"
        "print(urllib.request.urlopen('http://127.0.0.1:9368/metrics').read().decode())"
    )
    return stack.compose("exec", "-T", replica, "python", "-c", program)
