"""Ten thousand clients that begin and never close: the process does not grow with them."""

import asyncio
import json
from collections import deque
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from commonhold.ops.descriptors import connection_bound
from tests.support.gateway_process import gateway_process
from tests.support.gateway_service import MCP_HEADERS
from tests.support.raw_http import RawConnection, request_bytes
from tests.support.service_process import TOKEN, ServiceProcess

CLIENTS = 10_000
# As many as may be connected at a time, and the pool and the caches have been filled.
FIRST = 2_500
AT_ONCE = 16
GROWTH_MIB = 16

HEADERS = {"host": "localhost", "authorization": f"Bearer {TOKEN}", **MCP_HEADERS}


def initialize(number: int) -> bytes:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": f"client {number}", "version": "0"},
    }
    message = {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}
    return request_bytes("POST", "/mcp", headers=HEADERS, body=json.dumps(message).encode())


class Crowd:
    """Clients that stay connected for as long as the service lets them."""

    def __init__(self, service: ServiceProcess) -> None:
        self._service = service
        self._connected: deque[RawConnection] = deque()
        self._numbers = iter(range(CLIENTS))

    async def grow_to(self, count: int) -> None:
        await asyncio.gather(*(self._begin(self._until(count)) for _ in range(AT_ONCE)))

    def _until(self, count: int) -> Iterator[int]:
        for number in self._numbers:
            yield number
            if number >= count - AT_ONCE:
                return

    async def _begin(self, numbers: Iterator[int]) -> None:
        for number in numbers:
            connection = await self._service.connect()
            assert (await connection.ask(initialize(number))).status == 200
            self._connected.append(connection)
            if len(self._connected) > connection_bound() + AT_ONCE:
                # The service has cut the oldest long ago, to make room.
                await self._connected.popleft().close()

    async def leave(self) -> None:
        while self._connected:
            await self._connected.popleft().close()


@pytest.mark.timeout(900)
async def test_clients_that_never_close_do_not_add_up(database_dsn: str) -> None:
    async with gateway_process(database_dsn) as service, AsyncExitStack() as stack:
        await service.until_ops("/readyz", status=200)
        crowd = Crowd(service)
        stack.push_async_callback(crowd.leave)
        await crowd.grow_to(FIRST)
        before = resident_mib(service)
        await crowd.grow_to(CLIENTS)
        after = resident_mib(service)
        assert after < before + GROWTH_MIB
        async with await service.connect() as late:
            assert (await late.ask(initialize(0))).status == 200


def resident_mib(service: ServiceProcess) -> float:
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024
