"""What an archive must be before a store lands it (docs/reference/wire.md, section 8).

Types are the wire's business; these are the rules over whole units, the same for every
store: numbers, redacted rows, repeats, `extra`, and the grammars of the names inside.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import msgspec

from commonhold.contract.clock import require_aware
from commonhold.contract.documents import (
    VERSION_ACTIONS,
    MemoryDocument,
    MemoryRedaction,
    MemoryVersion,
    ScopeArchive,
)
from commonhold.contract.extras import check_extra
from commonhold.contract.ids import MAX_NUMBER, check_conversation_id, check_path, check_scope
from commonhold.contract.messages import settle_messages
from commonhold.contract.text import require_storable_tree
from commonhold.contract.turns import (
    ConversationArchive,
    ConversationRedaction,
    ConversationTurn,
)

RowKind: TypeAlias = Literal["documents", "versions", "turns", "projections", "redactions"]


class UnfitRowError(ValueError):
    """A row that no store lands: the message names it and its unit, and says why.

    `index` is its place among the rows of its kind in the archive.
    """

    def __init__(self, kind: RowKind, index: int, *, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.kind: RowKind = kind
        self.index = index
        self.reason = reason


def landed_scope(archive: ScopeArchive) -> ScopeArchive:
    """The archive to write; the refusals of docs/reference/wire.md, section 8."""
    check_scope_archive(archive)
    return ScopeArchive(
        scope=archive.scope,
        documents=tuple(_document(row, scope=archive.scope) for row in archive.documents),
        versions=tuple(_version(row) for row in archive.versions),
        redactions=tuple(_memory_redaction(row) for row in archive.redactions),
    )


def landed_conversation(archive: ConversationArchive) -> ConversationArchive:
    """The archive to write; the refusals of docs/reference/wire.md, section 8."""
    check_conversation_archive(archive)
    name = archive.conversation_id
    return ConversationArchive(
        conversation_id=name,
        turns=tuple(_turn(row, conversation_id=name) for row in archive.turns),
        projections=tuple(archive.projections),
        redactions=tuple(_turn_redaction(row, conversation_id=name) for row in archive.redactions),
    )


def check_scope_archive(archive: ScopeArchive) -> None:
    """Raise ValueError for a bad row, then ScopeInvalidError, then PathInvalidError."""
    with _told_plainly():
        judge_scope(archive)


def check_conversation_archive(archive: ConversationArchive) -> None:
    """Raise ValueError for a bad row, then ConversationIdInvalidError."""
    with _told_plainly():
        judge_conversation(archive)


def judge_scope(archive: ScopeArchive) -> None:
    """As `check_scope_archive`, but UnfitRowError: for whoever knows where the row stands."""
    inside = f"in scope {archive.scope!r}"
    documents = _Rows(
        "documents", archive.documents, lambda row, _: f"document {row.path!r} {inside}"
    )
    versions = _Rows(
        "versions",
        archive.versions,
        lambda row, _: f"version {row.version} of {row.path!r} {inside}",
    )
    acts = _Rows(
        "redactions",
        archive.redactions,
        lambda row, number: f"erasure {number}{_of(row.path)} {inside}",
    )
    documents.check(_check_document)
    versions.check(_check_version)
    acts.check(_check_memory_redaction)
    documents.require_distinct(lambda row: row.path)
    versions.require_distinct(lambda row: (row.path, row.version))
    check_scope(archive.scope)
    for path in _paths(archive):
        check_path(path)
    for rows in (documents, versions, acts):
        rows.require_storable()


def judge_conversation(archive: ConversationArchive) -> None:
    """As `check_conversation_archive`, but UnfitRowError."""
    inside = f"in conversation {archive.conversation_id!r}"
    turns = _Rows("turns", archive.turns, lambda row, _: f"turn {row.turn} {inside}")
    entries = _Rows(
        "projections",
        archive.projections,
        lambda row, number: f"projection {number}, of turn {row.turn}, {inside}",
    )
    acts = _Rows("redactions", archive.redactions, lambda _, number: f"erasure {number} {inside}")
    turns.check(_check_turn)
    turns.require_distinct(lambda row: row.turn)
    entries.check(lambda row: _require_number(row.turn, at_least=1, name="turn"))
    acts.check(_check_turn_redaction)
    check_conversation_id(archive.conversation_id)
    for rows in (turns, entries, acts):
        rows.require_storable()


@contextmanager
def _told_plainly() -> Iterator[None]:
    try:
        yield
    except UnfitRowError as error:
        raise ValueError(str(error)) from error


class _Rows:
    """The rows of one kind; `name` is what a person calls one, by itself and by its number."""

    def __init__(self, kind: RowKind, rows: Sequence[Any], name: Callable[[Any, int], str]) -> None:
        self._kind = kind
        self._rows = rows
        self._name = name

    def check(self, check: Callable[[Any], None]) -> None:
        for index, row in enumerate(self._rows):
            try:
                check(row)
            except ValueError as error:
                raise self._unfit(index, str(error)) from None

    def require_distinct(self, key_of: Callable[[Any], Hashable]) -> None:
        seen: set[Hashable] = set()
        for index, key in enumerate(map(key_of, self._rows)):
            if key in seen:
                raise self._unfit(index, "it is there twice")
            seen.add(key)

    def require_storable(self) -> None:
        try:
            # The rows at once: a walk through each of them is for when there is a fault.
            require_storable_tree(self._rows, name=self._kind)
        except ValueError:
            self.check(_require_storable_row)

    def _unfit(self, index: int, reason: str) -> UnfitRowError:
        name = self._name(self._rows[index], index + 1)
        return UnfitRowError(self._kind, index, name=name, reason=reason)


def _of(path: str | None) -> str:
    return "" if path is None else f" of {path!r}"


def _check_document(row: MemoryDocument) -> None:
    _require_number(row.version, at_least=1, name="version")
    _require_blank(row.content, redacted=row.redacted, what="document")
    check_extra(row.extra)
    require_aware(row.created_at, name="created_at")
    require_aware(row.updated_at, name="updated_at")


def _check_version(row: MemoryVersion) -> None:
    _require_number(row.version, at_least=1, name="version")
    if row.action not in VERSION_ACTIONS:
        raise ValueError(
            f"parameter 'action' must be one of {list(VERSION_ACTIONS)}, got {row.action!r}"
        )
    _require_blank(row.content, redacted=row.redacted, what="version")
    require_aware(row.created_at, name="created_at")


def _check_memory_redaction(row: MemoryRedaction) -> None:
    _require_number(row.count, at_least=0, name="count")
    require_aware(row.created_at, name="created_at")


def _check_turn(row: ConversationTurn) -> None:
    _require_number(row.turn, at_least=1, name="turn")
    if row.redacted and row.messages:
        raise ValueError("it is redacted yet carries messages")
    if not row.redacted and not row.messages:
        raise ValueError("it must carry at least one message")
    settle_messages(row.messages)
    require_aware(row.created_at, name="created_at")


def _check_turn_redaction(row: ConversationRedaction) -> None:
    if not row.turns:
        raise ValueError("parameter 'turns' must name turn numbers from 1")
    for number in row.turns:
        _require_number(number, at_least=1, name="turns")
    require_aware(row.created_at, name="created_at")


def _require_storable_row(row: msgspec.Struct) -> None:
    for field in row.__struct_fields__:
        require_storable_tree(getattr(row, field), name=field)


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
        messages=settle_messages(row.messages),
        created_at=require_aware(row.created_at, name="created_at"),
    )


def _turn_redaction(row: ConversationRedaction, *, conversation_id: str) -> ConversationRedaction:
    return msgspec.structs.replace(
        row,
        conversation_id=conversation_id,
        turns=tuple(sorted(set(row.turns))),
        created_at=require_aware(row.created_at, name="created_at"),
    )
