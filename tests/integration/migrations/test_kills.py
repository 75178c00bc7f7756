"""A migration that is killed in the middle leaves nothing that the next one cannot go on from."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from commonhold.migrations import SCHEMA_VERSION, SchemaState, migrate
from commonhold.migrations.scripts import MIGRATIONS

LOCK = 4242
# In the step that makes the tables, ahead of a later one, where its indexes are built, or behind
# all steps, where the search index is.
HALTS = {
    "in a step": "to_regclass('commonhold.turns') IS NOT NULL",
    "ahead of a step": "to_regclass('commonhold.documents_recent') IS NOT NULL",
    "at the search index": "to_regclass('commonhold.turns_search') IS NOT NULL",
}
HALT = """
CREATE FUNCTION public.halt() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {condition} THEN PERFORM pg_advisory_xact_lock({lock}); END IF;
END $$;
CREATE EVENT TRIGGER halt ON ddl_command_end WHEN TAG IN ('CREATE INDEX')
EXECUTE FUNCTION public.halt()
"""
HALTED = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


@pytest.fixture
async def conn(empty_database_dsn: str) -> AsyncIterator[Any]:
    opened = await asyncpg.connect(empty_database_dsn)
    yield opened
    await opened.close()


async def until(conn: Any, query: str, *arguments: object, is_now: int) -> None:
    async with asyncio.timeout(30):
        while await conn.fetchval(query, *arguments) != is_now:  # noqa: ASYNC110 - of other processes
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("condition", HALTS.values(), ids=HALTS)
async def test_a_killed_migration_is_finished_by_the_next(
    conn: Any, empty_database_dsn: str, condition: str
) -> None:
    await conn.execute(HALT.format(condition=condition, lock=LOCK))
    await conn.execute("SELECT pg_advisory_lock($1)", LOCK)
    killed = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "commonhold.cli", "migrate"),
        env={"PATH": os.environ["PATH"], "COMMONHOLD_MIGRATE_DSN": empty_database_dsn},
        stdout=asyncio.subprocess.DEVNULL,
    )
    await until(conn, HALTED, LOCK, is_now=1)
    killed.kill()
    await killed.wait()
    await conn.execute("DROP EVENT TRIGGER halt")
    await conn.execute("SELECT pg_advisory_unlock($1)", LOCK)
    await until(conn, OTHERS, is_now=0)
    report = await migrate(empty_database_dsn)
    assert report.state == SchemaState(SCHEMA_VERSION, report.state.compatible_from)
    assert report.search_index
    recorded = await conn.fetchval("SELECT count(*) FROM commonhold.schema_migrations")
    assert recorded == len(MIGRATIONS)
    assert (await migrate(empty_database_dsn)).applied == ()
