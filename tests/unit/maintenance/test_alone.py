"""When a worker without a queue tries a turn again that did not come to its end."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from commonhold.contract.claims import Claim
from commonhold.ops.health import Health
from commonhold_maintenance.alone import LoneWorker, OwnLedger
from commonhold_maintenance.app import new_metrics
from commonhold_maintenance.schedules import Schedule
from tests.support.steady_clocks import MovedClock

CLAIM = Claim(tokens=(("garden:a", 1),), holder="me", expires_at=datetime.max.replace(tzinfo=UTC))


class Garden:
    name = "a"
    schedule = Schedule(jitter=0)


class Turns:
    """Ends turns as it is told: notes them, leaves them, or fails."""

    def __init__(self, ledger: OwnLedger, clock: MovedClock) -> None:
        self.ends = "left"
        self.count = 0
        self._ledger = ledger
        self._clock = clock

    async def run(self, task: Garden) -> None:
        self.count += 1
        if self.ends == "fails":
            raise RuntimeError("the model is away")
        if self.ends == "noted":
            finished = self._clock.now()
            await self._ledger.record(task.name, CLAIM, finished_at=finished, succeeded=True)


class Alone:
    """A worker with one garden, over turns that a test ends."""

    def __init__(self) -> None:
        self.clock = MovedClock()
        ledger = OwnLedger()
        self.turns = Turns(ledger, self.clock)
        tasks: Any = [Garden()]
        once: Any = self.turns
        self._worker = LoneWorker(
            tasks,
            once=once,
            ledger=ledger,
            health=Health(),
            metrics=new_metrics().upkeep(actions=(), skips=()),
            clock=self.clock,
        )

    async def tries(self) -> bool:
        """Whether a look at this moment begins a turn."""
        before = self.turns.count
        if self.turns.ends == "fails":
            with pytest.raises(RuntimeError, match="away"):
                await self._worker.look(asyncio.Event())
        else:
            await self._worker.look(asyncio.Event())
        return self.turns.count > before


@pytest.mark.parametrize("ends", ["left", "fails"])
async def test_a_turn_that_did_not_end_waits_longer_each_time(ends: str) -> None:
    alone = Alone()
    alone.turns.ends = ends
    assert await alone.tries()
    alone.turns.ends = "left"
    for seconds in (10, 20, 40):
        alone.clock.move(seconds - 0.5)
        assert not await alone.tries()
        alone.clock.move(0.5)
        assert await alone.tries()


async def test_a_turn_that_ended_begins_the_count_anew() -> None:
    alone = Alone()
    assert await alone.tries()
    alone.clock.move(10)
    alone.turns.ends = "noted"
    assert await alone.tries()
    alone.clock.move(24 * 3600)
    alone.turns.ends = "left"
    assert await alone.tries()
    alone.clock.move(10)
    assert await alone.tries()
