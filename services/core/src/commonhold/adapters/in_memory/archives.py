"""Archives as they land: checked, in stored order, stamps in UTC, under the unit's own name."""

import msgspec

from commonhold.contract.archives import check_conversation_archive, check_scope_archive
from commonhold.contract.clock import require_aware
from commonhold.contract.documents import (
    MemoryDocument,
    MemoryRedaction,
    MemoryVersion,
    ScopeArchive,
)
from commonhold.contract.text import require_storable_tree
from commonhold.contract.turns import (
    ConversationArchive,
    ConversationRedaction,
    ConversationTurn,
)


def landed_scope(archive: ScopeArchive) -> ScopeArchive:
    """The archive to write; the refusals of docs/reference/wire.md, section 8."""
    check_scope_archive(archive)
    require_storable_tree(archive.documents, name="documents")
    require_storable_tree(archive.versions, name="versions")
    require_storable_tree(archive.redactions, name="redactions")
    return ScopeArchive(
        scope=archive.scope,
        documents=tuple(_document(row, scope=archive.scope) for row in archive.documents),
        versions=tuple(_version(row) for row in archive.versions),
        redactions=tuple(_memory_redaction(row) for row in archive.redactions),
    )


def landed_conversation(archive: ConversationArchive) -> ConversationArchive:
    """The archive to write; the refusals of docs/reference/wire.md, section 8."""
    check_conversation_archive(archive)
    require_storable_tree(archive.turns, name="turns")
    require_storable_tree(archive.projections, name="projections")
    require_storable_tree(archive.redactions, name="redactions")
    name = archive.conversation_id
    return ConversationArchive(
        conversation_id=name,
        turns=tuple(_turn(row, conversation_id=name) for row in archive.turns),
        projections=tuple(archive.projections),
        redactions=tuple(_turn_redaction(row, conversation_id=name) for row in archive.redactions),
    )


def _document(row: MemoryDocument, *, scope: str) -> MemoryDocument:
    return msgspec.structs.replace(
        row,
        scope=scope,
        created_at=require_aware(row.created_at, name="created_at"),
        updated_at=require_aware(row.updated_at, name="updated_at"),
    )


def _version(row: MemoryVersion) -> MemoryVersion:
    return msgspec.structs.replace(row, created_at=require_aware(row.created_at, name="created_at"))


def _memory_redaction(row: MemoryRedaction) -> MemoryRedaction:
    return msgspec.structs.replace(row, created_at=require_aware(row.created_at, name="created_at"))


def _turn(row: ConversationTurn, *, conversation_id: str) -> ConversationTurn:
    return msgspec.structs.replace(
        row,
        conversation_id=conversation_id,
        created_at=require_aware(row.created_at, name="created_at"),
    )


def _turn_redaction(row: ConversationRedaction, *, conversation_id: str) -> ConversationRedaction:
    return msgspec.structs.replace(
        row,
        conversation_id=conversation_id,
        turns=tuple(sorted(set(row.turns))),
        created_at=require_aware(row.created_at, name="created_at"),
    )
