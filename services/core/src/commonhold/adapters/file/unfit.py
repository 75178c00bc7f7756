"""Rows that can be read and that no store lands, refused with their file and line.

Another program or an editor wrote them: what leaves a root is judged as what enters a store
(`commonhold.contract.archives`), while the place of each row can still be told.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from commonhold.adapters.file import lines
from commonhold.adapters.file.faults import RowFaultError, placed
from commonhold.adapters.file.layout import (
    TRAIL,
    conversation_trail,
    document_file,
    projections_file,
    scope_trail,
    turns_file,
    versions_file,
)
from commonhold.adapters.file.refusals import unsupported
from commonhold.adapters.file.tree import Tree
from commonhold.contract.archives import UnfitRowError, judge_conversation, judge_scope
from commonhold.contract.documents import ScopeArchive
from commonhold.contract.errors import ConversationFormatError, PathInvalidError
from commonhold.contract.turns import ConversationArchive

# A line and its number, decoded.
_Decode: TypeAlias = Callable[[bytes, int], Any]


def require_fit_scope(tree: Tree, archive: ScopeArchive) -> None:
    """Raise MemoryFormatError for a row that no store lands, or PathInvalidError."""
    scope = archive.scope
    try:
        judge_scope(archive)
    except UnfitRowError as fault:
        raise _unfit_memory(tree, archive, fault) from None
    except PathInvalidError as error:
        # Documents and histories have their path from the names of their files.
        act = next(act for act in archive.redactions if act.path == error.path)
        file = scope_trail(scope)
        raise placed(error, file=file, line=_line_of(tree, file, act, _memory_act)) from None


def require_fit_conversation(tree: Tree, archive: ConversationArchive) -> None:
    """Raise ConversationFormatError for a row that no store lands."""
    name = archive.conversation_id
    try:
        judge_conversation(archive)
    except UnfitRowError as fault:
        file, decode = _CONVERSATION_FILES[fault.kind]
        row = getattr(archive, fault.kind)[fault.index]
        place = file(name)
        line = _line_of(tree, place, row, lambda raw, number: decode(raw, number, name))
        error = ConversationFormatError(conversation_id=name, reason=fault.reason)
        raise placed(error, file=place, line=line) from None


def _unfit_memory(tree: Tree, archive: ScopeArchive, fault: UnfitRowError) -> Exception:
    scope, row = archive.scope, getattr(archive, fault.kind)[fault.index]
    if fault.kind == "documents":
        told = RowFaultError(fault.reason)
        return unsupported(told, scope=scope, path=row.path, file=document_file(scope, row.path))
    is_version = fault.kind == "versions"
    path = row.path if is_version else TRAIL
    file = versions_file(scope, path) if is_version else scope_trail(scope)
    line = _line_of(tree, file, row, _version if is_version else _memory_act)
    return unsupported(RowFaultError(fault.reason, line=line), scope=scope, path=path, file=file)


def _line_of(tree: Tree, file: str, row: Any, decode: _Decode) -> int | None:
    """Where the row stands, the last one of equal rows: the one that is there once too often."""
    found = [
        number for number, line in enumerate(tree.lines(file), 1) if decode(line, number) == row
    ]
    return found[-1] if found else None


def _version(line: bytes, number: int) -> Any:
    return lines.decode_version(line, number=number)


def _memory_act(line: bytes, number: int) -> Any:
    return lines.decode_memory_redaction(line, number=number)


def _turn(line: bytes, number: int, name: str) -> Any:
    return lines.decode_turn(line, number=number, conversation_id=name)


def _projection(line: bytes, number: int, _name: str) -> Any:
    return lines.decode_projection(line, number=number)


def _turn_act(line: bytes, number: int, name: str) -> Any:
    return lines.decode_turn_redaction(line, number=number, conversation_id=name)


_CONVERSATION_FILES: dict[str, tuple[Callable[[str], str], Callable[[bytes, int, str], Any]]] = {
    "turns": (turns_file, _turn),
    "projections": (projections_file, _projection),
    "redactions": (conversation_trail, _turn_act),
}
