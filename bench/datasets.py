"""Rows put there before the clock runs, straight into the tables: millions over HTTP would
take longer than what is measured.

They are what the service would have written; the cases check its answers over them.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import asyncpg

from bench import names
from bench.corpus import Corpus
from bench.texts import user_message
from commonhold.contract.messages import encode_messages
from commonhold.contract.search import fold, turn_text
from commonhold.migrations.connections import Connection

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_ACTOR = "client:default"
# One long load in one statement; the server has no timeout of its own.
_LOAD_SECONDS = 600.0

_DOCUMENTS = """
WITH made AS (
    SELECT
        $1::text || ($2::bigint + s) AS scope,
        ($4::bigint + p)::text AS path,
        timestamptz '2026-01-01' + (s * $5::bigint + p) * interval '1 millisecond' AS at
    FROM generate_series(0, $3::bigint - 1) AS s, generate_series(0, $5::bigint - 1) AS p
),
heads AS (
    INSERT INTO commonhold.documents (
        scope, path, content, version, highest_version, is_live, action,
        created_at, updated_at, newest_at, actor
    )
    SELECT scope, path, $6::text, 1, 1, true, 'created', at, at, at, $7::text FROM made
)
INSERT INTO commonhold.document_versions (
    scope, path, version, action, content, actor, created_at
)
SELECT scope, path, 1, 'created', $6::text, $7::text, at FROM made
"""
_VERSIONS = """
WITH head AS (
    INSERT INTO commonhold.documents (
        scope, path, content, version, highest_version, is_live, action,
        created_at, updated_at, newest_at, actor
    )
    SELECT
        $1::text, $2::text, $4::text, $3::bigint, $3::bigint, true, 'modified',
        timestamptz '2026-01-01', at, at, $5::text
    FROM (SELECT timestamptz '2026-01-01' + $3::bigint * interval '1 second' AS at) AS t
)
INSERT INTO commonhold.document_versions (
    scope, path, version, action, content, actor, created_at
)
SELECT
    $1::text, $2::text, v, CASE v WHEN 1 THEN 'created' ELSE 'modified' END,
    $4::text, $5::text, timestamptz '2026-01-01' + v * interval '1 second'
FROM generate_series(1, $3::bigint) AS v
"""
_TURN_COLUMNS = ("conversation_id", "turn", "messages", "created_at", "actor", "search_text")


async def load_documents(
    dsn: str, *, first_scope: int, scopes: int, paths: int, content: str, prefix: str = "user:"
) -> None:
    """`paths` documents in each of `scopes` scopes, at version 1."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            _DOCUMENTS,
            *(prefix, first_scope, scopes, names.FIRST_PATH, paths, content, _ACTOR),
            timeout=_LOAD_SECONDS,
        )
        await connection.execute("VACUUM (ANALYZE) commonhold.documents")
        await connection.execute("VACUUM (ANALYZE) commonhold.document_versions")
    finally:
        await connection.close()


async def load_versions(dsn: str, *, scope: str, path: str, versions: int, content: str) -> None:
    """One document with a ledger of that length."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            _VERSIONS, scope, path, versions, content, _ACTOR, timeout=_LOAD_SECONDS
        )
        await connection.execute("VACUUM (ANALYZE) commonhold.document_versions")
    finally:
        await connection.close()


async def load_turns(dsn: str, corpus: Corpus, *, lengths: list[int], first: int) -> None:
    """The corpus as conversations of these lengths, numbered from `first`.

    The search index is dropped for the load and made again as it was: concurrently, as
    `commonhold migrate` would, takes half as long again.
    """
    definition = await drop_search_index(dsn)
    connection = await asyncpg.connect(dsn)
    try:
        await _copy_turns(connection, corpus, lengths=lengths, first=first)
        await connection.execute(definition, timeout=_LOAD_SECONDS)
        await connection.execute("VACUUM (ANALYZE) commonhold.turns", timeout=_LOAD_SECONDS)
        await connection.execute("CHECKPOINT", timeout=_LOAD_SECONDS)
    finally:
        await connection.close()


async def drop_search_index(dsn: str) -> str:
    """Leave the database as one without pg_trgm; the statement that makes the index again."""
    connection = await asyncpg.connect(dsn)
    try:
        definition = await connection.fetchval(
            "SELECT pg_get_indexdef('commonhold.turns_search'::regclass)"
        )
        await connection.execute("DROP INDEX commonhold.turns_search")
    finally:
        await connection.close()
    return str(definition)


async def make_search_index(dsn: str, definition: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(definition, timeout=_LOAD_SECONDS)
    finally:
        await connection.close()


async def _copy_turns(
    connection: Connection, corpus: Corpus, *, lengths: list[int], first: int
) -> None:
    await connection.copy_records_to_table(
        "conversations",
        schema_name="commonhold",
        columns=("conversation_id", "last_turn", "newest_at"),
        records=[
            (names.conversation(first + number), length, _EPOCH + timedelta(days=30))
            for number, length in enumerate(lengths)
        ],
    )
    await connection.copy_records_to_table(
        "turns",
        schema_name="commonhold",
        columns=_TURN_COLUMNS,
        records=_turn_rows(corpus, lengths=lengths, first=first),
        timeout=_LOAD_SECONDS,
    )


def _turn_rows(
    corpus: Corpus, *, lengths: list[int], first: int
) -> Iterator[tuple[str, int, str, datetime, str, str]]:
    texts = corpus.texts()
    row = 0
    for number, length in enumerate(lengths):
        name = names.conversation(first + number)
        for turn in range(1, length + 1):
            messages = (user_message(next(texts)),)
            row += 1
            yield (
                name,
                turn,
                encode_messages(messages).decode(),
                _EPOCH + timedelta(seconds=row),
                _ACTOR,
                fold(turn_text(messages)),
            )
