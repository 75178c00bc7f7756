"""A service that stops answers every request that has reached it."""

import asyncio
import socket

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from tests.support.drains import assert_drained, stop
from tests.support.gateway_service import running_gateway
from tests.support.held_stores import GatedStore
from tests.support.mcp_messages import begin_session, memory_call, open_stream
from tests.support.raw_http import RawConnection

VIEW = memory_call({"command": "view", "path": "/user/a"}, era="2025-11-25")
CLIENTS = 30


async def assert_last_answer(connection: RawConnection) -> None:
    answer = await connection.read_answer()
    assert (answer.status, answer.header("connection")) == (200, "close")
    assert await connection.read_to_end() == b""


async def test_connections_that_nobody_has_accepted_yet_are_answered() -> None:
    async with running_gateway(InMemoryStore()) as gateway:
        waiting = []
        # Without a pause, so that they are in the kernel's queue when the service stops.
        for _ in range(CLIENTS):
            client = socket.create_connection((gateway.address.host, gateway.address.port))
            client.sendall(VIEW)
            waiting.append(client)
        address = stop(gateway)
        connections = [
            RawConnection(*await asyncio.open_connection(sock=client, limit=2**20))
            for client in waiting
        ]
        for connection in connections:
            await assert_last_answer(connection)
            await connection.close()
        await assert_drained(gateway, address)


@pytest.mark.parametrize("earlier", [0, 1])
async def test_a_connection_without_a_request_may_still_bring_one(earlier: int) -> None:
    async with (
        running_gateway(InMemoryStore(), last_request_seconds=10) as gateway,
        await gateway.connect() as connection,
    ):
        for _ in range(earlier):
            await connection.send(VIEW)
            assert (await connection.read_answer()).header("connection") != "close"
        stop(gateway)
        draining = asyncio.create_task(gateway.server.drain())
        await asyncio.sleep(0)
        await connection.send(VIEW)
        await assert_last_answer(connection)
        await draining


async def test_a_request_that_is_half_here_is_waited_for() -> None:
    async with (
        running_gateway(InMemoryStore(), last_request_seconds=0) as gateway,
        await gateway.connect() as half,
        await gateway.connect() as silent,
    ):
        await half.send(VIEW[:20])
        await silent.send(VIEW)
        await silent.read_answer()
        address = stop(gateway)
        assert await silent.read_to_end() == b""
        await half.send(VIEW[20:])
        await assert_last_answer(half)
        await assert_drained(gateway, address)


async def test_a_stream_that_comes_last_is_not_waited_for() -> None:
    async with (
        running_gateway(InMemoryStore(), is_stateful=True, last_request_seconds=10) as gateway,
        await gateway.connect() as connection,
        await gateway.connect() as late,
    ):
        session = await begin_session(connection)
        address = stop(gateway)
        draining = asyncio.create_task(assert_drained(gateway, address))
        await connection.close()
        await late.send(open_stream(session))
        await draining


async def test_pipelined_requests_are_all_answered() -> None:
    store = GatedStore()
    async with running_gateway(store) as gateway, await gateway.connect() as connection:
        await connection.send(VIEW * 2)
        await store.until_waiting(1)
        address = stop(gateway)
        store.gate.set()
        assert (await connection.read_answer()).status == 200
        await assert_last_answer(connection)
        await assert_drained(gateway, address)
