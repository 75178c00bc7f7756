"""Scopes of the old tables: documents, versions and their erasures, moved by SQL alone."""

from collections.abc import Sequence
from typing import TypeAlias

from commonhold.adapters.postgres.adoption.reports import UnitKind
from commonhold.adapters.postgres.adoption.statements import scope_statements
from commonhold.adapters.postgres.adoption.units import Landing, UnitQueries, odd_row
from commonhold.adapters.postgres.statements import statements_in
from commonhold.contract.errors import MemoryConflictError, PathInvalidError, ScopeInvalidError
from commonhold.contract.ids import check_path, check_scope
from commonhold.migrations.connections import Connection

_OddPaths: TypeAlias = tuple[list[str], list[str], list[str]]

_PATHS_AT_ONCE = 1000


class AdoptedScopes:
    """A scope is taken once it holds anything."""

    kind: UnitKind = "scope"

    def __init__(self, *, source: str, target: str) -> None:
        self._sql = scope_statements(source, target)
        self._lock = statements_in(target).documents.lock_scope
        self.queries = UnitQueries(
            page=self._sql.list_scopes,
            measure=self._sql.measure_scopes,
            taken=self._sql.list_taken_scopes,
        )

    def fault_of(self, name: str) -> str | None:
        try:
            check_scope(name)
        except ScopeInvalidError as error:
            return error.reason
        return None

    def conflict(self, name: str) -> MemoryConflictError:
        return MemoryConflictError(scope=name, path=None, reason="target_occupied")

    async def claim(self, conn: Connection, names: Sequence[str]) -> set[str]:
        """Keep every writer out of the scopes; which of them hold nothing yet."""
        for scope in sorted(names):
            await conn.execute(self._lock, scope)
        found = await conn.fetch(self.queries.taken, names)
        return set(names) - {row["unit"] for row in found}

    async def land(self, conn: Connection, names: Sequence[str], *, is_fresh: bool) -> Landing:
        sql, given = self._sql, (names, *await self._odd_paths(conn, names))
        if is_fresh:
            for copy in (sql.copy_versions, sql.copy_heads, sql.copy_redactions):
                await conn.execute(copy, *given)
        differing: set[str] = set()
        for compare in (
            sql.list_differing_versions,
            sql.list_differing_heads,
            sql.list_differing_redactions,
        ):
            differing |= {row["unit"] for row in await conn.fetch(compare, *given)}
        odd = await conn.fetch(sql.list_odd_scope_rows, *given)
        return Landing(
            differing=frozenset(differing), odd=tuple(odd_row(row, kind=self.kind) for row in odd)
        )

    async def _odd_paths(self, conn: Connection, scopes: Sequence[str]) -> _OddPaths:
        """Scope, path and reason of each path that breaks the grammar."""
        odd: _OddPaths = ([], [], [])
        async for row in conn.cursor(self._sql.list_paths, scopes, prefetch=_PATHS_AT_ONCE):
            try:
                check_path(row["path"])
            except PathInvalidError as error:
                reason = f"its path is not one: {error.reason}"
                for column, value in zip(odd, (row["scope"], row["path"], reason), strict=True):
                    column.append(value)
        return odd
