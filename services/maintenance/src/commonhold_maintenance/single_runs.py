"""The mode `once`: a pass by itself, without queue and schedule, under the same claim."""

from time import perf_counter

import structlog

from commonhold.contract.clock import Clock
from commonhold.contract.gardens import GardenLedger
from commonhold.ops.metrics import UpkeepMetrics
from commonhold_maintenance.passes import PassRunner
from commonhold_maintenance.tasks import Task
from commonhold_maintenance.workers import note, report_turn

logger = structlog.get_logger(__name__)


async def _nothing_else() -> None:
    """No job is told of: there is none."""


class Once:
    """Runs tasks at the moment they are given."""

    def __init__(
        self,
        *,
        runner: PassRunner,
        ledger: GardenLedger,
        metrics: UpkeepMetrics,
        clock: Clock,
        lease_seconds: float,
        holder: str,
    ) -> None:
        self._runner = runner
        self._ledger = ledger
        self._metrics = metrics
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._holder = holder

    async def run(self, task: Task) -> bool:
        """Whether all went well; a garden that another worker has is left to it."""
        claim = await self._runner.claims.acquire(
            task.claims, holder=self._holder, lease_seconds=self._lease_seconds
        )
        if claim is None:
            logger.info("already_running", garden=task.name)
            return True
        try:
            started = perf_counter()
            turn = await self._runner.run(task, claim, sign=_nothing_else)
            seconds = perf_counter() - started
            if turn.has_ended:
                turn = await note(turn, task, claim, ledger=self._ledger, clock=self._clock)
            report_turn(task, turn, seconds=seconds, metrics=self._metrics)
            return turn.is_whole
        finally:
            await self._runner.claims.release(claim)
