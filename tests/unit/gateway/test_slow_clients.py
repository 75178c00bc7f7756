"""Connections that hold without working, and how many of them there may be."""

import asyncio
import json
import time
from contextlib import suppress

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import MemoryDocument
from commonhold_gateway.listening import HEAD_LIMIT_BYTES
from tests.support.gateway_service import MCP_HEADERS, TOKEN, RunningGateway, running_gateway
from tests.support.raw_http import request_bytes


class NoticedStore(InMemoryStore):
    """Says when it was read."""

    def __init__(self) -> None:
        super().__init__()
        self.read_once = asyncio.Event()

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        self.read_once.set()
        return await super().read(scope, path)


HEALTH = request_bytes("GET", "/health")
LARGE = 32_000_000
SLOW_SECONDS = 1.0


def view_large() -> bytes:
    params = {"name": "memory", "arguments": {"command": "view", "path": "/user/large"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"host": "localhost", "authorization": f"Bearer {TOKEN}", **MCP_HEADERS}
    return request_bytes("POST", "/mcp", headers=headers, body=json.dumps(message).encode())


async def test_a_head_that_does_not_end_is_cut() -> None:
    async with running_gateway(InMemoryStore(), head_seconds=0.05) as gateway:
        async with await gateway.connect() as connection:
            await connection.send(b"POST /mcp HTTP/1.1\r\nhost: ")
            assert await connection.read_to_end() == b""
        async with await gateway.connect() as connection:
            # The second head on a connection is timed as the first.
            assert (await connection.ask(HEALTH)).status == 200
            await connection.send(b"GET /hea")
            assert await connection.read_to_end() == b""


@pytest.mark.parametrize("part", [b"a", b"a: b\r\n"], ids=["one line", "many lines"])
async def test_a_head_without_bounds_is_cut(part: bytes) -> None:
    async with (
        running_gateway(InMemoryStore(), head_seconds=60) as gateway,
        await gateway.connect() as connection,
    ):
        # The second head on a connection is measured as the first.
        assert (await connection.ask(HEALTH)).status == 200
        await connection.send(b"POST /mcp HTTP/1.1\r\n" + part * (HEAD_LIMIT_BYTES // len(part)))
        with suppress(ConnectionError):
            await connection.send(part)
        assert await connection.read_to_end() == b""


async def test_a_body_counts_as_no_head(gateway: RunningGateway) -> None:
    body = b" " * (4 * HEAD_LIMIT_BYTES) + b"[]"
    headers = {"host": "localhost", "authorization": f"Bearer {TOKEN}", **MCP_HEADERS}
    for _ in range(2):
        async with await gateway.connect() as connection:
            head = request_bytes("POST", "/mcp", headers=headers, length=len(body))
            await connection.send(head)
            await connection.send(body)
            assert (await connection.read_answer()).status == 400


async def test_a_client_that_leaves_within_its_body_is_no_fault(
    gateway: RunningGateway, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"host": "localhost", "authorization": f"Bearer {TOKEN}", **MCP_HEADERS}
    async with await gateway.connect() as connection:
        await connection.send(request_bytes("POST", "/mcp", headers=headers, length=100) + b"{")
        connection.send_end()
        assert await connection.read_to_end() == b""
    await gateway.until_measured('route="/mcp",service="gateway",status="499"} 1.0')
    assert caplog.records == []


async def test_at_the_bound_the_oldest_idle_connection_makes_room() -> None:
    async with running_gateway(InMemoryStore(), most_connections=2) as gateway:
        oldest, newer = await gateway.connect(), await gateway.connect()
        for connection in (oldest, newer):
            assert (await connection.ask(HEALTH)).status == 200
        async with await gateway.connect() as newest:
            assert (await newest.ask(HEALTH)).status == 200
            assert await oldest.read_to_end() == b""
            assert (await newer.ask(HEALTH)).status == 200
        await oldest.close()
        await newer.close()


async def test_a_client_that_does_not_take_its_answer_is_cut() -> None:
    store = NoticedStore()
    await store.write("user:ana", "large", "x" * LARGE)
    async with running_gateway(store, stalled_seconds=0.1) as gateway:
        # A reader with no room of its own leaves the answer in the sockets.
        _reader, writer = await asyncio.open_connection(
            gateway.address.host, gateway.address.port, limit=1024
        )
        writer.write(view_large())
        await writer.drain()
        await store.read_once.wait()
        gateway.server.stop_accepting()
        await asyncio.wait_for(gateway.server.drain(), 20)
        writer.close()
        await gateway.until_measured('commonhold_in_flight{service="gateway"} 0.0')


async def test_a_client_that_takes_its_answer_slowly_gets_it_whole() -> None:
    store = InMemoryStore()
    await store.write("user:ana", "large", "x" * LARGE)
    async with running_gateway(store, stalled_seconds=0.2) as gateway:
        reader, writer = await asyncio.open_connection(
            gateway.address.host, gateway.address.port, limit=1024
        )
        writer.write(view_large())
        taken = len(await reader.readexactly(1))
        began = time.monotonic()
        while taken < LARGE:
            part = await reader.read(1_000_000)
            assert part, f"cut after {taken} bytes"
            taken += len(part)
            if time.monotonic() - began < SLOW_SECONDS:
                await asyncio.sleep(0.02)
        writer.close()


async def test_what_is_no_http_is_400(gateway: RunningGateway) -> None:
    async with await gateway.connect() as connection:
        answer = await connection.ask(b"\x16\x03\x01 hello\r\n\r\n")
        assert answer.status == 400


async def test_as_many_make_room_as_come_at_once() -> None:
    async with running_gateway(InMemoryStore(), most_connections=4) as gateway:
        crowd = await asyncio.gather(*(gateway.connect() for _ in range(12)))
        gone = [asyncio.create_task(one.read_to_end()) for one in crowd]
        done, staying = await asyncio.wait(gone, timeout=1)
        assert (len(done), len(staying)) == (8, 4)
        for one in crowd:
            await one.close()
        await asyncio.gather(*gone)
