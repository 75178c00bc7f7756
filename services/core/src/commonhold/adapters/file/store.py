"""FileStore: both seams and the optional protocols over a directory.

Guarantees: docs/reference/stores.md and docs/reference/filestore.md.
"""

from pathlib import Path
from types import TracebackType
from typing import Self

from commonhold.adapters.file.archives import archive_conversation, archive_scope
from commonhold.adapters.file.calls import SystemCalls
from commonhold.adapters.file.locks import Root
from commonhold.adapters.file.memory import FileMemory
from commonhold.adapters.file.turns import FileTurns
from commonhold.adapters.file.units import (
    list_conversations,
    list_scopes,
    restore_conversation,
    restore_scope,
)
from commonhold.adapters.file.workers import Worker
from commonhold.contract.archives import landed_conversation, landed_scope
from commonhold.contract.clock import Clock, SystemClock
from commonhold.contract.documents import ScopeArchive
from commonhold.contract.ids import check_conversation_id, check_scope
from commonhold.contract.turns import ConversationArchive

SYSTEM_CLOCK = SystemClock()
SYSTEM_CALLS = SystemCalls()
# How long a call waits for another process to let go of the root.
LOCK_WAIT_SECONDS = 30.0


class FileStore(FileMemory, FileTurns):
    """Documents and conversations in one directory, which need not exist yet.

    Any number of processes of one machine may share it. Nothing is opened before the first
    call, and nothing stays open after one.
    """

    def __init__(
        self,
        root: Path,
        *,
        clock: Clock = SYSTEM_CLOCK,
        calls: SystemCalls = SYSTEM_CALLS,
        lock_wait_seconds: float = LOCK_WAIT_SECONDS,
    ) -> None:
        worker = Worker(Root(root, calls=calls, wait_seconds=lock_wait_seconds))
        FileMemory.__init__(self, worker, clock)
        FileTurns.__init__(self, worker, clock)

    async def close(self) -> None:
        """Wait for what runs and end the store's thread."""
        self._worker.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def check(self) -> bool:
        """Whether the root can be written; StoreUnavailableError when it cannot be read."""
        return await self._worker.read(lambda tree: tree.is_writable)

    async def scopes(self) -> tuple[str, ...]:
        return await self._worker.read(list_scopes)

    async def conversations(self) -> tuple[str, ...]:
        return await self._worker.read(list_conversations)

    async def archive_scope(self, scope: str) -> ScopeArchive:
        check_scope(scope)
        return await self._worker.read(lambda tree: archive_scope(tree, self._documents, scope))

    async def archive_conversation(self, conversation_id: str) -> ConversationArchive:
        check_conversation_id(conversation_id)
        return await self._worker.read(
            lambda tree: archive_conversation(tree, self._conversations, conversation_id)
        )

    async def restore_scope(self, archive: ScopeArchive) -> None:
        landed = landed_scope(archive)
        await self._worker.change(lambda tree, change: restore_scope(tree, change, landed))

    async def restore_conversation(self, archive: ConversationArchive) -> None:
        landed = landed_conversation(archive)
        await self._worker.change(lambda tree, change: restore_conversation(tree, change, landed))
