"""The loop of one worker: put due gardens in the queue, take one, see to it.

Every replica runs the same loop. Nothing is remembered of who took what: a job whose
worker fell silent is taken by whoever looks next, and its claim keeps two from meeting.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Protocol

import structlog

from commonhold.contract.claims import Claim
from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.errors import ClaimLostError, CommonholdError
from commonhold.contract.gardens import GardenLedger, GardenRun
from commonhold.ops.metrics import UpkeepMetrics
from commonhold_maintenance.passes import End, Limits, PassRunner, Turn
from commonhold_maintenance.queues import Job, JobQueue
from commonhold_maintenance.schedules import Calendar
from commonhold_maintenance.tasks import Task

# A scope that another garden holds, and a database that went away, are tried again soon.
BUSY_SECONDS = 5.0
RETRY_SECONDS = 10.0
MOST_RETRY_SECONDS = 600.0
_MOST_DOUBLINGS = 6

logger = structlog.get_logger(__name__)


class Readiness(Protocol):
    @property
    def can_serve(self) -> bool: ...


class Worker:
    """One replica. `holder` is told to people who read the claims; it decides nothing."""

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        runner: PassRunner,
        queue: JobQueue,
        ledger: GardenLedger,
        health: Readiness,
        metrics: UpkeepMetrics,
        clock: Clock,
        limits: Limits,
        holder: str,
    ) -> None:
        self._tasks = {task.name: task for task in tasks}
        self._runner = runner
        self._queue = queue
        self._ledger = ledger
        self._health = health
        self._metrics = metrics
        self._clock = clock
        self._limits = limits
        self._holder = holder
        self._calendar = Calendar(read_clock(clock))
        self._is_cut_off = False

    async def run(self, stop: asyncio.Event, *, poll_seconds: float) -> None:
        """Work until asked to stop; what fails is logged and looked at again."""
        while not stop.is_set():
            worked = False
            try:
                if self._health.can_serve:
                    worked = await self.look()
                    self._tell_reached()
            except CommonholdError as error:
                self._tell_unreachable(error)
            except Exception:
                logger.exception("worker_failed")
            if not worked:
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), poll_seconds)

    def _tell_unreachable(self, error: CommonholdError) -> None:
        """Once an outage, however many looks it lasts."""
        if not self._is_cut_off:
            logger.warning("queue_unreachable", code=error.code)
        self._is_cut_off = True

    def _tell_reached(self) -> None:
        if self._is_cut_off:
            logger.info("queue_reachable")
        self._is_cut_off = False

    async def look(self) -> bool:
        """Queue what is due and see to one turn; False when there was none."""
        runs = await self._ledger.list_runs()
        for name in self._due(runs):
            await self._queue.put(name)
        self._metrics.seen(
            {name: run.succeeded_at for name, run in runs.items() if name in self._tasks},
            await self._ledger.backlog(tuple(self._tasks)),
        )
        job = await self._queue.take(tuple(self._tasks))
        if job is None:
            await self._ledger.sweep()
            return False
        return await self._see_to(job)

    def _due(self, runs: Mapping[str, GardenRun]) -> list[str]:
        now = read_clock(self._clock)
        return [
            name
            for name, task in self._tasks.items()
            if self._calendar.is_due(task.schedule, name=name, last=runs.get(name), now=now)
        ]

    async def _see_to(self, job: Job) -> bool:
        task = self._tasks[job.garden]
        claim = await self._runner.claims.acquire(
            task.claims, holder=self._holder, lease_seconds=self._limits.lease_seconds
        )
        if claim is None:
            logger.info("already_running", garden=task.name)
            await self._queue.hand_back(job, delay_seconds=BUSY_SECONDS)
            return False
        try:
            # Another worker may have done it and ended before it could say so.
            if task.name not in self._due(await self._ledger.list_runs()):
                await self._queue.finish(job, succeeded=True)
                return True
            await self._work(task, job, claim)
        finally:
            await self._release(claim)
        return True

    async def _work(self, task: Task, job: Job, claim: Claim) -> None:
        started = perf_counter()
        turn = await self._runner.run(task, claim, sign=lambda: self._queue.keep(job))
        seconds = perf_counter() - started
        if turn.has_ended:
            turn = await note(turn, task, claim, ledger=self._ledger, clock=self._clock)
        elif turn.end is not End.LOST:
            turn = await self._require_claim(turn, claim)
        report_turn(task, turn, seconds=seconds, metrics=self._metrics)
        if turn.end is End.LOST:
            # Whoever has the garden now has the job too.
            return
        if turn.has_ended:
            await self._queue.finish(job, succeeded=turn.is_whole)
        else:
            await self._queue.hand_back(job, delay_seconds=delay_of(turn, attempts=job.attempts))

    async def _require_claim(self, turn: Turn, claim: Claim) -> Turn:
        """The turn, if the job is still this worker's to hand back."""
        try:
            await self._runner.claims.extend(claim, lease_seconds=self._limits.lease_seconds)
        except ClaimLostError:
            return Turn(end=End.LOST)
        except CommonholdError as error:
            # Then the job cannot be handed back either; silence does it.
            logger.warning("claim_not_confirmed", code=error.code)
        return turn

    async def _release(self, claim: Claim) -> None:
        try:
            await self._runner.claims.release(claim)
        except CommonholdError as error:
            # It runs out by itself.
            logger.warning("claim_not_released", code=error.code)


async def note(turn: Turn, task: Task, claim: Claim, *, ledger: GardenLedger, clock: Clock) -> Turn:
    """Put a turn that ended into the ledger; it was lost when the claim no longer stands."""
    try:
        await ledger.record(
            task.name, claim, finished_at=read_clock(clock), succeeded=turn.is_whole
        )
    except ClaimLostError:
        return Turn(end=End.LOST)
    return turn


def report_turn(task: Task, turn: Turn, *, seconds: float, metrics: UpkeepMetrics) -> None:
    """One line a turn, and the metrics of what it did."""
    outcome = turn.outcome
    metrics.passed(seconds)
    if outcome is not None:
        metrics.acted(outcome.actions)
        metrics.skipped(outcome.skips)
        metrics.spent(outcome.cost_micro_usd)
    (logger.info if turn.is_whole else logger.warning)(
        "upkeep_pass",
        garden=task.name,
        end=turn.end.value,
        seconds=round(seconds, 3),
        **({} if outcome is None else outcome.report),
    )


def delay_of(turn: Turn, *, attempts: int) -> float:
    """Until a turn that was handed back comes again."""
    if turn.end is End.STOPPED:
        return 0.0
    put_off = None if turn.outcome is None else turn.outcome.put_off_seconds
    # Whoever is told of no time finds a probe of the model on its way.
    return patience(attempts, first=max(1.0, put_off) if put_off else RETRY_SECONDS)


def patience(attempts: int, *, first: float = RETRY_SECONDS) -> float:
    return float(min(first * 2 ** min(attempts, _MOST_DOUBLINGS), MOST_RETRY_SECONDS))
