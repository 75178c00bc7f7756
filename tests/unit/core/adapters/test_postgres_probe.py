"""The probe of the database keeps asking, whatever became of its connection."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from commonhold.adapters.postgres.probe import Probe

INTERVAL_SECONDS = 0.01


class FakeConnection:
    """Answers, or fails with what it was told to."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.asked = asyncio.Event()

    def is_closed(self) -> bool:
        return False

    def terminate(self) -> None:
        self.failure = None

    async def fetchval(self, query: str) -> int:
        self.asked.set()
        if self.failure is not None:
            raise self.failure
        return 1


@asynccontextmanager
async def probing(
    connection: Any, *, on_down: Callable[[], None] = lambda: None
) -> AsyncIterator[Probe]:
    async def connect(timeout_seconds: float) -> Any:
        return connection

    probe = Probe(connect, on_down=on_down, interval_seconds=INTERVAL_SECONDS)
    await probe.start()
    try:
        yield probe
    finally:
        await probe.stop()


@pytest.mark.parametrize(
    "failure",
    [
        asyncpg.InternalClientError("got result for unknown protocol state 3"),
        asyncpg.InterfaceError("the underlying connection is closed"),
        asyncpg.AdminShutdownError("terminating connection"),
        ConnectionResetError(),
        TimeoutError(),
        AttributeError("'NoneType' object has no attribute 'close'"),
    ],
    ids=lambda failure: type(failure).__name__,
)
async def test_a_lost_connection_is_a_verdict_and_not_the_end(failure: Exception) -> None:
    connection = FakeConnection()
    went_down = asyncio.Event()
    async with asyncio.timeout(10), probing(connection, on_down=went_down.set) as probe:
        assert probe.is_up
        connection.failure = failure
        await went_down.wait()
        # When it asks the second time, it has taken its verdict from the first.
        for _ in range(2):
            connection.asked.clear()
            await connection.asked.wait()
        assert probe.is_up
