"""Every named statement is valid on the schema, and the hot ones use the index they should."""

import json
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from commonhold.adapters.postgres.statements import (
    DocumentStatements,
    in_record,
    parse_statements,
    statements_in,
)
from commonhold.contract.errors import ConfigurationError

SQL = statements_in("commonhold")
GROUPS = (SQL.documents, SQL.turns, SQL.keys, SQL.claims, SQL.cache, SQL.outlines)
STATEMENTS = {name: getattr(group, name) for group in GROUPS for name in group.__struct_fields__}
FILL = """
INSERT INTO commonhold.documents (
    scope, path, content, version, highest_version, is_live, action,
    created_at, updated_at, newest_at
)
SELECT 'user:' || s, 'notes/' || p, 'text', 3, 3, p % 10 > 0, 'modified', now(), now(), now()
FROM generate_series(1, 50) AS s, generate_series(1, 200) AS p;
INSERT INTO commonhold.document_versions (scope, path, version, action, content, created_at)
SELECT 'user:' || s, 'notes/' || p, v, 'modified', 'text', now() - make_interval(mins => s * v)
FROM generate_series(1, 20) AS s, generate_series(1, 200) AS p, generate_series(1, 5) AS v;
INSERT INTO commonhold.document_redactions (scope, created_at, count)
SELECT 'user:' || s % 100, now(), 1 FROM generate_series(1, 10000) AS s;
INSERT INTO commonhold.conversations (conversation_id, last_turn, newest_at)
SELECT 'c-' || c, 100, now() FROM generate_series(1, 300) AS c;
INSERT INTO commonhold.turns (conversation_id, turn, messages, created_at, search_text)
SELECT
    'c-' || c, t, '[]', now() - make_interval(secs => c * t),
    md5(c::text || t::text) || ' common words of every turn '
    || CASE WHEN c = 7 AND t = 7 THEN 'sextant' ELSE '' END
FROM generate_series(1, 300) AS c, generate_series(1, 100) AS t;
INSERT INTO commonhold.projections (conversation_id, turn, span, kind, text)
SELECT 'c-' || c, t, 1, 'log', 'text'
FROM generate_series(1, 300) AS c, generate_series(1, 100) AS t;
INSERT INTO commonhold.turn_redactions (conversation_id, turns, created_at)
SELECT 'c-' || c % 300, '{1}', now() FROM generate_series(1, 10000) AS c;
INSERT INTO commonhold.conversations (conversation_id, last_turn, newest_at)
SELECT 'idle-' || c, 1, now() FROM generate_series(1, 10000) AS c;
INSERT INTO commonhold.idempotency (client, key, created_at)
SELECT 'client:a', k::text, now() FROM generate_series(1, 10000) AS k;
INSERT INTO commonhold.cache_values (digest, key, value)
SELECT sha256(k::text::bytea), k::text, '1' FROM generate_series(1, 10000) AS k;
INSERT INTO commonhold.cache_series (digest, key, hits, expires_at)
SELECT sha256(k::text::bytea), k::text, '{1,2,3}', now() FROM generate_series(1, 10000) AS k;
"""
# A tenth of it is under the prefix that an outline excludes.
FILL_SCOPE = """
INSERT INTO commonhold.documents (
    scope, path, content, version, highest_version, is_live, action,
    created_at, updated_at, newest_at
)
SELECT
    'user:1', CASE WHEN p % 11 = 0 THEN 'm/' ELSE 'notes-' || p % 40 || '/' END || p,
    repeat('text', 250), 1, 1, true, 'created', now(), now() + make_interval(secs => p), now()
FROM generate_series(1, 11000) AS p
"""
STAMP = "'2026-01-01T00:00:00Z'::timestamptz"
# Fences of a search: ids, prefixes, and the range of the prefixes.
ANYWHERE = "null, null, null, null"
IN_ONE = "'{c-7}', null, null, null"
WITHIN_FEW = "null, '{c-123,c-124}', 'c-123', 'c-124\U0010ffff'"
WITHIN_MANY = "null, '{c-1,c-2}', 'c-1', 'c-2\U0010ffff'"
# Ranges without a prefix, the prefix, and how many rows.
OUTLINED = "'user:1', '{\"\",m/􏿿}', '{m/,􏿿}', '{m/}', 20"
# Statement, its arguments as SQL, and the index it must read.
HOT = [
    ("select_document", "'user:1', 'notes/7'", "documents_live"),
    ("write_document_at_version", f"'user:1', 'notes/7', 'x', null, {STAMP}, 3", "documents_pkey"),
    ("delete_document", f"'user:1', 'notes/7', null, {STAMP}", "documents_pkey"),
    ("lock_heads", "'user:1', '{notes/7}'", "documents_pkey"),
    ("lock_versions", "'user:1', '{notes/7,notes/8}'", "documents_pkey"),
    ("list_documents", "'user:1', 'notes/17', '', '\U0010ffff', 20", "documents_live"),
    ("digest_documents", "'user:1', 'notes/17', '', '\U0010ffff', 20, ' '", "documents_live"),
    ("list_aged_documents", "'user:1', 'notes/17', 'infinity', 20", "documents_pkey"),
    ("list_aged_documents", "'user:1', 'notes/17', 'infinity', 20", "document_versions_pkey"),
    ("list_versions", "'user:1', 'notes/7', 100, 20, 1000000", "document_versions_pkey"),
    ("select_version", "'user:1', 'notes/7', 3", "document_versions_pkey"),
    ("list_history", "'user:1', null, 20, 1000000", "document_versions_by_time"),
    (
        "list_history_after",
        f"'user:1', null, 20, 1000000, {STAMP}, 'notes/7', 3",
        "document_versions_by_time",
    ),
    (
        "list_document_redactions",
        "'user:1', null, 20, null, 9223372036854775807, 9999",
        "document_redactions_by_time",
    ),
    ("list_turns", "'c-7', 50, 20, 1000000", "turns_pkey"),
    ("select_turn", "'c-7', 50", "turns_pkey"),
    ("select_last_turn", "'c-7'", "conversations_pkey"),
    ("list_projections", "'c-7', 50, 20, 9999", "projections_in_order"),
    ("list_turn_redactions", "null, 20, 9999", "turn_redactions_by_time"),
    ("list_turn_redactions_of", "null, 20, 9999, '{c-7}'", "turn_redactions_by_conversation"),
    ("search_turns", f"'%sextant%', '%', '{{}}', 50, 9999, {ANYWHERE}", "turns_search"),
    ("search_turns", f"'%sex%', '%tan%', '{{%sextant%}}', 50, 9999, {ANYWHERE}", "turns_search"),
    ("search_turns", f"'%common%', '%', '{{}}', 50, 9999, {ANYWHERE}", "turns_by_time"),
    ("search_turns", f"'%common%', '%', '{{}}', 50, 9999, {IN_ONE}", "turns_pkey"),
    ("search_turns", f"'%common%', '%', '{{}}', 50, 9999, {WITHIN_FEW}", "turns_pkey"),
    ("search_turns", f"'%common%', '%', '{{}}', 50, 9999, {WITHIN_MANY}", "turns_by_time"),
    ("search_turns", f"'%sextant%', '%', '{{}}', 50, 9999, {WITHIN_MANY}", "turns_search"),
    ("outline_documents", OUTLINED, "documents_live"),
    ("outline_documents", OUTLINED, "documents_recent"),
    ("outline_documents", OUTLINED, "documents_newer_format"),
    ("select_key", "'client:a', 'k'", "idempotency_pkey"),
    ("select_value", "sha256('7')", "cache_values_pkey"),
    ("count_hits", "sha256('7'), 2", "cache_series_pkey"),
    ("select_oldest_hit", "sha256('7'), 2", "cache_series_pkey"),
]


@pytest.fixture
async def conn(database_dsn: str) -> Any:
    opened = await asyncpg.connect(database_dsn)
    yield opened
    await opened.close()


@pytest.mark.parametrize("name", STATEMENTS)
async def test_every_named_statement_is_prepared_by_the_database(conn: Any, name: str) -> None:
    prepared = await conn.prepare(STATEMENTS[name])
    assert prepared.get_query() == STATEMENTS[name]


async def test_hot_statements_read_their_index_and_no_table_from_end_to_end(conn: Any) -> None:
    await conn.execute(FILL)
    # Also empties the pending lists of the trigram index, whose cost a plan counts.
    await conn.execute("VACUUM ANALYZE")
    faults = []
    for name, arguments, index in HOT:
        nodes = list(_nodes(await _plan(conn, STATEMENTS[name], arguments)))
        scanned = {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}
        read = {node.get("Index Name") for node in nodes}
        if scanned or index not in read:
            faults.append(f"{name}({arguments}): reads {read - {None}}, scans {scanned}")
    assert not faults, "\n".join(faults)


async def test_claims_are_taken_in_the_order_of_their_names(conn: Any) -> None:
    """Whatever the order they came in: two that want the same would wait for each other."""
    moments = f"{STAMP}, {STAMP}, {STAMP}"
    plan = await _plan(conn, SQL.claims.take_claims, f"'{{b,a}}', 'me', {moments}")
    (order,) = [node["Sort Key"] for node in _nodes(plan) if node["Node Type"] == "Sort"]
    assert order == ['wanted.name COLLATE "C"']


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_an_outline_counts_from_an_index_and_reads_no_row_but_the_newest(
    conn: Any, mode: str
) -> None:
    await conn.execute(FILL_SCOPE)
    await conn.execute("VACUUM ANALYZE commonhold.documents")
    await conn.execute(f"SET plan_cache_mode = {mode}")
    plan = await _plan(conn, STATEMENTS["outline_documents"], OUTLINED, options="ANALYZE, ")
    nodes = list(_nodes(plan))
    kinds = {node["Index Name"]: node["Node Type"] for node in nodes if "Index Name" in node}
    assert kinds == {
        "documents_live": "Index Only Scan",
        "documents_recent": "Index Scan",
        "documents_newer_format": "Index Scan",
    }
    rows = {node.get("Index Name"): node["Actual Rows"] * node["Actual Loops"] for node in nodes}
    assert (rows["documents_recent"], rows["documents_newer_format"]) == (20, 0)
    assert rows["documents_live"] == 10_000


def test_a_file_with_a_statement_missing_or_unused_is_refused() -> None:
    with pytest.raises(ValueError, match=r"missing .*'select_document'.*not declared .'stray'"):
        in_record(DocumentStatements, "-- name: stray\nSELECT 1;\n")


def test_a_repeated_statement_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'twice' is defined twice"):
        parse_statements("-- name: twice\nSELECT 1;\n-- name: twice\nSELECT 2;\n")


def test_a_schema_name_outside_the_grammar_never_reaches_a_statement() -> None:
    with pytest.raises(ConfigurationError, match="schema name"):
        statements_in('x"; DROP TABLE documents; --')


async def _plan(conn: Any, statement: str, arguments: str, *, options: str = "") -> dict[str, Any]:
    """The plan for these very arguments, as the first executions of a statement are planned."""
    await conn.execute(f"PREPARE probed AS {statement}")
    try:
        found = await conn.fetchval(f"EXPLAIN ({options}FORMAT JSON) EXECUTE probed ({arguments})")
    finally:
        await conn.execute("DEALLOCATE probed")
    plan: dict[str, Any] = json.loads(found)[0]["Plan"]
    return plan


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)
