"""A keyed call that is repeated at another gateway (docs/reference/mcp.md, section 1)."""

import asyncio
import signal
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from commonhold.adapters.postgres import PostgresStore
from tests.support.gateway_service import TOKEN, Called, called, reply_of
from tests.support.held_writes import writes_held_up
from tests.support.load.replicas import GATEWAY, Replica, start_replicas
from tests.support.mcp_clients import ERAS
from tests.support.mcp_messages import memory_call
from tests.support.processes import wait_until
from tests.support.raw_http import RawConnection
from tests.support.tcp_proxy import proxy_to

EDIT = {"command": "str_replace", "old_str": "one", "new_str": "one two"}
REPEATS = 6


@pytest.fixture
def replicas(database_dsn: str, tmp_path: Path) -> Iterator[Sequence[Replica]]:
    mounts = {"COMMONHOLD_GATEWAY_MOUNTS": "scope=user:ana,path=user"}
    with start_replicas(
        database_dsn, token=TOKEN, logs=tmp_path, settings=mounts, service=GATEWAY
    ) as replicas:
        yield replicas


async def ask(replica: Replica, call: bytes) -> Called:
    async with await RawConnection.open("127.0.0.1", replica.port) as connection:
        return called(reply_of(await connection.ask(call))["result"])


async def test_the_other_answers_for_the_one_that_died_before_it_could(
    replicas: Sequence[Replica], store: PostgresStore, database_dsn: str
) -> None:
    dying, staying = replicas
    calls = [
        memory_call({**EDIT, "path": f"/user/{era}"}, era=era, key=f"edit-{era}") for era in ERAS
    ]
    for era in ERAS:
        await store.write("user:ana", era, "one")
    async with AsyncExitStack() as stack:
        proxy, url = await stack.enter_async_context(proxy_to(dying.mcp_url))
        port = int(url.split(":")[2].split("/")[0])
        async with writes_held_up(database_dsn):
            clients = [
                await stack.enter_async_context(await RawConnection.open("127.0.0.1", port))
                for _ in calls
            ]
            for client, call in zip(clients, calls, strict=True):
                await client.send(call)
            await asyncio.to_thread(_until_in_flight, dying, len(calls))
            # What is answered from here on stays in the proxy.
            proxy.freeze()
        for era in ERAS:
            await _until_version(store, era, 2)
        dying.send(signal.SIGKILL)
        proxy.cut()
        # At most the head of an answer, which the older era sends before the call has ended.
        heard = [await client.read_to_end() for client in clients]
        assert not [answer for answer in heard if b"Edited" in answer]
    # Without their keys both would edit once more.
    answers = [await ask(staying, call) for call in calls]
    assert answers == [(False, f"Edited /user/{era} (v2)", None) for era in ERAS]
    for era in ERAS:
        assert [row.version for row in await store.versions("user:ana", era)] == [2, 1]


async def test_repeats_at_both_at_once_change_once(
    replicas: Sequence[Replica], store: PostgresStore
) -> None:
    paths = [f"{era}-{number}" for era in ERAS for number in range(REPEATS)]
    for path in paths:
        await store.write("user:ana", path, "one")
    answers = await asyncio.gather(
        *(
            ask(
                replica,
                memory_call({**EDIT, "path": f"/user/{path}"}, era=_era_of(path), key=path),
            )
            for path in paths
            for replica in replicas
        )
    )
    assert answers == [(False, f"Edited /user/{path} (v2)", None) for path in paths for _ in ERAS]
    for path in paths:
        document = await store.read("user:ana", path)
        assert document is not None
        assert (document.version, document.content) == (2, "one two")


def _era_of(path: str) -> str:
    return path.rpartition("-")[0]


def _until_in_flight(replica: Replica, count: int) -> None:
    line = f'commonhold_in_flight{{service="gateway"}} {count:.1f}'
    wait_until(lambda: line in replica.metrics(), f"{count} calls are in flight")


async def _until_version(store: PostgresStore, path: str, version: int) -> None:
    async with asyncio.timeout(20):
        while True:
            document = await store.read("user:ana", path)
            if document is not None and document.version == version:
                return
            await asyncio.sleep(0.02)
