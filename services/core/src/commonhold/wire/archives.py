"""Archives as request bodies (docs/reference/wire.md, section 8).

Types are checked here, row by row and key by key in the order of that section's table;
the rules over whole units are the stores' (`commonhold.contract.archives`).
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from commonhold.contract.clock import parse_timestamp
from commonhold.contract.documents import (
    MemoryDocument,
    MemoryRedaction,
    MemoryVersion,
    ScopeArchive,
)
from commonhold.contract.messages import decode_messages
from commonhold.contract.turns import (
    ConversationArchive,
    ConversationRedaction,
    ConversationTurn,
)
from commonhold.wire.parameters import (
    Body,
    decode_projection,
    optional_objects,
    optional_text,
    required_objects,
    required_text,
)

Row = TypeVar("Row")


def decode_scope_archive(body: Body) -> ScopeArchive:
    """A scope's archive; the rows' own `scope` is required and otherwise ignored."""
    scope = required_text(body, "scope")
    documents = _rows(required_objects(body, "documents"), lambda row: _document(row, scope))
    versions = _rows(required_objects(body, "versions"), _version)
    redactions = _rows(required_objects(body, "redactions"), _redaction)
    return ScopeArchive(scope=scope, documents=documents, versions=versions, redactions=redactions)


def decode_conversation_archive(body: Body) -> ConversationArchive:
    """A conversation's archive; the rows' own `conversation_id` is required and ignored."""
    name = required_text(body, "conversation_id")
    turns = _rows(required_objects(body, "turns"), lambda row: _turn(row, name))
    projections = _rows(required_objects(body, "projections"), decode_projection)
    redactions = _rows(
        optional_objects(body, "redactions") or [], lambda row: _turn_redaction(row, name)
    )
    return ConversationArchive(
        conversation_id=name,
        turns=tuple(sorted(turns, key=lambda turn: turn.turn)),
        projections=projections,
        redactions=redactions,
    )


def _document(row: Body, scope: str) -> MemoryDocument:
    _text(row, "scope")
    return MemoryDocument(
        scope=scope,
        path=_text(row, "path"),
        content=_text(row, "content"),
        version=_integer(row, "version"),
        created_at=_timestamp(row, "created_at"),
        updated_at=_timestamp(row, "updated_at"),
        actor=_text_or_null(row, "actor"),
        redacted=_boolean(row, "redacted"),
        extra=_optional_object(row, "extra"),
    )


def _version(row: Body) -> MemoryVersion:
    return MemoryVersion(
        path=_text(row, "path"),
        version=_integer(row, "version"),
        action=_text(row, "action"),  # type: ignore[arg-type]  # a store refuses other actions
        content=_text(row, "content"),
        actor=_text_or_null(row, "actor"),
        created_at=_timestamp(row, "created_at"),
        redacted=_boolean(row, "redacted"),
    )


def _redaction(row: Body) -> MemoryRedaction:
    return MemoryRedaction(
        path=_text_or_null(row, "path"),
        actor=_text_or_null(row, "actor"),
        created_at=_timestamp(row, "created_at"),
        count=_integer(row, "count"),
    )


def _turn(row: Body, conversation_id: str) -> ConversationTurn:
    _text(row, "conversation_id")
    return ConversationTurn(
        conversation_id=conversation_id,
        turn=_integer(row, "turn"),
        messages=decode_messages(_objects(row, "messages")),
        created_at=_timestamp(row, "created_at"),
        actor=optional_text(row, "actor"),
        redacted=row.get("redacted") is not None and _boolean(row, "redacted"),
    )


def _turn_redaction(row: Body, conversation_id: str) -> ConversationRedaction:
    numbers = row.get("turns")
    if not (type(numbers) is list and numbers and all(_is_turn_number(item) for item in numbers)):
        raise ValueError("parameter 'turns' must name turn numbers from 1")
    required_text(row, "conversation_id")
    return ConversationRedaction(
        conversation_id=conversation_id,
        turns=tuple(sorted(set(numbers))),
        created_at=_timestamp(row, "created_at"),
        actor=optional_text(row, "actor"),
    )


def _rows(raw: list[Body], decode: Callable[[Body], Row]) -> tuple[Row, ...]:
    return tuple(decode(row) for row in raw)


def _is_turn_number(value: Any) -> bool:
    return type(value) is int and value >= 1


def _present(row: Body, key: str) -> Any:
    if key not in row:
        raise ValueError(f"malformed request: {key!r}")
    return row[key]


def _text(row: Body, key: str) -> str:
    value = _present(row, key)
    if type(value) is not str:
        raise ValueError(f"parameter {key!r} must be a string")
    return value


def _text_or_null(row: Body, key: str) -> str | None:
    return None if _present(row, key) is None else _text(row, key)


def _integer(row: Body, key: str) -> int:
    value = _present(row, key)
    if type(value) is not int:
        raise ValueError(f"parameter {key!r} must be an integer")
    return value


def _boolean(row: Body, key: str) -> bool:
    value = _present(row, key)
    if type(value) is not bool:
        raise ValueError(f"parameter {key!r} must be a boolean")
    return value


def _objects(row: Body, key: str) -> list[Body]:
    value = _present(row, key)
    if type(value) is not list or not all(type(item) is dict for item in value):
        raise ValueError(f"parameter {key!r} must be a list of objects")
    return value


def _optional_object(row: Body, key: str) -> Body:
    value = row.get(key)
    if value is None:
        return {}
    if type(value) is not dict:
        raise ValueError(f"parameter {key!r} must be an object")
    return value


def _timestamp(row: Body, key: str) -> datetime:
    value = _present(row, key)
    if type(value) is not str:
        raise ValueError(f"malformed wire timestamp: {value!r}")
    return parse_timestamp(value)
