"""Asks the database once a second, on a connection of its own, whether it answers."""

import asyncio
from collections.abc import Awaitable, Callable

from commonhold.adapters.postgres.errors import describe
from commonhold.migrations.connections import Connection

INTERVAL_SECONDS = 1.0
# Interval and timeout together stay under the three seconds in which a 503 must be out.
TIMEOUT_SECONDS = 1.2
# A loop that was busy this long may hold the answer unread: that is no silence.
_STALL_SECONDS = 0.3


class Probe:
    """`is_up` is the last verdict, `fault` what it was for when it was bad.

    `on_down` is called when the verdict turns bad.
    """

    def __init__(
        self,
        connect: Callable[[float], Awaitable[Connection]],
        *,
        on_down: Callable[[], None],
        interval_seconds: float = INTERVAL_SECONDS,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self.is_up = False
        self.fault = "not asked yet"
        self._connect = connect
        self._on_down = on_down
        self._interval_seconds = interval_seconds
        self._timeout_seconds = timeout_seconds
        self._conn: Connection | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Take the first verdict, then go on in a task until `stop`."""
        self.is_up = await self._answers()
        self._task = asyncio.create_task(self._run(), name="database-probe")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            # Its own end is no error; that of whoever waits here still is.
            await asyncio.gather(self._task, return_exceptions=True)
        self._drop()
        self.is_up = False

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval_seconds)
            was_up, self.is_up = self.is_up, await self._answers()
            if was_up and not self.is_up:
                self._on_down()

    async def _answers(self) -> bool:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + self._timeout_seconds
            try:
                async with asyncio.timeout_at(due):
                    await self._ask()
            except TimeoutError:
                self._drop()
                self.fault = "no answer in time"
                if loop.time() - due < _STALL_SECONDS:
                    return False
            except Exception as error:  # noqa: BLE001 - the driver has many ways to lose a connection
                # A probe that ended here would leave its last verdict standing for ever.
                self._drop()
                self.fault = describe(error)
                return False
            else:
                return True

    async def _ask(self) -> None:
        if self._conn is None or self._conn.is_closed():
            self._conn = await self._connect(self._timeout_seconds)
        await self._conn.fetchval("SELECT 1")

    def _drop(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.terminate()
