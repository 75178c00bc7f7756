"""Claims and the fence they put before mutations (docs/reference/stores.md, section 17).

A mutation holds the rows of its claim FOR SHARE until it commits, so a takeover, which
updates them, waits for it or has stopped it.
"""

from collections.abc import Sequence
from datetime import datetime

import asyncpg
import msgspec

from commonhold.adapters.postgres.connections import transaction
from commonhold.adapters.postgres.pool import Pool
from commonhold.adapters.postgres.statements import ClaimStatements
from commonhold.contract.claims import MAX_LEASE, Claim, claimed_names, lease_of
from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.errors import ClaimLostError
from commonhold.contract.text import require_storable
from commonhold.migrations.connections import Connection


class _ClaimedMeanwhileError(Exception):
    """Leaves the transaction that took some of the names, so that it takes none."""


class PostgresClaims:
    """The claims of one schema; leases are counted on the service's clock."""

    def __init__(self, sql: ClaimStatements, pool: Pool, clock: Clock) -> None:
        self._sql = sql
        self._pool = pool
        self._clock = clock

    async def acquire(
        self, names: Sequence[str], *, holder: str, lease_seconds: float
    ) -> Claim | None:
        claimed = claimed_names(names)
        require_storable(holder, name="holder")
        lease = lease_of(lease_seconds)
        now = read_clock(self._clock)
        async with self._pool.connection() as conn:
            if await conn.fetchval(self._sql.is_claimed, claimed, now, now + MAX_LEASE):
                return None
            try:
                taken = await self._take(conn, claimed, holder, now, now + lease)
            except _ClaimedMeanwhileError:
                return None
        return Claim(tokens=taken, holder=holder, expires_at=now + lease)

    async def _take(
        self,
        conn: Connection,
        names: Sequence[str],
        holder: str,
        now: datetime,
        expires_at: datetime,
    ) -> tuple[tuple[str, int], ...]:
        async with transaction(conn):
            taken = await conn.fetch(
                self._sql.take_claims, names, holder, now, expires_at, now + MAX_LEASE
            )
            if len(taken) < len(names):
                raise _ClaimedMeanwhileError
        return tuple(sorted((row["name"], row["token"]) for row in taken))

    async def extend(self, claim: Claim, *, lease_seconds: float) -> Claim:
        lease = lease_of(lease_seconds)
        now = read_clock(self._clock)
        async with self._pool.connection() as conn, transaction(conn):
            found = await conn.fetch(self._sql.extend_claims, *_columns(claim), now + lease)
            _require_whole(claim, found)
        return msgspec.structs.replace(claim, expires_at=now + lease)

    async def release(self, claim: Claim) -> None:
        async with self._pool.connection() as conn:
            await conn.execute(self._sql.release_claims, *_columns(claim))

    async def hold(self, conn: Connection, claim: Claim) -> None:
        """Keep the claim from being taken over until the transaction ends; ClaimLostError."""
        _require_whole(claim, await conn.fetch(self._sql.hold_claims, *_columns(claim)))


def _columns(claim: Claim) -> tuple[list[str], list[int]]:
    return [name for name, _ in claim.tokens], [token for _, token in claim.tokens]


def _require_whole(claim: Claim, found: Sequence[asyncpg.Record]) -> None:
    standing = {row["name"] for row in found}
    for name, token in claim.tokens:
        if name not in standing:
            raise ClaimLostError(name=name, token=token)
