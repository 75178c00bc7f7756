"""Several workers on one store, and what happens to a pass whose worker or database goes."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.support.maintenance_process import (
    SCOPE,
    count_deletions,
    maintenance_process,
    plant_copies,
    until_deletions,
    until_event,
    until_finished,
)
from tests.support.postgres import PostgresServer, execute
from tests.support.service_process import ServiceProcess

COPIES = 200
MIDWAY = 10


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def assert_each_action_happened_once(eye: asyncpg.Connection) -> None:
    rows = await eye.fetch(
        "SELECT path, array_agg(action || ':' || coalesce(actor, '') ORDER BY version) AS trail"
        " FROM commonhold.document_versions WHERE scope = $1 GROUP BY path ORDER BY path",
        SCOPE,
    )
    keeper, *copies = [row["trail"] for row in rows]
    assert keeper == ["created:"]
    assert copies == [["created:", "deleted:gardener:home"]] * (COPIES - 1)


def writes_of(*services: ServiceProcess) -> list[str]:
    return [
        write["path"]
        for service in services
        for event in service.events("upkeep_pass")
        for write in event.get("writes", [])
    ]


@pytest.mark.parametrize("count", [2, 4])
async def test_each_action_happens_once_however_many_work(
    count: int, database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, COPIES)
    async with AsyncExitStack() as stack:
        workers = [
            await stack.enter_async_context(maintenance_process(database_dsn, gardens))
            for _ in range(count)
        ]
        await until_finished(eye)
        passes = [event for worker in workers for event in worker.events("upkeep_pass")]
        assert [len(event["writes"]) for event in passes] == [COPIES - 1]
        assert passes[0]["skipped"] == []
    await assert_each_action_happened_once(eye)


async def test_a_killed_workers_pass_is_ended_by_another(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, COPIES)
    async with maintenance_process(database_dsn, gardens) as first:
        await until_deletions(eye, MIDWAY)
        first.signal(signal.SIGKILL)
        await first.exit_status()
        assert await count_deletions(eye) < COPIES - 1
        async with maintenance_process(database_dsn, gardens) as second:
            await until_finished(eye)
            assert len(second.events("upkeep_pass")) == 1
    await assert_each_action_happened_once(eye)


async def test_a_worker_stopped_past_its_lease_ends_nothing(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, COPIES)
    async with maintenance_process(database_dsn, gardens) as first:
        await until_deletions(eye, MIDWAY)
        first.signal(signal.SIGSTOP)
        before = await count_deletions(eye)
        assert before < COPIES - 1
        async with maintenance_process(database_dsn, gardens) as second:
            await until_finished(eye)
            assert len(writes_of(second)) >= COPIES - 1 - before - 1
            first.signal(signal.SIGCONT)
            await until_event(first, "upkeep_pass")
            assert first.events("upkeep_pass")[0]["end"] == "lost"
            # It goes on as a worker like any other, and what is in the queue is not its to end.
            assert len(await eye.fetch("SELECT FROM commonhold.garden_runs")) == 1
    await assert_each_action_happened_once(eye)


async def test_a_database_that_went_away_meanwhile_costs_time_alone(
    database_dsn: str, postgres_server: PostgresServer, gardens: Path
) -> None:
    async with connected(database_dsn) as eye:
        await plant_copies(eye, COPIES)
        name = await eye.fetchval("SELECT current_database()")
    async with maintenance_process(database_dsn, gardens) as worker:
        async with connected(database_dsn) as eye:
            await until_deletions(eye, MIDWAY)
        await _go_away(postgres_server, name, seconds=1.5)
        async with connected(database_dsn) as eye:
            await until_finished(eye)
            await assert_each_action_happened_once(eye)
        # Whether the first try could say that it ended or not, another one did.
        assert worker.events("upkeep_pass")[-1]["failed"] == []
        ready = await worker.ops("/readyz")
        assert ready.status == 200


async def _go_away(server: PostgresServer, name: str, *, seconds: float) -> None:
    """What a restart looks like from outside: connections end, and none can be had."""
    await execute(
        server.dsn,
        f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false',
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
    )
    await asyncio.sleep(seconds)
    await execute(server.dsn, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


async def test_a_stop_ends_the_change_at_hand_and_hands_the_rest_back(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, COPIES)
    async with maintenance_process(database_dsn, gardens) as first:
        await until_deletions(eye, MIDWAY)
        first.signal(signal.SIGTERM)
        assert await first.exit_status() == 0
        assert first.events("upkeep_pass")[0]["end"] == "stopped"
    assert await count_deletions(eye) < COPIES - 1
    rows = await eye.fetch("SELECT status::text, attempts FROM commonhold.jobs")
    assert [tuple(row) for row in rows] == [("queued", 1)]
    free = await eye.fetchval("SELECT bool_and(expires_at = '-infinity') FROM commonhold.claims")
    assert free
    async with maintenance_process(database_dsn, gardens):
        await until_finished(eye)
    await assert_each_action_happened_once(eye)


async def test_a_pass_over_its_time_is_ended(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, COPIES)
    settings = {"COMMONHOLD_MAINTENANCE_PASS_SECONDS": "0.1"}
    async with maintenance_process(database_dsn, gardens, settings=settings) as worker:
        await until_event(worker, "upkeep_pass")
        assert worker.events("upkeep_pass")[0]["end"] == "overdue"
        assert await count_deletions(eye) < COPIES - 1
