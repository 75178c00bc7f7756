"""What the deterministic stage knows of a document: never its text, only a digest of it."""

import hashlib
from collections.abc import AsyncIterator

from commonhold.contract.documents import MemoryDigest
from commonhold.contract.paging import PAGE_SIZE
from commonhold.contract.stores import Digestible, MemoryReader
from commonhold.usecases.upkeep.listings import entries_in
from commonhold.usecases.upkeep.protections import has_own_lifecycle, is_blank


async def scan(documents: MemoryReader, scope: str) -> AsyncIterator[MemoryDigest]:
    """The documents of a scope that a pass may judge, by path.

    A store that digests by itself sends no text at all; of another one text is held of one
    document at a time.
    """
    found = (
        _digested(documents, scope)
        if isinstance(documents, Digestible)
        else _read(documents, scope)
    )
    async for digest in found:
        if not digest.redacted and not has_own_lifecycle(digest.path):
            yield digest


async def _digested(documents: Digestible, scope: str) -> AsyncIterator[MemoryDigest]:
    cursor: str | None = None
    while True:
        page = await documents.digest_documents_page(scope, cursor=cursor, limit=PAGE_SIZE)
        for digest in page.items:
            yield digest
        cursor = page.next_cursor
        if cursor is None:
            return


async def _read(documents: MemoryReader, scope: str) -> AsyncIterator[MemoryDigest]:
    async for entry in entries_in(documents, scope):
        if entry.redacted or has_own_lifecycle(entry.path):
            continue
        document = await documents.read(scope, entry.path)
        if document is not None:
            yield MemoryDigest(
                path=document.path,
                version=document.version,
                created_at=document.created_at,
                updated_at=document.updated_at,
                redacted=document.redacted,
                is_blank=is_blank(document.content),
                digest=hashlib.sha256(document.content.encode()).digest(),
            )
