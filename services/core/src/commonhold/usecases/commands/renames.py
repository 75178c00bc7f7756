"""`rename`: within a mount one act of the store, across mounts a copy and a deletion.

docs/reference/memory-tool.md, section 6.6.
"""

from commonhold.contract.documents import MemoryDocument
from commonhold.contract.errors import DocumentNotFoundError, MemoryConflictError
from commonhold.contract.stores import Conditional
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult, succeed
from commonhold.usecases.failures import RedactedDocumentError
from commonhold.usecases.receipts import Receipt
from commonhold.usecases.virtual_paths import (
    Place,
    require_structural,
    require_writable,
    resolve_document,
)


async def rename(context: MemoryContext, *, old_path: str, new_path: str) -> ToolResult:
    """Move a document to a path where none is.

    Across mounts this is not atomic: an interruption leaves both copies, and so does a
    change of the source meanwhile, which is then refused instead of lost. Over a
    Conditional store no change is too late to be seen, of the source or the target.
    """
    source = resolve_document(context.mounts, old_path)
    target = resolve_document(context.mounts, new_path)
    for check in (require_writable, require_structural):
        check(source)
        check(target)
    if source.mount == target.mount:
        moved = await context.documents.rename(
            source.scope, source.document_path, target.document_path, actor=context.actor
        )
    else:
        moved = await _move(context, source, target)
    return answer_move(source, target, moved)


def answer_move(source: Place, target: Place, moved: MemoryDocument) -> ToolResult:
    verb = "Renamed" if source.mount == target.mount else "Moved"
    receipt = Receipt(
        command="rename",
        mount_path=target.mount.mount_path,
        path=str(target),
        version=moved.version,
        previous_path=str(source),
    )
    return succeed(f"{verb} {source} to {target} (v{moved.version})", receipt=receipt)


async def _move(context: MemoryContext, source: Place, target: Place) -> MemoryDocument:
    documents = context.documents
    original = await documents.read(source.scope, source.document_path)
    if original is None:
        raise DocumentNotFoundError(scope=source.scope, path=source.document_path)
    if original.redacted:
        raise RedactedDocumentError(str(source))
    if await documents.read(target.scope, target.document_path) is not None:
        raise MemoryConflictError(
            scope=target.scope, path=target.document_path, reason="destination_exists"
        )
    moved = await _create(context, target, original.content)
    await remove_source(context, source, original)
    return moved


async def _create(context: MemoryContext, target: Place, content: str) -> MemoryDocument:
    """Write where nothing was; what somebody wrote there since is a MemoryConflictError."""
    documents, scope, path = context.documents, target.scope, target.document_path
    if isinstance(documents, Conditional):
        return await documents.create_if_absent(scope, path, content, actor=context.actor)
    return await documents.write(scope, path, content, actor=context.actor)


async def remove_source(context: MemoryContext, source: Place, original: MemoryDocument) -> None:
    """Delete what was copied, unless it changed meanwhile, which is a MemoryConflictError."""
    documents, scope, path = context.documents, source.scope, source.document_path
    if not isinstance(documents, Conditional):
        await _require_unchanged(context, source, original)
        await documents.delete(scope, path, actor=context.actor)
        return
    try:
        await documents.delete_if(
            scope, path, expected_version=original.version, actor=context.actor
        )
    except MemoryConflictError as error:
        # Gone by another hand: what was to go is gone.
        if error.reason != "document_absent":
            raise


async def _require_unchanged(
    context: MemoryContext, place: Place, original: MemoryDocument
) -> None:
    """Refuse to delete what was not copied, as far as a deletion without a version can."""
    current = await context.documents.read(place.scope, place.document_path)
    if current is not None and current.version != original.version:
        raise MemoryConflictError(
            scope=place.scope,
            path=place.document_path,
            reason="version_mismatch",
            expected_version=original.version,
            actual_version=current.version,
        )
