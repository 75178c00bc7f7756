"""How a service ends: unready, no new connections, running work finished, resources closed."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Protocol

import structlog

from commonhold.ops.health import Health

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

logger = structlog.get_logger(__name__)


class Listener(Protocol):
    """What takes requests in and can be asked to stop."""

    def stop_accepting(self) -> None:
        """Close the listening sockets; open connections end after their request."""
        ...

    async def drain(self) -> None:
        """Return once no request is running."""
        ...

    async def abort(self) -> None:
        """End what still runs."""
        ...


class StopSignal:
    """Set by SIGTERM or SIGINT; a second one says that the wait is over."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.insisted = asyncio.Event()

    def install(self) -> None:
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self.receive)

    def receive(self) -> None:
        if self.requested.is_set():
            self.insisted.set()
        self.requested.set()


async def run_until_stopped(
    listener: Listener, *, health: Health, stop: StopSignal, drain_seconds: float
) -> None:
    """Wait for the signal, then drain within the deadline and end what is left."""
    await stop.requested.wait()
    health.drain()
    logger.info("draining", deadline_seconds=drain_seconds)
    listener.stop_accepting()
    finished = await _wait(listener.drain(), stop.insisted, timeout_seconds=drain_seconds)
    if not finished:
        logger.warning("drain_deadline_passed", deadline_seconds=drain_seconds)
    await listener.abort()
    logger.info("stopped")


def close_later(
    stack: AsyncExitStack, name: str, close: Callable[[], Awaitable[None]], *, seconds: float = 5.0
) -> None:
    """Register a resource: the stack closes in reverse, and one failure spares the others."""

    async def run() -> None:
        try:
            async with asyncio.timeout(seconds):
                await close()
        except Exception:
            logger.exception("close_failed", resource=name)

    stack.push_async_callback(run)


async def _wait(work: Awaitable[None], insisted: asyncio.Event, *, timeout_seconds: float) -> bool:
    tasks = {asyncio.ensure_future(work), asyncio.ensure_future(insisted.wait())}
    done, pending = await asyncio.wait(
        tasks, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED
    )
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return bool(done) and not insisted.is_set()
