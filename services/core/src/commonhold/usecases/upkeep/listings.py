"""Listings of a scope that never hold more than a page of rows."""

from collections.abc import AsyncIterator

from commonhold.contract.documents import MemoryEntry
from commonhold.contract.paging import PAGE_SIZE
from commonhold.contract.stores import MemoryReader, Pageable


async def entries_in(
    documents: MemoryReader, scope: str, *, prefix: str = ""
) -> AsyncIterator[MemoryEntry]:
    """The live documents by path; in pages where the store has them."""
    if not isinstance(documents, Pageable):
        for entry in await documents.list_documents(scope, prefix=prefix):
            yield entry
        return
    cursor: str | None = None
    while True:
        page = await documents.list_documents_page(
            scope, prefix=prefix, cursor=cursor, limit=PAGE_SIZE
        )
        for entry in page.items:
            yield entry
        cursor = page.next_cursor
        if cursor is None:
            return
