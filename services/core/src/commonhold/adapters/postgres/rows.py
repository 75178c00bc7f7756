"""Rows to records, and the refusal of rows this release cannot read.

A row of an unknown format or shape is never skipped: the whole answer is refused
(docs/reference/stores.md, section 4, "format marker").
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import asyncpg
import msgspec

from commonhold.contract.documents import (
    MEMORY_FORMAT,
    MemoryDigest,
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
)
from commonhold.contract.errors import ConversationFormatError, MemoryFormatError
from commonhold.contract.messages import Message, load_messages, message_fault
from commonhold.contract.turns import (
    CONVERSATION_FORMAT,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
)

# Before every stamp; Postgres has it as -infinity.
NEVER = datetime.min.replace(tzinfo=UTC)

_NO_EXTRA: Mapping[str, Any] = {}
_extra_decoder = msgspec.json.Decoder(dict[str, Any])


def document(row: asyncpg.Record, *, scope: str, path: str) -> MemoryDocument:
    check_memory_format(row["format"], scope=scope, path=path)
    return MemoryDocument(
        scope=scope,
        path=path,
        content=row["content"],
        version=row["version"],
        created_at=aware(row["created_at"]),
        updated_at=aware(row["updated_at"]),
        actor=row["actor"],
        redacted=row["redacted"],
        extra=decode_extra(row["extra"], scope=scope, path=path),
    )


def entry(row: asyncpg.Record, *, scope: str) -> MemoryEntry:
    check_memory_format(row["format"], scope=scope, path=row["path"])
    return MemoryEntry(
        path=row["path"],
        version=row["version"],
        created_at=aware(row["created_at"]),
        updated_at=aware(row["updated_at"]),
        redacted=row["redacted"],
    )


def digest(row: asyncpg.Record, *, scope: str) -> MemoryDigest:
    check_memory_format(row["format"], scope=scope, path=row["path"])
    return MemoryDigest(
        path=row["path"],
        version=row["version"],
        created_at=aware(row["created_at"]),
        updated_at=aware(row["updated_at"]),
        redacted=row["redacted"],
        is_blank=row["is_blank"],
        digest=row["digest"],
    )


def version(row: asyncpg.Record, *, scope: str) -> MemoryVersion:
    check_memory_format(row["format"], scope=scope, path=row["path"])
    return MemoryVersion(
        path=row["path"],
        version=row["version"],
        action=row["action"],
        content=row["content"],
        actor=row["actor"],
        created_at=aware(row["created_at"]),
        redacted=row["redacted"],
    )


def document_redaction(row: asyncpg.Record, *, scope: str) -> MemoryRedaction:
    check_memory_format(row["format"], scope=scope, path=row["path"] or "")
    return MemoryRedaction(
        path=row["path"],
        actor=row["actor"],
        created_at=aware(row["created_at"]),
        count=row["count"],
    )


def turn(row: asyncpg.Record) -> ConversationTurn:
    conversation_id, number = row["conversation_id"], row["turn"]
    _check_conversation_format(row["format"], conversation_id=conversation_id)
    messages = _messages(row["messages"], conversation_id=conversation_id, number=number)
    redacted = row["redacted"]
    if redacted == bool(messages):
        fault = "is redacted yet carries messages" if redacted else "has no message array"
        raise ConversationFormatError(
            conversation_id=conversation_id, reason=f"turn row {number} {fault}"
        )
    return ConversationTurn(
        conversation_id=conversation_id,
        turn=number,
        messages=messages,
        created_at=aware(row["created_at"]),
        actor=row["actor"],
        redacted=redacted,
    )


def projection(row: asyncpg.Record, *, conversation_id: str) -> ConversationProjection:
    _check_conversation_format(row["format"], conversation_id=conversation_id)
    try:
        return ConversationProjection(
            turn=row["turn"], kind=row["kind"], text=row["text"], span=row["span"]
        )
    except ValueError as exc:
        raise ConversationFormatError(
            conversation_id=conversation_id, reason=f"projection row is malformed: {exc}"
        ) from exc


def turn_redaction(row: asyncpg.Record) -> ConversationRedaction:
    conversation_id = row["conversation_id"]
    _check_conversation_format(row["format"], conversation_id=conversation_id)
    return ConversationRedaction(
        conversation_id=conversation_id,
        turns=tuple(row["turns"]),
        actor=row["actor"],
        created_at=aware(row["created_at"]),
    )


def decode_extra(stored: str, *, scope: str, path: str) -> Mapping[str, Any]:
    if stored == "{}":
        return _NO_EXTRA
    try:
        return _extra_decoder.decode(stored)
    except msgspec.MsgspecError as exc:
        raise MemoryFormatError(
            scope=scope, path=path, reason=f"extra is not an object: {exc}"
        ) from exc


def aware(stamp: datetime) -> datetime:
    """The stamp in UTC: the driver gives both infinities without an offset."""
    return stamp if stamp.tzinfo is not None else stamp.replace(tzinfo=UTC)


def check_memory_format(found: int, *, scope: str, path: str) -> None:
    if found != MEMORY_FORMAT:
        raise MemoryFormatError(
            scope=scope, path=path, reason=f"format {found} is newer than {MEMORY_FORMAT}"
        )


def _check_conversation_format(found: int, *, conversation_id: str) -> None:
    if found != CONVERSATION_FORMAT:
        raise ConversationFormatError(
            conversation_id=conversation_id,
            reason=f"format {found} is newer than {CONVERSATION_FORMAT}",
        )


def _messages(stored: str, *, conversation_id: str, number: int) -> tuple[Message, ...]:
    try:
        return load_messages(stored)
    except ValueError as exc:
        raise ConversationFormatError(
            conversation_id=conversation_id, reason=f"turn row {number} {message_fault(exc)}"
        ) from exc


def is_cut(found: Sequence[asyncpg.Record]) -> bool:
    """Whether a listing left out rows because of their weight."""
    return bool(found) and len(found) < found[0]["asked"]
