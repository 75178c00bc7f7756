"""How a transaction ends that fails: with the error of the work, whatever becomes of its end."""

import asyncio
from typing import Any

import asyncpg
import pytest

from commonhold.adapters.postgres.connections import transaction


class FakeConnection:
    """Notes what it is told; its rollbacks fail as they are told to."""

    def __init__(self, *, nested: bool = False, failure: Exception | None = None) -> None:
        self.told: list[str] = []
        self._nested = nested
        self._failure = failure

    def is_in_transaction(self) -> bool:
        return self._nested

    def is_closed(self) -> bool:
        return False

    async def execute(self, sql: str) -> None:
        self.told.append(sql)
        if self._failure is not None and sql.startswith("ROLLBACK"):
            raise self._failure


class BrokenError(Exception):
    """What the work raised."""


async def fail(conn: Any, error: BaseException) -> None:
    async with transaction(conn):
        raise error


@pytest.mark.parametrize(
    "failure",
    [
        asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
        asyncpg.InterfaceError("the underlying connection is closed"),
        asyncpg.InternalClientError("got result for unknown protocol state 3"),
        AttributeError("'NoneType' object has no attribute 'close'"),
        ConnectionResetError(),
        TimeoutError(),
    ],
    ids=lambda failure: type(failure).__name__,
)
@pytest.mark.parametrize("nested", [False, True])
async def test_a_rollback_that_fails_hides_no_error(failure: Exception, *, nested: bool) -> None:
    conn = FakeConnection(nested=nested, failure=failure)
    with pytest.raises(BrokenError):
        await fail(conn, BrokenError())
    assert len(conn.told) == 2


@pytest.mark.parametrize("nested", [False, True])
async def test_a_cancelled_caller_waits_for_no_rollback(*, nested: bool) -> None:
    """A frozen server would not answer it, and the pool ends the connection anyway."""
    conn = FakeConnection(nested=nested, failure=asyncpg.InterfaceError("closed"))
    with pytest.raises(asyncio.CancelledError):
        await fail(conn, asyncio.CancelledError())
    assert conn.told == ["SAVEPOINT inner_work" if nested else "BEGIN"]
