"""The memory seam on one connection: each mutation as docs/reference/stores.md has it.

Methods take a connection, so that the same code runs alone or inside the transaction of
an idempotency key. Names have been checked by the store.
"""

from collections.abc import Sequence
from datetime import datetime

import asyncpg

from commonhold.adapters.postgres import rows
from commonhold.adapters.postgres.connections import (
    AFTER_ANY,
    LARGEST_BIGINT,
    PATIENT,
    NothingMatchedError,
    transaction,
)
from commonhold.adapters.postgres.statements import DocumentStatements, KeyStatements
from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.documents import (
    MemoryDigest,
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
)
from commonhold.contract.errors import DocumentNotFoundError, MemoryConflictError
from commonhold.contract.expirations import AgedDocument
from commonhold.contract.text import NUL
from commonhold.migrations.connections import Connection

# What str.strip takes away; the database has another idea of white space.
WHITE_SPACE = "".join(chr(point) for point in range(0x3001) if chr(point).isspace() and point)


class Documents:
    """`SQL` for one schema and the clock; no state of its own."""

    def __init__(self, sql: DocumentStatements, keys: KeyStatements, clock: Clock) -> None:
        self._sql = sql
        self._keys = keys
        self._clock = clock

    async def read(self, conn: Connection, scope: str, path: str) -> MemoryDocument | None:
        row = await conn.fetchrow(self._sql.select_document, scope, path)
        return None if row is None else rows.document(row, scope=scope, path=path)

    async def write(
        self,
        conn: Connection,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None,
        expected_version: int | None,
    ) -> MemoryDocument:
        if expected_version is not None:
            return await self._write_at_version(
                conn, scope, path, content, actor=actor, expected_version=expected_version
            )
        now = read_clock(self._clock)
        row = await conn.fetchrow(self._sql.write_document, scope, path, content, actor, now)
        if row is None:
            found = await conn.fetchval(self._sql.select_head_format, scope, path)
            rows.check_memory_format(found, scope=scope, path=path)
            raise AssertionError("a write of a supported format came back empty")
        return _written(row, scope=scope, path=path, content=content, actor=actor)

    async def create(
        self, conn: Connection, scope: str, path: str, content: str, *, actor: str | None
    ) -> MemoryDocument:
        now = read_clock(self._clock)
        row = await conn.fetchrow(self._sql.create_document, scope, path, content, actor, now)
        if row is None:
            raise MemoryConflictError(scope=scope, path=path, reason="destination_exists")
        return _written(row, scope=scope, path=path, content=content, actor=actor)

    async def _write_at_version(
        self,
        conn: Connection,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None,
        expected_version: int,
    ) -> MemoryDocument:
        now = read_clock(self._clock)
        # No version is 0, so a number no column can hold matches as little as 0 does.
        wanted = expected_version if 0 < expected_version <= LARGEST_BIGINT else 0
        row = await conn.fetchrow(
            self._sql.write_document_at_version, scope, path, content, actor, now, wanted
        )
        if row is None:
            raise MemoryConflictError(
                scope=scope, path=path, reason="document_absent", expected_version=expected_version
            )
        rows.check_memory_format(row["format"], scope=scope, path=path)
        if row["version"] is None:
            raise MemoryConflictError(
                scope=scope,
                path=path,
                reason="version_mismatch",
                expected_version=expected_version,
                actual_version=row["actual_version"],
            )
        return _written(row, scope=scope, path=path, content=content, actor=actor)

    async def delete(self, conn: Connection, scope: str, path: str, *, actor: str | None) -> bool:
        return await self.bury(conn, scope, path, actor=actor) is not None

    async def bury(
        self, conn: Connection, scope: str, path: str, *, actor: str | None
    ) -> int | None:
        """Delete; the number of the `deleted` row, None when nothing was live."""
        now = read_clock(self._clock)
        row = await conn.fetchrow(self._sql.delete_document, scope, path, actor, now)
        if row is None:
            return None
        rows.check_memory_format(row["format"], scope=scope, path=path)
        return int(row["version"])

    async def rename(
        self, conn: Connection, scope: str, src: str, dst: str, *, actor: str | None
    ) -> MemoryDocument:
        now = read_clock(self._clock)
        async with transaction(conn):
            heads = await self._lock_heads(conn, scope, [src, dst])
            source, target = heads[src], heads[dst]
            if not source["is_live"]:
                raise DocumentNotFoundError(scope=scope, path=src)
            if target["is_live"]:
                raise MemoryConflictError(scope=scope, path=dst, reason="destination_exists")
            rows.check_memory_format(source["format"], scope=scope, path=src)
            moved_at = max(now, rows.aware(source["newest_at"]), rows.aware(target["newest_at"]))
            gone = source["highest_version"] + 1
            come = target["highest_version"] + 1
            content, redacted = source["content"], source["redacted"]
            await conn.execute(self._sql.bury_head, scope, src, gone, moved_at, actor)
            await conn.execute(
                self._sql.revive_head,
                *(scope, dst, come, moved_at, actor, content, redacted, source["extra"]),
            )
            for path, number, action in ((src, gone, "deleted"), (dst, come, "created")):
                await conn.execute(
                    self._sql.insert_version,
                    *(scope, path, number, action, content, actor, moved_at, redacted),
                )
        return MemoryDocument(
            scope=scope,
            path=dst,
            content=content,
            version=come,
            created_at=moved_at,
            updated_at=moved_at,
            actor=actor,
            redacted=redacted,
            extra=rows.decode_extra(source["extra"], scope=scope, path=src),
        )

    async def redact(
        self, conn: Connection, scope: str, *, path: str | None, actor: str | None
    ) -> int:
        now = read_clock(self._clock)
        try:
            async with transaction(conn, settings=PATIENT):
                if path is None:
                    return await self._redact_scope(conn, scope, actor=actor, now=now)
                return await self._redact_path(conn, scope, path, actor=actor, now=now)
        except NothingMatchedError:
            return 0

    async def _redact_path(
        self, conn: Connection, scope: str, path: str, *, actor: str | None, now: datetime
    ) -> int:
        head = (await self._lock_heads(conn, scope, [path]))[path]
        if head["highest_version"] == 0:
            raise NothingMatchedError
        acted_at = max(now, rows.aware(head["newest_at"]))
        await conn.execute(self._sql.blank_head, scope, path, acted_at)
        await conn.execute(self._sql.blank_versions, scope, path)
        await conn.execute(self._keys.forget_document_digests, scope, path)
        await conn.execute(self._sql.insert_document_redaction, scope, path, actor, acted_at, 1)
        return 1

    async def _redact_scope(
        self, conn: Connection, scope: str, *, actor: str | None, now: datetime
    ) -> int:
        # Alone in the scope: a path that a writer is about to create has no row to lock.
        await conn.execute(self._sql.lock_scope, scope)
        extent = await conn.fetchrow(self._sql.select_scope_extent, scope)
        count = extent["paths"] if extent is not None else 0
        if extent is None or count == 0:
            return 0
        acted_at = max(now, rows.aware(extent["newest_at"]))
        await conn.execute(self._sql.blank_scope_heads, scope, acted_at)
        await conn.execute(self._sql.blank_scope_versions, scope)
        await conn.execute(self._keys.forget_scope_digests, scope)
        await conn.execute(self._sql.insert_document_redaction, scope, None, actor, acted_at, count)
        return int(count)

    async def _lock_heads(
        self, conn: Connection, scope: str, paths: Sequence[str]
    ) -> dict[str, asyncpg.Record]:
        """The heads by path, made where missing, locked in key order.

        Each statement sees what committed while the one before it waited.
        """
        await conn.execute(self._sql.lock_scope_shared, scope)
        await conn.execute(self._sql.claim_heads, scope, sorted(set(paths)))
        found = await conn.fetch(self._sql.lock_heads, scope, paths)
        return {row["path"]: row for row in found}

    async def list_documents(
        self, conn: Connection, scope: str, *, prefix: str, after: str, limit: int | None
    ) -> list[MemoryEntry]:
        if NUL in prefix:
            return []
        found = await conn.fetch(
            self._sql.list_documents, scope, after, prefix, prefix + AFTER_ANY, limit
        )
        return [rows.entry(row, scope=scope) for row in found]

    async def digest_documents(
        self, conn: Connection, scope: str, *, prefix: str, after: str, limit: int
    ) -> list[MemoryDigest]:
        if NUL in prefix:
            return []
        found = await conn.fetch(
            self._sql.digest_documents,
            *(scope, after, prefix, prefix + AFTER_ANY, limit, WHITE_SPACE),
        )
        return [rows.digest(row, scope=scope) for row in found]

    async def aged_documents(
        self, conn: Connection, scope: str, *, before: datetime, after: str, limit: int
    ) -> list[AgedDocument]:
        found = await conn.fetch(self._sql.list_aged_documents, scope, after, before, limit)
        return [
            AgedDocument(
                path=row["path"], version=row["version"], changed_at=rows.aware(row["updated_at"])
            )
            for row in found
        ]

    async def versions(
        self,
        conn: Connection,
        scope: str,
        path: str,
        *,
        before: int,
        limit: int | None,
        max_bytes: int = LARGEST_BIGINT,
    ) -> tuple[list[MemoryVersion], bool]:
        """The rows, and whether some were left out for their weight."""
        found = await conn.fetch(self._sql.list_versions, scope, path, before, limit, max_bytes)
        return [rows.version(row, scope=scope) for row in found], rows.is_cut(found)

    async def get_version(
        self, conn: Connection, scope: str, path: str, version: int
    ) -> MemoryVersion | None:
        row = await conn.fetchrow(self._sql.select_version, scope, path, version)
        return None if row is None else rows.version(row, scope=scope)

    async def history(
        self,
        conn: Connection,
        scope: str,
        *,
        since: datetime | None,
        limit: int | None,
        after: tuple[datetime, str, int] | None = None,
        max_bytes: int = LARGEST_BIGINT,
    ) -> tuple[list[MemoryVersion], bool]:
        """The rows behind `after`, and whether some were left out for their weight."""
        if after is None:
            found = await conn.fetch(self._sql.list_history, scope, since, limit, max_bytes)
        else:
            found = await conn.fetch(
                self._sql.list_history_after, scope, since, limit, max_bytes, *after
            )
        return [rows.version(row, scope=scope) for row in found], rows.is_cut(found)

    async def redactions(
        self,
        conn: Connection,
        scope: str,
        *,
        since: datetime | None,
        limit: int | None,
        before: tuple[datetime | None, int] = (None, LARGEST_BIGINT),
        max_bytes: int = LARGEST_BIGINT,
    ) -> tuple[list[tuple[int, MemoryRedaction]], bool]:
        """Acts with the row numbers that page positions name; whether some are left out."""
        found = await conn.fetch(
            self._sql.list_document_redactions, scope, since, limit, *before, max_bytes
        )
        acts = [(row["id"], rows.document_redaction(row, scope=scope)) for row in found]
        return acts, rows.is_cut(found)


def _written(
    row: asyncpg.Record, *, scope: str, path: str, content: str, actor: str | None
) -> MemoryDocument:
    return MemoryDocument(
        scope=scope,
        path=path,
        content=content,
        version=row["version"],
        created_at=rows.aware(row["created_at"]),
        updated_at=rows.aware(row["updated_at"]),
        actor=actor,
        extra=rows.decode_extra(row["extra"], scope=scope, path=path),
    )
