"""`delete`: a document goes, its history stays (docs/reference/memory-tool.md, section 6.5)."""

from commonhold.contract.errors import MemoryConflictError
from commonhold.contract.stores import Conditional
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult, succeed
from commonhold.usecases.failures import LOOK_AROUND, CommandError
from commonhold.usecases.receipts import Receipt
from commonhold.usecases.virtual_paths import (
    Place,
    require_structural,
    require_writable,
    resolve_document,
)


async def delete(context: MemoryContext, *, path: str) -> ToolResult:
    """Delete the document; the receipt is absent when its row cannot be told for sure.

    Over a Conditional store exactly the version that was live goes, so that the row is
    known; MemoryConflictError when a newer one came meanwhile.
    """
    place = resolve_document(context.mounts, path)
    require_writable(place)
    require_structural(place)
    if isinstance(context.documents, Conditional):
        removed: int | None = await _remove_live(context, context.documents, place)
    else:
        removed = await _remove_blindly(context, place)
    return succeed(f"Deleted {place}", receipt=_receipt(place, removed))


async def remove_version(context: MemoryContext, place: Place, *, version: int) -> int | None:
    """Delete exactly that version; the number of the row, None when it cannot be told.

    Raises MemoryConflictError when another version is live, or none. A store that is not
    Conditional deletes what is there.
    """
    if isinstance(context.documents, Conditional):
        return await context.documents.delete_if(
            place.scope, place.document_path, expected_version=version, actor=context.actor
        )
    return await _remove_blindly(context, place)


def _receipt(place: Place, number: int | None) -> Receipt | None:
    if number is None:
        return None
    return Receipt(
        command="delete",
        mount_path=place.mount.mount_path,
        path=str(place),
        version=number,
    )


async def _remove_live(context: MemoryContext, documents: Conditional, place: Place) -> int:
    live = await context.documents.read(place.scope, place.document_path)
    if live is None:
        raise _nothing_at(place)
    try:
        return await documents.delete_if(
            place.scope, place.document_path, expected_version=live.version, actor=context.actor
        )
    except MemoryConflictError as error:
        if error.reason == "document_absent":
            raise _nothing_at(place) from error
        raise


async def _remove_blindly(context: MemoryContext, place: Place) -> int | None:
    if not await context.documents.delete(place.scope, place.document_path, actor=context.actor):
        raise _nothing_at(place)
    rows = await context.documents.versions(place.scope, place.document_path, limit=1)
    # Somebody may have created the document again: that row would be the wrong one to undo.
    if not rows or rows[0].action != "deleted":
        return None
    return rows[0].version


def _nothing_at(place: Place) -> CommandError:
    return CommandError(f"No document at {place}", hint=LOOK_AROUND)
