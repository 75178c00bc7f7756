"""`delete`: a document goes, its history stays (docs/reference/memory-tool.md, section 6.5)."""

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
    """Delete the document; the receipt is absent when its row cannot be told for sure."""
    place = resolve_document(context.mounts, path)
    require_writable(place)
    require_structural(place)
    deleted = await context.documents.delete(place.scope, place.document_path, actor=context.actor)
    if not deleted:
        raise CommandError(f"No document at {place}", hint=LOOK_AROUND)
    return succeed(f"Deleted {place}", receipt=await _receipt(context, place))


async def _receipt(context: MemoryContext, place: Place) -> Receipt | None:
    rows = await context.documents.versions(place.scope, place.document_path, limit=1)
    # Somebody may have created the document again: that row would be the wrong one to undo.
    if not rows or rows[0].action != "deleted":
        return None
    return Receipt(
        command="delete",
        mount_path=place.mount.mount_path,
        path=str(place),
        version=rows[0].version,
    )
