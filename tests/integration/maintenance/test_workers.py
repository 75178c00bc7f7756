"""Several workers on one store, and what happens to a pass whose worker or database goes."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from commonhold.migrations import migrate
from tests.support.load.servers import start_crashable, wait_until_served
from tests.support.maintenance_process import (
    SCOPE,
    count_deletions,
    maintenance_process,
    plant_copies,
    until,
    until_deletions,
    until_event,
    until_finished,
)
from tests.support.postgres import PostgresServer
from tests.support.service_process import ServiceProcess

COPIES = 200
MIDWAY = 10
# The deletion of this copy waits in the middle of its transaction.
HELD = 20
HOLD_ONE = f"""
CREATE TABLE public.held AS SELECT 1 AS one;
CREATE FUNCTION public.wait_until_let_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WHILE EXISTS (SELECT FROM public.held) LOOP
        PERFORM pg_sleep(0.02);
    END LOOP;
    RETURN NEW;
END $$;
CREATE TRIGGER held BEFORE UPDATE ON commonhold.documents FOR EACH ROW
    WHEN (OLD.path = 'copy/{HELD:05}') EXECUTE FUNCTION public.wait_until_let_go();
"""


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


async def test_a_crash_of_the_database_amid_a_change_costs_time_alone(
    postgres_server: PostgresServer, gardens: Path
) -> None:
    with start_crashable(postgres_server.kind) as server:
        await migrate(server.dsn)
        async with connected(server.dsn) as eye:
            await plant_copies(eye, COPIES)
            await eye.execute(HOLD_ONE)
        async with maintenance_process(server.dsn, gardens) as worker:
            async with connected(server.dsn) as eye:
                await until_held(eye)
                assert await count_deletions(eye) == HELD - 1
            await asyncio.to_thread(server.crash)
            # It has lost its turn for good, and cannot even say so.
            await until_event(worker, "queue_unreachable")
            assert (await worker.ops("/readyz")).status == 200
            await asyncio.to_thread(server.start)
            await asyncio.to_thread(wait_until_served, server.dsn)
            async with connected(server.dsn) as eye:
                # What was under way is undone, and what was answered before is still there.
                assert await count_deletions(eye) >= HELD - 1
                await eye.execute("DELETE FROM public.held")
                await until_finished(eye)
                await assert_each_action_happened_once(eye)
            assert worker.events("upkeep_pass")[-1]["failed"] == []
            assert (await worker.ops("/readyz")).status == 200


async def until_held(eye: asyncpg.Connection) -> None:
    """Until the change that waits is under way."""

    async def is_held() -> bool:
        return bool(
            await eye.fetchval("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
        )

    await until(is_held)


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
