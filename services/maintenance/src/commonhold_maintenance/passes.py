"""One turn under its claim: kept alive while it works, ended by whatever comes first.

The claim is what protects: it stands in the transaction of every change. That a worker
notices the loss of it, a stop or the end of its time only saves work.
"""

import asyncio
from contextlib import suppress
from enum import Enum
from typing import Protocol

import msgspec
import structlog

from commonhold.contract.claims import Claim, Claims
from commonhold.contract.errors import ClaimLostError, CommonholdError, StoreUnavailableError
from commonhold_maintenance.fenced_stores import Acts, Fences, acts_over
from commonhold_maintenance.tasks import Outcome, Task

# A lease outlives two renewals that fail.
RENEWALS = 3

logger = structlog.get_logger(__name__)


class End(Enum):
    """Why a turn ended."""

    DONE = "done"
    LOST = "lost"
    STOPPED = "stopped"
    OVERDUE = "overdue"
    FAILED = "failed"
    AWAY = "away"


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn went; the outcome is there when it came to its own end."""

    end: End
    outcome: Outcome | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it is over until it is due again; else it was lost, or comes again soon."""
        if self.outcome is not None:
            return not self.outcome.is_cut_short
        return self.end in {End.OVERDUE, End.FAILED}

    @property
    def is_whole(self) -> bool:
        return self.outcome is not None and self.outcome.is_whole


class Sign(Protocol):
    """What tells others that a turn is still being worked on, beside its claim."""

    async def __call__(self) -> None: ...


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    lease_seconds: float = 60.0
    pass_seconds: float = 3600.0
    drain_seconds: float = 20.0


class PassRunner:
    """Runs turns over one store, each under a claim that the caller has acquired."""

    def __init__(self, store: Fences, *, limits: Limits, stop: asyncio.Event) -> None:
        self._store = store
        self._limits = limits
        self._stop = stop

    @property
    def claims(self) -> Claims:
        return self._store.claims

    async def run(self, task: Task, claim: Claim, *, sign: Sign) -> Turn:
        """The turn's own end, or the first of: claim lost, stop asked for, time over."""
        acts = acts_over(self._store.guarded(fence=claim))
        work = asyncio.create_task(task.run(acts))
        keeper = asyncio.create_task(self._keep(claim, sign))
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait(
                (work, keeper, stopping),
                timeout=self._limits.pass_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if work.done():
                return _read(work)
            await self._settle(acts)
            # It may have come to its end with the change that was waited for.
            if work.done():
                return _read(work)
            if keeper.done():
                return Turn(end=End.LOST)
            return Turn(end=End.STOPPED if stopping.done() else End.OVERDUE)
        finally:
            await _end(work, keeper, stopping)

    async def _settle(self, acts: Acts) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(acts.settle(), self._limits.drain_seconds)

    async def _keep(self, claim: Claim, sign: Sign) -> None:
        """Renew the lease until the claim is lost; what fails is tried again in time."""
        lease = self._limits.lease_seconds
        while True:
            await asyncio.sleep(lease / RENEWALS)
            try:
                await self._store.claims.extend(claim, lease_seconds=lease)
                await sign()
            except ClaimLostError:
                return
            except CommonholdError as error:
                logger.warning("lease_not_renewed", code=error.code)


def _read(work: asyncio.Task[Outcome]) -> Turn:
    error = work.exception()
    if error is None:
        return Turn(end=End.DONE, outcome=work.result())
    if isinstance(error, ClaimLostError):
        return Turn(end=End.LOST)
    if isinstance(error, StoreUnavailableError):
        return Turn(end=End.AWAY)
    if not isinstance(error, Exception):
        raise error
    # The text of an error may quote what was stored.
    code = error.code if isinstance(error, CommonholdError) else None
    logger.error("upkeep_pass_failed", error=type(error).__name__, code=code)
    return Turn(end=End.FAILED)


async def _end(*tasks: asyncio.Task[object] | asyncio.Task[Outcome] | asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
