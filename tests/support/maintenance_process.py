"""The maintenance worker as a process, and stores for it to tend."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from tests.support.service_process import ServiceProcess, service_process

SCOPE = "user:ana"
EVERY_DAY = f"""
[gardens.home]
mounts = [{{scope = "{SCOPE}", path = "user"}}]
interval = "24h"
min_age_days = 0
"""
QUICK = {
    "COMMONHOLD_MAINTENANCE_LEASE_SECONDS": "1.5",
    "COMMONHOLD_MAINTENANCE_POLL_SECONDS": "0.1",
}


@asynccontextmanager
async def maintenance_process(
    dsn: str | None,
    gardens: Path,
    *,
    settings: Mapping[str, str] | None = None,
    arguments: tuple[str, ...] = (),
) -> AsyncIterator[ServiceProcess]:
    """A worker with a short lease that looks often, unless the settings say otherwise."""
    async with service_process(
        "commonhold_maintenance",
        dsn,
        variables="COMMONHOLD_MAINTENANCE",
        settings={**QUICK, "COMMONHOLD_GARDENS": str(gardens), **(settings or {})},
        arguments=arguments,
        serves=False,
    ) as running:
        yield running


async def plant_copies(connection: asyncpg.Connection, count: int, *, scope: str = SCOPE) -> None:
    """`count` copies of one text; all but the first are to go."""
    await connection.execute(
        """
        WITH planted AS (
            SELECT 'copy/' || lpad(number::text, 5, '0') AS path,
                '2026-01-01'::timestamptz + number * interval '1 second' AS stamp
            FROM generate_series(0, $2::int - 1) AS number
        ), heads AS (
            INSERT INTO commonhold.documents (
                scope, path, content, version, highest_version, is_live, action,
                created_at, updated_at, newest_at
            )
            SELECT $1, path, 'the same', 1, 1, true, 'created', stamp, stamp, stamp FROM planted
        )
        INSERT INTO commonhold.document_versions (
            scope, path, version, content, action, created_at
        )
        SELECT $1, path, 1, 'the same', 'created', stamp FROM planted
        """,
        scope,
        count,
    )


async def count_deletions(connection: asyncpg.Connection, *, scope: str = SCOPE) -> int:
    return int(
        await connection.fetchval(
            "SELECT count(*) FROM commonhold.document_versions"
            " WHERE scope = $1 AND action = 'deleted'",
            scope,
        )
    )


async def until(arrived: Callable[[], Awaitable[bool]], *, seconds: float = 200.0) -> None:
    """Look until it is so."""
    async with asyncio.timeout(seconds):
        while not await arrived():  # noqa: ASYNC110 - rows and other processes set no event
            await asyncio.sleep(0.01)


async def until_deletions(
    connection: asyncpg.Connection, least: int, *, scope: str = SCOPE
) -> None:
    async def arrived() -> bool:
        return await count_deletions(connection, scope=scope) >= least

    await until(arrived)


async def until_event(service: ServiceProcess, name: str, *, count: int = 1) -> None:
    async def arrived() -> bool:
        assert service.process.returncode is None, "\n".join(service.lines)
        return len(service.events(name)) >= count

    await until(arrived)


async def until_finished(connection: asyncpg.Connection, garden: str = "home") -> None:
    """Until a whole pass is in the ledger and nothing of it is in the queue."""

    async def arrived() -> bool:
        return bool(
            await connection.fetchval(
                "SELECT NOT EXISTS (SELECT FROM commonhold.jobs WHERE entrypoint = $1) AND EXISTS ("
                "SELECT FROM commonhold.garden_runs"
                " WHERE garden = $1 AND succeeded_at IS NOT NULL)",
                garden,
            )
        )

    await until(arrived)
