"""The connection pool: first come, first served, and nothing waits for a dead database.

asyncpg's own pool lets a newcomer overtake a waiter that was woken and spends a round
trip on every release (docs/adr has the figures). Here a connection released is handed to
the longest waiter, and no session state exists that a release would have to reset.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

import asyncpg

from commonhold.adapters.postgres.connections import (
    connect,
    refuses_settings,
)
from commonhold.adapters.postgres.errors import DRIVER_ERRORS, describe, translate
from commonhold.adapters.postgres.probe import Probe
from commonhold.contract.errors import StoreUnavailableError
from commonhold.migrations.connections import Connection
from commonhold.migrations.timeouts import session_settings

# A caller that opens a connection to a server that has gone silent is answered by then.
CONNECT_TIMEOUT_SECONDS = 2.0
# What is left to whoever was given a place at the end of a wait.
LEAST_CONNECT_SECONDS = 0.5


class Pool:
    """Up to `size` connections, opened as they are needed.

    `on_wait` gets the seconds each caller that had to queue has waited.
    """

    def __init__(
        self,
        dsn: str,
        *,
        size: int,
        wait_seconds: float,
        statement_timeout_seconds: float,
        on_wait: Callable[[float], None] | None = None,
    ) -> None:
        if size < 1:
            raise ValueError(f"pool size must be >= 1, got {size}")
        self.size = size
        self._dsn = dsn
        self.wait_seconds = wait_seconds
        self._on_wait = on_wait
        self._settings = {
            "application_name": "commonhold",
            **session_settings(statement_timeout_seconds=statement_timeout_seconds),
        }
        self._wants_settings = True
        # The newest used first: its statements and pages are warm.
        self._idle: list[Connection] = []
        self._leased: set[Connection] = set()
        self._opening = 0
        # The bounds of those that are being opened, for the end of all of them at once.
        self._openings: set[asyncio.Timeout] = set()
        self._waiters: deque[asyncio.Future[Connection | None]] = deque()
        self._is_closed = False
        self._drained = asyncio.Event()
        self._probe = Probe(self._connect, on_down=self._fail_everything)

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        size: int = 10,
        wait_seconds: float = 2.0,
        statement_timeout_seconds: float = 30.0,
        on_wait: Callable[[float], None] | None = None,
    ) -> Self:
        """Start the probe and wait for its first verdict; an absent database is no error."""
        pool = cls(
            dsn,
            size=size,
            wait_seconds=wait_seconds,
            statement_timeout_seconds=statement_timeout_seconds,
            on_wait=on_wait,
        )
        await pool._probe.start()
        return pool

    async def close(self, *, timeout_seconds: float = 5.0) -> None:
        """End every connection; those still at work are cut after the timeout."""
        self._is_closed = True
        await self._probe.stop()
        self._refuse_waiters("the pool is closing")
        if self._leased:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._drained.wait(), timeout_seconds)
        for conn in self._leased:
            conn.terminate()
        idle, self._idle = self._idle, []
        for conn in idle:
            with suppress(*DRIVER_ERRORS):
                await conn.close(timeout=1.0)

    @property
    def in_use(self) -> int:
        return len(self._leased)

    @property
    def idle(self) -> int:
        return len(self._idle)

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    @property
    def is_up(self) -> bool:
        """What the probe found last."""
        return self._probe.is_up

    def connection(self) -> "Lease":
        """`async with pool.connection() as conn`: driver errors leave it translated."""
        return Lease(self)

    async def acquire(self) -> Connection:
        """A connection of our own until `release`; StoreUnavailableError after the wait."""
        if self._is_closed:
            raise StoreUnavailableError("the pool is closed")
        if not self._probe.is_up:
            raise StoreUnavailableError(f"the database is away: {self._probe.fault}")
        if not self._waiters:
            while self._idle:
                conn = self._idle.pop()
                if not conn.is_closed():
                    self._leased.add(conn)
                    return conn
            if len(self._leased) + self._opening < self.size:
                return await self._open_leased()
        return await self._wait_in_line()

    def release(self, conn: Connection) -> None:
        """Hand the connection to whoever waits longest, or keep it."""
        self._leased.discard(conn)
        if self._is_closed or conn.is_closed() or conn.is_in_transaction():
            # A transaction left open is a cancelled caller's; the server rolls it back.
            conn.terminate()
            self._replace_for_waiter()
            if not self._leased:
                self._drained.set()
            return
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                self._leased.add(conn)
                waiter.set_result(conn)
                return
        self._idle.append(conn)

    def discard(self, conn: Connection) -> None:
        """End a connection whose state is unknown."""
        conn.terminate()
        self.release(conn)

    async def _wait_in_line(self) -> Connection:
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Connection | None] = loop.create_future()
        self._waiters.append(waiter)
        started = loop.time()
        timer = loop.call_later(self.wait_seconds, _give_up, waiter)
        try:
            conn = await waiter
        except BaseException:
            _return_unclaimed(self, waiter)
            raise
        finally:
            timer.cancel()
            if self._on_wait is not None:
                self._on_wait(loop.time() - started)
        if conn is not None:
            return conn
        # A place became free without a connection to hand over.
        left = self.wait_seconds - (loop.time() - started)
        return await self._open_reserved(max(left, LEAST_CONNECT_SECONDS))

    async def _open_leased(self) -> Connection:
        self._opening += 1
        return await self._open_reserved(self.wait_seconds)

    async def _open_reserved(self, seconds: float) -> Connection:
        """Connect in a place counted in `_opening` already."""
        try:
            conn = await self._open(min(seconds, CONNECT_TIMEOUT_SECONDS))
        except DRIVER_ERRORS as exc:
            self._opening -= 1
            self._replace_for_waiter()
            # Whatever it was (a password that was changed, say), no statement of ours was wrong.
            raise StoreUnavailableError(f"no connection can be opened: {describe(exc)}") from exc
        except BaseException:
            self._opening -= 1
            self._replace_for_waiter()
            raise
        self._opening -= 1
        self._leased.add(conn)
        return conn

    async def _open(self, seconds: float) -> Connection:
        async with asyncio.timeout(seconds) as bound:
            self._openings.add(bound)
            try:
                return await self._connect(seconds)
            finally:
                self._openings.discard(bound)

    async def _connect(self, timeout_seconds: float) -> Connection:
        settings: Mapping[str, str] = self._settings if self._wants_settings else {}
        try:
            return await connect(self._dsn, settings=settings, timeout_seconds=timeout_seconds)
        except asyncpg.PostgresError as exc:
            if not (self._wants_settings and refuses_settings(exc)):
                raise
        self._wants_settings = False
        return await connect(self._dsn, settings={}, timeout_seconds=timeout_seconds)

    def _replace_for_waiter(self) -> None:
        """A place is free: let the longest waiter open a connection in it."""
        while self._waiters and len(self._leased) + self._opening < self.size:
            waiter = self._waiters.popleft()
            if not waiter.done():
                self._opening += 1
                waiter.set_result(None)

    def _fail_everything(self) -> None:
        """The database is away: answer all who wait or are at work, now.

        A frozen server fires no timeout of its own, so the connections are cut from here.
        """
        self._refuse_waiters("the database is away")
        idle, self._idle = self._idle, []
        for conn in (*idle, *self._leased):
            conn.terminate()
        for bound in self._openings:
            if not bound.expired():
                bound.reschedule(0)

    def _refuse_waiters(self, reason: str) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(StoreUnavailableError(reason))


class Lease:
    """One use of a connection."""

    __slots__ = ("_conn", "_pool")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def __aenter__(self) -> Connection:
        self._conn = await self._pool.acquire()
        return self._conn

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self._pool.release(self._conn)
            return
        if isinstance(error, asyncio.CancelledError):
            self._pool.discard(self._conn)
            return
        was_cut = self._conn.is_closed()
        if isinstance(error, asyncpg.InternalClientError):
            # A server that stops says so first: until its goodbye is followed by the end of the
            # connection, the driver takes it for open and fails whatever is sent on it.
            self._pool.discard(self._conn)
        else:
            self._pool.release(self._conn)
        if isinstance(error, DRIVER_ERRORS):
            raise translate(error) from error
        if was_cut and isinstance(error, AttributeError):
            # Cut by the pool between two steps of a statement: the driver goes on with a
            # protocol that it no longer has.
            raise StoreUnavailableError("the connection was lost") from error


def _give_up(waiter: "asyncio.Future[Connection | None]") -> None:
    if not waiter.done():
        waiter.set_exception(StoreUnavailableError("no connection became free in time"))


def _return_unclaimed(pool: Pool, waiter: "asyncio.Future[Connection | None]") -> None:
    """Give back what a cancelled waiter was handed and never saw."""
    if not waiter.done() or waiter.cancelled() or waiter.exception() is not None:
        return
    conn = waiter.result()
    if conn is not None:
        pool.release(conn)
    else:
        pool._opening -= 1  # noqa: SLF001 - a place reserved for this waiter
        pool._replace_for_waiter()  # noqa: SLF001 - the next may have it
