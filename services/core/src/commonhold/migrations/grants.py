"""What the serving role may do: read and write rows, and nothing else."""

from collections.abc import Callable

import asyncpg

from commonhold.migrations.connections import Connection
from commonhold.migrations.scripts import in_schema
from commonhold.migrations.timeouts import session_settings

_TABLES = (
    "documents, document_versions, document_redactions,"
    " conversations, turns, projections, turn_redactions, idempotency, claims,"
    " cache_values, cache_series, jobs, job_log, garden_runs"
)


async def grant_serving_role(
    conn: Connection,
    *,
    schema: str,
    role: str,
    say: Callable[[str], None],
) -> None:
    """Give `role` DML on the tables, read access to the version row, and its timeouts."""
    quoted = '"' + role.replace('"', '""') + '"'
    tables = ", ".join(f"commonhold.{name.strip()}" for name in _TABLES.split(","))
    for statement in (
        f'GRANT USAGE ON SCHEMA "{schema}" TO {quoted}',
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {quoted}",
        # The job library draws its numbers itself.
        f"GRANT USAGE ON SEQUENCE commonhold.jobs_id_seq TO {quoted}",
        f"GRANT SELECT ON commonhold.schema_state, commonhold.schema_migrations TO {quoted}",
    ):
        await conn.execute(in_schema(statement, schema))
    database = await conn.fetchval("SELECT quote_ident(current_database())")
    try:
        for setting, value in session_settings().items():
            await conn.execute(
                f"ALTER ROLE {quoted} IN DATABASE {database} SET {setting} = '{value}'"
            )
    except asyncpg.InsufficientPrivilegeError:
        say(f"no right to set the timeouts of role {role!r}: set them as its administrator")
    say(f"granted the serving rights to {role!r}")
