"""Brings a database to this release's schema: forward only, one runner at a time.

What the steps promise is in docs/reference/schema.md, "Versions". The runner connects
directly, not through a transaction pooler: index builds run outside a transaction.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncpg
import msgspec

from commonhold.contract.errors import CommonholdError
from commonhold.contract.ids import check_schema_name
from commonhold.migrations.connections import Connection
from commonhold.migrations.grants import grant_serving_role
from commonhold.migrations.indexes import build_ahead
from commonhold.migrations.scripts import MIGRATIONS, Migration, in_schema
from commonhold.migrations.search_index import ensure_search_index
from commonhold.migrations.state import SchemaState, encoding_fault, explain, is_compatible

Report = Callable[[str], None]

_CONNECT_TIMEOUT_SECONDS = 10.0
_LOCK_POLL_SECONDS = 0.1
# A step that waits longer than this for a table would queue every request behind it.
_LOCK_TIMEOUT = "5s"

_BOOKKEEPING = """
CREATE TABLE IF NOT EXISTS commonhold.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
);

CREATE TABLE IF NOT EXISTS commonhold.schema_state (
    singleton boolean NOT NULL DEFAULT true,
    version integer NOT NULL,
    compatible_from integer NOT NULL,
    CONSTRAINT schema_state_pkey PRIMARY KEY (singleton),
    CONSTRAINT schema_state_single_row CHECK (singleton)
);
"""
_RECORD_STATE = """
INSERT INTO commonhold.schema_state AS s (version, compatible_from) VALUES ($1, $2)
ON CONFLICT (singleton) DO UPDATE
SET
    version = excluded.version,
    compatible_from = greatest(s.compatible_from, excluded.compatible_from)
"""


class MigrationError(CommonholdError):
    """The database is left as it was before the step that failed; the message says why."""

    code = "migration_error"


class MigrationReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found and did; `applied` names the steps it took."""

    found: SchemaState | None
    state: SchemaState
    applied: tuple[str, ...]
    search_index: bool


async def migrate(
    dsn: str,
    *,
    schema: str = "commonhold",
    grant_to: str | None = None,
    allow_downtime: bool = False,
    report: Report | None = None,
) -> MigrationReport:
    """Apply the steps that are missing, then the optional parts, then the grants.

    A database at a newer compatible version is left alone. Raises MigrationError when the
    database is not in UTF-8, the schema holds tables of others, a step's file changed after it
    ran, a step would shut out the running release without `allow_downtime`, or the database
    refuses.
    """
    check_schema_name(schema)
    say = report or _silent
    try:
        async with _connection(dsn) as conn, _sole_runner(dsn, schema, say):
            return await _run(
                conn, schema=schema, grant_to=grant_to, allow_downtime=allow_downtime, say=say
            )
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as exc:
        raise MigrationError(refusal(exc)) from exc


def render_sql(*, schema: str = "commonhold") -> str:
    """Every step as one script, for a reader; it records nothing and is not run by us."""
    parts = [
        f'CREATE SCHEMA "{check_schema_name(schema)}";',
        _BOOKKEEPING.strip(),
        *(migration.sql.strip() for migration in MIGRATIONS),
    ]
    return in_schema("\n\n".join(parts) + "\n", schema)


async def _run(
    conn: Connection,
    *,
    schema: str,
    grant_to: str | None,
    allow_downtime: bool,
    say: Report,
) -> MigrationReport:
    fault = encoding_fault(await conn.fetchval("SHOW server_encoding"))
    if fault is not None:
        raise MigrationError(fault)
    found = await read_state(conn, schema=schema)
    applied: list[str] = []
    if found is None:
        await _refuse_foreign_tables(conn, schema)
    else:
        await _refuse_changed_files(conn, schema)
    if found is not None and found.version > MIGRATIONS[-1].version:
        if not is_compatible(found):
            raise MigrationError(explain(found, schema=schema))
        say(f"schema {schema!r} is at newer version {found.version}, compatible: nothing to do")
        return MigrationReport(found=found, state=found, applied=(), search_index=False)
    missing = [m for m in MIGRATIONS if found is None or m.version > found.version]
    _refuse_downtime(found, missing, allow_downtime=allow_downtime)
    for migration in missing:
        await build_ahead(conn, migration.sql, schema=schema)
        await _apply(conn, migration, schema=schema)
        applied.append(f"{migration.version:04d}_{migration.name}")
        say(f"applied {applied[-1]}")
    search_index = await ensure_search_index(conn, schema=schema, say=say)
    if grant_to is not None:
        await grant_serving_role(conn, schema=schema, role=grant_to, say=say)
    state = await read_state(conn, schema=schema)
    if state is None:
        raise MigrationError(f"schema {schema!r} lost its version row during the run")
    say(f"schema {schema!r} is at version {state.version}")
    return MigrationReport(
        found=found, state=state, applied=tuple(applied), search_index=search_index
    )


async def read_state(conn: Connection, *, schema: str) -> SchemaState | None:
    """The version row; None where there is no table for it, or no row in it."""
    table = in_schema("commonhold.schema_state", schema)
    if await conn.fetchval("SELECT to_regclass($1)", table) is None:
        return None
    row = await conn.fetchrow(f"SELECT version, compatible_from FROM {table}")  # noqa: S608 - a checked name
    return None if row is None else SchemaState(row["version"], row["compatible_from"])


async def _apply(conn: Connection, migration: Migration, *, schema: str) -> None:
    async with conn.transaction():
        await conn.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
        await conn.execute("SET LOCAL statement_timeout = 0")
        if migration.version == 1:
            await _create_bookkeeping(conn, schema)
        await conn.execute(in_schema(migration.sql, schema))
        await conn.execute(
            in_schema(
                "INSERT INTO commonhold.schema_migrations (version, name, checksum)"
                " VALUES ($1, $2, $3)",
                schema,
            ),
            migration.version,
            migration.name,
            migration.checksum,
        )
        await conn.execute(
            in_schema(_RECORD_STATE, schema), migration.version, migration.compatible_from
        )


async def _create_bookkeeping(conn: Connection, schema: str) -> None:
    # IF NOT EXISTS would still ask for the right to create schemas in the database.
    if await conn.fetchval("SELECT to_regnamespace($1)", f'"{schema}"') is None:
        await conn.execute(f'CREATE SCHEMA "{schema}"')
    await conn.execute(in_schema(_BOOKKEEPING, schema))


async def _refuse_foreign_tables(conn: Connection, schema: str) -> None:
    tables = await conn.fetch(
        "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = $1 ORDER BY tablename",
        schema,
    )
    if tables:
        names = ", ".join(row["tablename"] for row in tables[:5])
        raise MigrationError(
            f"schema {schema!r} holds tables that Commonhold did not make ({names}):"
            " name an empty schema"
        )


async def _refuse_changed_files(conn: Connection, schema: str) -> None:
    rows = await conn.fetch(
        in_schema(
            "SELECT version, name, checksum FROM commonhold.schema_migrations ORDER BY version",
            schema,
        )
    )
    ran = {row["version"]: row["checksum"] for row in rows}
    for migration in MIGRATIONS:
        if ran.get(migration.version, migration.checksum) != migration.checksum:
            raise MigrationError(
                f"migration {migration.version:04d}_{migration.name} is not the file that ran"
                f" on schema {schema!r}: its checksum differs"
            )


def _refuse_downtime(
    found: SchemaState | None, missing: list[Migration], *, allow_downtime: bool
) -> None:
    if found is None or allow_downtime:
        return
    for migration in missing:
        if migration.compatible_from > found.version:
            raise MigrationError(
                f"migration {migration.version:04d}_{migration.name} shuts out releases at"
                f" schema version {found.version}: stop them and pass --allow-downtime"
            )


@asynccontextmanager
async def _connection(dsn: str) -> AsyncIterator[Connection]:
    conn = await asyncpg.connect(dsn, timeout=_CONNECT_TIMEOUT_SECONDS)
    try:
        yield conn
    finally:
        await conn.close(timeout=_CONNECT_TIMEOUT_SECONDS)


@asynccontextmanager
async def _sole_runner(dsn: str, schema: str, say: Report) -> AsyncIterator[None]:
    """Hold the runner's lock in a transaction of a connection of its own.

    Polling keeps the lock at transaction level, and no session lock is left behind by a
    runner that dies (docs/reference/schema.md, "Versions").
    """
    async with _connection(dsn) as conn, conn.transaction():
        # It idles for as long as an index takes to build; a role's limit must not end it.
        await conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        waited = False
        while not await conn.fetchval(
            "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))",
            f"commonhold migrate {schema}",
        ):
            if not waited:
                say("waiting for another migration of this schema to finish")
                waited = True
            await asyncio.sleep(_LOCK_POLL_SECONDS)
        # A prepared statement keeps its snapshot until the next one, and a concurrent index
        # build would wait for it as long as the lock is held. A plain one leaves none.
        await conn.execute("SELECT 1")
        yield


def refusal(error: Exception) -> str:
    """What a database that cannot be used said, or what kind of error said nothing."""
    return f"the database refused: {str(error) or type(error).__name__}"


def _silent(_line: str) -> None:
    pass
