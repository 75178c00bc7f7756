"""The thread of a store, and those who no longer wait for its answers."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from commonhold.adapters.file.calls import SystemCalls
from commonhold.adapters.file.locks import Root
from commonhold.adapters.file.tree import Tree
from commonhold.adapters.file.workers import Worker


class Gate:
    """An act that says when it runs, and ends when it is told to."""

    def __init__(self) -> None:
        self.entered = Event()
        self.opened = Event()

    def __call__(self, _tree: Tree) -> str:
        self.entered.set()
        self.opened.wait()
        return "through"


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    worker = Worker(Root(tmp_path, calls=SystemCalls(), wait_seconds=1))
    yield worker
    worker.close()


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Open in the end, whatever the test found."""
    gate = Gate()
    yield gate
    gate.opened.set()


async def test_a_call_that_was_given_up_before_its_turn_is_not_made(
    worker: Worker, gate: Gate
) -> None:
    made: list[str] = []
    first = asyncio.create_task(worker.read(gate))
    second = asyncio.create_task(worker.read(lambda _: made.append("second")))
    await asyncio.to_thread(gate.entered.wait)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    gate.opened.set()
    assert await first == "through"
    await worker.read(lambda _: made.append("third"))
    assert made == ["third"]


async def test_a_call_that_was_given_up_in_its_turn_is_made_and_answers_nobody(
    worker: Worker, gate: Gate
) -> None:
    faults: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    first = asyncio.create_task(worker.read(gate))
    await asyncio.to_thread(gate.entered.wait)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    gate.opened.set()
    assert await worker.read(lambda _: "next") == "next"
    assert faults == []


def test_an_answer_to_a_loop_that_is_closed_is_dropped(worker: Worker, gate: Gate) -> None:
    async def give_up() -> None:
        asyncio.create_task(worker.read(gate)).add_done_callback(lambda _: None)
        await asyncio.to_thread(gate.entered.wait)

    asyncio.run(give_up())
    gate.opened.set()
    assert asyncio.run(worker.read(lambda _: "next")) == "next"
