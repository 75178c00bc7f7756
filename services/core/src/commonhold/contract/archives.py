"""What an archive must be before a store lands it (docs/reference/wire.md, section 8).

Types are the wire's business; these are the rules over whole units, the same for every
store: numbers, redacted rows, repeats, and the grammars of the names inside.
"""

from collections.abc import Hashable, Iterable, Mapping

import msgspec

from commonhold.contract.clock import require_aware
from commonhold.contract.documents import (
    VERSION_ACTIONS,
    MemoryDocument,
    MemoryRedaction,
    MemoryVersion,
    ScopeArchive,
)
from commonhold.contract.ids import MAX_NUMBER, check_conversation_id, check_path, check_scope
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


def check_scope_archive(archive: ScopeArchive) -> None:
    """Raise ValueError for a bad row, then ScopeInvalidError, then PathInvalidError."""
    for document in archive.documents:
        _require_number(document.version, at_least=1, name="version")
        _require_blank(document.content, redacted=document.redacted, what="document")
        if not isinstance(document.extra, Mapping):
            raise ValueError("parameter 'extra' must be an object")
        require_aware(document.created_at, name="created_at")
        require_aware(document.updated_at, name="updated_at")
    for version in archive.versions:
        _require_number(version.version, at_least=1, name="version")
        if version.action not in VERSION_ACTIONS:
            raise ValueError(
                f"parameter 'action' must be one of {list(VERSION_ACTIONS)}, got {version.action!r}"
            )
        _require_blank(version.content, redacted=version.redacted, what="version")
        require_aware(version.created_at, name="created_at")
    for act in archive.redactions:
        _require_number(act.count, at_least=0, name="count")
        require_aware(act.created_at, name="created_at")
    _require_distinct((document.path for document in archive.documents), "document path")
    _require_distinct(((row.path, row.version) for row in archive.versions), "version")
    check_scope(archive.scope)
    for path in _paths(archive):
        check_path(path)


def check_conversation_archive(archive: ConversationArchive) -> None:
    """Raise ValueError for a bad row, then ConversationIdInvalidError."""
    for turn in archive.turns:
        _require_number(turn.turn, at_least=1, name="turn")
        _require_messages(turn)
        require_aware(turn.created_at, name="created_at")
    _require_distinct((turn.turn for turn in archive.turns), "turn")
    for entry in archive.projections:
        _require_number(entry.turn, at_least=1, name="turn")
    for act in archive.redactions:
        if not act.turns:
            raise ValueError("parameter 'turns' must name turn numbers from 1")
        for number in act.turns:
            _require_number(number, at_least=1, name="turns")
        require_aware(act.created_at, name="created_at")
    check_conversation_id(archive.conversation_id)


def _paths(archive: ScopeArchive) -> Iterable[str]:
    yield from (document.path for document in archive.documents)
    yield from (version.path for version in archive.versions)
    yield from (act.path for act in archive.redactions if act.path is not None)


def _require_number(value: int, *, at_least: int, name: str) -> None:
    if not at_least <= value <= MAX_NUMBER:
        raise ValueError(f"parameter {name!r} must be {at_least} to {MAX_NUMBER}, got {value}")


def _require_blank(content: str, *, redacted: bool, what: str) -> None:
    if redacted and content:
        raise ValueError(f"a redacted {what} must have empty content")


def _require_messages(turn: ConversationTurn) -> None:
    if turn.redacted and turn.messages:
        raise ValueError(f"turn {turn.turn} is redacted yet carries messages")
    if not turn.redacted and not turn.messages:
        raise ValueError(f"turn {turn.turn} must carry at least one message")


def _require_distinct(keys: Iterable[Hashable], what: str) -> None:
    seen: set[Hashable] = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"duplicate {what} in archive: {key!r}")
        seen.add(key)


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
