"""Waits for the schema that this release runs on, as the role that will serve.

Apart from the runner: it changes nothing, holds no lock, and passes through any pooler.
"""

import asyncio

import asyncpg

from commonhold.contract.ids import check_schema_name
from commonhold.migrations.runner import MigrationError, Report, read_state
from commonhold.migrations.state import encoding_fault, explain, is_compatible

POLL_SECONDS = 1.0
_CONNECT_TIMEOUT_SECONDS = 5.0


async def await_schema(
    dsn: str, *, schema: str = "commonhold", wait_seconds: float = 0.0, report: Report
) -> None:
    """Return once the database has a schema of use; each new obstacle is reported.

    Asks at least once. Raises MigrationError with the last obstacle when the time is over.
    """
    check_schema_name(schema)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_seconds
    said = ""
    while (obstacle := await _find_obstacle(dsn, schema=schema)) is not None:
        left = deadline - loop.time()
        if left <= 0:
            raise MigrationError(obstacle)
        if obstacle != said:
            report(f"waiting: {obstacle}")
            said = obstacle
        await asyncio.sleep(min(POLL_SECONDS, left))
    report(f"schema {schema!r} fits this release")


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
        return f"the database refused: {error or type(error).__name__}"
    if fault is not None:
        return fault
    return None if is_compatible(state) else explain(state, schema=schema)
