"""Rows as the in-memory store keeps them: each declares its format, as any substrate's do."""

from datetime import datetime

import msgspec

from commonhold.contract.documents import (
    MEMORY_FORMAT,
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
    entry_of,
)
from commonhold.contract.errors import ConversationFormatError, MemoryFormatError
from commonhold.contract.messages import load_messages, message_fault
from commonhold.contract.paging import TrailPosition, to_microseconds
from commonhold.contract.turns import (
    CONVERSATION_FORMAT,
    PROJECTION_KINDS,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
)


class DocumentRow(msgspec.Struct, frozen=True):
    record: MemoryDocument
    format: int = MEMORY_FORMAT

    def blank(self) -> "DocumentRow":
        return _replace(self, record=_replace(self.record, content="", redacted=True))


class VersionRow(msgspec.Struct, frozen=True):
    record: MemoryVersion
    format: int = MEMORY_FORMAT

    def blank(self) -> "VersionRow":
        return _replace(self, record=_replace(self.record, content="", redacted=True))


class RedactionRow(msgspec.Struct, frozen=True):
    """`row_id` is the order of insertion, which decides between equal stamps."""

    row_id: int
    record: MemoryRedaction

    @property
    def position(self) -> TrailPosition:
        return TrailPosition(created_at=to_microseconds(self.record.created_at), row=self.row_id)


class TurnRow(msgspec.Struct, frozen=True):
    """`messages` is the stored form, so that nothing a caller still holds can change it."""

    turn: int
    messages: bytes
    text: str
    created_at: datetime
    actor: str | None
    redacted: bool
    format: int = CONVERSATION_FORMAT

    def blank(self) -> "TurnRow":
        return _replace(self, messages=b"[]", text="", redacted=True)


class ProjectionRow(msgspec.Struct, frozen=True):
    """Fields apart, not a record: what a substrate holds need not be well formed."""

    turn: int
    kind: str
    text: str
    span: int
    format: int = CONVERSATION_FORMAT

    def blank(self) -> "ProjectionRow":
        return _replace(self, text="")


class TrailRow(msgspec.Struct, frozen=True):
    """`position` is the act's place in its conversation's trail."""

    position: int
    record: ConversationRedaction


def readable_document(row: DocumentRow) -> MemoryDocument:
    """The document; MemoryFormatError when it is newer than this release reads."""
    record = row.record
    _require_memory_format(row.format, scope=record.scope, path=record.path)
    return record


def readable_entry(row: DocumentRow) -> MemoryEntry:
    return entry_of(readable_document(row))


def readable_version(row: VersionRow, *, scope: str) -> MemoryVersion:
    """The version; MemoryFormatError when it is newer than this release reads."""
    _require_memory_format(row.format, scope=scope, path=row.record.path)
    return row.record


def readable_turn(row: TurnRow, *, conversation_id: str) -> ConversationTurn:
    """The turn; ConversationFormatError when it is newer or malformed."""
    _require_conversation_format(row.format, conversation_id=conversation_id)
    try:
        messages = load_messages(row.messages)
    except ValueError as fault:
        reason = f"turn row {row.turn} {message_fault(fault)}"
        raise ConversationFormatError(conversation_id=conversation_id, reason=reason) from fault
    if bool(messages) == row.redacted:
        state = "redacted yet carries" if messages else "not redacted yet has no"
        reason = f"turn row {row.turn} is {state} messages"
        raise ConversationFormatError(conversation_id=conversation_id, reason=reason)
    return ConversationTurn(
        conversation_id=conversation_id,
        turn=row.turn,
        messages=messages,
        created_at=row.created_at,
        actor=row.actor,
        redacted=row.redacted,
    )


def readable_projection(row: ProjectionRow, *, conversation_id: str) -> ConversationProjection:
    """The entry; ConversationFormatError when it is newer or malformed."""
    _require_conversation_format(row.format, conversation_id=conversation_id)
    for kind in PROJECTION_KINDS:
        if kind == row.kind:
            return ConversationProjection(turn=row.turn, kind=kind, text=row.text, span=row.span)
    reason = f"projection row of turn {row.turn} has kind {row.kind!r}"
    raise ConversationFormatError(conversation_id=conversation_id, reason=reason)


def _require_memory_format(number: int, *, scope: str, path: str) -> None:
    if number != MEMORY_FORMAT:
        raise MemoryFormatError(
            scope=scope, path=path, reason=f"format {number} is newer than {MEMORY_FORMAT}"
        )


def _require_conversation_format(number: int, *, conversation_id: str) -> None:
    if number != CONVERSATION_FORMAT:
        reason = f"format {number} is newer than {CONVERSATION_FORMAT}"
        raise ConversationFormatError(conversation_id=conversation_id, reason=reason)


_replace = msgspec.structs.replace
