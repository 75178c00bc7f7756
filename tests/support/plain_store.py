"""A store with both seams and no optional protocol."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import (
    Clock,
    ConversationProjection,
    ConversationTurn,
    MemoryDocument,
    MemoryEntry,
    MemoryRedaction,
    MemoryVersion,
    Message,
    SystemClock,
)

SYSTEM_CLOCK = SystemClock()


class PlainStore:
    """Delegates what the seams ask for, and nothing else."""

    supports_optimistic_concurrency: ClassVar[bool] = False

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._inner = InMemoryStore(clock=clock)

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        return await self._inner.read(scope, path)

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument:
        return await self._inner.write(
            scope, path, content, actor=actor, expected_version=expected_version
        )

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        return await self._inner.delete(scope, path, actor=actor)

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        return await self._inner.rename(scope, src, dst, actor=actor)

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        return await self._inner.list_documents(scope, prefix=prefix)

    async def versions(
        self, scope: str, path: str, *, limit: int = 50
    ) -> tuple[MemoryVersion, ...]:
        return await self._inner.versions(scope, path, limit=limit)

    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        return await self._inner.redact(scope, path=path, actor=actor)

    async def history(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryVersion, ...]:
        return await self._inner.history(scope, since=since, limit=limit)

    async def redactions(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryRedaction, ...]:
        return await self._inner.redactions(scope, since=since, limit=limit)

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        return await self._inner.append_turn(conversation_id, messages, actor=actor)

    async def read_turns(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationTurn, ...]:
        return await self._inner.read_turns(conversation_id, after=after, limit=limit)

    async def last_turn_number(self, conversation_id: str) -> int:
        return await self._inner.last_turn_number(conversation_id)

    async def search_turns(
        self, query: str, *, conversations: Sequence[str] | None = None, limit: int = 50
    ) -> tuple[ConversationTurn, ...]:
        return await self._inner.search_turns(query, conversations=conversations, limit=limit)

    async def append_projections(
        self, conversation_id: str, entries: Sequence[ConversationProjection]
    ) -> None:
        await self._inner.append_projections(conversation_id, entries)

    async def read_projections(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationProjection, ...]:
        return await self._inner.read_projections(conversation_id, after=after, limit=limit)
