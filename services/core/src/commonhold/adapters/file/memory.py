"""The memory seam of FileStore, with its pages, digests, outlines and conditions.

Arguments are checked here, on the event loop; what touches files runs on the store's thread.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar, TypeVar

from commonhold.adapters.file import checks
from commonhold.adapters.file.documents import Documents
from commonhold.adapters.file.listings import Listings
from commonhold.adapters.file.workers import Worker
from commonhold.contract.clock import Clock, require_aware
from commonhold.contract.documents import (
    DEFAULT_VERSIONS_LIMIT,
    MemoryDigest,
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
    digest_of,
    entry_of,
)
from commonhold.contract.expirations import AgedDocument
from commonhold.contract.ids import check_scope
from commonhold.contract.limits import require_memory_limit, require_positive_limit, take
from commonhold.contract.outlines import Outline, directory_of, newest_first, require_outline
from commonhold.contract.paging import (
    AgedPosition,
    DigestsPosition,
    HistoryPosition,
    ListPosition,
    Page,
    TrailPosition,
    VersionsPosition,
    decode_cursor,
    page_of,
)
from commonhold.contract.stores import Witness
from commonhold.contract.text import require_encodable, require_storable

Row = TypeVar("Row", MemoryEntry, MemoryDigest)
PathPosition = TypeVar("PathPosition", ListPosition, DigestsPosition)


class FileMemory:
    """Documents by scope and path, in the files of one root."""

    supports_optimistic_concurrency: ClassVar[bool] = True

    def __init__(self, worker: Worker, clock: Clock) -> None:
        self._worker = worker
        self._documents = Documents(clock)
        self._listings = Listings(self._documents)

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        checks.names(scope, path)
        return await self._worker.read(lambda tree: self._documents.read(tree, scope, path))

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument:
        checks.names(scope, path)
        require_storable(content, name="content")
        checks.actor(actor)
        return await self._worker.change(
            lambda tree, change: self._documents.write(
                tree,
                change,
                scope,
                path,
                content,
                actor=actor,
                expected_version=expected_version,
            )
        )

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        checks.names(scope, path)
        checks.actor(actor)
        number = await self._worker.change(
            lambda tree, change: self._documents.delete(tree, change, scope, path, actor=actor)
        )
        return number is not None

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        checks.names(scope, src, dst)
        checks.actor(actor)
        return await self._worker.change(
            lambda tree, change: self._documents.rename(tree, change, scope, src, dst, actor=actor)
        )

    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        checks.names(scope, path)
        require_storable(content, name="content")
        checks.actor(actor)
        return await self._worker.change(
            lambda tree, change: self._documents.create_if_absent(
                tree, change, scope, path, content, actor=actor
            )
        )

    async def delete_if(
        self,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> int:
        checks.names(scope, path, *(witness for witness, _ in witnesses))
        checks.actor(actor)
        return await self._worker.change(
            lambda tree, change: self._documents.delete_if(
                tree,
                change,
                scope,
                path,
                expected_version=expected_version,
                witnesses=witnesses,
                actor=actor,
            )
        )

    async def rename_if(
        self,
        scope: str,
        src: str,
        dst: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> MemoryDocument:
        checks.names(scope, src, dst, *(witness for witness, _ in witnesses))
        checks.actor(actor)
        return await self._worker.change(
            lambda tree, change: self._documents.rename_if(
                tree,
                change,
                scope,
                src,
                dst,
                expected_version=expected_version,
                witnesses=witnesses,
                actor=actor,
            )
        )

    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        checks.names(scope, *(() if path is None else (path,)))
        checks.actor(actor)
        return await self._worker.change(
            lambda tree, change: self._documents.redact(tree, change, scope, path=path, actor=actor)
        )

    async def redact_if(
        self, scope: str, path: str, *, expected_version: int, actor: str | None = None
    ) -> None:
        checks.names(scope, path)
        checks.actor(actor)
        await self._worker.change(
            lambda tree, change: self._documents.redact_if(
                tree, change, scope, path, expected_version=expected_version, actor=actor
            )
        )

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        check_scope(scope)
        require_encodable(prefix, name="prefix")
        return await self._worker.read(
            lambda tree: tuple(map(entry_of, self._listings.documents(tree, scope, prefix=prefix)))
        )

    async def outline(self, scope: str, *, excluding: Sequence[str] = (), newest: int) -> Outline:
        entries = await self.list_documents(scope)
        require_outline(excluding, newest)
        kept = [entry for entry in entries if not entry.path.startswith(tuple(excluding))]
        return Outline(
            newest=tuple(newest_first(kept)[: min(newest, len(kept))]),
            counts=Counter(directory_of(entry.path) for entry in kept),
        )

    async def versions(
        self, scope: str, path: str, *, limit: int = DEFAULT_VERSIONS_LIMIT
    ) -> tuple[MemoryVersion, ...]:
        checks.names(scope, path)
        require_memory_limit(limit)
        return await self._worker.read(
            lambda tree: take(self._listings.versions(tree, scope, path), limit=limit)
        )

    async def history(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryVersion, ...]:
        check_scope(scope)
        start = checks.since_utc(since)
        require_memory_limit(limit)
        return await self._worker.read(
            lambda tree: take(self._listings.history(tree, scope, since=start), limit=limit)
        )

    async def redactions(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryRedaction, ...]:
        check_scope(scope)
        start = checks.since_utc(since)
        require_memory_limit(limit)
        acts = await self._worker.read(
            lambda tree: self._listings.redactions(tree, scope, since=start)
        )
        return take((act for _, act in acts), limit=limit)

    async def list_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryEntry]:
        return await self._page_by_path(
            scope, entry_of, kind=ListPosition, prefix=prefix, cursor=cursor, limit=limit
        )

    async def digest_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryDigest]:
        return await self._page_by_path(
            scope, digest_of, kind=DigestsPosition, prefix=prefix, cursor=cursor, limit=limit
        )

    async def _page_by_path(
        self,
        scope: str,
        row_of: Callable[[MemoryDocument], Row],
        *,
        kind: type[PathPosition],
        prefix: str,
        cursor: str | None,
        limit: int,
    ) -> Page[Row]:
        """Rows are made while the files are read: no page holds contents it does not show."""
        check_scope(scope)
        require_encodable(prefix, name="prefix")
        require_positive_limit(limit)
        after = "" if cursor is None else decode_cursor(cursor, kind).path
        rows = await self._worker.read(
            lambda tree: take(
                map(row_of, self._listings.documents(tree, scope, prefix=prefix, after=after)),
                limit=limit + 1,
            )
        )
        return page_of(rows, limit=limit, position=lambda row: kind(path=row.path))

    async def aged_documents_page(
        self, scope: str, *, before: datetime, cursor: str | None = None, limit: int
    ) -> Page[AgedDocument]:
        check_scope(scope)
        moment = require_aware(before, name="before")
        require_positive_limit(limit)
        after = "" if cursor is None else decode_cursor(cursor, AgedPosition).path
        rows = await self._worker.read(
            lambda tree: take(
                self._listings.aged(tree, scope, before=moment, after=after), limit=limit + 1
            )
        )
        return page_of(rows, limit=limit, position=lambda row: AgedPosition(path=row.path))

    async def versions_page(
        self, scope: str, path: str, *, cursor: str | None = None, limit: int
    ) -> Page[MemoryVersion]:
        checks.names(scope, path)
        require_positive_limit(limit)
        below = None if cursor is None else decode_cursor(cursor, VersionsPosition).version
        return await self._worker.read(
            lambda tree: self._listings.versions_page(tree, scope, path, below=below, limit=limit)
        )

    async def history_page(
        self,
        scope: str,
        *,
        since: datetime | None = None,
        cursor: str | None = None,
        limit: int,
    ) -> Page[MemoryVersion]:
        check_scope(scope)
        start = checks.since_utc(since)
        require_positive_limit(limit)
        behind = None if cursor is None else decode_cursor(cursor, HistoryPosition)
        return await self._worker.read(
            lambda tree: self._listings.history_page(
                tree, scope, since=start, behind=behind, limit=limit
            )
        )

    async def redactions_page(
        self,
        scope: str,
        *,
        since: datetime | None = None,
        cursor: str | None = None,
        limit: int,
    ) -> Page[MemoryRedaction]:
        check_scope(scope)
        start = checks.since_utc(since)
        require_positive_limit(limit)
        behind = None if cursor is None else decode_cursor(cursor, TrailPosition)
        return await self._worker.read(
            lambda tree: self._listings.redactions_page(
                tree, scope, since=start, behind=behind, limit=limit
            )
        )
