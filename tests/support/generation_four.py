"""A schema of generation 4, as the service that wrote it left it, and rows for it."""

import json
from typing import Any

from commonhold.conformance.clocks import START
from commonhold.contract import ConversationArchive, ScopeArchive
from commonhold.contract.messages import encode_messages

SCHEMA = "neosian"

_TABLES = """
CREATE SCHEMA "neosian";
CREATE TABLE "neosian".neosian_schema (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    version integer NOT NULL
);
INSERT INTO "neosian".neosian_schema (version) VALUES (4);
CREATE TABLE "neosian".memories (
    scope text NOT NULL,
    path text NOT NULL,
    content text NOT NULL,
    version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    actor text,
    redacted boolean NOT NULL DEFAULT false,
    neosian_format integer NOT NULL DEFAULT 1,
    extra jsonb NOT NULL DEFAULT '{}',
    search tsvector GENERATED ALWAYS AS (to_tsvector('simple', left(content, 100000))) STORED,
    PRIMARY KEY (scope, path)
);
CREATE TABLE "neosian".memory_versions (
    scope text NOT NULL,
    path text NOT NULL,
    version integer NOT NULL,
    action text NOT NULL CHECK (action IN ('created', 'modified', 'deleted')),
    content text NOT NULL,
    actor text,
    created_at timestamptz NOT NULL,
    redacted boolean NOT NULL DEFAULT false,
    neosian_format integer NOT NULL DEFAULT 1,
    PRIMARY KEY (scope, path, version)
);
CREATE TABLE "neosian".memory_redactions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope text NOT NULL,
    path text,
    actor text,
    count integer NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE TABLE "neosian".conversations (
    conversation_id text PRIMARY KEY,
    created_at timestamptz NOT NULL
);
CREATE TABLE "neosian".turns (
    conversation_id text NOT NULL REFERENCES "neosian".conversations
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    turn integer NOT NULL,
    messages jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    neosian_format integer NOT NULL DEFAULT 1,
    actor text,
    search_text text,
    redacted boolean NOT NULL DEFAULT false,
    PRIMARY KEY (conversation_id, turn)
);
CREATE TABLE "neosian".projections (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation_id text NOT NULL REFERENCES "neosian".conversations
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    turn integer NOT NULL,
    span integer NOT NULL DEFAULT 1,
    kind text NOT NULL CHECK (kind IN ('log', 'digest', 'epoch')),
    text text NOT NULL,
    neosian_format integer NOT NULL DEFAULT 1
);
CREATE TABLE "neosian".turn_redactions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation_id text NOT NULL REFERENCES "neosian".conversations
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    turns integer[] NOT NULL,
    actor text,
    created_at timestamptz NOT NULL
);
CREATE INDEX memories_prefix ON "neosian".memories (scope, path text_pattern_ops);
CREATE INDEX memories_search ON "neosian".memories USING gin (search);
CREATE INDEX memory_versions_scope_time ON "neosian".memory_versions (scope, created_at DESC);
CREATE INDEX memory_redactions_scope_time ON "neosian".memory_redactions (scope, created_at DESC);
CREATE INDEX projections_order ON "neosian".projections (conversation_id, turn, span, id);
CREATE INDEX turn_redactions_time
ON "neosian".turn_redactions (conversation_id, created_at DESC);
"""

_MEMORIES = """
INSERT INTO "neosian".memories (
    scope, path, content, version, created_at, updated_at, actor, redacted, extra
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb)
"""
_VERSIONS = """
INSERT INTO "neosian".memory_versions (
    scope, path, version, action, content, actor, created_at, redacted
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_MEMORY_REDACTIONS = """
INSERT INTO "neosian".memory_redactions (scope, path, actor, count, created_at)
VALUES ($1, $2, $3, $4, $5)
"""
_CONVERSATION = 'INSERT INTO "neosian".conversations (conversation_id, created_at) VALUES ($1, $2)'
_TURNS = """
INSERT INTO "neosian".turns (
    conversation_id, turn, messages, created_at, actor, search_text, redacted
) VALUES ($1, $2, $3::text::jsonb, $4, $5, $6, $7)
"""
_PROJECTIONS = """
INSERT INTO "neosian".projections (conversation_id, turn, span, kind, text)
VALUES ($1, $2, $3, $4, $5)
"""
_TURN_REDACTIONS = """
INSERT INTO "neosian".turn_redactions (conversation_id, turns, actor, created_at)
VALUES ($1, $2, $3, $4)
"""


async def create_old_schema(conn: Any) -> None:
    await conn.execute(_TABLES)


async def fill_scope(conn: Any, archive: ScopeArchive) -> None:
    """The rows of the archive, as that service would have them."""
    scope = archive.scope
    for row in archive.documents:
        values = (row.content, row.version, row.created_at, row.updated_at, row.actor, row.redacted)
        await conn.execute(_MEMORIES, scope, row.path, *values, json.dumps(row.extra))
    for version in archive.versions:
        await conn.execute(
            _VERSIONS,
            *(scope, version.path, version.version, version.action, version.content),
            *(version.actor, version.created_at, version.redacted),
        )
    for act in archive.redactions:
        await conn.execute(
            _MEMORY_REDACTIONS, scope, act.path, act.actor, act.count, act.created_at
        )


async def fill_conversation(conn: Any, archive: ConversationArchive) -> None:
    """The rows of the archive; its turns have no searchable text, as the oldest had none."""
    name = archive.conversation_id
    if archive.turns or archive.projections or archive.redactions:
        await conn.execute(_CONVERSATION, name, START)
    for turn in archive.turns:
        await conn.execute(
            _TURNS,
            *(name, turn.turn, encode_messages(turn.messages).decode(), turn.created_at),
            *(turn.actor, "" if turn.redacted else None, turn.redacted),
        )
    for entry in archive.projections:
        await conn.execute(_PROJECTIONS, name, entry.turn, entry.span, entry.kind, entry.text)
    for act in archive.redactions:
        await conn.execute(_TURN_REDACTIONS, name, list(act.turns), act.actor, act.created_at)


async def fill_with_odd_rows(conn: Any) -> None:
    """Rows that the old service took and that no reader of ours could be given."""
    await conn.execute(_ODD_ROWS)


_ODD_ROWS = """
INSERT INTO "neosian".memories (scope, path, content, version, created_at, updated_at, extra)
VALUES
    ('User', 'a', 'x', 1, now(), now(), '{}'),
    ('', 'a', 'x', 1, now(), now(), '{}'),
    ('user:odd', 'extra', 'x', 1, now(), now(), '[1]'),
    ('user:odd', 'kept', 'x', 2, now(), now(), '{}'),
    ('user:odd', 'low', 'x', 0, now(), now(), '{}'),
    ('user:odd', 'never', 'x', 1, 'infinity', 'infinity', '{}');
INSERT INTO "neosian".memories (
    scope, path, content, version, created_at, updated_at, neosian_format
) VALUES ('user:newer', 'a', 'x', 1, now(), now(), 2);
INSERT INTO "neosian".memory_versions (scope, path, version, action, content, created_at)
VALUES
    ('user:odd', 'a//b', 1, 'created', 'x', now()),
    ('user:odd', 'kept', 0, 'created', 'x', now()),
    ('user:odd', 'kept', 2, 'modified', 'x', now()),
    ('user:odd', 'kept', 7, 'modified', 'x', '20000-01-01 00:00+00');
INSERT INTO "neosian".memory_redactions (scope, path, count, created_at)
VALUES ('user:odd', 'a//b', 1, now()), ('user:odd', NULL, -1, now());
INSERT INTO "neosian".conversations (conversation_id, created_at)
VALUES ('a b', now()), ('odd', now());
INSERT INTO "neosian".turns (conversation_id, turn, messages, created_at, neosian_format)
VALUES
    ('a b', 1, '[]', now(), 1),
    ('odd', 0, '[{"role": "user"}]', now(), 1),
    ('odd', 1, '[{"role": "user", "content": "kept"}]', now(), 1),
    ('odd', 2, '[]', now(), 1),
    ('odd', 3, '{"role": "user"}', now(), 1),
    ('odd', 4, '[{"role": "robot"}]', now(), 1),
    ('odd', 5, '[{"role": "user"}]', 'infinity', 1),
    ('odd', 6, '[{"kind": "newer"}]', now(), 2);
INSERT INTO "neosian".projections (conversation_id, turn, span, kind, text)
VALUES ('odd', 1, 1, 'log', 'kept'), ('odd', 0, 1, 'log', 'x'), ('odd', 1, 2, 'log', 'x');
INSERT INTO "neosian".turn_redactions (conversation_id, turns, created_at)
VALUES ('odd', '{}', now()), ('odd', '{1,NULL}', now()), ('odd', '{0}', now()),
    ('odd', '{3,1,3}', now());
"""
