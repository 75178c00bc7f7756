"""A worker over a state service: alone, without a queue, and behind a weaker fence.

docs/reference/maintenance.md, section 9. Nothing is shared, so nothing is claimed from
others: whoever starts a second worker starts a second gardener of the same gardens. What it
remembers of its passes ends with it.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from commonhold.contract.claims import Claim, Claims
from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.errors import CommonholdError
from commonhold.contract.gardens import Backlog, GardenRun
from commonhold.contract.stores import Mutations
from commonhold.ops.metrics import UpkeepMetrics
from commonhold_maintenance.schedules import Calendar
from commonhold_maintenance.single_runs import Once
from commonhold_maintenance.tasks import Task
from commonhold_maintenance.workers import Readiness, patience

logger = structlog.get_logger(__name__)


class NoFence:
    """Claims of this process alone: a view under one is the store itself."""

    def __init__(self, store: Mutations, claims: Claims) -> None:
        self.claims = claims
        self._store = store

    def guarded(self, *, fence: Claim) -> Mutations:  # noqa: ARG002 - no service knows of it
        return self._store


class OwnLedger:
    """What this process knows of its passes."""

    def __init__(self) -> None:
        self._runs: dict[str, GardenRun] = {}

    async def list_runs(self) -> Mapping[str, GardenRun]:
        return dict(self._runs)

    async def record(
        self,
        garden: str,
        claim: Claim,  # noqa: ARG002 - the port's signature
        *,
        finished_at: datetime,
        succeeded: bool,
    ) -> None:
        earlier = self._runs.get(garden)
        succeeded_at = None if earlier is None else earlier.succeeded_at
        self._runs[garden] = GardenRun(
            finished_at=finished_at, succeeded_at=finished_at if succeeded else succeeded_at
        )

    async def backlog(self, gardens: Collection[str]) -> Backlog:  # noqa: ARG002 - the port's signature
        return Backlog()

    async def sweep(self) -> None:
        """Nothing is logged."""


class LoneWorker:
    """Sees to what is due, one turn after the other."""

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        once: Once,
        ledger: OwnLedger,
        health: Readiness,
        metrics: UpkeepMetrics,
        clock: Clock,
    ) -> None:
        self._tasks = tuple(tasks)
        self._once = once
        self._ledger = ledger
        self._health = health
        self._metrics = metrics
        self._clock = clock
        self._calendar = Calendar(read_clock(clock))
        # Turns that did not come to their end: how often, and when to try again.
        self._broken: dict[str, tuple[int, datetime]] = {}

    async def run(self, stop: asyncio.Event, *, poll_seconds: float) -> None:
        """Work until asked to stop; what fails is logged and looked at again."""
        while not stop.is_set():
            worked = False
            try:
                if self._health.can_serve:
                    worked = await self.look(stop)
            except CommonholdError as error:
                logger.warning("state_service_failed", code=error.code)
            except Exception:
                logger.exception("worker_failed")
            if not worked:
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), poll_seconds)

    async def look(self, stop: asyncio.Event) -> bool:
        """See to everything that is due; False when nothing was."""
        due = [task for task in self._tasks if await self._is_due(task)]
        for task in due:
            if stop.is_set():
                break
            await self._see_to(task)
        runs = await self._ledger.list_runs()
        self._metrics.seen({name: run.succeeded_at for name, run in runs.items()}, Backlog())
        return bool(due)

    async def _is_due(self, task: Task) -> bool:
        now = read_clock(self._clock)
        if task.name in self._broken and now < self._broken[task.name][1]:
            return False
        last = (await self._ledger.list_runs()).get(task.name)
        return self._calendar.is_due(task.schedule, name=task.name, last=last, now=now)

    async def _see_to(self, task: Task) -> None:
        before = (await self._ledger.list_runs()).get(task.name)
        try:
            await self._once.run(task)
        finally:
            if (await self._ledger.list_runs()).get(task.name) != before:
                self._broken.pop(task.name, None)
            else:
                count = self._broken.get(task.name, (0, None))[0]
                again = read_clock(self._clock) + timedelta(seconds=patience(count))
                self._broken[task.name] = (count + 1, again)
