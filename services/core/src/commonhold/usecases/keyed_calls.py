"""A whole tool call under one idempotency key (docs/reference/memory-tool.md, section 19).

Identifiers are remembered, never text: a repeated call is answered from the rows that the
first one made. Each step of a call has a key of its own, derived from the call's.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from commonhold.contract.documents import (
    DEFAULT_VERSIONS_LIMIT,
    MemoryDocument,
    MemoryEntry,
    MemoryVersion,
)
from commonhold.contract.idempotency import (
    KEY_REUSED,
    IdempotencyKey,
    Remembered,
    Remembering,
)
from commonhold.contract.stores import (
    Conditional,
    Guarded,
    MemoryEditor,
    MemoryReader,
    Mutations,
    Witness,
)
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.envelopes import ToolResult, fail

NO_KEYS = "This memory keeps no idempotency keys: repeat the call without one"

T = TypeVar("T")


class KeyedStore(MemoryEditor, Guarded, Remembering, Protocol):
    """What a keyed call asks of a store."""


class CallKey(msgspec.Struct, frozen=True):
    """The key of one call and the digest of what was called with it."""

    key: IdempotencyKey
    digest: bytes

    def of_step(self, number: int) -> IdempotencyKey:
        """The key of a step, from 1: no two clients and no two steps share one."""
        parts = (self.key.client, self.key.value, str(number))
        spelled = "\0".join(parts).encode()
        return IdempotencyKey(self.key.client, hashlib.sha256(spelled).hexdigest())


def call_key(key: IdempotencyKey, tool: str, arguments: Mapping[str, Any]) -> CallKey:
    spelled = json.dumps([tool, arguments], sort_keys=True, ensure_ascii=True, default=str)
    return CallKey(key, hashlib.sha256(spelled.encode()).digest())


class OnceEditor:
    """A store on which the nth change of a call happens once, whoever repeats the call."""

    def __init__(self, store: KeyedStore, call: CallKey, *, step: int = 1) -> None:
        self._store = store
        self._call = call
        self._step = step

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        return await self._store.read(scope, path)

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        return await self._store.list_documents(scope, prefix=prefix)

    async def versions(
        self, scope: str, path: str, *, limit: int = DEFAULT_VERSIONS_LIMIT
    ) -> tuple[MemoryVersion, ...]:
        return await self._store.versions(scope, path, limit=limit)

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument:
        return await self._counted(
            self._view().write(scope, path, content, actor=actor, expected_version=expected_version)
        )

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        return await self._counted(self._view().delete(scope, path, actor=actor))

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        return await self._counted(self._view().rename(scope, src, dst, actor=actor))

    def _view(self) -> Mutations:
        return self._store.guarded(key=self._call.of_step(self._step), digest=self._call.digest)

    async def _counted(self, change: Awaitable[T]) -> T:
        """A refused change leaves its key free, so only a success goes on to the next one."""
        result = await change
        self._step += 1
        return result


class ConditionalOnceEditor(OnceEditor):
    """The same over a store that creates, deletes and renames by condition."""

    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        return await self._counted(
            self._conditional().create_if_absent(scope, path, content, actor=actor)
        )

    async def delete_if(
        self,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> int:
        return await self._counted(
            self._conditional().delete_if(
                scope, path, expected_version=expected_version, witnesses=witnesses, actor=actor
            )
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
        return await self._counted(
            self._conditional().rename_if(
                scope, src, dst, expected_version=expected_version, witnesses=witnesses, actor=actor
            )
        )

    def _conditional(self) -> Conditional:
        view = self._view()
        if not isinstance(view, Conditional):
            raise TypeError(f"the guarded view of {type(self._store).__name__} is not Conditional")
        return view


def keyed_store(documents: MemoryReader) -> KeyedStore | None:
    """The documents as a store of keyed calls; None when it keeps no keys."""
    if (
        isinstance(documents, MemoryEditor)
        and isinstance(documents, Guarded)
        and isinstance(documents, Remembering)
    ):
        return documents
    return None


def under_key(
    context: MemoryContext, store: KeyedStore, call: CallKey, *, step: int = 1
) -> MemoryContext:
    """The context whose changes happen once, the first of them as that step of the call."""
    kind = ConditionalOnceEditor if isinstance(store, Conditional) else OnceEditor
    editor = kind(store, call, step=step)
    return msgspec.structs.replace(context, documents=editor)


async def recall_step(store: KeyedStore, call: CallKey, number: int) -> Remembered | None:
    return await store.recall(key=call.of_step(number), digest=call.digest)


async def answered(run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    """What `run` answers; a key that was used for another request is told as a failure."""
    try:
        return await run()
    except ValueError as error:
        if str(error) != KEY_REUSED:
            raise
        return fail(KEY_REUSED)
