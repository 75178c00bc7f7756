"""The trigram index behind turn search: an optional part, made where pg_trgm can be had.

Without it a search reads every turn and answers the same.
"""

from collections.abc import Callable

import asyncpg

from commonhold.migrations.connections import Connection
from commonhold.migrations.indexes import ensure_index

_INDEX = "turns_search"

_EXTENSION_SCHEMA = """
SELECT n.nspname FROM pg_catalog.pg_extension AS e
JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_trgm'
"""


async def ensure_search_index(conn: Connection, *, schema: str, say: Callable[[str], None]) -> bool:
    """Whether the index stands at the end; each reason why it does not is reported."""
    extension_schema = await _ensure_extension(conn, say)
    if extension_schema is None:
        return False
    built = await ensure_index(
        conn,
        _INDEX,
        table="commonhold.turns",
        definition=f'USING gin (search_text "{extension_schema}".gin_trgm_ops) WHERE NOT redacted',
        schema=schema,
    )
    if built:
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
