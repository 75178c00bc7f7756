"""Looks for a text in every column of every table of a schema."""

import asyncpg


async def tables_that_hold(dsn: str, marker: str, *, schema: str = "commonhold") -> list[str]:
    """The tables with a row whose text form holds the marker, whatever the column."""
    conn = await asyncpg.connect(dsn)
    try:
        rows = await conn.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY tablename", schema
        )
        names = [row["tablename"] for row in rows]
        found = []
        for name in names:
            held = await conn.fetchval(
                f'SELECT count(*) FROM "{schema}"."{name}" AS t WHERE strpos(t::text, $1) > 0',
                marker,
            )
            if held:
                found.append(name)
        return found
    finally:
        await conn.close()
