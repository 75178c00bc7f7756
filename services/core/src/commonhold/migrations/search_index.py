"""The trigram index behind turn search: an optional part, made where pg_trgm can be had.

Without it a search reads every turn and answers the same.
"""

from collections.abc import Callable

import asyncpg

from commonhold.migrations.connections import Connection
from commonhold.migrations.scripts import in_schema

_INDEX = "turns_search"

_EXTENSION_SCHEMA = """
SELECT n.nspname FROM pg_catalog.pg_extension AS e
JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_trgm'
"""
_INDEX_STATE = """
SELECT i.indisvalid FROM pg_catalog.pg_index AS i
JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2
"""


async def ensure_search_index(conn: Connection, *, schema: str, say: Callable[[str], None]) -> bool:
    """Whether the index stands at the end; each reason why it does not is reported."""
    extension_schema = await _ensure_extension(conn, say)
    if extension_schema is None:
        return False
    is_valid = await conn.fetchval(_INDEX_STATE, schema, _INDEX)
    if is_valid:
        return True
    # A concurrent build waits for the transactions of others, for as long as they take.
    await conn.execute("SET statement_timeout = 0; SET lock_timeout = 0")
    if is_valid is not None:
        # An interrupted concurrent build leaves an index that is kept up but never read.
        await conn.execute(in_schema(f"DROP INDEX CONCURRENTLY commonhold.{_INDEX}", schema))
    is_filled = await conn.fetchval(
        in_schema("SELECT EXISTS (SELECT 1 FROM commonhold.turns)", schema)
    )
    # Only a filled table is worth the concurrent build, which waits for every transaction.
    concurrently = "CONCURRENTLY " if is_filled else ""
    await conn.execute(
        in_schema(
            f"CREATE INDEX {concurrently}{_INDEX} ON commonhold.turns"
            f' USING gin (search_text "{extension_schema}".gin_trgm_ops) WHERE NOT redacted',
            schema,
        )
    )
    say("built the search index")
    return True


async def _ensure_extension(conn: Connection, say: Callable[[str], None]) -> str | None:
    found = await _extension_schema(conn)
    if found is not None:
        return found
    available = await conn.fetchval(
        "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_available_extensions WHERE name = 'pg_trgm')"
    )
    if not available:
        say("pg_trgm is not available: search reads every turn; install it and migrate again")
        return None
    try:
        await conn.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except asyncpg.InsufficientPrivilegeError:
        say("no right to create pg_trgm: search reads every turn; create it and migrate again")
        return None
    return await _extension_schema(conn)


async def _extension_schema(conn: Connection) -> str | None:
    found: str | None = await conn.fetchval(_EXTENSION_SCHEMA)
    return found
