"""What a worker says of a queue that cannot be reached, and when it tries again."""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import TickingClock
from commonhold.contract.claims import Claim
from commonhold.contract.errors import CommonholdError, StoreUnavailableError
from commonhold.contract.gardens import Backlog, GardenRun
from commonhold.ops.health import Health
from commonhold_maintenance.app import new_metrics
from commonhold_maintenance.passes import End, Limits, PassRunner, Turn
from commonhold_maintenance.tasks import Outcome
from commonhold_maintenance.workers import Worker, delay_of, patience

AWAY = StoreUnavailableError("the database is away")


class ScriptedLedger:
    """Fails or answers as a script says, and asks the worker to stop when it has ended."""

    def __init__(self, *script: CommonholdError | None, stop: asyncio.Event) -> None:
        self._script: Iterator[CommonholdError | None] = iter(script)
        self._stop = stop

    async def list_runs(self) -> Mapping[str, GardenRun]:
        for failure in self._script:
            if failure is not None:
                raise failure
            return {}
        self._stop.set()
        raise AWAY

    async def record(
        self, garden: str, claim: Claim, *, finished_at: datetime, succeeded: bool
    ) -> None:
        raise AssertionError((garden, claim, finished_at, succeeded))

    async def backlog(self, gardens: Collection[str]) -> Backlog:
        assert not gardens
        return Backlog()

    async def sweep(self) -> None:
        pass


class EmptyQueue:
    async def take(self, gardens: Collection[str]) -> None:
        assert not gardens


async def events_of(*script: CommonholdError | None) -> list[tuple[str, str]]:
    """What is logged over looks that end so, and one more that fails."""
    stop, health, metrics = asyncio.Event(), Health(), new_metrics()
    health.become_ready()
    store: Any = InMemoryStore()
    limits = Limits()
    queue: Any = EmptyQueue()
    worker = Worker(
        [],
        runner=PassRunner(store, limits=limits, stop=stop),
        queue=queue,
        ledger=ScriptedLedger(*script, stop=stop),
        health=health,
        metrics=metrics.upkeep(actions=(), skips=()),
        clock=TickingClock(),
        limits=limits,
        holder="a test",
    )
    with capture_logs() as logs:
        await asyncio.wait_for(worker.run(stop, poll_seconds=0.001), 10)
    return [(entry["event"], entry["log_level"]) for entry in logs]


async def test_an_outage_is_told_when_it_begins_and_when_it_ends() -> None:
    assert await events_of(None, AWAY, AWAY, AWAY, None, None) == [
        ("queue_unreachable", "warning"),
        ("queue_reachable", "info"),
        ("queue_unreachable", "warning"),
    ]


def turn_put_off(seconds: float | None) -> Turn:
    return Turn(
        end=End.DONE,
        outcome=Outcome(
            report={},
            actions={},
            skips={},
            is_whole=False,
            is_cut_short=True,
            put_off_seconds=seconds,
        ),
    )


@pytest.mark.parametrize(
    ("turn", "delays"),
    [
        (turn_put_off(60.0), [60, 120, 240, 480, 600]),
        (turn_put_off(0.25), [1, 2, 4, 8, 16]),
        (turn_put_off(3600.0), [600, 600, 600, 600, 600]),
        # Of no known time, and of a database that went away.
        (turn_put_off(0.0), [10, 20, 40, 80, 160]),
        (turn_put_off(None), [10, 20, 40, 80, 160]),
        (Turn(end=End.AWAY), [10, 20, 40, 80, 160]),
        (Turn(end=End.STOPPED), [0, 0, 0, 0, 0]),
    ],
)
def test_a_turn_comes_again_when_it_may_and_later_each_time(
    turn: Turn, delays: list[float]
) -> None:
    assert [delay_of(turn, attempts=count) for count in range(5)] == delays


async def test_an_outage_from_the_start_is_told_once() -> None:
    assert await events_of(AWAY, AWAY) == [("queue_unreachable", "warning")]


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(0, 10), (1, 20), (5, 320), (6, 600), (7, 600), (100_000, 600)]
)
def test_each_attempt_waits_twice_as_long_up_to_ten_minutes(attempts: int, seconds: float) -> None:
    assert patience(attempts) == seconds
