"""Every statement says whose rows it wants, so that rows may live on several nodes.

The database itself is the judge: the tables are split by the hash of their key, and a plan that
reads more than one part of a table is one that would ask more than one node.
"""

import importlib.resources
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import asyncpg
import pytest

from commonhold.adapters.postgres.statements import statements_in

PARTS = 4
KEYS = {
    "documents": "scope",
    "document_versions": "scope",
    "document_redactions": "scope",
    "conversations": "conversation_id",
    "turns": "conversation_id",
    "projections": "conversation_id",
    "turn_redactions": "conversation_id",
    "idempotency": "client",
}
# Rows a name, a garden or a job, and what expires: one node keeps them.
SMALL = {
    "cache_series",
    "cache_values",
    "claims",
    "garden_runs",
    "job_log",
    "jobs",
    "schema_migrations",
    "schema_state",
}
# What asks every node, and why it must.
EVERYWHERE = {
    "documents.list_scopes": "an operator's listing of all there is",
    "turns.list_conversations": "an operator's listing of all there is",
    "turns.list_turn_redactions": "the trail of every conversation, asked for as such",
    "turns.sample_search_texts": "which words are rare is a question about the whole",
    "keys.forget_document_digests": "any client may have written the document that is erased",
    "keys.forget_scope_digests": "any client may have written into the scope that is erased",
    "keys.forget_turn_digests": "any client may have written the turn that is erased",
    "keys.sweep_keys": "what is old is old whoever's it is",
}
SQL = statements_in("commonhold")
STATEMENTS = {
    f"{group}.{name}": getattr(getattr(SQL, group), name)
    for group in SQL.__struct_fields__
    for name in getattr(SQL, group).__struct_fields__
}
# A search is fenced by its sixth to ninth argument: ids, prefixes and their range, or nothing.
SEARCH = STATEMENTS["turns.search_turns"]
WANTED = ["'%a%'", "'%b%'", "'{}'", "50", "9999"]
IN_ONE = [*WANTED, "'{c-1}'", "null", "null", "null"]
ANYWHERE = [*WANTED, "null", "null", "null", "null"]
LITERALS = {
    "bool": "true",
    "bytea": r"\x00",
    "float8": "1",
    "int4": "1",
    "int8": "1",
    "interval": "1 s",
    "json": "{}",
    "numeric": "1",
    "text": "x",
    "timestamptz": "2026-01-01T00:00:00Z",
}


@pytest.fixture
async def conn(empty_database_dsn: str) -> AsyncIterator[Any]:
    """A connection to our schema with each of these tables in parts."""
    opened = await asyncpg.connect(empty_database_dsn)
    await opened.execute(_distributed(_schema()))
    await opened.execute("SET plan_cache_mode = force_custom_plan")
    yield opened
    await opened.close()


def _schema() -> str:
    return importlib.resources.files("commonhold.migrations").joinpath("schema.sql").read_text()


def _distributed(schema: str) -> str:
    for table, key in KEYS.items():
        # Parts are the storage, so the whole has no storage settings; every unique constraint
        # has the key.
        whole = re.compile(
            rf"(CREATE TABLE commonhold\.{table} \(\n.*?\n\))(?: WITH \([^)]*\))?;", re.DOTALL
        )
        found = whole.search(schema)
        assert found is not None, table
        columns = found[1].replace("PRIMARY KEY (id)", f"PRIMARY KEY ({key}, id)")
        parts = "".join(
            f"CREATE TABLE commonhold.{table}_{number} PARTITION OF commonhold.{table}"
            f" FOR VALUES WITH (MODULUS {PARTS}, REMAINDER {number});\n"
            for number in range(PARTS)
        )
        schema = schema.replace(found[0], f"{columns} PARTITION BY HASH ({key});\n{parts}")
    return schema


async def _scattered(conn: Any, statement: str, arguments: Sequence[str] | None = None) -> set[str]:
    """The tables of which the statement's plan reads more than one part."""
    prepared = await conn.prepare(statement)
    given = arguments or [_literal(parameter) for parameter in prepared.get_parameters()]
    await conn.execute(f"PREPARE probed AS {statement}")
    try:
        call = f"probed ({', '.join(given)})" if given else "probed"
        told = await conn.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE {call}")
    finally:
        await conn.execute("DEALLOCATE probed")
    parts = defaultdict(set)
    for node in _nodes(json.loads(told)[0]["Plan"]):
        table, _, number = node.get("Relation Name", "").rpartition("_")
        if table in KEYS and number.isdigit():
            parts[table].add(number)
    return {table for table, read in parts.items() if len(read) > 1}


def _literal(parameter: Any) -> str:
    kind = parameter.name.removesuffix("[]").removeprefix("_")
    text = LITERALS[kind]
    is_list = parameter.kind == "array"
    return f"'{{{text}}}'" if is_list else f"'{text}'"


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)


async def test_every_statement_goes_by_the_key_of_the_tables_that_it_touches(conn: Any) -> None:
    scattered = {
        name
        for name, statement in STATEMENTS.items()
        if name != "turns.search_turns" and await _scattered(conn, statement)
    }
    assert scattered == EVERYWHERE.keys()


async def test_a_search_goes_to_the_conversation_that_fences_it_and_else_everywhere(
    conn: Any,
) -> None:
    assert await _scattered(conn, SEARCH, ANYWHERE) == {"turns"}
    assert await _scattered(conn, SEARCH, IN_ONE) == set()


@pytest.mark.parametrize(
    ("statement", "scattered"),
    [
        ("SELECT turn FROM commonhold.turns WHERE conversation_id = $1", set()),
        ("SELECT turn FROM commonhold.turns WHERE turn = $1", {"turns"}),
        ("UPDATE commonhold.documents SET content = $1 WHERE path = 'a'", {"documents"}),
        (
            # The key of one table, reached from another by something else.
            """
            DELETE FROM commonhold.projections AS p USING commonhold.turns AS t
            WHERE t.conversation_id = $1 AND p.turn = t.turn
            """,
            {"projections"},
        ),
    ],
)
async def test_a_statement_without_a_key_is_seen(
    conn: Any, statement: str, scattered: set[str]
) -> None:
    assert await _scattered(conn, statement) == scattered


async def test_every_table_of_many_rows_has_a_key(conn: Any) -> None:
    listed = await conn.fetch(
        "SELECT relname::text AS name FROM pg_class WHERE relkind IN ('r', 'p')"
        " AND relnamespace = 'commonhold'::regnamespace AND NOT relispartition"
    )
    assert {row["name"] for row in listed} - KEYS.keys() == SMALL


def test_no_statement_stands_outside_the_files() -> None:
    folder = importlib.resources.files("commonhold.adapters.postgres")
    texts = {path.name: path.read_text() for path in folder.iterdir() if path.name.endswith(".py")}
    assert texts
    naming = re.compile(r"\b(?:FROM|INTO|JOIN|UPDATE|TABLE)\s+commonhold\.")
    assert [name for name, text in texts.items() if naming.search(text)] == []
