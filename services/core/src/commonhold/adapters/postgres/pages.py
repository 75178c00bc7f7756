"""Listings in pages: one row more than asked for tells whether a page follows."""

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from commonhold.adapters.postgres.connections import LARGEST_BIGINT
from commonhold.adapters.postgres.documents import Documents
from commonhold.contract.documents import MemoryDigest, MemoryEntry, MemoryRedaction, MemoryVersion
from commonhold.contract.expirations import AgedDocument
from commonhold.contract.paging import (
    PAGE_BYTES,
    AgedPosition,
    DigestsPosition,
    HistoryPosition,
    ListPosition,
    Page,
    TrailPosition,
    VersionsPosition,
    encode_cursor,
    from_microseconds,
    page_of,
    to_microseconds,
)
from commonhold.migrations.connections import Connection


class Pages:
    """Arguments have been checked by the store, cursors decoded."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    async def list_documents(
        self, conn: Connection, scope: str, *, prefix: str, after: ListPosition | None, limit: int
    ) -> Page[MemoryEntry]:
        found = await self._documents.list_documents(
            conn, scope, prefix=prefix, after=after.path if after else "", limit=_one_more(limit)
        )
        return page_of(found, limit=limit, position=lambda row: ListPosition(row.path))

    async def digest_documents(
        self,
        conn: Connection,
        scope: str,
        *,
        prefix: str,
        after: DigestsPosition | None,
        limit: int,
    ) -> Page[MemoryDigest]:
        found = await self._documents.digest_documents(
            conn, scope, prefix=prefix, after=after.path if after else "", limit=_one_more(limit)
        )
        return page_of(found, limit=limit, position=lambda row: DigestsPosition(row.path))

    async def aged_documents(
        self,
        conn: Connection,
        scope: str,
        *,
        before: datetime,
        after: AgedPosition | None,
        limit: int,
    ) -> Page[AgedDocument]:
        found = await self._documents.aged_documents(
            conn, scope, before=before, after=after.path if after else "", limit=_one_more(limit)
        )
        return page_of(found, limit=limit, position=lambda row: AgedPosition(row.path))

    async def versions(
        self,
        conn: Connection,
        scope: str,
        path: str,
        *,
        before: VersionsPosition | None,
        limit: int,
    ) -> Page[MemoryVersion]:
        found, is_cut = await self._documents.versions(
            conn,
            scope,
            path,
            before=before.version if before else LARGEST_BIGINT,
            limit=limit + 1,
            max_bytes=PAGE_BYTES,
        )
        return _page(found, is_cut=is_cut, limit=limit, position=_versions_position)

    async def history(
        self,
        conn: Connection,
        scope: str,
        *,
        since: datetime | None,
        after: HistoryPosition | None,
        limit: int,
    ) -> Page[MemoryVersion]:
        found, is_cut = await self._documents.history(
            conn,
            scope,
            since=since,
            limit=limit + 1,
            after=None if after is None else _history_key(after),
            max_bytes=PAGE_BYTES,
        )
        return _page(found, is_cut=is_cut, limit=limit, position=_history_position)

    async def redactions(
        self,
        conn: Connection,
        scope: str,
        *,
        since: datetime | None,
        after: TrailPosition | None,
        limit: int,
    ) -> Page[MemoryRedaction]:
        before = (None, LARGEST_BIGINT) if after is None else _trail_key(after)
        found, is_cut = await self._documents.redactions(
            conn, scope, since=since, limit=_one_more(limit), before=before, max_bytes=PAGE_BYTES
        )
        kept = found[:limit]
        acts = tuple(act for _row, act in kept)
        if not is_cut and len(found) <= limit:
            return Page(items=acts)
        row, last = kept[-1]
        position = TrailPosition(to_microseconds(last.created_at), row)
        return Page(items=acts, next_cursor=encode_cursor(position))


def _page(
    found: Sequence[MemoryVersion],
    *,
    is_cut: bool,
    limit: int,
    position: Callable[[MemoryVersion], msgspec.Struct],
) -> Page[MemoryVersion]:
    """A page that ended by its weight goes on behind its last row, like one that is full."""
    if is_cut and len(found) <= limit:
        return Page(items=tuple(found), next_cursor=encode_cursor(position(found[-1])))
    return page_of(found, limit=limit, position=position)


def _versions_position(row: MemoryVersion) -> VersionsPosition:
    return VersionsPosition(row.version)


def _history_key(position: HistoryPosition) -> tuple[datetime, str, int]:
    return from_microseconds(position.created_at), position.path, position.version


def _history_position(row: MemoryVersion) -> HistoryPosition:
    return HistoryPosition(to_microseconds(row.created_at), row.path, row.version)


def _trail_key(position: TrailPosition) -> tuple[datetime, int]:
    return from_microseconds(position.created_at), position.row


def _one_more(limit: int) -> int:
    """The row that tells whether a page follows; no column counts further anyway."""
    return min(limit, LARGEST_BIGINT - 1) + 1
