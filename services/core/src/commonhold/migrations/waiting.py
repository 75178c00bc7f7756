"""Waits for a database, and for the schema that this release runs on.

Apart from the runner: it changes nothing, holds no lock, and passes through any pooler.
"""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg

from commonhold.contract.ids import check_schema_name
from commonhold.migrations.runner import MigrationError, Report, read_state, refusal
from commonhold.migrations.state import encoding_fault, explain, is_compatible

POLL_SECONDS = 1.0
_CONNECT_TIMEOUT_SECONDS = 5.0


# What passes by itself: a server that cannot be reached, or is starting, or full.
_PASSING = (
    OSError,
    TimeoutError,
    asyncpg.CannotConnectNowError,
    asyncpg.ConnectionDoesNotExistError,
    asyncpg.TooManyConnectionsError,
)


async def await_database(dsn: str, *, wait_seconds: float, report: Report) -> None:
    """Return once the database lets us in.

    Asks at least once; each new obstacle is reported. Raises MigrationError for one that time
    does not cure, such as a wrong password, and with the last one when the time is over.
    """

    async def find_obstacle() -> str | None:
        try:
            conn = await asyncpg.connect(dsn, timeout=_CONNECT_TIMEOUT_SECONDS)
        except _PASSING as error:
            return refusal(error)
        except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise MigrationError(refusal(error)) from error
        conn.terminate()
        return None

    await _wait_until_none(find_obstacle, wait_seconds=wait_seconds, report=report)


async def await_schema(
    dsn: str, *, schema: str = "commonhold", wait_seconds: float = 0.0, report: Report
) -> None:
    """Return once the database has a schema of use; each new obstacle is reported.

    Asks at least once. Raises MigrationError with the last obstacle when the time is over.
    """
    check_schema_name(schema)
    await _wait_until_none(
        lambda: _find_obstacle(dsn, schema=schema), wait_seconds=wait_seconds, report=report
    )
    report(f"schema {schema!r} fits this release")


async def _wait_until_none(
    find_obstacle: Callable[[], Awaitable[str | None]], *, wait_seconds: float, report: Report
) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_seconds
    said = ""
    while (obstacle := await find_obstacle()) is not None:
        left = deadline - loop.time()
        if left <= 0:
            raise MigrationError(obstacle)
        if obstacle != said:
            report(f"waiting: {obstacle}")
            said = obstacle
        await asyncio.sleep(min(POLL_SECONDS, left))


async def _find_obstacle(dsn: str, *, schema: str) -> str | None:
    try:
        async with asyncio.timeout(_CONNECT_TIMEOUT_SECONDS):
            # A pooler hands each statement to another server: none may be prepared by name.
            conn = await asyncpg.connect(dsn, statement_cache_size=0)
            try:
                fault = encoding_fault(await conn.fetchval("SHOW server_encoding"))
                state = await read_state(conn, schema=schema)
            finally:
                conn.terminate()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        return refusal(error)
    if fault is not None:
        return fault
    return None if is_compatible(state) else explain(state, schema=schema)
