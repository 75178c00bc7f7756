"""A service that stops answers every request that has reached it."""

import asyncio
import socket

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from tests.support.drains import assert_drained, stop
from tests.support.goldens.expectations import assert_ok
from tests.support.held_stores import GatedStore
from tests.support.raw_http import RawConnection, request_bytes
from tests.support.wire_service import TOKEN, running

READ = request_bytes(
    "POST",
    "/v1/memory/read",
    headers={"authorization": f"Bearer {TOKEN}"},
    body=b'{"scope":"u:a","path":"p"}',
)
ABSENT = '{"document":null}'
CLIENTS = 30


async def assert_last_answer(connection: RawConnection) -> None:
    answer = await connection.read_answer()
    assert answer.header("connection") == "close"
    assert (answer.status, answer.text) == (200, ABSENT)
    assert await connection.read_to_end() == b""


async def test_connections_that_nobody_has_accepted_yet_are_answered() -> None:
    async with running(InMemoryStore()) as wire:
        waiting = []
        # Without a pause, so that they are in the kernel's queue when the service stops.
        for _ in range(CLIENTS):
            client = socket.create_connection((wire.address.host, wire.address.port))
            client.sendall(READ)
            waiting.append(client)
        address = stop(wire)
        draining = asyncio.create_task(assert_drained(wire, address))
        connections = [
            RawConnection(*await asyncio.open_connection(sock=client, limit=2**20))
            for client in waiting
        ]
        for connection in connections:
            await assert_last_answer(connection)
            await connection.close()
        await draining


@pytest.mark.parametrize("earlier", [0, 1])
async def test_a_connection_without_a_request_may_still_bring_one(earlier: int) -> None:
    async with (
        running(InMemoryStore(), last_request_seconds=10) as wire,
        await wire.connect() as connection,
    ):
        for _ in range(earlier):
            answer = await connection.ask(READ)
            assert answer.header("connection") is None
        stop(wire)
        draining = asyncio.create_task(wire.server.drain())
        await asyncio.sleep(0)
        await connection.send(READ)
        await assert_last_answer(connection)
        await draining


async def test_a_request_that_is_half_here_is_waited_for() -> None:
    async with (
        running(InMemoryStore(), last_request_seconds=0.05) as wire,
        await wire.connect() as half,
        await wire.connect() as silent,
    ):
        await half.send(READ[:20])
        assert_ok(await silent.ask(READ), ABSENT)
        address = stop(wire)
        draining = asyncio.create_task(assert_drained(wire, address))
        assert await silent.read_to_end() == b""
        await half.send(READ[20:])
        await assert_last_answer(half)
        await draining


async def test_pipelined_requests_are_all_answered() -> None:
    store = GatedStore()
    async with running(store) as wire, await wire.connect() as connection:
        await connection.send(READ * 2)
        await store.until_waiting(1)
        address = stop(wire)
        draining = asyncio.create_task(assert_drained(wire, address))
        store.gate.set()
        assert_ok(await connection.read_answer(), ABSENT)
        await assert_last_answer(connection)
        await draining
