"""Callers of the memory commands, and stores where somebody else acts in between."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import (
    MemoryDocument,
    MemoryEditor,
    MemoryEntry,
    MemoryVersion,
    Witness,
)
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.dispatcher import dispatch
from commonhold.usecases.envelopes import ToolResult
from commonhold.usecases.mount_tokens import parse_mounts
from commonhold.usecases.reverts import revert

Act = Callable[[], Awaitable[object]]

USER = "scope=user:ana,path=user"
PROJECT = "scope=project:erp,path=project"
HANDBOOK = "scope=tenant:acme/kb:handbook,path=kb,ro"
BOARD = "scope=task:42,path=board,eo"


class Caller:
    """One agent with its mounts; each call is a command, and answers are kept whole."""

    def __init__(
        self, documents: MemoryEditor, *tokens: str, actor: str | None = None, **options: Any
    ) -> None:
        self.context = MemoryContext(
            documents=documents, mounts=parse_mounts(list(tokens)), actor=actor, **options
        )

    async def call(self, command: str, **arguments: Any) -> ToolResult:
        return await dispatch(self.context, command, arguments)

    async def succeed(self, command: str, **arguments: Any) -> str:
        result = await self.call(command, **arguments)
        assert result.success, result
        assert result.data is not None
        return result.data

    async def fail(self, command: str, **arguments: Any) -> str:
        result = await self.call(command, **arguments)
        assert not result.success, result
        assert result.error is not None
        assert result.receipt is None
        return result.error

    async def revert(self, path: str, version: int) -> ToolResult:
        return await revert(self.context, path, version=version)


class InterruptedStore:
    """A store in which somebody acts once, right after the nth call of a method."""

    def __init__(self, store: MemoryEditor, *, after: str, act: Act, nth: int = 1) -> None:
        self._store = store
        self._after = after
        self._act = act
        self._left = nth

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        document = await self._store.read(scope, path)
        await self._interrupt("read")
        return document

    async def list_documents(self, scope: str, *, prefix: str = "") -> tuple[MemoryEntry, ...]:
        entries = await self._store.list_documents(scope, prefix=prefix)
        await self._interrupt("list_documents")
        return entries

    async def versions(
        self, scope: str, path: str, *, limit: int = 50
    ) -> tuple[MemoryVersion, ...]:
        rows = await self._store.versions(scope, path, limit=limit)
        await self._interrupt("versions")
        return rows

    async def write(
        self,
        scope: str,
        path: str,
        content: str,
        *,
        actor: str | None = None,
        expected_version: int | None = None,
    ) -> MemoryDocument:
        document = await self._store.write(
            scope, path, content, actor=actor, expected_version=expected_version
        )
        await self._interrupt("write")
        return document

    async def delete(self, scope: str, path: str, *, actor: str | None = None) -> bool:
        deleted = await self._store.delete(scope, path, actor=actor)
        await self._interrupt("delete")
        return deleted

    async def rename(
        self, scope: str, src: str, dst: str, *, actor: str | None = None
    ) -> MemoryDocument:
        document = await self._store.rename(scope, src, dst, actor=actor)
        await self._interrupt("rename")
        return document

    async def _interrupt(self, method: str) -> None:
        if method != self._after or self._left == 0:
            return
        self._left -= 1
        if self._left == 0:
            await self._act()


class ConditionalInterruptedStore(InterruptedStore):
    """The same over a store that deletes and renames by version."""

    def __init__(self, store: InMemoryStore, *, after: str, act: Act, nth: int = 1) -> None:
        super().__init__(store, after=after, act=act, nth=nth)
        self._conditional = store

    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        document = await self._conditional.create_if_absent(scope, path, content, actor=actor)
        await self._interrupt("create_if_absent")
        return document

    async def delete_if(
        self,
        scope: str,
        path: str,
        *,
        expected_version: int,
        witnesses: Sequence[Witness] = (),
        actor: str | None = None,
    ) -> int:
        return await self._conditional.delete_if(
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
        return await self._conditional.rename_if(
            scope, src, dst, expected_version=expected_version, witnesses=witnesses, actor=actor
        )
