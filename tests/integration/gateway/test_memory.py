"""Clients that come and never leave: what a gateway keeps of them is bounded."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import cast

from bench.responses import ResponseReader
from commonhold.ops.descriptors import RESERVED_DESCRIPTORS, connection_bound
from tests.support.gateway_process import gateway_process
from tests.support.mcp_clients import ERAS
from tests.support.mcp_messages import list_tools
from tests.support.service_process import ServiceProcess

CLIENTS = 10_000
AT_ONCE = 24
# Of thousands of clients, of whom the service must keep nothing.
GROWTH_KIB = 4096
SILENT = b""


class Lingering(asyncio.Protocol):
    """A client that asks at most once, and stays for as long as it is let."""

    def __init__(self, request: bytes, crowd: "Crowd") -> None:
        self._request = request
        self._crowd = crowd
        self._reader = ResponseReader(keeps_body=False)
        self.is_served: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._crowd.present[self] = cast("asyncio.Transport", transport)
        if self._request:
            self._crowd.asked += 1
            cast("asyncio.Transport", transport).write(self._request)
        else:
            self.is_served.set_result(None)

    def data_received(self, data: bytes) -> None:
        status = self._reader.feed(data)
        if status is not None:
            self._crowd.statuses[status] += 1
            self.is_served.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.present.pop(self)
        if not self.is_served.done():
            self._crowd.statuses["no answer"] += 1
            self.is_served.set_result(None)


class Crowd:
    """Clients one after the other; those whom the service has not sent away are `present`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.present: dict[Lingering, asyncio.Transport] = {}
        self.statuses: Counter[int | str] = Counter()
        self.asked = 0

    async def grow(self, count: int, *, requests: Sequence[bytes]) -> None:
        ahead = iter([request for request, _ in zip(cycle(requests), range(count), strict=False)])
        async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(self._come(ahead))

    async def _come(self, ahead: Iterator[bytes]) -> None:
        loop = asyncio.get_running_loop()
        for request in ahead:
            _, client = await loop.create_connection(
                partial(Lingering, request, self), "127.0.0.1", self._port
            )
            await client.is_served

    def leave(self) -> None:
        for transport in list(self.present.values()):
            transport.abort()


def resident_kib(service: ServiceProcess) -> int:
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1])


def descriptors(service: ServiceProcess) -> int:
    return len(list(Path(f"/proc/{service.process.pid}/fd").iterdir()))


async def test_ten_thousand_that_stay_leave_memory_and_descriptors_flat(database_dsn: str) -> None:
    async with gateway_process(database_dsn) as service:
        await service.until_ops("/readyz", status=200)
        crowd = Crowd(service.port)
        # Three of four connect and say nothing.
        requests = [*(list_tools(era=era) for era in ERAS), *[SILENT] * 3 * len(ERAS)]
        bound = connection_bound()
        await crowd.grow(bound + 500, requests=requests)
        first = resident_kib(service)
        await crowd.grow(CLIENTS - bound - 500, requests=requests)
        grown = resident_kib(service) - first
        assert crowd.statuses == {200: crowd.asked}
        assert grown < GROWTH_KIB, f"{grown} KiB for {CLIENTS - bound - 500} clients"
        assert bound - AT_ONCE <= len(crowd.present) <= bound
        assert descriptors(service) <= bound + RESERVED_DESCRIPTORS
        crowd.leave()
