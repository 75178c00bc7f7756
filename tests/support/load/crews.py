"""Several operating system processes whose clients begin at the same moment."""

import asyncio
import ctypes
import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from multiprocessing.synchronize import Barrier
from typing import Any

import msgspec

from tests.support.histories.records import Attempt
from tests.support.load.clients import Client
from tests.support.load.programs import PROGRAMS

GATHER_SECONDS = 30
FINISH_SECONDS = 150
SEATS = 256


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A program for one client: its name is the beginning of the names of its acts."""

    name: str
    program: str
    arguments: dict[str, Any]
    replica: int = 0
    patience: float = 4


class Board:
    """Shared by all processes: whether to stop, and which meeting each seat has come to."""

    def __init__(self, context: SpawnContext) -> None:
        self._stopping = context.Event()
        self._seats = context.RawArray(ctypes.c_long, SEATS)

    def stop(self) -> None:
        self._stopping.set()

    def clear(self) -> None:
        self._stopping.clear()
        for seat in range(SEATS):
            self._seats[seat] = 0

    def stopped(self) -> bool:
        return self._stopping.is_set()

    def arrive(self, seat: int, meeting: int) -> None:
        self._seats[seat] = meeting

    def all_arrived(self, seats: range, meeting: int) -> bool:
        return all(self._seats[seat] >= meeting for seat in seats)


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    ports: list[int]
    token: str
    tasks: list[Task]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    attempts: list[Attempt]
    failure: str | None = None


class Crew:
    """Workers that wait for orders. Each gets a share of the tasks, and all start at once."""

    def __init__(
        self, pipes: Sequence["Connection[bytes, bytes]"], board: Board, *, token: str
    ) -> None:
        self._pipes = pipes
        self._board = board
        self._token = token

    def run(self, ports: Sequence[int], tasks: Sequence[Task]) -> list[Attempt]:
        """Do the tasks to their end: neighbours in the list in different processes, at
        different replicas."""
        self.start(ports, tasks)
        return self.collect()

    def start(self, ports: Sequence[int], tasks: Sequence[Task]) -> None:
        self._board.clear()
        crew = len(self._pipes)
        spread = [
            msgspec.structs.replace(task, replica=number + number // crew)
            for number, task in enumerate(tasks)
        ]
        for number, pipe in enumerate(self._pipes):
            share = spread[number::crew]
            orders = Orders(ports=list(ports), token=self._token, tasks=share)
            pipe.send_bytes(msgspec.msgpack.encode(orders))

    def stop(self) -> list[Attempt]:
        """Tell programs that go on until told to stop, and return what they did."""
        self._board.stop()
        return self.collect()

    def collect(self) -> list[Attempt]:
        reports = []
        for pipe in self._pipes:
            if not pipe.poll(FINISH_SECONDS):
                raise TimeoutError("a worker did not report")
            reports.append(msgspec.msgpack.decode(pipe.recv_bytes(), type=Report))
        for report in reports:
            if report.failure is not None:
                raise RuntimeError(f"a worker failed: {report.failure}")
        return [attempt for report in reports for attempt in report.attempts]


@contextmanager
def assemble_crew(*, processes: int, token: str) -> Iterator[Crew]:
    context = multiprocessing.get_context("spawn")
    barrier, board = context.Barrier(processes), Board(context)
    ends = [context.Pipe() for _ in range(processes)]
    workers = [
        context.Process(target=serve, args=(inner, barrier, board), daemon=True)
        for _, inner in ends
    ]
    for worker in workers:
        worker.start()
    try:
        yield Crew([outer for outer, _ in ends], board, token=token)
    finally:
        board.stop()
        for (outer, inner), worker in zip(ends, workers, strict=True):
            outer.close()
            inner.close()
            worker.join(GATHER_SECONDS)


def serve(pipe: "Connection[bytes, bytes]", barrier: Barrier, board: Board) -> None:
    """Carry out orders until the pipe is closed."""
    asyncio.run(_serve(pipe, barrier, board))


async def _serve(pipe: "Connection[bytes, bytes]", barrier: Barrier, board: Board) -> None:
    while True:
        try:
            orders = msgspec.msgpack.decode(pipe.recv_bytes(), type=Orders)
        except EOFError:
            return
        pipe.send_bytes(msgspec.msgpack.encode(await _carry_out(orders, barrier, board)))


async def _carry_out(orders: Orders, barrier: Barrier, board: Board) -> Report:
    clients = [
        Client(orders.ports, token=orders.token, name=task.name, patience=task.patience)
        for task in orders.tasks
    ]
    try:
        for client, task in zip(clients, orders.tasks, strict=True):
            client.prefer(task.replica)
            await client.open()
        barrier.wait(GATHER_SECONDS)
        async with asyncio.TaskGroup() as group:
            for client, task in zip(clients, orders.tasks, strict=True):
                program = PROGRAMS[task.program](client, board, **task.arguments)
                group.create_task(_run(program))
    except Exception as failure:  # noqa: BLE001 - whatever it was, the parent must hear of it
        return Report(attempts=[], failure=repr(failure))
    finally:
        for client in clients:
            client.close()
    return Report(attempts=[attempt for client in clients for attempt in client.attempts])


async def _run(program: Any) -> None:
    await program
