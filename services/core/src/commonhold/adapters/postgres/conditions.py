"""Deletion, renaming and erasure by version (docs/reference/stores.md, sections 15 and 19).

The heads of the document and of its witnesses are locked together, in key order, and what
the locked rows say decides; the mutation itself is the unconditional one.
"""

from collections.abc import Mapping, Sequence

import asyncpg

from commonhold.adapters.postgres import rows
from commonhold.adapters.postgres.connections import PATIENT, transaction
from commonhold.adapters.postgres.documents import Documents
from commonhold.adapters.postgres.statements import DocumentStatements
from commonhold.contract.documents import MemoryDocument
from commonhold.contract.errors import MemoryConflictError
from commonhold.contract.stores import Witness
from commonhold.migrations.connections import Connection


class Conditions:
    """Arguments have been checked by the store."""

    def __init__(self, sql: DocumentStatements, documents: Documents) -> None:
        self._sql = sql
        self._documents = documents

    async def delete(
        self,
        conn: Connection,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness],
        actor: str | None,
    ) -> int:
        async with transaction(conn):
            await conn.execute(self._sql.lock_scope_shared, scope)
            heads = await self._lock(conn, scope, [path, *_paths(witnesses)])
            _require_live(heads, scope, path, expected_version)
            _require_standing(heads, scope, witnesses)
            number = await self._documents.bury(conn, scope, path, actor=actor)
        if number is None:
            raise AssertionError("a locked document was gone")
        return number

    async def rename(
        self,
        conn: Connection,
        scope: str,
        src: str,
        dst: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness],
        actor: str | None,
    ) -> MemoryDocument:
        async with transaction(conn):
            await conn.execute(self._sql.lock_scope_shared, scope)
            # Before any lock: whoever makes the same heads locks others only after that.
            await conn.execute(self._sql.claim_heads, scope, sorted({src, dst}))
            heads = await self._lock(conn, scope, [src, dst, *_paths(witnesses)])
            _require_live(heads, scope, src, expected_version)
            if heads[dst]["is_live"]:
                raise MemoryConflictError(scope=scope, path=dst, reason="destination_exists")
            _require_standing(heads, scope, witnesses)
            return await self._documents.rename(conn, scope, src, dst, actor=actor)

    async def redact(
        self, conn: Connection, scope: str, path: str, *, expected_version: int, actor: str | None
    ) -> None:
        async with transaction(conn, settings=PATIENT):
            await conn.execute(self._sql.lock_scope_shared, scope)
            head = (await self._lock(conn, scope, [path])).get(path)
            # Live or deleted: the head has the number of the newest version.
            newest = None if head is None else head["version"]
            if newest != expected_version:
                raise MemoryConflictError(
                    scope=scope,
                    path=path,
                    reason="document_absent" if newest is None else "version_mismatch",
                    expected_version=expected_version,
                    actual_version=newest,
                )
            await self._documents.redact(conn, scope, path=path, actor=actor)

    async def _lock(
        self, conn: Connection, scope: str, paths: Sequence[str]
    ) -> Mapping[str, asyncpg.Record]:
        found = await conn.fetch(self._sql.lock_versions, scope, paths)
        return {row["path"]: row for row in found}


def _paths(witnesses: Sequence[Witness]) -> list[str]:
    return [path for path, _ in witnesses]


def _require_live(
    heads: Mapping[str, asyncpg.Record], scope: str, path: str, expected_version: int
) -> None:
    head = heads.get(path)
    if head is not None and head["is_live"]:
        rows.check_memory_format(head["format"], scope=scope, path=path)
    _require_standing(heads, scope, [(path, expected_version)])


def _require_standing(
    heads: Mapping[str, asyncpg.Record], scope: str, witnesses: Sequence[Witness]
) -> None:
    for path, version in witnesses:
        head = heads.get(path)
        actual = head["version"] if head is not None and head["is_live"] else None
        if actual != version:
            raise MemoryConflictError(
                scope=scope,
                path=path,
                reason="document_absent" if actual is None else "version_mismatch",
                expected_version=version,
                actual_version=actual,
            )
