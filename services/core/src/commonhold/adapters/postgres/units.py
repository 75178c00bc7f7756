"""Whole scopes and conversations in and out (docs/reference/stores.md, section 9)."""

from collections import defaultdict
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import msgspec

from commonhold.adapters.postgres import rows
from commonhold.adapters.postgres.connections import PATIENT, SNAPSHOT, transaction
from commonhold.adapters.postgres.statements import DocumentStatements, TurnStatements
from commonhold.contract.documents import MemoryDocument, MemoryVersion, ScopeArchive
from commonhold.contract.errors import ConversationConflictError, MemoryConflictError
from commonhold.contract.messages import encode_messages
from commonhold.contract.search import fold, turn_text
from commonhold.contract.turns import ConversationArchive, ConversationTurn
from commonhold.migrations.connections import Connection

_json = msgspec.json.Encoder()


class Units:
    """`SQL` for one schema; archives are in the form in which they land."""

    def __init__(self, documents: DocumentStatements, turns: TurnStatements) -> None:
        self._documents = documents
        self._turns = turns

    async def scopes(self, conn: Connection) -> tuple[str, ...]:
        found = await conn.fetch(self._documents.list_scopes)
        return tuple(row["scope"] for row in found)

    async def conversations(self, conn: Connection) -> tuple[str, ...]:
        found = await conn.fetch(self._turns.list_conversations)
        return tuple(row["conversation_id"] for row in found)

    async def archive_scope(self, conn: Connection, scope: str) -> ScopeArchive:
        sql = self._documents
        async with transaction(conn, settings=SNAPSHOT):
            documents = await conn.fetch(sql.archive_documents, scope)
            versions = await conn.fetch(sql.archive_versions, scope)
            acts = await conn.fetch(sql.archive_document_redactions, scope)
        return ScopeArchive(
            scope=scope,
            documents=tuple(rows.document(row, scope=scope, path=row["path"]) for row in documents),
            versions=tuple(rows.version(row, scope=scope) for row in versions),
            redactions=tuple(rows.document_redaction(row, scope=scope) for row in acts),
        )

    async def archive_conversation(
        self, conn: Connection, conversation_id: str
    ) -> ConversationArchive:
        sql = self._turns
        async with transaction(conn, settings=SNAPSHOT):
            turns = await conn.fetch(sql.archive_turns, conversation_id)
            entries = await conn.fetch(sql.archive_projections, conversation_id)
            acts = await conn.fetch(sql.archive_turn_redactions, conversation_id)
        return ConversationArchive(
            conversation_id=conversation_id,
            turns=tuple(map(rows.turn, turns)),
            projections=tuple(
                rows.projection(row, conversation_id=conversation_id) for row in entries
            ),
            redactions=tuple(map(rows.turn_redaction, acts)),
        )

    async def restore_scope(self, conn: Connection, archive: ScopeArchive) -> None:
        sql, scope = self._documents, archive.scope
        heads = _heads(archive)
        async with transaction(conn, settings=PATIENT):
            await conn.execute(sql.lock_scope, scope)
            if await conn.fetchval(sql.is_scope_occupied, scope):
                raise MemoryConflictError(scope=scope, path=None, reason="target_occupied")
            await conn.execute(sql.restore_heads, scope, *_columns(heads, _HEAD_FIELDS))
            await conn.execute(
                sql.restore_versions, scope, *_columns(archive.versions, _VERSION_FIELDS)
            )
            await conn.execute(
                sql.restore_document_redactions,
                scope,
                *_columns(archive.redactions, ("path", "actor", "created_at", "count")),
            )

    async def restore_conversation(self, conn: Connection, archive: ConversationArchive) -> None:
        sql, conversation_id = self._turns, archive.conversation_id
        async with transaction(conn, settings=PATIENT):
            if not (archive.turns or archive.projections or archive.redactions):
                if await conn.fetchval(sql.is_conversation_occupied, conversation_id):
                    raise _occupied(conversation_id)
                return
            last = max((turn.turn for turn in archive.turns), default=0)
            newest_at = max((turn.created_at for turn in archive.turns), default=rows.NEVER)
            claimed = await conn.fetchval(
                sql.restore_conversation, conversation_id, last, newest_at
            )
            if claimed is None:
                raise _occupied(conversation_id)
            await conn.execute(sql.restore_turns, conversation_id, *_turn_columns(archive.turns))
            await conn.execute(
                sql.restore_projections,
                conversation_id,
                *_columns(archive.projections, ("turn", "span", "kind", "text")),
            )
            # One statement an act: arrays of arrays must all have one length.
            await conn.executemany(
                sql.insert_turn_redaction,
                [
                    (conversation_id, act.turns, act.actor, act.created_at)
                    for act in archive.redactions
                ],
            )


_HEAD_FIELDS = (
    "path",
    "content",
    "version",
    "highest_version",
    "is_live",
    "action",
    "created_at",
    "updated_at",
    "newest_at",
    "actor",
    "redacted",
    "extra",
)
_VERSION_FIELDS = ("path", "version", "action", "content", "actor", "created_at", "redacted")


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `documents`, live or not, as an archive implies it."""

    path: str
    content: str
    version: int
    highest_version: int
    is_live: bool
    action: str
    created_at: Any
    updated_at: Any
    newest_at: Any
    actor: str | None
    redacted: bool
    extra: str


def _heads(archive: ScopeArchive) -> list[_Head]:
    """One head a path: numbers and stamps go on from the highest the archive holds."""
    ledger: dict[str, list[MemoryVersion]] = defaultdict(list)
    for version in archive.versions:
        ledger[version.path].append(version)
    live = {document.path: document for document in archive.documents}
    return [_head(path, live.get(path), ledger.get(path, [])) for path in sorted({*live, *ledger})]


def _head(path: str, live: MemoryDocument | None, ledger: list[MemoryVersion]) -> _Head:
    highest = max((row.version for row in ledger), default=0)
    newest_at = max((row.created_at for row in ledger), default=rows.NEVER)
    if live is None:
        return _Head(
            path=path,
            content="",
            version=highest,
            highest_version=highest,
            is_live=False,
            action="deleted",
            created_at=newest_at,
            updated_at=newest_at,
            newest_at=newest_at,
            actor=None,
            redacted=False,
            extra="{}",
        )
    return _Head(
        path=path,
        content=live.content,
        version=live.version,
        highest_version=max(highest, live.version),
        is_live=True,
        action="modified",
        created_at=live.created_at,
        updated_at=live.updated_at,
        newest_at=max(newest_at, live.created_at, live.updated_at),
        actor=live.actor,
        redacted=live.redacted,
        extra=_json.encode(live.extra).decode(),
    )


def _turn_columns(turns: Iterable[ConversationTurn]) -> list[list[Any]]:
    turns = tuple(turns)
    return [
        [turn.turn for turn in turns],
        [encode_messages(turn.messages).decode() for turn in turns],
        [turn.created_at for turn in turns],
        [turn.actor for turn in turns],
        [fold(turn_text(turn.messages)) for turn in turns],
        [turn.redacted for turn in turns],
    ]


def _columns(records: Iterable[msgspec.Struct], fields: Iterable[str]) -> list[list[Any]]:
    """The records as one array a field, for unnest."""
    records = tuple(records)
    return [list(map(attrgetter(field), records)) for field in fields]


def _occupied(conversation_id: str) -> ConversationConflictError:
    return ConversationConflictError(conversation_id=conversation_id, reason="target_occupied")
