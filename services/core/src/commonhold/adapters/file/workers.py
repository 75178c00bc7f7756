"""Where blocking calls run: one thread a store, so that its event loop never waits on a disk.

One thread is also the store's own lock: its calls run in the order in which they came.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from typing import Any, TypeVar

import structlog

from commonhold.adapters.file.changes import Change
from commonhold.adapters.file.locks import Root
from commonhold.adapters.file.remains import Remains
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
        return await self._ask(lambda: _within(self._root.reading, act))

    async def change(self, act: Callable[[Tree, Change], T]) -> T:
        remains = Remains()

        def work() -> T:
            return _within(lambda: self._root.changing(remains), lambda held: act(*held))

        return await self._ask(work, behind=remains.let_go)

    def close(self) -> None:
        """End the thread once it has done what it was given."""
        self._thread.shutdown()

    def _ask(
        self, work: Callable[[], T], *, behind: Callable[[], None] = lambda: None
    ) -> asyncio.Future[T]:
        """The thread's answer; it goes on with what is `behind`, which nobody waits for."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._thread.submit(_answer, answer, work, behind)
        return answer


def _answer(answer: asyncio.Future[T], work: Callable[[], T], behind: Callable[[], None]) -> None:
    """Straight to the event loop: by way of the executor's own future it would wake later."""
    if answer.cancelled():
        return
    try:
        _tell(answer, answer.set_result, work())
    except BaseException as error:  # noqa: BLE001 - whoever waits would wait for ever
        _tell(answer, answer.set_exception, error)
    behind()


def _tell(answer: asyncio.Future[T], settle: Callable[[Any], None], outcome: object) -> None:
    def settle_if_awaited() -> None:
        if not answer.done():
            settle(outcome)

    # Of a loop that is closed nobody waits for an answer.
    with suppress(RuntimeError):
        answer.get_loop().call_soon_threadsafe(settle_if_awaited)


def _within(session: Callable[[], AbstractContextManager[S]], act: Callable[[S], T]) -> T:
    """StoreUnavailableError, with the system's own words, for what the disk refuses."""
    try:
        with session() as held:
            return act(held)
    except OSError as error:
        _log.error("root_failed", error=error.strerror, file=error.filename)
        where = "" if error.filename is None else f": {error.filename}"
        raise StoreUnavailableError(f"{error.strerror or error}{where}") from error
