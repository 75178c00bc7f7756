"""`migrate` against real databases: fresh, current, foreign, changed, newer, contended."""

import asyncio
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any

import asyncpg
import pytest

from commonhold.contract.errors import ConfigurationError
from commonhold.migrations import (
    SCHEMA_VERSION,
    MigrationError,
    SchemaState,
    migrate,
    render_sql,
    runner,
)
from commonhold.migrations.scripts import MIGRATIONS, Migration, in_schema
from tests.support.catalog import describe
from tests.support.postgres import PostgresServer, temporary_database

SEARCH_INDEX = "turns_search"
OUTLINE_INDEXES = ["documents_recent", "documents_newer_format"]
DOCUMENT = """
INSERT INTO commonhold.documents (
    scope, path, content, version, highest_version, is_live, action,
    created_at, updated_at, newest_at
)
VALUES ('user:a', $1, 'text', 1, 1, true, 'created', now(), now(), now())
"""
WAITING = """
SELECT EXISTS (
    SELECT 1 FROM pg_locks AS l
    JOIN pg_stat_activity AS a USING (pid)
    WHERE NOT l.granted AND a.datname = current_database() AND a.query LIKE 'CREATE INDEX%'
)
"""
VALID = """
SELECT count(*) FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indisvalid AND c.relname = ANY($1)
"""


@pytest.fixture
async def conn(empty_database_dsn: str) -> AsyncIterator[Any]:
    opened = await asyncpg.connect(empty_database_dsn)
    yield opened
    await opened.close()


async def test_a_fresh_database_gets_every_step_once(empty_database_dsn: str) -> None:
    first = await migrate(empty_database_dsn)
    second = await migrate(empty_database_dsn)
    assert first.found is None
    assert len(first.applied) == len(MIGRATIONS)
    assert second.applied == ()
    assert second.state == first.state == SchemaState(SCHEMA_VERSION, 1)


async def test_schema_sql_is_what_the_migrations_leave(conn: Any, empty_database_dsn: str) -> None:
    await migrate(empty_database_dsn)
    await conn.execute(f"DROP INDEX commonhold.{SEARCH_INDEX}")
    migrated = await describe(conn, "commonhold")
    await conn.execute("DROP SCHEMA commonhold CASCADE")
    readable = resources.files("commonhold.migrations").joinpath("schema.sql")
    await conn.execute(readable.read_text(encoding="utf-8"))
    assert await describe(conn, "commonhold") == migrated


async def test_the_printed_script_makes_the_same_tables_in_the_schema_named(
    conn: Any, empty_database_dsn: str
) -> None:
    await migrate(empty_database_dsn, schema="other")
    await conn.execute(f"DROP INDEX other.{SEARCH_INDEX}")
    migrated = await describe(conn, "other")
    await conn.execute("DROP SCHEMA other CASCADE")
    await conn.execute(render_sql(schema="other"))
    assert await describe(conn, "other") == migrated


async def test_runners_at_the_same_moment_take_turns(empty_database_dsn: str) -> None:
    reports = await asyncio.gather(*(migrate(empty_database_dsn) for _ in range(5)))
    assert sorted(len(report.applied) for report in reports) == [0, 0, 0, 0, len(MIGRATIONS)]


async def test_two_schemas_of_one_database_are_apart(empty_database_dsn: str) -> None:
    first = await migrate(empty_database_dsn, schema="first")
    second = await migrate(empty_database_dsn, schema="second")
    assert first.applied == second.applied != ()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_a_database_that_cannot_hold_every_text_is_refused(
    postgres_server: PostgresServer, encoding: str
) -> None:
    options = f"ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"
    async with temporary_database(postgres_server, template="template0", options=options) as dsn:
        with pytest.raises(MigrationError, match=f"encoded in {encoding}.*ENCODING 'UTF8'"):
            await migrate(dsn)
        opened = await asyncpg.connect(dsn)
        assert await opened.fetchval("SELECT to_regnamespace('commonhold')") is None
        await opened.close()


async def test_tables_of_others_are_refused_and_left_alone(
    conn: Any, empty_database_dsn: str
) -> None:
    await conn.execute("CREATE SCHEMA commonhold; CREATE TABLE commonhold.invoices (id integer)")
    with pytest.raises(MigrationError, match=r"did not make .invoices.*name an empty schema"):
        await migrate(empty_database_dsn)
    tables = await conn.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'commonhold'")
    assert [row["tablename"] for row in tables] == ["invoices"]


async def test_a_file_that_changed_after_it_ran_is_refused(
    conn: Any, empty_database_dsn: str
) -> None:
    await migrate(empty_database_dsn)
    await conn.execute("UPDATE commonhold.schema_migrations SET checksum = 'other'")
    with pytest.raises(MigrationError, match=r"0001_.*checksum differs"):
        await migrate(empty_database_dsn)


async def test_a_newer_compatible_schema_is_left_alone(conn: Any, empty_database_dsn: str) -> None:
    await migrate(empty_database_dsn)
    await conn.execute("UPDATE commonhold.schema_state SET version = 99, compatible_from = 1")
    report = await migrate(empty_database_dsn)
    assert report.applied == ()
    assert report.state == SchemaState(99, 1)


async def test_a_newer_incompatible_schema_is_refused(conn: Any, empty_database_dsn: str) -> None:
    await migrate(empty_database_dsn)
    await conn.execute("UPDATE commonhold.schema_state SET version = 99, compatible_from = 99")
    with pytest.raises(MigrationError, match="run a newer release"):
        await migrate(empty_database_dsn)


async def test_a_step_that_shuts_out_the_running_release_needs_leave(
    empty_database_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(empty_database_dsn)
    closing = Migration(
        version=SCHEMA_VERSION + 1,
        name="contract",
        compatible_from=SCHEMA_VERSION + 1,
        sql="ALTER TABLE commonhold.documents ADD COLUMN tint text;",
    )
    monkeypatch.setattr(runner, "MIGRATIONS", (*MIGRATIONS, closing))
    with pytest.raises(MigrationError, match="--allow-downtime"):
        await migrate(empty_database_dsn)
    report = await migrate(empty_database_dsn, allow_downtime=True)
    assert report.state == SchemaState(SCHEMA_VERSION + 1, SCHEMA_VERSION + 1)


async def test_a_step_that_fails_leaves_the_database_before_it(
    empty_database_dsn: str, monkeypatch: pytest.MonkeyPatch, conn: Any
) -> None:
    await migrate(empty_database_dsn)
    broken = Migration(
        version=SCHEMA_VERSION + 1,
        name="broken",
        compatible_from=1,
        sql="CREATE TABLE commonhold.half (id integer); SELECT no_such_function();",
    )
    monkeypatch.setattr(runner, "MIGRATIONS", (*MIGRATIONS, broken))
    with pytest.raises(MigrationError, match="no_such_function"):
        await migrate(empty_database_dsn)
    assert await conn.fetchval("SELECT to_regclass('commonhold.half')") is None
    assert await runner.read_state(conn, schema="commonhold") == SchemaState(SCHEMA_VERSION, 1)


async def test_a_step_gives_up_rather_than_queue_behind_a_long_lock(
    empty_database_dsn: str, monkeypatch: pytest.MonkeyPatch, conn: Any
) -> None:
    await migrate(empty_database_dsn)
    step = Migration(
        version=SCHEMA_VERSION + 1,
        name="column",
        compatible_from=1,
        sql="ALTER TABLE commonhold.documents ADD COLUMN tint text;",
    )
    monkeypatch.setattr(runner, "MIGRATIONS", (*MIGRATIONS, step))
    monkeypatch.setattr(runner, "_LOCK_TIMEOUT", "100ms")
    async with conn.transaction():
        await conn.execute("LOCK TABLE commonhold.documents IN ACCESS SHARE MODE")
        with pytest.raises(MigrationError, match="lock timeout"):
            await migrate(empty_database_dsn)


@pytest.fixture
async def before_outlines(empty_database_dsn: str, conn: Any) -> str:
    """A database in use at the version before the indexes of outlines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "MIGRATIONS", MIGRATIONS[:4])
        await migrate(empty_database_dsn)
    await conn.execute(DOCUMENT, "a")
    return empty_database_dsn


async def test_writes_go_on_while_the_indexes_of_a_step_are_built(
    before_outlines: str, conn: Any
) -> None:
    other = await asyncpg.connect(before_outlines)
    writing = other.transaction()
    await writing.start()
    await other.execute(DOCUMENT, "b")
    running = asyncio.create_task(migrate(before_outlines))
    async with asyncio.timeout(30):
        while not await conn.fetchval(WAITING):  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.02)
    # An index built in a transaction would make this wait behind it.
    await conn.execute("SET lock_timeout = '2s'")
    await conn.execute(DOCUMENT, "c")
    await writing.commit()
    await other.close()
    report = await running
    assert report.state == SchemaState(SCHEMA_VERSION, 1)
    assert await conn.fetchval(VALID, OUTLINE_INDEXES) == len(OUTLINE_INDEXES)


async def test_an_index_of_a_step_left_half_built_is_built_again(
    before_outlines: str, conn: Any
) -> None:
    await conn.execute("CREATE INDEX documents_recent ON commonhold.documents (scope)")
    await conn.execute(
        "UPDATE pg_index SET indisvalid = false"
        " WHERE indexrelid = 'commonhold.documents_recent'::regclass"
    )
    await migrate(before_outlines)
    assert await conn.fetchval(VALID, OUTLINE_INDEXES) == len(OUTLINE_INDEXES)


async def test_a_search_index_left_half_built_is_built_again(
    conn: Any, empty_database_dsn: str
) -> None:
    await migrate(empty_database_dsn)
    await conn.execute(
        "UPDATE pg_index SET indisvalid = false"
        f" WHERE indexrelid = 'commonhold.{SEARCH_INDEX}'::regclass"
    )
    report = await migrate(empty_database_dsn)
    assert report.search_index
    assert await conn.fetchval(
        f"SELECT indisvalid FROM pg_index WHERE indexrelid = 'commonhold.{SEARCH_INDEX}'::regclass"
    )


async def test_a_search_index_is_built_on_turns_that_are_there_already(
    conn: Any, empty_database_dsn: str
) -> None:
    await migrate(empty_database_dsn)
    await conn.execute(f"DROP INDEX commonhold.{SEARCH_INDEX}")
    await conn.execute(
        "INSERT INTO commonhold.turns"
        " (conversation_id, turn, messages, created_at, search_text)"
        " VALUES ('c', 1, '[]', now(), 'found')"
    )
    async with asyncio.timeout(30):
        report = await migrate(empty_database_dsn)
    assert report.search_index


async def test_without_the_right_to_pg_trgm_the_schema_stands_and_the_lack_is_told(
    conn: Any, empty_database_dsn: str
) -> None:
    await conn.execute("CREATE ROLE owner_without LOGIN PASSWORD 'x'")
    try:
        await conn.execute("CREATE SCHEMA commonhold AUTHORIZATION owner_without")
        lines: list[str] = []
        report = await migrate(_as_role(empty_database_dsn, "owner_without"), report=lines.append)
        assert not report.search_index
        assert any("pg_trgm" in line for line in lines)
        await conn.execute("CREATE EXTENSION pg_trgm")
        later = await migrate(_as_role(empty_database_dsn, "owner_without"))
        assert later.search_index
    finally:
        await conn.execute("DROP SCHEMA commonhold CASCADE")
        await conn.execute("DROP ROLE owner_without")


async def test_the_serving_role_reads_and_writes_rows_and_nothing_else(
    conn: Any, empty_database_dsn: str
) -> None:
    await conn.execute("CREATE ROLE serving LOGIN PASSWORD 'x'")
    try:
        await migrate(empty_database_dsn, grant_to="serving")
        serving = await asyncpg.connect(_as_role(empty_database_dsn, "serving"))
        try:
            await serving.execute(
                "INSERT INTO commonhold.document_redactions (scope, created_at, count)"
                " VALUES ('user:a', now(), 1)"
            )
            found = await serving.fetchval("SELECT version FROM commonhold.schema_state")
            assert found == SCHEMA_VERSION
            await serving.execute("DELETE FROM commonhold.claims")
            assert await serving.fetchval("SHOW lock_timeout") == "2s"
            for refused in (
                "CREATE TABLE commonhold.own (id integer)",
                "DROP TABLE commonhold.turns",
                "TRUNCATE commonhold.turns",
                "UPDATE commonhold.schema_state SET version = 7",
            ):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await serving.execute(refused)
        finally:
            await serving.close()
    finally:
        await conn.execute("DROP OWNED BY serving; DROP ROLE serving")


async def test_an_unreachable_database_is_told_in_words() -> None:
    with pytest.raises(MigrationError, match="the database refused"):
        await migrate("postgresql://nobody@127.0.0.1:1/none")


async def test_an_illegal_schema_name_is_refused_before_connecting() -> None:
    with pytest.raises(ConfigurationError, match="schema name"):
        await migrate("postgresql://nobody@127.0.0.1:1/none", schema="Drop Table")


def test_the_default_schema_is_only_a_name_in_the_files() -> None:
    assert in_schema("SELECT 1 FROM commonhold.turns", "user") == 'SELECT 1 FROM "user".turns'


def _as_role(dsn: str, role: str) -> str:
    return f"postgresql://{role}:x@{dsn.rpartition('@')[2]}"
