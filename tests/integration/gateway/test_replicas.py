"""Two gateways on one database without anything between them and their clients."""

import re
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from mcp.client import Client

from tests.support.load.replicas import GATEWAY, Replica, start_replicas
from tests.support.mcp_clients import ERAS, bearer, mcp_client, texts

TOKEN = "s3cret"
CALLS = 24


@pytest.fixture
def replicas(database_dsn: str, tmp_path: Path) -> Iterator[Sequence[Replica]]:
    mounts = {"COMMONHOLD_GATEWAY_MOUNTS": "scope=user:ana,path=user"}
    with start_replicas(
        database_dsn, token=TOKEN, logs=tmp_path, settings=mounts, service=GATEWAY
    ) as replicas:
        yield replicas


@pytest.mark.parametrize("era", ERAS)
async def test_either_answers_for_what_the_other_did(replicas: Sequence[Replica], era: str) -> None:
    here, there = (
        mcp_client(replica.mcp_url, headers=bearer(TOKEN), era=era) for replica in replicas
    )
    async with here as one, there as other:
        assert await _call(one, "create", "/user/p", content="a") == "Created /user/p (v1)"
        edit = {"old_str": "a", "new_str": "b"}
        assert await _call(other, "str_replace", "/user/p", **edit) == "Edited /user/p (v2)"
        assert await _call(one, "view", "/user/p") == "/user/p (v2):\n1: b"
        assert await _call(other, "view", "/") == "## /user\n- /user/p"


async def test_a_replica_that_is_killed_takes_nothing_acknowledged_along(
    replicas: Sequence[Replica],
) -> None:
    killed, staying = replicas
    async with mcp_client(killed.mcp_url, headers=bearer(TOKEN)) as client:
        acknowledged = [
            (await _call(client, "create", f"/user/{n}", content="x")).split()[1]
            for n in range(CALLS)
        ]
        killed.send(signal.SIGKILL)
        async with mcp_client(staying.mcp_url, headers=bearer(TOKEN)) as other:
            listed = await _call(other, "view", "/user")
    assert set(re.findall(r"^- (\S+)$", listed, re.MULTILINE)) == set(acknowledged)


async def _call(client: Client, command: str, path: str, **arguments: str) -> str:
    answer = await client.call_tool("memory", {"command": command, "path": path, **arguments})
    return texts(answer)[0]
