"""PostgresStore: both seams and every optional protocol over one pool.

Arguments are checked here, before a connection is taken; what runs on the connection is
in the modules beside this one. Guarantees: docs/reference/stores.md.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from commonhold.adapters.postgres import checks
from commonhold.adapters.postgres.claims import PostgresClaims
from commonhold.adapters.postgres.conditions import Conditions
from commonhold.adapters.postgres.connections import LARGEST_BIGINT
from commonhold.adapters.postgres.documents import Documents
from commonhold.adapters.postgres.keys import Keys
from commonhold.adapters.postgres.mutations import (
    DirectRunner,
    FencedRunner,
    KeyedRunner,
    PostgresMutations,
    Runner,
)
from commonhold.adapters.postgres.outlines import Outlines
from commonhold.adapters.postgres.pages import Pages
from commonhold.adapters.postgres.pool import Pool
from commonhold.adapters.postgres.statements import statements_in
from commonhold.adapters.postgres.turns import Turns
from commonhold.adapters.postgres.units import Units
from commonhold.contract.claims import Claim
from commonhold.contract.clock import Clock, SystemClock, require_aware
from commonhold.contract.documents import (
    DEFAULT_VERSIONS_LIMIT,
    MemoryDigest,
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
    ScopeArchive,
)
from commonhold.contract.expirations import AgedDocument
from commonhold.contract.idempotency import IdempotencyKey, Remembered
from commonhold.contract.ids import check_conversation_id, check_path, check_scope
from commonhold.contract.outlines import Outline, require_outline
from commonhold.contract.paging import (
    AgedPosition,
    DigestsPosition,
    HistoryPosition,
    ListPosition,
    Page,
    TrailPosition,
    VersionsPosition,
    decode_cursor,
)
from commonhold.contract.search import query_terms
from commonhold.contract.text import NUL, require_encodable
from commonhold.contract.turns import (
    DEFAULT_SEARCH_LIMIT,
    DEFAULT_TRAIL_LIMIT,
    ConversationArchive,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
)
from commonhold.migrations.state import SchemaState
from commonhold.migrations.timeouts import session_settings

SYSTEM_CLOCK = SystemClock()


class PostgresStore(PostgresMutations):
    """Documents and conversations in one schema of a Postgres.

    Mutations are inherited: the guarded view has the same ones over another runner.
    """

    supports_optimistic_concurrency: ClassVar[bool] = True

    def __init__(
        self, pool: Pool, *, clock: Clock = SYSTEM_CLOCK, schema: str = "commonhold"
    ) -> None:
        sql = statements_in(schema)
        documents = Documents(sql.documents, sql.keys, clock)
        turns = Turns(sql.turns, sql.keys, clock)
        units = Units(sql.documents, sql.turns)
        super().__init__(
            DirectRunner(pool),
            documents=documents,
            conditions=Conditions(sql.documents, documents),
            turns=turns,
            units=units,
        )
        self._pool = pool
        self._sql = sql
        self._pages = Pages(documents)
        self._outlines = Outlines(sql.outlines)
        self.claims = PostgresClaims(sql.claims, pool, clock)
        self._keys = Keys(
            sql.keys,
            documents=documents,
            turns=turns,
            clock=clock,
            wait_seconds=pool.wait_seconds,
        )

    @property
    def replays(self) -> int:
        """How many answers were given from a remembered key since the store was made."""
        return self._keys.replays

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        check_scope(scope)
        check_path(path)
        async with self._pool.connection() as conn:
            return await self._documents.read(conn, scope, path)

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        check_scope(scope)
        require_encodable(prefix, name="prefix")
        async with self._pool.connection() as conn:
            found = await self._documents.list_documents(
                conn, scope, prefix=prefix, after="", limit=None
            )
        return tuple(found)

    async def outline(self, scope: str, *, excluding: Sequence[str] = (), newest: int) -> Outline:
        check_scope(scope)
        require_outline(excluding, newest)
        prefixes = [prefix for prefix in excluding if NUL not in prefix]
        bound = min(newest, LARGEST_BIGINT)
        async with self._pool.connection() as conn:
            return await self._outlines.outline(conn, scope, excluding=prefixes, newest=bound)

    async def versions(
        self, scope: str, path: str, *, limit: int = DEFAULT_VERSIONS_LIMIT
    ) -> tuple[MemoryVersion, ...]:
        check_scope(scope)
        check_path(path)
        bound = checks.memory_limit(limit)
        async with self._pool.connection() as conn:
            found, _ = await self._documents.versions(
                conn, scope, path, before=LARGEST_BIGINT, limit=bound
            )
        return tuple(found)

    async def history(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryVersion, ...]:
        check_scope(scope)
        start = checks.since_utc(since)
        bound = checks.memory_limit(limit)
        async with self._pool.connection() as conn:
            found, _ = await self._documents.history(conn, scope, since=start, limit=bound)
        return tuple(found)

    async def redactions(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryRedaction, ...]:
        check_scope(scope)
        start = checks.since_utc(since)
        bound = checks.memory_limit(limit)
        async with self._pool.connection() as conn:
            found, _ = await self._documents.redactions(conn, scope, since=start, limit=bound)
        return tuple(act for _row, act in found)

    async def list_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryEntry]:
        check_scope(scope)
        require_encodable(prefix, name="prefix")
        bound = checks.page_limit(limit)
        after = None if cursor is None else decode_cursor(cursor, ListPosition)
        async with self._pool.connection() as conn:
            return await self._pages.list_documents(
                conn, scope, prefix=prefix, after=after, limit=bound
            )

    async def digest_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryDigest]:
        check_scope(scope)
        require_encodable(prefix, name="prefix")
        bound = checks.page_limit(limit)
        after = None if cursor is None else decode_cursor(cursor, DigestsPosition)
        async with self._pool.connection() as conn:
            return await self._pages.digest_documents(
                conn, scope, prefix=prefix, after=after, limit=bound
            )

    async def aged_documents_page(
        self, scope: str, *, before: datetime, cursor: str | None = None, limit: int
    ) -> Page[AgedDocument]:
        check_scope(scope)
        start = require_aware(before, name="before")
        bound = checks.page_limit(limit)
        after = None if cursor is None else decode_cursor(cursor, AgedPosition)
        async with self._pool.connection() as conn:
            return await self._pages.aged_documents(
                conn, scope, before=start, after=after, limit=bound
            )

    async def versions_page(
        self, scope: str, path: str, *, cursor: str | None = None, limit: int
    ) -> Page[MemoryVersion]:
        check_scope(scope)
        check_path(path)
        bound = checks.page_limit(limit)
        before = None if cursor is None else decode_cursor(cursor, VersionsPosition)
        async with self._pool.connection() as conn:
            return await self._pages.versions(conn, scope, path, before=before, limit=bound)

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
        bound = checks.page_limit(limit)
        after = None if cursor is None else decode_cursor(cursor, HistoryPosition)
        async with self._pool.connection() as conn:
            return await self._pages.history(conn, scope, since=start, after=after, limit=bound)

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
        bound = checks.page_limit(limit)
        after = None if cursor is None else decode_cursor(cursor, TrailPosition)
        async with self._pool.connection() as conn:
            return await self._pages.redactions(conn, scope, since=start, after=after, limit=bound)

    async def read_turns(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationTurn, ...]:
        check_conversation_id(conversation_id)
        start, bound = checks.window(after, limit)
        async with self._pool.connection() as conn:
            found, _ = await self._turns.list_turns(conn, conversation_id, after=start, limit=bound)
        return found

    async def read_turns_within(
        self, conversation_id: str, *, after: int, limit: int, max_bytes: int
    ) -> tuple[tuple[ConversationTurn, ...], bool]:
        """As `read_turns`, but what lies behind the turn that passes `max_bytes` is left out.

        The flag says whether something was. An edge bounds its memory by it.
        """
        check_conversation_id(conversation_id)
        start, bound = checks.window(after, limit)
        async with self._pool.connection() as conn:
            return await self._turns.list_turns(
                conn, conversation_id, after=start, limit=bound, max_bytes=max_bytes
            )

    async def last_turn_number(self, conversation_id: str) -> int:
        check_conversation_id(conversation_id)
        async with self._pool.connection() as conn:
            return await self._turns.last_number(conn, conversation_id)

    async def search_turns(
        self,
        query: str,
        *,
        conversations: Sequence[str] | None = None,
        limit: int = DEFAULT_SEARCH_LIMIT,
    ) -> tuple[ConversationTurn, ...]:
        terms = query_terms(query)
        require_encodable(query, name="query")
        chosen = checks.conversation_ids(conversations)
        bound = checks.positive_limit(limit)
        if chosen == ():
            return ()
        async with self._pool.connection() as conn:
            return await self._turns.search(conn, terms, conversations=chosen, limit=bound)

    async def search_turns_within(
        self, query: str, *, prefixes: Sequence[str], limit: int = DEFAULT_SEARCH_LIMIT
    ) -> tuple[ConversationTurn, ...]:
        terms = query_terms(query)
        require_encodable(query, name="query")
        fence = checks.id_prefixes(prefixes)
        bound = checks.positive_limit(limit)
        if not fence:
            return ()
        async with self._pool.connection() as conn:
            return await self._turns.search(conn, terms, prefixes=fence, limit=bound)

    async def read_projections(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationProjection, ...]:
        check_conversation_id(conversation_id)
        start, bound = checks.window(after, limit)
        async with self._pool.connection() as conn:
            found, _ = await self._turns.list_projections(
                conn, conversation_id, after=start, limit=bound
            )
        return found

    async def read_projections_within(
        self, conversation_id: str, *, after: int, limit: int, max_bytes: int
    ) -> tuple[tuple[ConversationProjection, ...], bool]:
        """As `read_turns_within`, of entries: the last turn may come without all of its own."""
        check_conversation_id(conversation_id)
        start, bound = checks.window(after, limit)
        async with self._pool.connection() as conn:
            return await self._turns.list_projections(
                conn, conversation_id, after=start, limit=bound, max_bytes=max_bytes
            )

    async def turn_redactions(
        self,
        *,
        conversations: Sequence[str] | None = None,
        since: datetime | None = None,
        limit: int = DEFAULT_TRAIL_LIMIT,
    ) -> tuple[ConversationRedaction, ...]:
        chosen = checks.conversation_ids(conversations)
        start = checks.since_utc(since)
        bound = checks.positive_limit(limit)
        if chosen == ():
            return ()
        async with self._pool.connection() as conn:
            return await self._turns.redactions(
                conn, conversations=chosen, since=start, limit=bound
            )

    async def scopes(self) -> tuple[str, ...]:
        async with self._pool.connection() as conn:
            return await self._units.scopes(conn)

    async def conversations(self) -> tuple[str, ...]:
        async with self._pool.connection() as conn:
            return await self._units.conversations(conn)

    async def archive_scope(self, scope: str) -> ScopeArchive:
        check_scope(scope)
        async with self._pool.connection() as conn:
            return await self._units.archive_scope(conn, scope)

    async def archive_conversation(self, conversation_id: str) -> ConversationArchive:
        check_conversation_id(conversation_id)
        async with self._pool.connection() as conn:
            return await self._units.archive_conversation(conn, conversation_id)

    def guarded(
        self,
        *,
        key: IdempotencyKey | None = None,
        digest: bytes = b"",
        fence: Claim | None = None,
    ) -> PostgresMutations:
        """Mutations under a key, a claim or both (docs/reference/stores.md, 12 and 17)."""
        return PostgresMutations(
            self._runner(key, digest=digest, fence=fence),
            documents=self._documents,
            conditions=self._conditions,
            turns=self._turns,
            units=self._units,
        )

    async def recall(self, *, key: IdempotencyKey, digest: bytes) -> Remembered | None:
        """What was answered under the key (docs/reference/stores.md, section 12)."""
        async with self._pool.connection() as conn:
            return await self._keys.recall(conn, key=key, digest=digest)

    def _runner(self, key: IdempotencyKey | None, *, digest: bytes, fence: Claim | None) -> Runner:
        if key is not None:
            return KeyedRunner(
                self._pool, self._keys, self.claims, key=key, digest=digest, fence=fence
            )
        if fence is not None:
            return FencedRunner(self._pool, self.claims, fence=fence)
        return DirectRunner(self._pool)

    async def sweep_keys(self) -> int:
        """Forget one batch of expired idempotency keys; the number forgotten."""
        async with self._pool.connection() as conn:
            return await self._keys.sweep(conn)

    async def schema_state(self) -> SchemaState | None:
        """What the database's version row says; None where there is none."""
        async with self._pool.connection() as conn:
            if not await conn.fetchval(self._sql.keys.find_schema_state):
                return None
            row = await conn.fetchrow(self._sql.keys.select_schema_state)
        return None if row is None else SchemaState(row["version"], row["compatible_from"])

    async def encoding(self) -> str:
        """What the database's texts are encoded in."""
        async with self._pool.connection() as conn:
            return str(await conn.fetchval(self._sql.keys.select_encoding))

    async def missing_timeouts(self) -> tuple[str, ...]:
        """The timeouts that are off: a pooler dropped them and the role does not set them."""
        async with self._pool.connection() as conn:
            found = await conn.fetch(self._sql.keys.list_missing_timeouts, list(session_settings()))
        return tuple(row["name"] for row in found)
