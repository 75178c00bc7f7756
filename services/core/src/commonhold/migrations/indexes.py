"""Indexes on tables that are in use: built concurrently, outside a transaction.

A migration makes an index on a table of an earlier one with IF NOT EXISTS: the runner builds
it ahead of the step, which then finds it there.
"""

import re

from commonhold.migrations.connections import Connection
from commonhold.migrations.scripts import in_schema

BUILT_AHEAD = re.compile(
    r"^CREATE INDEX IF NOT EXISTS (?P<name>\w+)\s+ON (?P<table>commonhold\.\w+) (?P<rest>[^;]+);",
    re.MULTILINE,
)
_INDEX_STATE = """
SELECT i.indisvalid FROM pg_catalog.pg_index AS i
JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2
"""


async def build_ahead(conn: Connection, sql: str, *, schema: str) -> None:
    """Build the indexes of a step on the tables that are there before it."""
    for index in BUILT_AHEAD.finditer(sql):
        if await conn.fetchval("SELECT to_regclass($1)", in_schema(index["table"], schema)):
            await ensure_index(
                conn, index["name"], table=index["table"], definition=index["rest"], schema=schema
            )


async def ensure_index(
    conn: Connection, name: str, *, table: str, definition: str, schema: str
) -> bool:
    """Whether the index had to be built; one that an interrupted build left is made again."""
    is_valid = await conn.fetchval(_INDEX_STATE, schema, name)
    if is_valid:
        return False
    # A concurrent build waits for the transactions of others, for as long as they take.
    await conn.execute("SET statement_timeout = 0; SET lock_timeout = 0")
    if is_valid is not None:
        # An interrupted concurrent build leaves an index that is kept up but never read.
        await conn.execute(in_schema(f"DROP INDEX CONCURRENTLY commonhold.{name}", schema))
    named = in_schema(table, schema)
    is_filled = await conn.fetchval(f"SELECT EXISTS (SELECT 1 FROM {named})")  # noqa: S608 - a checked name
    # Only a filled table is worth the concurrent build, which waits for every transaction.
    concurrently = "CONCURRENTLY " if is_filled else ""
    await conn.execute(
        in_schema(f"CREATE INDEX {concurrently}{name} ON {table} {definition}", schema)
    )
    return True
