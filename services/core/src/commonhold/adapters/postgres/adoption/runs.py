"""A run from end to end: refuse what does not fit, then copy unit by unit.

A run keeps no record of how far it is: a unit lands whole, with its rows compared, or not
at all, and one that is there and equal is passed over. So a run that was killed is simply
started again (docs/adr/0030-adoption-keeps-no-record.md).
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

import asyncpg

from commonhold.adapters.postgres.adoption.conversations import AdoptedConversations
from commonhold.adapters.postgres.adoption.reports import AdoptionReport, OddRow
from commonhold.adapters.postgres.adoption.scopes import AdoptedScopes
from commonhold.adapters.postgres.adoption.statements import every_statement, scope_statements
from commonhold.adapters.postgres.adoption.units import UnitTables
from commonhold.adapters.postgres.connections import PATIENT, connect, transaction
from commonhold.contract.errors import CommonholdError, ConfigurationError
from commonhold.migrations import explain, is_compatible
from commonhold.migrations.connections import Connection
from commonhold.migrations.runner import read_state, refusal

GENERATION = 4

_CONNECT_TIMEOUT_SECONDS = 10.0
_UNITS_AT_ONCE = 500
# A unit of more rows is a transaction of its own.
_ROWS_AT_ONCE = 5_000
_SETTINGS = {
    **PATIENT,
    # The lists of names differ too much for one plan.
    "plan_cache_mode": "force_custom_plan",
    # Fewer merges into the index on text, each for more rows. What is pending behind a run is
    # found by searches all the same, and merged by the next vacuum.
    "gin_pending_list_limit": "'32MB'",
}


class AdoptionError(CommonholdError):
    """Nothing, or whole units, were copied; the message says what to do."""

    code = "adoption_error"


async def adopt(
    dsn: str,
    *,
    source: str,
    target: str,
    started: Callable[[int], None],
    moved: Callable[[int], None],
) -> AdoptionReport:
    """Copy the schema `source` into the schema `target`; the progress is told in old rows.

    Raises AdoptionError when either schema is not what it must be, or the copy of a unit is
    not equal; and, with nothing written, the conflict of the first unit that is there already
    and differs.
    """
    if source == target:
        raise ConfigurationError(f"schema {source!r} cannot be adopted into itself")
    try:
        async with _connection(dsn) as conn:
            return await _Run(conn, source=source, target=target, moved=moved).run(started)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        raise AdoptionError(refusal(error)) from error


class _Run:
    def __init__(
        self, conn: Connection, *, source: str, target: str, moved: Callable[[int], None]
    ) -> None:
        self._conn = conn
        self._source = source
        self._target = target
        self._moved = moved
        self._odd: list[OddRow] = []
        self._rows = 0
        self._found = 0

    async def run(self, started: Callable[[int], None]) -> AdoptionReport:
        scopes = AdoptedScopes(source=self._source, target=self._target)
        conversations = AdoptedConversations(source=self._source, target=self._target)
        total = await self._check_schemas()
        for tables in (scopes, conversations):
            await self._refuse_taken(tables)
        started(total)
        copied = [await self._copy(tables) for tables in (scopes, conversations)]
        if self._rows != total:
            raise AdoptionError(
                f"{total} rows were counted at first and {self._rows} were met:"
                f" stop what writes to schema {self._source!r} and run this again"
            )
        return AdoptionReport(
            scopes=copied[0],
            conversations=copied[1],
            found=self._found,
            rows=self._rows,
            odd=tuple(self._odd),
        )

    async def _check_schemas(self) -> int:
        """How many rows there are to adopt."""
        state = await read_state(self._conn, schema=self._target)
        if not is_compatible(state):
            raise AdoptionError(explain(state, schema=self._target))
        marker = f'"{self._source}".neosian_schema'
        if await self._conn.fetchval("SELECT to_regclass($1)", marker) is None:
            raise AdoptionError(f"schema {self._source!r} holds no tables to adopt")
        sql = scope_statements(self._source, self._target)
        generation = await self._conn.fetchval(sql.read_state)
        if generation != GENERATION:
            raise AdoptionError(
                f"schema {self._source!r} is of generation {generation}, this release adopts"
                f" {GENERATION}: bring it there with the service that wrote it"
            )
        async with transaction(self._conn, settings=_SETTINGS):
            for statement in every_statement(self._source, self._target):
                # A table or a column that is not there shows before anything is written.
                await self._conn.prepare(statement)
            total: int = await self._conn.fetchval(sql.count_rows)
        return total

    async def _refuse_taken(self, tables: UnitTables) -> None:
        """Raise the conflict of the first unit that is there and is not a copy."""
        async for sizes in self._pages(tables):
            async with transaction(self._conn, settings=_SETTINGS):
                found = await self._conn.fetch(tables.queries.taken, list(sizes))
                taken = {row["unit"]: sizes[row["unit"]] for row in found}
                for names in _batches(taken):
                    landing = await tables.land(self._conn, names, is_fresh=False)
                    if landing.differing:
                        raise tables.conflict(min(landing.differing))

    async def _copy(self, tables: UnitTables) -> int:
        """How many units there are now."""
        count = 0
        async for sizes in self._pages(tables):
            fit = {name: held for name, held in sizes.items() if self._is_fit(tables, name, held)}
            for names in _batches(fit):
                async with transaction(self._conn, settings=_SETTINGS):
                    await self._land(tables, names)
                count += len(names)
                self._advance(sum(sizes[name] for name in names))
        return count

    def _is_fit(self, tables: UnitTables, name: str, held: int) -> bool:
        """Whether a unit can have the name; one that cannot is left out, whole."""
        fault = tables.fault_of(name)
        if fault is not None:
            reason = f"its name is not one: {fault} (rows: {held})"
            self._odd.append(
                OddRow(verdict="left out", kind=tables.kind, unit=name, name="", reason=reason)
            )
            self._advance(held)
        return fault is None

    async def _land(self, tables: UnitTables, names: Sequence[str]) -> None:
        free = await tables.claim(self._conn, names)
        for is_fresh in (True, False):
            some = [name for name in names if (name in free) is is_fresh]
            if not some:
                continue
            landing = await tables.land(self._conn, some, is_fresh=is_fresh)
            if landing.differing and not is_fresh:
                raise tables.conflict(min(landing.differing))
            if landing.differing:
                raise AdoptionError(
                    f"the copy of {tables.kind} {min(landing.differing)} is not what it came from:"
                    f" stop what writes to schema {self._source!r} and run this again"
                )
            self._odd += landing.odd
        self._found += len(names) - len(free)

    async def _pages(self, tables: UnitTables) -> AsyncIterator[dict[str, int]]:
        """Names of units with the number of their old rows."""
        after: str | None = None
        while True:
            async with transaction(self._conn, settings=_SETTINGS):
                page = await self._conn.fetch(tables.queries.page, after, _UNITS_AT_ONCE)
                names = [row["unit"] for row in page]
                measured = await self._conn.fetch(tables.queries.measure, names)
            if not names:
                return
            yield {row["unit"]: row["held"] for row in measured}
            after = names[-1]

    def _advance(self, rows: int) -> None:
        self._rows += rows
        self._moved(rows)


def _batches(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Units for one transaction each: many small ones together, a large one alone."""
    names: list[str] = []
    rows = 0
    for name, held in sizes.items():
        if names and rows + held > _ROWS_AT_ONCE:
            yield names
            names, rows = [], 0
        names.append(name)
        rows += held
    if names:
        yield names


@asynccontextmanager
async def _connection(dsn: str) -> AsyncIterator[Connection]:
    conn = await connect(dsn, settings={}, timeout_seconds=_CONNECT_TIMEOUT_SECONDS)
    try:
        yield conn
    finally:
        await conn.close(timeout=_CONNECT_TIMEOUT_SECONDS)
