"""The conversation seam and the eraser on one connection (docs/reference/stores.md, section 5)."""

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
from commonhold.adapters.postgres.statements import KeyStatements, TurnStatements
from commonhold.adapters.postgres.trigrams import Trigrams
from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.messages import Message, encode_messages
from commonhold.contract.search import fold, turn_text
from commonhold.contract.text import NUL
from commonhold.contract.turns import (
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
)
from commonhold.migrations.connections import Connection

# What an answer without pages may weigh. It is decided where the rows are, so that no service
# has to hold what it will refuse.
ANSWER_BYTES = 64 * 1024 * 1024

# Characters from which an append has no statement timeout: the search index takes up to a
# third of a second for each million of them, and a client can do nothing but send them again.
LARGE_TEXT = 4 * 1024 * 1024

_ANYTHING = "%"
_NO_FENCE = (None, None, None, None)
_PLAN_FOR_THESE_TERMS = {"plan_cache_mode": "force_custom_plan", "jit": "off"}


class Turns:
    """`SQL` for one schema, the clock, and what is known of the trigrams of the turns."""

    def __init__(self, sql: TurnStatements, keys: KeyStatements, clock: Clock) -> None:
        self._sql = sql
        self._keys = keys
        self._clock = clock
        self._trigrams = Trigrams(sql.sample_search_texts)

    async def append(
        self,
        conn: Connection,
        conversation_id: str,
        messages: tuple[Message, ...],
        *,
        actor: str | None,
    ) -> ConversationTurn:
        text = fold(turn_text(messages))
        arguments = (
            *(conversation_id, encode_messages(messages).decode(), actor),
            *(read_clock(self._clock), text),
        )
        if len(text) < LARGE_TEXT:
            row = await conn.fetchrow(self._sql.append_turn, *arguments)
        else:
            async with transaction(conn, settings=PATIENT):
                row = await conn.fetchrow(self._sql.append_turn, *arguments)
        if row is None:
            raise AssertionError("an append came back empty")
        return ConversationTurn(
            conversation_id=conversation_id,
            turn=row["turn"],
            messages=messages,
            created_at=rows.aware(row["created_at"]),
            actor=actor,
        )

    async def list_turns(
        self,
        conn: Connection,
        conversation_id: str,
        *,
        after: int,
        limit: int | None,
        max_bytes: int = LARGEST_BIGINT,
    ) -> tuple[tuple[ConversationTurn, ...], bool]:
        """The turns, and whether some were left out for their weight."""
        found = await conn.fetch(self._sql.list_turns, conversation_id, after, limit, max_bytes)
        return tuple(rows.turn(row) for row in found), rows.is_cut(found)

    async def get_turn(
        self, conn: Connection, conversation_id: str, number: int
    ) -> ConversationTurn | None:
        row = await conn.fetchrow(self._sql.select_turn, conversation_id, number)
        return None if row is None else rows.turn(row)

    async def last_number(self, conn: Connection, conversation_id: str) -> int:
        found = await conn.fetchval(self._sql.select_last_turn, conversation_id)
        return 0 if found is None else int(found)

    async def search(
        self,
        conn: Connection,
        terms: Sequence[str],
        *,
        conversations: Sequence[str] | None = None,
        prefixes: Sequence[str] | None = None,
        limit: int,
    ) -> tuple[ConversationTurn, ...]:
        """Hits among the conversations of that name or prefix; None is no such fence."""
        if any(NUL in term for term in terms):
            return ()
        fence = (conversations, prefixes, *_hull(prefixes))
        patterns = sorted({_containing(term) for term in terms}, key=len, reverse=True)
        rare = (await self._trigrams.sample(conn)).parts(terms)
        if rare is not None:
            asked = (*map(_containing, rare), patterns)
        else:
            first, second, *others = [*patterns, _ANYTHING] if len(patterns) == 1 else patterns
            asked = (first, second, others)
        arguments = (*asked, limit, ANSWER_BYTES, *fence)
        if rare is not None and fence == _NO_FENCE:
            # Any plan is the one by the index, so the search needs no transaction of its own.
            found = await conn.fetch(self._sql.search_turns, *arguments)
        else:
            # The right plan depends on the terms: the index for rare ones, the newest turns
            # first for common ones. A plan made once for all would be wrong for one of them.
            async with transaction(conn, settings=_PLAN_FOR_THESE_TERMS):
                found = await conn.fetch(self._sql.search_turns, *arguments)
        _require_light(found, held="messages")
        return tuple(rows.turn(row) for row in found)

    async def append_projections(
        self, conn: Connection, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        await conn.execute(self._sql.append_projections, conversation_id, *_columns(entries))

    async def list_projections(
        self,
        conn: Connection,
        conversation_id: str,
        *,
        after: int,
        limit: int | None,
        max_bytes: int = LARGEST_BIGINT,
    ) -> tuple[tuple[ConversationProjection, ...], bool]:
        """The entries, and whether some were left out for their weight."""
        found = await conn.fetch(
            self._sql.list_projections, conversation_id, after, limit, max_bytes
        )
        entries = tuple(rows.projection(row, conversation_id=conversation_id) for row in found)
        return entries, rows.is_cut(found)

    async def redact(
        self,
        conn: Connection,
        conversation_id: str,
        *,
        through: int | None,
        turns: Sequence[int] | None,
        actor: str | None,
    ) -> int:
        now = read_clock(self._clock)
        last = None if through is None else min(through, LARGEST_BIGINT)
        chosen = None if turns is None else [n for n in set(turns) if n <= LARGEST_BIGINT]
        try:
            async with transaction(conn, settings=PATIENT):
                await conn.execute(self._sql.claim_conversation, conversation_id)
                newest_at = await conn.fetchval(self._sql.lock_conversation, conversation_id)
                matched = await self._blank(conn, conversation_id, last, chosen)
                acted_at = max(now, rows.aware(newest_at))
                await conn.execute(self._sql.advance_conversation, conversation_id, acted_at)
                await conn.execute(
                    self._sql.insert_turn_redaction, conversation_id, matched, actor, acted_at
                )
        except NothingMatchedError:
            return 0
        return len(matched)

    async def _blank(
        self, conn: Connection, conversation_id: str, last: int | None, chosen: list[int] | None
    ) -> list[int]:
        """Blank what the selectors match, and what was derived from it; the matched numbers."""
        found = await conn.fetch(self._sql.blank_turns, conversation_id, last, chosen)
        if not found:
            raise NothingMatchedError
        matched = [row["turn"] for row in found]
        await conn.execute(self._sql.blank_projections, conversation_id, last, chosen)
        await conn.execute(self._keys.forget_turn_digests, conversation_id, matched)
        return matched

    async def redactions(
        self,
        conn: Connection,
        *,
        conversations: Sequence[str] | None,
        since: datetime | None,
        limit: int,
    ) -> tuple[ConversationRedaction, ...]:
        if conversations is None:
            found = await conn.fetch(self._sql.list_turn_redactions, since, limit, ANSWER_BYTES)
        else:
            found = await conn.fetch(
                self._sql.list_turn_redactions_of, since, limit, ANSWER_BYTES, list(conversations)
            )
        _require_light(found, held="turns")
        return tuple(rows.turn_redaction(row) for row in found)


def _require_light(found: Sequence[asyncpg.Record], *, held: str) -> None:
    """Raise ValueError when the rows were too heavy to be sent."""
    if found and found[0][held] is None:
        raise ValueError(f"the answer would pass {ANSWER_BYTES} bytes; lower the limit")


def _columns(
    entries: Sequence[ConversationProjection],
) -> tuple[list[int], list[int], list[str], list[str]]:
    return (
        [entry.turn for entry in entries],
        [entry.span for entry in entries],
        [entry.kind for entry in entries],
        [entry.text for entry in entries],
    )


def _hull(prefixes: Sequence[str] | None) -> tuple[str | None, str | None]:
    """Between what all ids with one of the prefixes lie: a range that an index can read."""
    if prefixes is None:
        return None, None
    return min(prefixes), max(prefix + AFTER_ANY for prefix in prefixes)


def _containing(term: str) -> str:
    """A LIKE pattern for the term anywhere; the query has no wildcards of its own."""
    escaped = term.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
