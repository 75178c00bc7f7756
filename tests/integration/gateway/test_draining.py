"""A gateway that is told to stop while many calls wait for the database."""

import asyncio
import signal
from contextlib import AsyncExitStack

import pytest
from mcp.client import Client

from commonhold_gateway.settings import STATEFUL, STATELESS
from tests.support.gateway_process import call_bytes, gateway_process, until_in_flight
from tests.support.held_writes import writes_held_up
from tests.support.mcp_clients import ERAS, bearer, mcp_client, texts
from tests.support.mcp_messages import begin_session, memory_call
from tests.support.postgres import fetch_value
from tests.support.raw_http import RawConnection
from tests.support.service_process import PATIENT, TOKEN

# Of each era; together below the bound of calls a client, and below the size of the pool.
CALLS = 8


async def create(client: Client, path: str) -> str:
    arguments = {"command": "create", "path": path, "content": "x"}
    return texts(await client.call_tool("memory", arguments))[0]


@pytest.mark.parametrize("sessions", [STATELESS, STATEFUL])
async def test_every_call_in_flight_is_answered(database_dsn: str, sessions: str) -> None:
    settings = {**PATIENT, "COMMONHOLD_GATEWAY_SESSIONS": sessions}
    async with AsyncExitStack() as stack, gateway_process(database_dsn, settings=settings) as it:
        await it.until_ops("/readyz", status=200)
        url = f"http://127.0.0.1:{it.port}/mcp"
        clients = [
            await stack.enter_async_context(mcp_client(url, headers=bearer(TOKEN), era=era))
            for era in ERAS
        ]
        for client in clients:
            # Else the client asks for the list after its first answer, of nobody by then.
            await client.list_tools()
        paths = [[f"/user/{number}-{n}" for n in range(CALLS)] for number in range(len(clients))]
        async with writes_held_up(database_dsn):
            calls = [
                asyncio.create_task(create(client, path))
                for client, own in zip(clients, paths, strict=True)
                for path in own
            ]
            await until_in_flight(it, len(calls))
            it.signal(signal.SIGTERM)
            await it.until_ops("/readyz", status=503, holding="draining")
            await it.until_refused()
        answers = await asyncio.gather(*calls)
        assert answers == [f"Created {path} (v1)" for own in paths for path in own]
        assert await it.exit_status() == 0
        assert not it.events("drain_deadline_passed")
        assert not [line for line in it.lines if "Traceback" in line]
    written = await fetch_value(database_dsn, "SELECT count(*) FROM commonhold.documents")
    assert written == len(calls)


@pytest.mark.parametrize("sessions", [STATELESS, STATEFUL])
async def test_calls_that_outlast_the_drain_are_cut_without_a_traceback(
    database_dsn: str, sessions: str
) -> None:
    settings = {
        **PATIENT,
        "COMMONHOLD_GATEWAY_SESSIONS": sessions,
        "COMMONHOLD_DRAIN_SECONDS": "0.2",
    }
    async with AsyncExitStack() as stack, gateway_process(database_dsn, settings=settings) as it:
        await it.until_ops("/readyz", status=200)
        connections = [
            await stack.enter_async_context(await it.connect()) for _ in range(2 * CALLS)
        ]
        session = await begin_session(connections[0]) if sessions == STATEFUL else None
        await stack.enter_async_context(writes_held_up(database_dsn))
        for number, connection in enumerate(connections):
            era = ERAS[number % len(ERAS)]
            arguments = {"command": "create", "path": f"/user/{number}", "content": "x"}
            await connection.send(memory_call(arguments, era=era, session=session))
        await until_in_flight(it, len(connections))
        it.signal(signal.SIGTERM)
        assert await it.exit_status() == 0
        assert len(it.events("drain_deadline_passed")) == 1
        assert all(line.startswith("{") for line in it.lines), it.lines
        assert not [line for line in it.lines if "Traceback" in line or '"error"' in line]


async def test_requests_that_the_kernel_has_taken_are_answered(database_dsn: str) -> None:
    async with AsyncExitStack() as stack, gateway_process(database_dsn, settings=PATIENT) as it:
        await it.until_ops("/readyz", status=200)

        async def connect() -> RawConnection:
            return await stack.enter_async_context(await it.connect())

        known = [await connect() for _ in range(CALLS)]
        it.signal(signal.SIGSTOP)
        # Nobody accepts these, and nobody reads what any of them sends.
        connections = [*known, *[await connect() for _ in range(3 * CALLS)]]
        for connection in connections:
            await connection.send(call_bytes("memory", {"command": "view", "path": "/user/a"}))
        it.signal(signal.SIGTERM)
        it.signal(signal.SIGCONT)
        answers = [await connection.read_answer() for connection in connections]
        assert [answer.status for answer in answers] == [200] * len(connections)
        assert {answer.header("connection") for answer in answers} == {"close"}
        assert await it.exit_status() == 0
        assert not it.events("drain_deadline_passed")
