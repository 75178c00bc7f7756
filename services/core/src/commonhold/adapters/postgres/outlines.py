"""Outlines on one connection (docs/reference/stores.md, section 18)."""

from collections.abc import Sequence

from commonhold.adapters.postgres import rows
from commonhold.adapters.postgres.statements import OutlineStatements
from commonhold.contract.outlines import Outline, newest_first
from commonhold.migrations.connections import Connection


class Outlines:
    """`SQL` for one schema; arguments have been checked by the store."""

    def __init__(self, sql: OutlineStatements) -> None:
        self._sql = sql

    async def outline(
        self, conn: Connection, scope: str, *, excluding: Sequence[str], newest: int
    ) -> Outline:
        found = await conn.fetch(self._sql.outline_documents, scope, excluding, newest)
        entries = [rows.entry(row, scope=scope) for row in found if row["path"] is not None]
        return Outline(
            newest=tuple(newest_first(entries)),
            counts={row["directory"]: row["documents"] for row in found if row["path"] is None},
        )
