"""What `str_replace` and `insert` share: an edit rests on the version it read."""

from typing import Literal

from commonhold.contract.documents import MemoryDocument
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult, succeed
from commonhold.usecases.failures import LOOK_AROUND, CommandError, RedactedDocumentError
from commonhold.usecases.receipts import Receipt
from commonhold.usecases.virtual_paths import Place


async def read_for_edit(context: MemoryContext, place: Place) -> MemoryDocument:
    document = await context.documents.read(place.scope, place.document_path)
    if document is None:
        raise CommandError(f"No document at {place}", hint=LOOK_AROUND)
    if document.redacted:
        raise RedactedDocumentError(str(place))
    return document


async def write_edit(
    context: MemoryContext,
    place: Place,
    *,
    command: Literal["str_replace", "insert"],
    content: str,
    read: MemoryDocument,
) -> ToolResult:
    """Write over the version that was read; raises MemoryConflictError when it is gone."""
    written = await context.documents.write(
        place.scope,
        place.document_path,
        content,
        actor=context.actor,
        expected_version=read.version,
    )
    receipt = Receipt(
        command=command,
        mount_path=place.mount.mount_path,
        path=str(place),
        version=written.version,
    )
    return succeed(f"Edited {place} (v{written.version})", receipt=receipt)
