"""A store as one pass has it: reads as they are, changes under its claim and one by one.

Whoever ends the pass waits for the change that is being made, so that each is either
asked for and answered, or never asked for.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from commonhold.contract.claims import Claim, Claims
from commonhold.contract.documents import MemoryDocument
from commonhold.contract.expirations import VersionEraser
from commonhold.contract.stores import (
    Conditional,
    ConversationStore,
    MemoryStore,
    Mutations,
    Witness,
)


@runtime_checkable
class FencedMutations(Mutations, Conditional, VersionEraser, Protocol):
    """A view of a store that stands under a claim."""


class WorkedStore(MemoryStore, ConversationStore, Protocol):
    """What tasks read; what a rule of retention needs beside it is asked for by name."""


class Fences(Protocol):
    """Where claims are had, and views that stand under one."""

    @property
    def claims(self) -> Claims: ...

    def guarded(self, *, fence: Claim) -> Mutations: ...


class Acts:
    """The changes of one pass, over a view that knows no versions but those of a write."""

    def __init__(self, view: Mutations) -> None:
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

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        async with self._at_work:
            return await self._view.delete(scope, path, actor=actor)

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        async with self._at_work:
            return await self._view.rename(scope, src, dst, actor=actor)

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


class FencedActs(Acts):
    """The same over a view that stands under a claim, and acts on versions."""

    def __init__(self, view: FencedMutations) -> None:
        super().__init__(view)
        self._fenced = view

    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        async with self._at_work:
            return await self._fenced.create_if_absent(scope, path, content, actor=actor)

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
            return await self._fenced.delete_if(
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
        async with self._at_work:
            return await self._fenced.rename_if(
                scope,
                src,
                dst,
                expected_version=expected_version,
                witnesses=witnesses,
                actor=actor,
            )

    async def redact_if(
        self, scope: str, path: str, *, expected_version: int, actor: str | None = None
    ) -> None:
        async with self._at_work:
            await self._fenced.redact_if(
                scope, path, expected_version=expected_version, actor=actor
            )


def acts_over(view: Mutations) -> Acts:
    """The changes of a pass, on versions where the view can act on them."""
    return FencedActs(view) if isinstance(view, FencedMutations) else Acts(view)
