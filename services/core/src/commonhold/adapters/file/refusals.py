"""What is wrong with a file or a name, as the refusal of a document or a scope."""

from commonhold.adapters.file.changes import Change
from commonhold.adapters.file.faults import RowFaultError, placed
from commonhold.adapters.file.layout import (
    TRAIL,
    document_file,
    documents_folder,
    scope_trail,
    versions_file,
    versions_folder,
)
from commonhold.adapters.file.tree import Place, SpelledOtherwiseError, StrayEntryError, Tree
from commonhold.contract.errors import (
    MemoryConflictError,
    MemoryFormatError,
    PathInvalidError,
    ScopeInvalidError,
)


def require_room(change: Change, scope: str, path: str) -> None:
    """Raise MemoryConflictError (`layout_clash`) when no file can have the path's names."""
    for file in (document_file(scope, path), versions_file(scope, path)):
        _require_room_for(change, file, scope=scope, path=path)


def require_room_for_rows(change: Change, scope: str, path: str) -> None:
    """As `require_room`, of the history alone: the document is there."""
    _require_room_for(change, versions_file(scope, path), scope=scope, path=path)


def _require_room_for(change: Change, file: str, *, scope: str, path: str) -> None:
    try:
        has_room = change.make_room(file)
    except (StrayEntryError, SpelledOtherwiseError) as stray:
        raise astray(stray, scope=scope, path=path) from None
    if not has_room:
        raise clash(scope=scope, path=path, file=file)


def clash(*, scope: str, path: str, file: str) -> MemoryConflictError:
    return placed(MemoryConflictError(scope=scope, path=path, reason="layout_clash"), file=file)


def look(tree: Tree, file: str, *, scope: str, path: str) -> Place:
    try:
        return tree.look(file)
    except (StrayEntryError, SpelledOtherwiseError) as stray:
        raise astray(stray, scope=scope, path=path) from None


def look_for_trail(tree: Tree, scope: str) -> Place:
    try:
        return tree.look_for_file(scope_trail(scope))
    except (StrayEntryError, SpelledOtherwiseError) as stray:
        raise astray(stray, scope=scope, path=TRAIL) from None


def unsupported(fault: RowFaultError, *, scope: str, path: str, file: str) -> MemoryFormatError:
    error = MemoryFormatError(scope=scope, path=path, reason=fault.reason)
    return placed(error, file=file, line=fault.line)


def collision(*, scope: str, path: str | None, file: str) -> MemoryConflictError:
    error = MemoryConflictError(scope=scope, path=path, reason="case_collision")
    return placed(error, file=file)


def astray(
    stray: StrayEntryError | SpelledOtherwiseError, *, scope: str, path: str
) -> MemoryConflictError | PathInvalidError | ScopeInvalidError:
    is_scope = stray.file == versions_folder(scope) or f"{documents_folder(scope)}/".startswith(
        f"{stray.file}/"
    )
    if isinstance(stray, StrayEntryError):
        refusal: PathInvalidError | ScopeInvalidError = (
            ScopeInvalidError(scope=scope, reason=stray.fault)
            if is_scope
            else PathInvalidError(path=path, reason=stray.fault)
        )
        return placed(refusal, file=stray.file)
    return collision(scope=scope, path=None if is_scope else path, file=stray.file)
