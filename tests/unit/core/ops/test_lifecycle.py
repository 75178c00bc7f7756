"""The order of ending, and that one failure spares the rest."""

import asyncio
from contextlib import AsyncExitStack
from functools import partial

import pytest
from structlog.testing import capture_logs

from commonhold.ops.health import Health
from commonhold.ops.lifecycle import StopSignal, close_later, run_until_stopped


class Listener:
    """Notes what happens to it; drains when a test says so."""

    def __init__(self, health: Health) -> None:
        self.health = health
        self.steps: list[str] = []
        self.draining = asyncio.Event()
        self.idle = asyncio.Event()
        self.failure: Exception | None = None

    def stop_accepting(self) -> None:
        self.steps.append(f"stop accepting, {self.health.obstacle}")

    async def drain(self) -> None:
        self.draining.set()
        await self.idle.wait()
        if self.failure is not None:
            raise self.failure
        self.steps.append("drained")

    async def abort(self) -> None:
        self.steps.append("abort")


@pytest.fixture
def health() -> Health:
    health = Health()
    health.become_ready()
    return health


async def run(listener: Listener, stop: StopSignal, *, drain_seconds: float) -> None:
    async with asyncio.timeout(10):
        await run_until_stopped(
            listener, health=listener.health, stop=stop, drain_seconds=drain_seconds
        )


async def test_unready_then_no_new_work_then_drained_then_the_end(health: Health) -> None:
    listener, stop = Listener(health), StopSignal()
    task = asyncio.create_task(run(listener, stop, drain_seconds=60))
    await asyncio.sleep(0)
    assert (listener.steps, health.is_draining) == ([], False)
    stop.receive()
    await listener.draining.wait()
    assert listener.steps == ["stop accepting, draining"]
    listener.idle.set()
    await task
    assert listener.steps == ["stop accepting, draining", "drained", "abort"]


async def test_the_deadline_ends_the_wait(health: Health) -> None:
    listener, stop = Listener(health), StopSignal()
    stop.receive()
    with capture_logs() as logs:
        await run(listener, stop, drain_seconds=0.01)
    assert listener.steps == ["stop accepting, draining", "abort"]
    assert [log["event"] for log in logs] == ["draining", "drain_deadline_passed", "stopped"]


async def test_a_second_signal_ends_the_wait_and_is_no_deadline(health: Health) -> None:
    listener, stop = Listener(health), StopSignal()
    task = asyncio.create_task(run(listener, stop, drain_seconds=60))
    with capture_logs() as logs:
        stop.receive()
        await listener.draining.wait()
        stop.receive()
        await task
    assert listener.steps == ["stop accepting, draining", "abort"]
    assert [log["event"] for log in logs] == ["draining", "drain_cut_short", "stopped"]


async def test_a_drain_that_fails_is_told_and_ends_what_runs(health: Health) -> None:
    listener, stop = Listener(health), StopSignal()
    listener.failure = RuntimeError("cannot drain")
    listener.idle.set()
    stop.receive()
    with capture_logs() as logs:
        await run(listener, stop, drain_seconds=60)
    assert listener.steps == ["stop accepting, draining", "abort"]
    assert [log["event"] for log in logs] == ["draining", "drain_failed", "stopped"]
    assert logs[1]["exc_info"] is listener.failure


async def test_resources_close_in_reverse_and_one_failure_spares_the_others() -> None:
    closed: list[str] = []

    async def close(name: str) -> None:
        closed.append(name)
        if name == "broken":
            raise RuntimeError("cannot close")
        if name == "stuck":
            await asyncio.Event().wait()

    async with AsyncExitStack() as stack:
        for name in ("first", "broken", "stuck", "last"):
            close_later(stack, name, partial(close, name), seconds=0.05)
    assert closed == ["last", "stuck", "broken", "first"]
