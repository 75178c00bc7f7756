"""Both seams and every optional protocol over the ledgers of this package."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from commonhold.adapters.in_memory.answers import Answers
from commonhold.adapters.in_memory.claims import InMemoryClaims
from commonhold.adapters.in_memory.conversations import Conversations
from commonhold.adapters.in_memory.documents import Documents
from commonhold.adapters.in_memory.guarded import Guard, GuardedView
from commonhold.contract.claims import Claim
from commonhold.contract.clock import Clock, SystemClock
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
from commonhold.contract.limits import require_positive_limit, take
from commonhold.contract.messages import Message
from commonhold.contract.outlines import Outline, directory_of, newest_first, require_outline
from commonhold.contract.paging import (
    AgedPosition,
    DigestsPosition,
    HistoryPosition,
    ListPosition,
    Page,
    TrailPosition,
    VersionsPosition,
    decode_cursor,
    follows_history,
    follows_trail,
    history_position,
    page_of,
)
from commonhold.contract.stores import Witness
from commonhold.contract.turns import (
    DEFAULT_SEARCH_LIMIT,
    DEFAULT_TRAIL_LIMIT,
    ConversationArchive,
    ConversationProjection,
    ConversationRedaction,
    ConversationTurn,
)

SYSTEM_CLOCK = SystemClock()


class InMemoryStore:
    """A whole store in dicts, for tests and examples; it ends with its process.

    Nothing inside awaits, so each call is atomic on its event loop. It is not for
    several threads.
    """

    supports_optimistic_concurrency: ClassVar[bool] = True

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.claims = InMemoryClaims(clock)
        self._answers = Answers(clock)
        self._documents = Documents(clock, self._answers)
        self._conversations = Conversations(clock, self._answers)

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        return self._documents.read(scope, path)

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument:
        return self._documents.write(
            scope, path, content, actor=actor, expected_version=expected_version
        )

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        return self._documents.delete(scope, path, actor=actor)

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        return self._documents.rename(scope, src, dst, actor=actor)

    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        return self._documents.create_if_absent(scope, path, content, actor=actor)

    async def delete_if(
        self,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> int:
        return self._documents.delete_if(
            scope, path, expected_version=expected_version, witnesses=witnesses, actor=actor
        )

    async def rename_if(
        self,
        scope: str,
        src: str,
        dst: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> MemoryDocument:
        return self._documents.rename_if(
            scope, src, dst, expected_version=expected_version, witnesses=witnesses, actor=actor
        )

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        return self._documents.list_documents(scope, prefix=prefix)

    async def outline(self, scope: str, *, excluding: Sequence[str] = (), newest: int) -> Outline:
        entries = self._documents.list_documents(scope, prefix="")
        require_outline(excluding, newest)
        kept = [entry for entry in entries if not entry.path.startswith(tuple(excluding))]
        return Outline(
            newest=tuple(newest_first(kept)[: min(newest, len(kept))]),
            counts=Counter(directory_of(entry.path) for entry in kept),
        )

    async def versions(
        self, scope: str, path: str, *, limit: int = DEFAULT_VERSIONS_LIMIT
    ) -> tuple[MemoryVersion, ...]:
        return take(self._documents.versions(scope, path), limit=limit)

    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        return self._documents.redact(scope, path=path, actor=actor)

    async def redact_if(
        self, scope: str, path: str, *, expected_version: int, actor: str | None = None
    ) -> None:
        self._documents.redact_if(scope, path, expected_version=expected_version, actor=actor)

    async def history(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryVersion, ...]:
        return take(self._documents.history(scope, since=since), limit=limit)

    async def redactions(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryRedaction, ...]:
        acts = self._documents.redactions(scope, since=since)
        return take((act.record for act in acts), limit=limit)

    async def list_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryEntry]:
        entries = self._documents.list_documents(scope, prefix=prefix)
        require_positive_limit(limit)
        after = "" if cursor is None else decode_cursor(cursor, ListPosition).path
        rows = (entry for entry in entries if entry.path > after)
        return page_of(
            take(rows, limit=limit + 1),
            limit=limit,
            position=lambda entry: ListPosition(path=entry.path),
        )

    async def digest_documents_page(
        self, scope: str, *, prefix: str = "", cursor: str | None = None, limit: int
    ) -> Page[MemoryDigest]:
        digests = self._documents.digests(scope, prefix=prefix)
        require_positive_limit(limit)
        after = "" if cursor is None else decode_cursor(cursor, DigestsPosition).path
        rows = (digest for digest in digests if digest.path > after)
        return page_of(
            take(rows, limit=limit + 1),
            limit=limit,
            position=lambda digest: DigestsPosition(path=digest.path),
        )

    async def aged_documents_page(
        self, scope: str, *, before: datetime, cursor: str | None = None, limit: int
    ) -> Page[AgedDocument]:
        aged = self._documents.aged(scope, before=before)
        require_positive_limit(limit)
        after = "" if cursor is None else decode_cursor(cursor, AgedPosition).path
        rows = (document for document in aged if document.path > after)
        return page_of(
            take(rows, limit=limit + 1),
            limit=limit,
            position=lambda document: AgedPosition(path=document.path),
        )

    async def versions_page(
        self, scope: str, path: str, *, cursor: str | None = None, limit: int
    ) -> Page[MemoryVersion]:
        versions = self._documents.versions(scope, path)
        require_positive_limit(limit)
        below = None if cursor is None else decode_cursor(cursor, VersionsPosition).version
        rows = (row for row in versions if below is None or row.version < below)
        return page_of(
            take(rows, limit=limit + 1),
            limit=limit,
            position=lambda row: VersionsPosition(version=row.version),
        )

    async def history_page(
        self,
        scope: str,
        *,
        since: datetime | None = None,
        cursor: str | None = None,
        limit: int,
    ) -> Page[MemoryVersion]:
        history = self._documents.history(scope, since=since)
        require_positive_limit(limit)
        last = None if cursor is None else decode_cursor(cursor, HistoryPosition)
        rows = (
            row for row in history if last is None or follows_history(history_position(row), last)
        )
        return page_of(take(rows, limit=limit + 1), limit=limit, position=history_position)

    async def redactions_page(
        self,
        scope: str,
        *,
        since: datetime | None = None,
        cursor: str | None = None,
        limit: int,
    ) -> Page[MemoryRedaction]:
        trail = self._documents.redactions(scope, since=since)
        require_positive_limit(limit)
        last = None if cursor is None else decode_cursor(cursor, TrailPosition)
        rows = (act for act in trail if last is None or follows_trail(act.position, last))
        page = page_of(take(rows, limit=limit + 1), limit=limit, position=lambda act: act.position)
        return Page(items=tuple(act.record for act in page.items), next_cursor=page.next_cursor)

    async def scopes(self) -> tuple[str, ...]:
        return self._documents.scopes()

    async def conversations(self) -> tuple[str, ...]:
        return self._conversations.conversations()

    async def archive_scope(self, scope: str) -> ScopeArchive:
        return self._documents.archive(scope)

    async def archive_conversation(self, conversation_id: str) -> ConversationArchive:
        return self._conversations.archive(conversation_id)

    async def restore_scope(self, archive: ScopeArchive) -> None:
        self._documents.restore(archive)

    async def restore_conversation(self, archive: ConversationArchive) -> None:
        self._conversations.restore(archive)

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        return self._conversations.append_turn(conversation_id, messages, actor=actor)

    async def read_turns(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationTurn, ...]:
        return self._conversations.read_turns(conversation_id, after=after, limit=limit)

    async def last_turn_number(self, conversation_id: str) -> int:
        return self._conversations.last_turn_number(conversation_id)

    async def search_turns(
        self,
        query: str,
        *,
        conversations: Sequence[str] | None = None,
        limit: int = DEFAULT_SEARCH_LIMIT,
    ) -> tuple[ConversationTurn, ...]:
        return self._conversations.search_turns(query, conversations=conversations, limit=limit)

    async def search_turns_within(
        self, query: str, *, prefixes: Sequence[str], limit: int = DEFAULT_SEARCH_LIMIT
    ) -> tuple[ConversationTurn, ...]:
        return self._conversations.search_turns_within(query, prefixes=prefixes, limit=limit)

    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        self._conversations.append_projections(conversation_id, entries)

    async def read_projections(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationProjection, ...]:
        return self._conversations.read_projections(conversation_id, after=after, limit=limit)

    async def redact_turns(
        self,
        conversation_id: str,
        *,
        through: int | None = None,
        turns: Sequence[int] | None = None,
        actor: str | None = None,
    ) -> int:
        return self._conversations.redact_turns(
            conversation_id, through=through, turns=turns, actor=actor
        )

    async def turn_redactions(
        self,
        *,
        conversations: Sequence[str] | None = None,
        since: datetime | None = None,
        limit: int = DEFAULT_TRAIL_LIMIT,
    ) -> tuple[ConversationRedaction, ...]:
        return self._conversations.turn_redactions(
            conversations=conversations, since=since, limit=limit
        )

    def guarded(
        self,
        *,
        key: IdempotencyKey | None = None,
        digest: bytes = b"",
        fence: Claim | None = None,
    ) -> GuardedView:
        return self._view(key, digest=digest, fence=fence)

    async def recall(self, *, key: IdempotencyKey, digest: bytes) -> Remembered | None:
        names = self._answers.recall(key=key, digest=digest)
        return None if names is None else self._view(None).tell(names)

    def _view(
        self, key: IdempotencyKey | None, *, digest: bytes = b"", fence: Claim | None = None
    ) -> GuardedView:
        guard = Guard(self._answers, self.claims, key=key, digest=digest, fence=fence)
        return GuardedView(self._documents, self._conversations, guard=guard)
