"""`create`: a document that is new or whole anew (docs/reference/memory-tool.md, section 6.2)."""

from commonhold.contract.documents import MemoryDocument
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult, succeed
from commonhold.usecases.receipts import Receipt
from commonhold.usecases.virtual_paths import (
    Place,
    require_structural,
    require_writable,
    resolve_document,
)


async def create(context: MemoryContext, *, path: str, content: str) -> ToolResult:
    """Write the document, over the version that was read when there was one.

    Raises MemoryConflictError when that version is no longer the live one. Two racing
    creations of a new document both succeed, one version each.
    """
    place = resolve_document(context.mounts, path)
    require_writable(place)
    existing = await context.documents.read(place.scope, place.document_path)
    replaced = None if existing is None else existing.version
    written = await put(context, place, content, over=replaced)
    receipt = Receipt(
        command="create",
        mount_path=place.mount.mount_path,
        path=str(place),
        version=written.version,
    )
    return succeed(
        f"Created {place} (v{written.version})", hint=replaced_hint(replaced), receipt=receipt
    )


async def put(
    context: MemoryContext, place: Place, content: str, *, over: int | None
) -> MemoryDocument:
    """Write over exactly the version `over`, or with None a document that was not there."""
    if over is None:
        require_structural(place)
    return await context.documents.write(
        place.scope, place.document_path, content, actor=context.actor, expected_version=over
    )


def replaced_hint(version: int | None) -> str | None:
    if version is None:
        return None
    return f"Replaced an existing document (was v{version}); use str_replace for edits."
