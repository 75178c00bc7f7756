"""`view`: the index, a listing, or a document (docs/reference/memory-tool.md, section 6.1)."""

from collections.abc import Sequence

from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult, succeed
from commonhold.usecases.failures import LOOK_AROUND, CommandError
from commonhold.usecases.indexes import read_index
from commonhold.usecases.views import render_document, render_listing
from commonhold.usecases.virtual_paths import Place, is_root, resolve, without_state


async def view(
    context: MemoryContext,
    *,
    path: str | None = None,
    view_range: Sequence[int] | None = None,
) -> ToolResult:
    """Show what is at a path; `view_range` counts for documents alone."""
    if path is None or is_root(path):
        return succeed(
            await read_index(
                context.documents,
                context.mounts,
                budget=context.index_budget,
                counts_mailboxes=context.counts_mailboxes,
            )
        )
    place = resolve(context.mounts, path)
    if not place.document_path:
        return succeed(await _whole_mount(context, place))
    document = await context.documents.read(place.scope, place.document_path)
    if document is not None:
        return succeed(render_document(place, document, view_range=view_range))
    return succeed(await _directory(context, place))


async def _directory(context: MemoryContext, place: Place) -> str:
    prefix = f"{place.document_path}/"
    entries = await context.documents.list_documents(place.scope, prefix=prefix)
    if not entries:
        raise CommandError(f"No document or directory at {place}", hint=LOOK_AROUND)
    return render_listing(place.mount, entries)


async def _whole_mount(context: MemoryContext, place: Place) -> str:
    entries = await context.documents.list_documents(place.scope)
    return render_listing(place.mount, without_state(entries))
