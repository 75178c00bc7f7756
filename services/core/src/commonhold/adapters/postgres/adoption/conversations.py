"""Conversations of the old tables: turns go through the codec, everything else by SQL."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence

import asyncpg

from commonhold.adapters.postgres.adoption.reports import OddRow, UnitKind
from commonhold.adapters.postgres.adoption.statements import conversation_statements
from commonhold.adapters.postgres.adoption.turns import (
    TurnRow,
    UnfitTurnError,
    columns,
    landed,
    odd_turn,
    oddity,
)
from commonhold.adapters.postgres.adoption.units import Landing, UnitQueries, odd_row
from commonhold.contract.errors import ConversationConflictError, ConversationIdInvalidError
from commonhold.contract.ids import check_conversation_id
from commonhold.migrations.connections import Connection

_FIRST_TURNS = 8
_MOST_TURNS = 500
# So much text is held of the old rows at a time, or one turn where that is more.
_TARGET_CHARACTERS = 4 * 1024 * 1024


class AdoptedConversations:
    """A conversation is taken once it has a head."""

    kind: UnitKind = "conversation"

    def __init__(self, *, source: str, target: str) -> None:
        self._sql = conversation_statements(source, target)
        self.queries = UnitQueries(
            page=self._sql.list_conversations,
            measure=self._sql.measure_conversations,
            taken=self._sql.list_taken_conversations,
        )

    def fault_of(self, name: str) -> str | None:
        try:
            check_conversation_id(name)
        except ConversationIdInvalidError as error:
            return error.reason
        return None

    def conflict(self, name: str) -> ConversationConflictError:
        return ConversationConflictError(conversation_id=name, reason="target_occupied")

    async def claim(self, conn: Connection, names: Sequence[str]) -> set[str]:
        """Make the heads, whose rows are the locks; which of them were not there."""
        return {row["unit"] for row in await conn.fetch(self._sql.copy_conversations, names)}

    async def land(self, conn: Connection, names: Sequence[str], *, is_fresh: bool) -> Landing:
        sql = self._sql
        if is_fresh:
            for copy in (sql.copy_projections, sql.copy_turn_redactions):
                await conn.execute(copy, names)
        turns = await self._land_turns(conn, names, is_fresh=is_fresh)
        differing = set(turns.differing)
        for compare in (
            sql.list_differing_conversations,
            sql.list_differing_projections,
            sql.list_differing_turn_redactions,
        ):
            differing |= {row["unit"] for row in await conn.fetch(compare, names)}
        odd = await conn.fetch(sql.list_odd_conversation_rows, names)
        return Landing(
            differing=frozenset(differing),
            odd=(*turns.odd, *(odd_row(row, kind=self.kind) for row in odd)),
        )

    async def _land_turns(
        self, conn: Connection, names: Sequence[str], *, is_fresh: bool
    ) -> Landing:
        expected: Counter[str] = Counter()
        differing: set[str] = set()
        odd: list[OddRow] = []
        async for old in self._old_turns(conn, names):
            rows = list(_landing(old, odd))
            expected.update(row.conversation_id for row in rows)
            given = columns(rows)
            if is_fresh:
                await conn.execute(self._sql.insert_turns, *given)
            found = await conn.fetch(self._sql.list_differing_turns, *given)
            differing |= {row["unit"] for row in found}
        found = await conn.fetch(self._sql.count_turns, names)
        held = {row["unit"]: row["held"] for row in found}
        differing |= {name for name in names if held.get(name, 0) != expected[name]}
        return Landing(differing=frozenset(differing), odd=tuple(odd))

    async def _old_turns(
        self, conn: Connection, names: Sequence[str]
    ) -> AsyncIterator[list[asyncpg.Record]]:
        """The turns in batches that are few where turns are long."""
        cursor = await conn.cursor(self._sql.list_old_turns, names)
        count = _FIRST_TURNS
        while rows := await cursor.fetch(count):
            yield rows
            longest = max(len(row["messages"]) for row in rows)
            count = max(1, min(_MOST_TURNS, 4 * count, _TARGET_CHARACTERS // longest))


def _landing(old: Sequence[asyncpg.Record], odd: list[OddRow]) -> Iterator[TurnRow]:
    """The rows that land; what is to be said of any is added to `odd`."""
    for row in old:
        try:
            yield landed(row)
        except UnfitTurnError as error:
            odd.append(odd_turn(row, verdict="left out", reason=str(error)))
            continue
        told = oddity(row)
        if told is not None:
            odd.append(told)
