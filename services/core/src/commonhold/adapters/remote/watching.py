"""What a process over a state service does beside its work: wait for it, and watch it."""

import asyncio
from contextlib import suppress

import structlog

from commonhold.adapters.remote.errors import UnexpectedAnswerError
from commonhold.adapters.remote.options import DEFAULT_OPTIONS, RemoteOptions
from commonhold.adapters.remote.store import RemoteStore, open_remote_store
from commonhold.contract.errors import CommonholdError, ConfigurationError
from commonhold.ops.health import Health
from commonhold.ops.settings import Secret

RETRY_SECONDS = 1.0
RECHECK_SECONDS = 10.0

logger = structlog.get_logger(__name__)


async def open_when_there(
    url: str,
    token: Secret,
    *,
    health: Health,
    stop: asyncio.Event,
    options: RemoteOptions = DEFAULT_OPTIONS,
) -> RemoteStore | None:
    """The store, as soon as its service answers as one; None when asked to stop before.

    A service that is away, takes no token or speaks another wire delays readiness, and the
    reason is told.
    """
    while not stop.is_set():
        try:
            return await _open_unless_stopped(url, token, stop=stop, options=options)
        except CommonholdError as error:
            health.become_unready(error.message)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), RETRY_SECONDS)
    return None


async def _open_unless_stopped(
    url: str, token: Secret, *, stop: asyncio.Event, options: RemoteOptions
) -> RemoteStore | None:
    opening = asyncio.create_task(open_remote_store(url, token, options=options))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((opening, stopping), return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await _give_up(opening)
        raise
    finally:
        stopping.cancel()
    if opening.done():
        return opening.result()
    await _give_up(opening)
    return None


async def _give_up(opening: "asyncio.Task[RemoteStore]") -> None:
    """End what is no longer wanted; it may have opened in that moment."""
    opening.cancel()
    (opened,) = await asyncio.gather(opening, return_exceptions=True)
    if isinstance(opened, RemoteStore):
        await opened.close()


class ServiceWatch:
    """Opens the process while the service is one that it can use.

    A service that goes away later closes nothing: callers are told to come back. One that
    has changed its wire, or no longer takes the token, does.
    """

    def __init__(self, store: RemoteStore, *, health: Health) -> None:
        self._store = store
        self._health = health
        self.is_up = True

    async def run(self) -> None:
        """Check for as long as the process lives."""
        while True:
            fits = await self.check()
            await asyncio.sleep(RECHECK_SECONDS if fits else RETRY_SECONDS)

    async def check(self) -> bool:
        """Look once; whether the service answered as one."""
        try:
            service = await self._store.shake_hands()
        except (ConfigurationError, UnexpectedAnswerError) as error:
            self.is_up = False
            self._health.become_unready(error.message)
            return False
        except CommonholdError as error:
            if self.is_up:
                logger.warning("state_service_away", reason=str(error))
            self.is_up = False
            return False
        if not self._health.can_serve:
            logger.info("ready", client=service.client, backend=service.backend)
        self.is_up = True
        self._health.become_ready()
        return True
