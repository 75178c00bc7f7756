"""A state service that is told to stop while many writes wait for the database."""

import asyncio
import json
import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from tests.support.held_writes import writes_held_up
from tests.support.postgres import fetch_value
from tests.support.raw_http import RawConnection, request_bytes
from tests.support.service_process import PATIENT, TOKEN, ServiceProcess
from tests.support.state_process import state_process

# Below the size of the pool, which has room for the service's own looks at the database.
CALLS = 8
IN_FLIGHT = f'commonhold_in_flight{{service="state"}} {CALLS:.1f}'
WRITTEN = "SELECT count(*) FROM commonhold.documents"


def post_bytes(route: str, body: Mapping[str, Any]) -> bytes:
    headers = {"authorization": f"Bearer {TOKEN}"}
    return request_bytes("POST", f"/v1/{route}", headers=headers, body=json.dumps(body).encode())


def read_bytes() -> bytes:
    return post_bytes("memory/read", {"scope": "u:a", "path": "p"})


async def send_writes(service: ServiceProcess, stack: AsyncExitStack) -> list[RawConnection]:
    """One write on each of as many connections, all of them in flight."""
    connections = [await stack.enter_async_context(await service.connect()) for _ in range(CALLS)]
    for number, connection in enumerate(connections):
        body = {"scope": "u:a", "path": f"p{number}", "content": "x"}
        await connection.send(post_bytes("memory/write", body))
    await service.until_ops("/metrics", status=200, holding=IN_FLIGHT)
    return connections


async def test_every_write_in_flight_is_answered(database_dsn: str) -> None:
    async with AsyncExitStack() as stack, state_process(database_dsn, settings=PATIENT) as service:
        await service.until_ops("/readyz", status=200)
        async with writes_held_up(database_dsn):
            connections = await send_writes(service, stack)
            service.signal(signal.SIGTERM)
            await service.until_refused()
        answers = await asyncio.gather(*(one.read_answer() for one in connections))
        assert [answer.status for answer in answers] == [200] * CALLS
        assert {json.loads(answer.text)["document"]["version"] for answer in answers} == {1}
        assert await service.exit_status() == 0
        assert not service.events("drain_deadline_passed")
    assert await fetch_value(database_dsn, WRITTEN) == CALLS


async def test_writes_that_outlast_the_drain_are_cut_without_a_traceback(
    database_dsn: str,
) -> None:
    settings = {**PATIENT, "COMMONHOLD_DRAIN_SECONDS": "0.2"}
    async with AsyncExitStack() as stack, state_process(database_dsn, settings=settings) as service:
        await service.until_ops("/readyz", status=200)
        await stack.enter_async_context(writes_held_up(database_dsn))
        await send_writes(service, stack)
        service.signal(signal.SIGTERM)
        assert await service.exit_status() == 0
        assert len(service.events("drain_deadline_passed")) == 1
        assert all(line.startswith("{") for line in service.lines), service.lines
        assert not [line for line in service.lines if "Traceback" in line or '"error"' in line]


async def test_requests_that_the_kernel_has_taken_are_answered(database_dsn: str) -> None:
    async with AsyncExitStack() as stack, state_process(database_dsn, settings=PATIENT) as service:
        await service.until_ops("/readyz", status=200)

        async def connect() -> RawConnection:
            return await stack.enter_async_context(await service.connect())

        pooled = [await connect() for _ in range(CALLS)]
        for connection in pooled:
            assert (await connection.ask(read_bytes())).header("connection") is None
        service.signal(signal.SIGSTOP)
        # Nobody accepts these, and nobody reads what any of them sends.
        connections = [*pooled, *[await connect() for _ in range(3 * CALLS)]]
        for connection in connections:
            await connection.send(read_bytes())
        service.signal(signal.SIGTERM)
        service.signal(signal.SIGCONT)
        answers = [await connection.read_answer() for connection in connections]
        assert [answer.status for answer in answers] == [200] * len(connections)
        assert {answer.header("connection") for answer in answers} == {"close"}
        assert await service.exit_status() == 0
        assert not service.events("drain_deadline_passed")
