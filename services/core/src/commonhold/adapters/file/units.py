"""Whole scopes and conversations in and out (docs/reference/stores.md, section 9)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from commonhold.adapters.file import lines
from commonhold.adapters.file.changes import Change
from commonhold.adapters.file.conversations import list_ids
from commonhold.adapters.file.conversations import look as look_for_turns
from commonhold.adapters.file.envelopes import Envelope, encode_document
from commonhold.adapters.file.layout import (
    DOCUMENT_SUFFIX,
    LEDGER_SUFFIX,
    conversation_trail,
    document_file,
    projections_file,
    scope_of,
    scope_trail,
    turns_file,
    versions_file,
)
from commonhold.adapters.file.records import document_paths, ledger_paths
from commonhold.adapters.file.refusals import clash, collision, look_for_trail, require_room
from commonhold.adapters.file.tree import Place, SpelledOtherwiseError, StrayEntryError, Tree
from commonhold.contract.documents import MemoryDocument, MemoryVersion, ScopeArchive
from commonhold.contract.errors import (
    ConversationConflictError,
    ConversationFormatError,
    MemoryConflictError,
    PathInvalidError,
    ScopeInvalidError,
)
from commonhold.contract.turns import ConversationArchive


def list_scopes(tree: Tree) -> tuple[str, ...]:
    """Every scope with a document, a version row or an erasure, or that cannot tell.

    A scope that is refused is listed: its own calls say by name what is wrong with it, and
    the others are in nobody's way.
    """
    return tuple(sorted(scope for scope in _scopes(tree, "") if _is_scope_listed(tree, scope)))


def list_conversations(tree: Tree) -> tuple[str, ...]:
    """Every conversation with a turn or a projection, or that cannot tell, as with scopes.

    An erasure alone does not count.
    """
    return tuple(name for name in list_ids(tree) if _is_conversation_listed(tree, name))


def restore_scope(tree: Tree, change: Change, archive: ScopeArchive) -> None:
    """Land an archive that is in the form in which it lands."""
    scope = archive.scope
    if _is_scope_held(tree, scope):
        raise MemoryConflictError(scope=scope, path=None, reason="target_occupied")
    rows: dict[str, list[MemoryVersion]] = defaultdict(list)
    for row in archive.versions:
        rows[row.path].append(row)
    live = {document.path for document in archive.documents}
    _require_layout(scope, live, suffix=DOCUMENT_SUFFIX)
    _require_layout(scope, live.union(rows), suffix=LEDGER_SUFFIX)
    if tree.folds_case:
        _require_distinct(scope, sorted(live.union(rows)))
    for path in sorted(live.union(rows)):
        require_room(change, scope, path)
    for path in sorted(rows):
        ordered = sorted(rows[path], key=lambda row: row.version)
        change.put_lines(versions_file(scope, path), map(lines.encode_version, ordered))
    if archive.redactions:
        acts = map(lines.encode_memory_redaction, archive.redactions)
        change.put_lines(scope_trail(scope), acts)
    for document in archive.documents:
        change.put(document_file(scope, document.path), _encode(document))
    change.commit()


def restore_conversation(tree: Tree, change: Change, archive: ConversationArchive) -> None:
    """Land an archive that is in the form in which it lands."""
    name = archive.conversation_id
    trail = conversation_trail(name)
    if _holds_rows(tree, name) or look_for_turns(tree, name, trail) is Place.FILE:
        raise ConversationConflictError(conversation_id=name, reason="target_occupied")
    turns = sorted(archive.turns, key=lambda turn: turn.turn)
    files: tuple[tuple[str, Iterable[bytes]], ...] = (
        (turns_file(name), [lines.encode_turn(turn) for turn in turns]),
        (projections_file(name), [lines.encode_projection(one) for one in archive.projections]),
        (trail, [lines.encode_turn_redaction(act) for act in archive.redactions]),
    )
    for file, rows in files:
        if rows:
            change.put_lines(file, rows)
    change.commit()


def _encode(document: MemoryDocument) -> bytes:
    envelope = Envelope(
        version=document.version,
        created_at=document.created_at,
        updated_at=document.updated_at,
        actor=document.actor,
        redacted=document.redacted,
        extra=document.extra,
    )
    return encode_document(envelope, document.content)


def _scopes(tree: Tree, folder: str) -> Iterator[str]:
    try:
        names = tree.folders(folder)
    except (StrayEntryError, SpelledOtherwiseError):
        # Its scope is refused for the same reason, and listed.
        return
    for name in names:
        inside = f"{folder}/{name}" if folder else name
        scope = scope_of(inside)
        if scope is not None:
            yield scope
            yield from _scopes(tree, inside)


def _is_scope_listed(tree: Tree, scope: str) -> bool:
    try:
        return _is_scope_held(tree, scope)
    except (PathInvalidError, ScopeInvalidError, MemoryConflictError):
        return True


def _is_conversation_listed(tree: Tree, conversation_id: str) -> bool:
    try:
        return _holds_rows(tree, conversation_id)
    except ConversationFormatError:
        return True


def _is_scope_held(tree: Tree, scope: str) -> bool:
    return (
        look_for_trail(tree, scope) is Place.FILE
        or bool(document_paths(tree, scope))
        or bool(ledger_paths(tree, scope))
    )


def _holds_rows(tree: Tree, conversation_id: str) -> bool:
    files = (turns_file(conversation_id), projections_file(conversation_id))
    return any(look_for_turns(tree, conversation_id, file) is Place.FILE for file in files)


def _require_layout(scope: str, paths: set[str], *, suffix: str) -> None:
    """Raise MemoryConflictError when no directory can hold these files beside each other."""
    files = {f"{path}{suffix}" for path in paths}
    for path in sorted(paths):
        if any(folder in files for folder in _folders(path)):
            raise clash(scope=scope, path=path, file=document_file(scope, path))


def _folders(path: str) -> Iterator[str]:
    folder, slash, _ = path.rpartition("/")
    while slash:
        yield folder
        folder, slash, _ = folder.rpartition("/")


def _require_distinct(scope: str, paths: Iterable[str]) -> None:
    spellings: dict[str, str] = {}
    for path in paths:
        for name in (path, *_folders(path)):
            if spellings.setdefault(name.lower(), name) != name:
                raise collision(scope=scope, path=path, file=document_file(scope, path))
