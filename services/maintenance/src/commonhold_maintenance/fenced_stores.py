"""A store as one pass has it: reads as they are, changes under its claim and one by one.

Whoever ends the pass waits for the change that is being made, so that each is either
asked for and answered, or never asked for.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from commonhold.contract.claims import Claim, Claims
from commonhold.contract.documents import (
    DEFAULT_VERSIONS_LIMIT,
    MemoryDocument,
    MemoryEntry,
    MemoryVersion,
)
from commonhold.contract.stores import (
    Conditional,
    ConversationStore,
    Erasable,
    MemoryStore,
    Mutations,
    Portable,
    Witness,
)
from commonhold.contract.turns import DEFAULT_TRAIL_LIMIT, ConversationRedaction, ConversationTurn


class FencedMutations(Mutations, Conditional, Protocol):
    """A view of a store that stands under a claim."""


class WorkedStore(MemoryStore, ConversationStore, Erasable, Portable, Protocol):
    """What the worker asks of a store."""

    @property
    def claims(self) -> Claims: ...

    def guarded(self, *, fence: Claim) -> FencedMutations: ...


class FencedActs:
    """The changes of one pass."""

    def __init__(self, view: FencedMutations) -> None:
        self._view = view
        self._at_work = asyncio.Lock()

    async def settle(self) -> None:
        """Wait for the change that is being made; none begins afterwards."""
        await self._at_work.acquire()

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument:
        async with self._at_work:
            return await self._view.write(
                scope, path, content, actor=actor, expected_version=expected_version
            )

    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        async with self._at_work:
            return await self._view.create_if_absent(scope, path, content, actor=actor)

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        async with self._at_work:
            return await self._view.delete(scope, path, actor=actor)

    async def delete_if(
        self,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> int:
        async with self._at_work:
            return await self._view.delete_if(
                scope, path, expected_version=expected_version, witnesses=witnesses, actor=actor
            )

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        async with self._at_work:
            return await self._view.rename(scope, src, dst, actor=actor)

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
        async with self._at_work:
            return await self._view.rename_if(
                scope,
                src,
                dst,
                expected_version=expected_version,
                witnesses=witnesses,
                actor=actor,
            )

    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        async with self._at_work:
            return await self._view.redact(scope, path=path, actor=actor)

    async def redact_turns(
        self,
        conversation_id: str,
        *,
        through: int | None = None,
        turns: Sequence[int] | None = None,
        actor: str | None = None,
    ) -> int:
        async with self._at_work:
            return await self._view.redact_turns(
                conversation_id, through=through, turns=turns, actor=actor
            )


class RetainedUnderClaim:
    """What retention asks of a store, with the erasures of one pass."""

    def __init__(self, store: WorkedStore, acts: FencedActs) -> None:
        self._store = store
        self._acts = acts

    async def scopes(self) -> tuple[str, ...]:
        return await self._store.scopes()

    async def conversations(self) -> tuple[str, ...]:
        return await self._store.conversations()

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        return await self._store.read(scope, path)

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        return await self._store.list_documents(scope, prefix=prefix)

    async def versions(
        self, scope: str, path: str, *, limit: int = DEFAULT_VERSIONS_LIMIT
    ) -> tuple[MemoryVersion, ...]:
        return await self._store.versions(scope, path, limit=limit)

    async def read_turns(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationTurn, ...]:
        return await self._store.read_turns(conversation_id, after=after, limit=limit)

    async def last_turn_number(self, conversation_id: str) -> int:
        return await self._store.last_turn_number(conversation_id)

    async def turn_redactions(
        self,
        *,
        conversations: Sequence[str] | None = None,
        since: datetime | None = None,
        limit: int = DEFAULT_TRAIL_LIMIT,
    ) -> tuple[ConversationRedaction, ...]:
        return await self._store.turn_redactions(
            conversations=conversations, since=since, limit=limit
        )

    async def redact(self, scope: str, *, path: str | None = None, actor: str | None = None) -> int:
        return await self._acts.redact(scope, path=path, actor=actor)

    async def redact_turns(
        self,
        conversation_id: str,
        *,
        through: int | None = None,
        turns: Sequence[int] | None = None,
        actor: str | None = None,
    ) -> int:
        return await self._acts.redact_turns(
            conversation_id, through=through, turns=turns, actor=actor
        )
