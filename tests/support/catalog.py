"""A database's schema as comparable text: tables, columns, constraints, indexes."""

from typing import Any

QUERIES = {
    "columns": """
        SELECT format(
            '%s.%s %s %s default=%s identity=%s collation=%s statistics=%s', c.relname, a.attname,
            format_type(a.atttypid, a.atttypmod), a.attnotnull,
            pg_get_expr(d.adbin, d.adrelid), a.attidentity, co.collname, a.attstattarget
        )
        FROM pg_attribute AS a
        JOIN pg_class AS c ON c.oid = a.attrelid AND c.relkind = 'r'
        JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = $1
        LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN pg_collation AS co ON co.oid = a.attcollation
        WHERE a.attnum > 0 AND NOT a.attisdropped
    """,
    "tables": """
        SELECT format('%s %s %s', c.relname, c.relpersistence, c.reloptions)
        FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = $1
        WHERE c.relkind = 'r'
    """,
    "constraints": """
        SELECT format('%s %s', co.conname, pg_get_constraintdef(co.oid))
        FROM pg_constraint AS co
        JOIN pg_namespace AS n ON n.oid = co.connamespace AND n.nspname = $1
    """,
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = $1",
}


async def describe(conn: Any, schema: str) -> dict[str, list[str]]:
    """Each kind of object as sorted lines that are equal for equal schemas."""
    found = {}
    for kind, query in QUERIES.items():
        found[kind] = sorted(row[0] for row in await conn.fetch(query, schema))
    return found
