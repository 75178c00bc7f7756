"""The queue: PgQueuer's statements over the service's own pool.

Its own worker loop listens for notifications, which no pooler in transaction mode passes
on, and ends a job whoever has it by now. Here the worker looks at the queue, and what ends
a job is a claim that stands (docs/adr/0020-pgqueuer-polled.md).
"""

import asyncio
import uuid
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Protocol, Self

import msgspec
from pgqueuer.adapters.persistence.qb import (
    QueryBuilderEnvironment,
    QueryQueueBuilder,
    QuerySchedulerBuilder,
)
from pgqueuer.core.tm import TaskManager
from pgqueuer.domain.models import Job as QueueJob
from pgqueuer.domain.settings import DBSettings, Durability
from pgqueuer.domain.types import JOB_STATUS, QueueEntrypoint, QueueManagerId
from pgqueuer.ports.repository import EntrypointExecutionParameter
from pgqueuer.queries import Queries

# Not one a garden at a time, but as many as there are: the dedupe key sees to that.
_NO_LIMIT = EntrypointExecutionParameter(concurrency_limit=0)


class Connection(Protocol):
    async def fetch(self, query: str, *args: Any) -> list[Any]: ...

    async def execute(self, query: str, *args: Any) -> str: ...


class Connections(Protocol):
    """A pool whose connections are had for one statement at a time."""

    def connection(self) -> AbstractAsyncContextManager[Any]: ...


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One garden's turn, as this worker has it. `attempts` counts the times it was handed back."""

    garden: str
    attempts: int
    row: QueueJob


class JobQueue:
    """What waits to be done, a garden once; a worker that says nothing loses what it took."""

    def __init__(self, connections: Connections, *, schema: str, lease_seconds: float) -> None:
        names = _names(schema)
        self._queries = Queries(
            PoolDriver(connections),
            qbe=QueryBuilderEnvironment(names),
            qbq=QueryQueueBuilder(names),
            qbs=QuerySchedulerBuilder(names),
        )
        self._lease = timedelta(seconds=lease_seconds)
        self._worker = QueueManagerId(uuid.uuid4())

    async def put(self, garden: str) -> bool:
        """Queue a garden's turn; False when it waits or runs already."""
        added = await self._queries.enqueue(garden, None, dedupe_key=garden, on_conflict="skip")
        return added[0] is not None

    async def take(self, gardens: Collection[str]) -> Job | None:
        """The next turn of these gardens that nobody has, or whose worker fell silent."""
        taken = await self._queries.dequeue(
            batch_size=1,
            entrypoints={QueueEntrypoint(name): _NO_LIMIT for name in gardens},
            queue_manager_id=self._worker,
            global_concurrency_limit=None,
            heartbeat_timeout=self._lease,
        )
        if not taken:
            return None
        return Job(garden=taken[0].entrypoint, attempts=taken[0].attempts, row=taken[0])

    async def keep(self, job: Job) -> None:
        await self._queries.update_heartbeat([job.row.id])

    async def finish(self, job: Job, *, succeeded: bool) -> None:
        # No trace of an error goes with it: the text of one may quote what was stored.
        status: JOB_STATUS = "successful" if succeeded else "exception"
        await self._queries.log_jobs([(job.row, status, None)])

    async def hand_back(self, job: Job, *, delay_seconds: float) -> None:
        await self._queries.retry_job(job.row, timedelta(seconds=delay_seconds), None)


class PoolDriver:
    """PgQueuer's driver: two methods of it, since nothing here listens or notifies."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._shutdown = asyncio.Event()

    async def fetch(self, query: str, *args: object) -> list[dict[str, object]]:
        async with self._connections.connection() as conn:
            return [dict(row) for row in await conn.fetch(query, *args)]

    async def execute(self, query: str, *args: object) -> str:
        async with self._connections.connection() as conn:
            return str(await conn.execute(query, *args))

    async def add_listener(
        self, channel: str, callback: Callable[[str | bytes | bytearray], None]
    ) -> None:
        raise NotImplementedError("the queue is polled")

    async def notify(self, channel: str, payload: str) -> None:
        raise NotImplementedError("the queue is polled")

    @property
    def shutdown(self) -> asyncio.Event:
        return self._shutdown

    @property
    def tm(self) -> TaskManager:
        return TaskManager()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is held."""


class QuotedNames(DBSettings):
    """The library writes the schema's name bare, and some legal ones are words of SQL."""

    def qualify(self, name: str) -> str:
        return f'"{self.db_schema}".{name}'


def _names(schema: str) -> DBSettings:
    """The tables of the migrations. Every name is given: others come from the environment."""
    return QuotedNames.model_validate(
        {
            "prefix": "",
            "db_schema": schema,
            "channel": "commonhold_jobs",
            "function": "jobs_changed",
            "trigger": "jobs_changed",
            "statistics_table": "job_statistics",
            "schedules_table": "job_schedules",
            "queue_status_type": "job_status",
            "queue_table": "jobs",
            "queue_table_log": "job_log",
            "durability": Durability.durable,
            "widen_id": False,
        }
    )
