"""Stores that a test holds at a gate or lets fail, and readings of the service's metrics."""

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any, NoReturn

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import ConversationTurn, MemoryDocument, Message
from commonhold.contract.errors import StoreUnavailableError
from tests.support.goldens.expectations import assert_plain
from tests.support.raw_http import Answer
from tests.support.wire_service import Wire


class GatedStore(InMemoryStore):
    """Reads wait at a gate, so that a test can hold requests in flight."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.waiting = 0
        self.arrived = asyncio.Condition()

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        async with self.arrived:
            self.waiting += 1
            self.arrived.notify_all()
        await self.gate.wait()
        self.waiting -= 1
        return await super().read(scope, path)

    async def until_waiting(self, count: int) -> None:
        async with asyncio.timeout(10), self.arrived:
            await self.arrived.wait_for(lambda: self.waiting >= count)


class FailingStore(InMemoryStore):
    """Fails in the way a test says."""

    failure: BaseException = RuntimeError("a bug")

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        raise self.failure

    async def append_turn(
        self, conversation_id: str, messages: Sequence[Message], *, actor: str | None = None
    ) -> ConversationTurn:
        raise self.failure


class AwayStore(InMemoryStore):
    """Cannot be reached, whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        return _away if inspect.iscoroutinefunction(value) else value


async def _away(*_arguments: object, **_named: object) -> NoReturn:
    raise StoreUnavailableError("postgresql://hunter2@db")


def assert_unavailable(answer: Answer) -> None:
    assert_plain(answer, 503, "Service Unavailable")
    assert answer.header("retry-after") == "1"


def count(wire: Wire, metric: str) -> float:
    """The value of one sample, spelled as in the text exposition."""
    lines = wire.metrics.render().decode().splitlines()
    return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(metric)), 0.0)
