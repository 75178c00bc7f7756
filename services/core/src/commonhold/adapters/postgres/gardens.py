"""What workers know of their gardens together: when each was last seen to, what is queued."""

from collections.abc import Collection, Mapping
from datetime import datetime

from commonhold.adapters.postgres.claims import PostgresClaims
from commonhold.adapters.postgres.connections import transaction
from commonhold.adapters.postgres.pool import Pool
from commonhold.adapters.postgres.statements import statements_in
from commonhold.contract.claims import Claim
from commonhold.contract.gardens import Backlog, GardenRun


class PostgresGardenLedger:
    """The rows beside the queue."""

    def __init__(self, pool: Pool, claims: PostgresClaims, *, schema: str) -> None:
        self._pool = pool
        self._claims = claims
        self._sql = statements_in(schema).gardens

    async def list_runs(self) -> Mapping[str, GardenRun]:
        async with self._pool.connection() as conn:
            rows = await conn.fetch(self._sql.list_garden_runs)
        return {
            row["garden"]: GardenRun(
                finished_at=row["finished_at"], succeeded_at=row["succeeded_at"]
            )
            for row in rows
        }

    async def record(
        self, garden: str, claim: Claim, *, finished_at: datetime, succeeded: bool
    ) -> None:
        async with self._pool.connection() as conn, transaction(conn):
            await self._claims.hold(conn, claim)
            await conn.execute(
                self._sql.record_garden_run,
                garden,
                finished_at,
                finished_at if succeeded else None,
            )

    async def backlog(self, gardens: Collection[str]) -> Backlog:
        async with self._pool.connection() as conn:
            row = await conn.fetchrow(self._sql.select_job_backlog, list(gardens))
        if row is None:
            return Backlog()
        return Backlog(depth=row["depth"], oldest_seconds=row["oldest_seconds"])

    async def sweep(self) -> None:
        async with self._pool.connection() as conn:
            await conn.execute(self._sql.sweep_job_log)
