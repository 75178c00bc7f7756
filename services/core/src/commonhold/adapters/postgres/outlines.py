"""Outlines on one connection (docs/reference/stores.md, section 18)."""

from collections.abc import Sequence

from commonhold.adapters.postgres import rows
from commonhold.adapters.postgres.connections import AFTER_ANY
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
        lows, highs = _ranges_without(excluding)
        found = await conn.fetch(self._sql.outline_documents, scope, lows, highs, excluding, newest)
        entries = [rows.entry(row, scope=scope) for row in found if row["path"] is not None]
        return Outline(
            newest=tuple(newest_first(entries)),
            counts={row["directory"]: row["documents"] for row in found if row["path"] is None},
        )


def _ranges_without(prefixes: Sequence[str]) -> tuple[list[str], list[str]]:
    """Where the ranges start, and before what they end, that hold every other path once."""
    lows, highs = [""], list[str]()
    for prefix in sorted(prefixes):
        # A prefix of the one before is sorted before it, so what it covers is behind already.
        if prefix >= lows[-1]:
            highs.append(prefix)
            lows.append(prefix + AFTER_ANY)
    return lows, [*highs, AFTER_ANY]
