"""The undoing of one write, by an operator (docs/reference/memory-tool.md, section 12).

History is appended to, never rewritten: what was there before is written once more.
"""

from commonhold.contract.documents import MemoryVersion
from commonhold.contract.errors import MemoryConflictError
from commonhold.usecases.commands.creations import put
from commonhold.usecases.commands.deletions import remove_version
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.dispatcher import TOOL, refuse_state
from commonhold.usecases.envelopes import ToolResult, succeed
from commonhold.usecases.failures import LOOK_AROUND, CommandError, answer_failure
from commonhold.usecases.receipts import Receipt
from commonhold.usecases.virtual_paths import (
    Place,
    require_structural,
    require_writable,
    resolve_document,
)

_NEWEST_AND_PRIOR = 2


async def revert(context: MemoryContext, path: str, *, version: int) -> ToolResult:
    """Undo the write that made `version`, which must be the newest of the path.

    Answers as a memory command does. The prior content comes back over exactly the row that
    is undone, or the document goes when there was none before; a write by anyone else
    meanwhile is a conflict, `revert_stale`.
    """
    try:
        return await _revert(context, path, version)
    except Exception as error:  # noqa: BLE001 - the outermost frame of a tool: all is answered
        return answer_failure(TOOL, error, changes=True)


async def _revert(context: MemoryContext, path: str, version: int) -> ToolResult:
    place = resolve_document(context.mounts, path)
    require_writable(place)
    rows = await context.documents.versions(
        place.scope, place.document_path, limit=_NEWEST_AND_PRIOR
    )
    if not rows:
        raise CommandError(f"No history for {place}", hint=LOOK_AROUND)
    newest = rows[0]
    if newest.version != version:
        raise _stale(place, expected=version, actual=newest.version)
    prior = rows[1] if len(rows) == _NEWEST_AND_PRIOR else None
    restored = None if prior is None or prior.action == "deleted" else prior
    if newest.redacted or (restored is not None and restored.redacted):
        raise CommandError(
            f"{place}'s history is redacted; the prior content was cleared and cannot be restored",
            hint="Write the document anew if it is still needed.",
        )
    refuse_state(context.mounts, path)
    await _require_newest(context, place, newest)
    if restored is None:
        return await _remove(context, place, undone=newest)
    return await _restore(context, place, undone=newest, restored=restored)


async def _require_newest(context: MemoryContext, place: Place, newest: MemoryVersion) -> None:
    """What is live must still be what the row left; a deletion has no fence of its own."""
    live = await context.documents.read(place.scope, place.document_path)
    left = None if newest.action == "deleted" else newest.version
    if (None if live is None else live.version) != left:
        raise _stale(place, expected=newest.version, actual=None if live is None else live.version)


async def _restore(
    context: MemoryContext, place: Place, *, undone: MemoryVersion, restored: MemoryVersion
) -> ToolResult:
    try:
        written = await put(
            context,
            place,
            restored.content,
            over=None if undone.action == "deleted" else undone.version,
        )
    except MemoryConflictError as error:
        raise _stale(place, expected=undone.version, actual=error.actual_version) from error
    return succeed(
        f"Reverted {place} to v{restored.version}'s content (now v{written.version})",
        receipt=_receipt(place, written.version),
    )


async def _remove(context: MemoryContext, place: Place, *, undone: MemoryVersion) -> ToolResult:
    require_structural(place)
    try:
        version = await remove_version(context, place, version=undone.version)
    except MemoryConflictError as error:
        raise _stale(place, expected=undone.version, actual=error.actual_version) from error
    text = f"Reverted {place}: v{undone.version} undone \N{EM DASH} the document is removed"
    if version is None:
        return succeed(text)
    return succeed(f"{text} (now v{version})", receipt=_receipt(place, version))


def _receipt(place: Place, version: int) -> Receipt:
    return Receipt(
        command="revert", mount_path=place.mount.mount_path, path=str(place), version=version
    )


def _stale(place: Place, *, expected: int, actual: int | None) -> MemoryConflictError:
    return MemoryConflictError(
        scope=place.scope,
        path=place.document_path,
        reason="revert_stale",
        expected_version=expected,
        actual_version=actual,
    )
