"""Where in a whole database a text still stands, whatever table or type holds it."""

import re
from collections import defaultdict

import asyncpg

COLUMNS = """
SELECT n.nspname AS schema, c.relname AS table, a.attname AS column, t.typname AS type
FROM pg_attribute AS a
INNER JOIN pg_class AS c ON a.attrelid = c.oid
INNER JOIN pg_namespace AS n ON c.relnamespace = n.oid
INNER JOIN pg_type AS t ON a.atttypid = t.oid
WHERE c.relkind IN ('r', 'p', 'm') AND a.attnum > 0 AND NOT a.attisdropped
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'
ORDER BY n.nspname, c.relname, a.attnum
"""


async def find_everywhere(dsn: str, pattern: re.Pattern[str]) -> dict[str, set[str]]:
    """Return what the pattern's group matches, each with the columns that hold it.

    Every column of every table is looked at, so a table made later is not forgotten.
    """
    found: dict[str, set[str]] = defaultdict(set)
    connection = await asyncpg.connect(dsn)
    try:
        for row in await connection.fetch(COLUMNS):
            where = f"{row['table']}.{row['column']}"
            for text in await connection.fetch(_select(row), pattern.pattern):
                for match in pattern.findall(text["text"]):
                    found[match].add(where)
    finally:
        await connection.close()
    return dict(found)


def _select(row: asyncpg.Record) -> str:
    """Bytes are looked at as text too: an answer kept in `bytea` would read as hex."""
    column = f'"{row["column"]}"'
    text = f"encode({column}, 'escape')" if row["type"] == "bytea" else f"{column}::text"
    return f'SELECT {text} AS text FROM "{row["schema"]}"."{row["table"]}" WHERE {text} ~ $1'
