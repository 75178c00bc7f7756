"""An adoption reads only, writes nothing where something else is, and outlives its own end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from commonhold.adapters.postgres import PostgresStore
from commonhold.adapters.postgres.adoption import AdoptionError, AdoptionReport, adopt
from commonhold.conformance.archives import conversation_archive, scope_archive
from commonhold.conformance.samples import SCOPE, THREAD, says
from commonhold.contract import CommonholdError, ConversationConflictError, MemoryConflictError
from tests.support.generation_four import create_old_schema, fill_conversation, fill_scope
from tests.support.postgres import with_role
from tests.support.shell_runs import start_shell

ROLE = "adopting"
RIGHTS = f"""
CREATE ROLE {ROLE} LOGIN PASSWORD 'adopt';
GRANT USAGE ON SCHEMA "neosian", commonhold TO {ROLE};
GRANT SELECT ON ALL TABLES IN SCHEMA "neosian" TO {ROLE};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA commonhold TO {ROLE};
"""
WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
# The server sees only later that a client which waits for a lock is no more.
END_WAITING = """
SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
UNITS = ("user:a", "user:b", "user:c")
VERSIONS, TURNS = 2600, 1700
# Three scopes, or three conversations, are more rows than one transaction takes.
MANY_ROWS = f"""
INSERT INTO "neosian".memory_versions (scope, path, version, action, content, created_at)
SELECT s, 'notes/' || v % 50, 1 + v / 50, 'modified', 'text ' || v, now()
FROM unnest('{{user:a,user:b,user:c}}'::text []) AS s, generate_series(1, {VERSIONS}) AS v;
INSERT INTO "neosian".conversations (conversation_id, created_at)
SELECT 'c-' || c, now() FROM generate_series(1, 4) AS c;
INSERT INTO "neosian".turns (conversation_id, turn, messages, created_at)
SELECT 'c-' || c, t, '[{{"role": "user", "content": "said"}}]', now()
FROM generate_series(1, 4) AS c, generate_series(1, {TURNS}) AS t;
"""
# Rows of somebody else's that hold a run at another moment each: between the tables of scopes,
# before the last scope, and among the turns.
HELD = (
    (
        "INSERT INTO commonhold.documents (scope, path, content, version, highest_version, is_live,"
        " action, created_at, updated_at, newest_at)"
        " VALUES ('user:a', 'notes/1', '', 1, 1, true, 'created', now(), now(), now())"
    ),
    "SELECT pg_advisory_xact_lock(hashtextextended('user:c', 0))",
    (
        "INSERT INTO commonhold.turns (conversation_id, turn, messages, created_at, search_text)"
        f" VALUES ('c-1', {TURNS}, '[]', now(), '')"
    ),
)
HALVES = f"""
SELECT scope FROM commonhold.document_versions GROUP BY scope HAVING count(*) <> {VERSIONS}
UNION ALL
SELECT conversation_id FROM commonhold.turns GROUP BY conversation_id HAVING count(*) <> {TURNS}
UNION ALL
SELECT conversation_id FROM commonhold.conversations WHERE last_turn <> {TURNS}
"""


@pytest.fixture
async def old(database_dsn: str) -> AsyncIterator[Any]:
    """A connection to a database that holds the old schema beside ours."""
    opened = await asyncpg.connect(database_dsn)
    await create_old_schema(opened)
    yield opened
    await opened.close()


@pytest.fixture
async def reader(old: Any, database_dsn: str) -> AsyncIterator[str]:
    """A connection string of a role that can write to our schema alone."""
    await old.execute(RIGHTS)
    yield with_role(database_dsn, ROLE, "adopt")
    await old.execute(f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")


async def adopted(dsn: str, *, target: str = "commonhold") -> AdoptionReport:
    return await adopt(
        dsn, source="neosian", target=target, started=lambda _: None, moved=lambda _: None
    )


async def count_copies(conn: Any) -> int:
    found: int = await conn.fetchval(
        "SELECT (SELECT count(*) FROM commonhold.documents)"
        " + (SELECT count(*) FROM commonhold.document_redactions)"
        " + (SELECT count(*) FROM commonhold.conversations)"
    )
    return found


async def test_a_role_that_may_only_read_the_old_schema_adopts_it(
    old: Any, reader: str, store: PostgresStore
) -> None:
    await fill_scope(old, scope_archive())
    await fill_conversation(old, conversation_archive())
    conn = await asyncpg.connect(reader)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await conn.execute('DELETE FROM "neosian".memories')
    await conn.close()
    await adopted(reader)
    assert await store.archive_scope(SCOPE) == scope_archive()


async def test_a_taken_place_refuses_all_before_anything_is_written(
    old: Any, store: PostgresStore, database_dsn: str
) -> None:
    await fill_scope(old, scope_archive())
    await fill_conversation(old, conversation_archive())
    await store.append_turn(THREAD, [says("mine")])
    with pytest.raises(ConversationConflictError) as refused:
        await adopted(database_dsn)
    assert refused.value.details["conversation_id"] == THREAD
    assert await count_copies(old) == 1
    await old.execute("TRUNCATE commonhold.conversations, commonhold.turns")
    await old.execute(
        "INSERT INTO commonhold.document_redactions (scope, created_at, count)"
        f" VALUES ('{SCOPE}', now(), 1)"
    )
    with pytest.raises(MemoryConflictError):
        await adopted(database_dsn)
    assert await count_copies(old) == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE commonhold.documents SET newest_at = now() WHERE path = 'a'",
        "UPDATE commonhold.document_versions SET content = 'y' WHERE path = 'gone' AND version = 1",
        "DELETE FROM commonhold.document_versions WHERE path = 'gone' AND version = 2",
        "UPDATE commonhold.document_redactions SET actor = NULL WHERE path = 'b'",
        "UPDATE commonhold.turns SET search_text = '' WHERE turn = 1",
        "DELETE FROM commonhold.turns WHERE turn = 2",
        "UPDATE commonhold.projections SET text = 'y' WHERE kind = 'epoch'",
        "DELETE FROM commonhold.turn_redactions WHERE turns = '{2}'",
        "UPDATE commonhold.conversations SET last_turn = 9",
    ],
)
async def test_a_copy_that_has_changed_since_is_a_taken_place(
    old: Any, database_dsn: str, change: str
) -> None:
    await fill_scope(old, scope_archive())
    await fill_conversation(old, conversation_archive())
    await adopted(database_dsn)
    await old.execute(change)
    with pytest.raises((MemoryConflictError, ConversationConflictError)):
        await adopted(database_dsn)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('UPDATE "neosian".neosian_schema SET version = 3', "is of generation 3"),
        ('UPDATE "neosian".neosian_schema SET version = 5', "is of generation 5"),
        ('DROP TABLE "neosian".neosian_schema', "holds no tables to adopt"),
        ('ALTER TABLE "neosian".turns DROP COLUMN search_text', "search_text"),
        ("DROP TABLE commonhold.schema_state", "run `commonhold migrate`"),
    ],
)
async def test_a_schema_that_is_not_what_it_must_be_is_refused(
    old: Any, database_dsn: str, change: str, said: str
) -> None:
    await fill_scope(old, scope_archive())
    await fill_conversation(old, conversation_archive())
    await old.execute(change)
    with pytest.raises(AdoptionError, match=said):
        await adopted(database_dsn)
    assert await count_copies(old) == 0


async def test_a_run_that_is_killed_leaves_whole_units_and_the_next_ones_go_on(
    old: Any, database_dsn: str, store: PostgresStore
) -> None:
    await old.execute(MANY_ROWS)
    for hold in HELD:
        async with held(database_dsn, hold):
            run = await start_shell(
                "adopt", "--from-schema", "neosian", NEOSIAN_POSTGRES_DSN=database_dsn
            )
            await until_waiting(old)
            run.kill()
            await run.wait()
            await old.execute(END_WAITING)
            assert await old.fetch(HALVES) == [], hold
    report = await adopted(database_dsn)
    assert (report.scopes, report.conversations, report.odd) == (3, 4, ())
    assert report.found == 3
    assert await old.fetch(HALVES) == []
    assert await store.scopes() == UNITS
    assert await store.last_turn_number("c-4") == TURNS


@asynccontextmanager
async def held(dsn: str, statement: str) -> AsyncIterator[None]:
    """A transaction of somebody else's, rolled back in the end."""
    conn = await asyncpg.connect(dsn)
    await conn.execute("BEGIN")
    await conn.execute(statement)
    yield
    await conn.close()


async def until_waiting(conn: Any) -> None:
    async with asyncio.timeout(60):
        while not await conn.fetchval(WAITING):  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.02)


async def test_two_runs_at_once_end_with_one_copy(
    old: Any, database_dsn: str, store: PostgresStore
) -> None:
    await fill_scope(old, scope_archive())
    await fill_conversation(old, conversation_archive())
    reports = await asyncio.gather(adopted(database_dsn), adopted(database_dsn))
    assert [report.rows for report in reports] == [reports[0].rows] * 2
    assert await store.archive_scope(SCOPE) == scope_archive()
    assert await store.archive_conversation(THREAD) == conversation_archive()


async def test_the_error_of_the_driver_is_one_of_ours(old: Any, database_dsn: str) -> None:
    with pytest.raises(CommonholdError, match="the database refused"):
        await adopted(database_dsn.replace("postgres:", "nobody:", 1))
