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
    await _drain(listener, stop, deadline_seconds=drain_seconds)
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


def tell_unfinished(stop: StopSignal, *, deadline_seconds: float) -> None:
    """Say what ended a drain before it was done."""
    if stop.insisted.is_set():
        logger.warning("drain_cut_short")
    else:
        logger.warning("drain_deadline_passed", deadline_seconds=deadline_seconds)


async def _drain(listener: Listener, stop: StopSignal, *, deadline_seconds: float) -> None:
    draining = asyncio.ensure_future(listener.drain())
    insisting = asyncio.ensure_future(stop.insisted.wait())
    await asyncio.wait(
        (draining, insisting), timeout=deadline_seconds, return_when=asyncio.FIRST_COMPLETED
    )
    if not draining.done():
        tell_unfinished(stop, deadline_seconds=deadline_seconds)
    draining.cancel()
    insisting.cancel()
    failure, _ = await asyncio.gather(draining, insisting, return_exceptions=True)
    if isinstance(failure, Exception):
        logger.error("drain_failed", exc_info=failure)
