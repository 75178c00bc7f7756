"""Where blocking calls run: one thread a store, so that its event loop never waits on a disk.

One thread is also the store's own lock: its calls run in the order in which they came.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

import structlog

from commonhold.adapters.file.changes import Change
from commonhold.adapters.file.locks import Root
from commonhold.adapters.file.tree import Tree
from commonhold.contract.errors import StoreUnavailableError

T = TypeVar("T")
S = TypeVar("S")

_log = structlog.get_logger(__name__)


class Worker:
    """The thread of one store, which holds the root's lock while it works."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="file-store")

    async def read(self, act: Callable[[Tree], T]) -> T:
        return await self._run(self._root.reading, act)

    async def change(self, act: Callable[[Tree, Change], T]) -> T:
        return await self._run(self._root.changing, lambda held: act(*held))

    def close(self) -> None:
        """End the thread once it has done what it was given."""
        self._thread.shutdown()

    async def _run(
        self, session: Callable[[], AbstractContextManager[S]], act: Callable[[S], T]
    ) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, _within, session, act)


def _within(session: Callable[[], AbstractContextManager[S]], act: Callable[[S], T]) -> T:
    """StoreUnavailableError, with the system's own words, for what the disk refuses."""
    try:
        with session() as held:
            return act(held)
    except OSError as error:
        _log.error("root_failed", error=error.strerror, file=error.filename)
        where = "" if error.filename is None else f": {error.filename}"
        raise StoreUnavailableError(f"{error.strerror or error}{where}") from error
