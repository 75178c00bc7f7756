"""The cache on Postgres: one view for all processes (docs/reference/cache.md, section 4).

A key is found by its SHA-256, since no index holds a key of any length. Each call is one
statement whose row lock makes it atomic; a series is one row with its hits.
"""

import hashlib
from types import TracebackType
from typing import Any, Self

from commonhold.adapters.postgres.connections import LARGEST_BIGINT
from commonhold.adapters.postgres.pool import Pool
from commonhold.adapters.postgres.statements import statements_in
from commonhold.contract.caches import (
    check_hit,
    check_instant,
    check_limited_hit,
    check_ttl,
    not_a_counter,
)
from commonhold.contract.text import require_storable, text_fault

_SWEEP_BATCH = 500


class PostgresCache:
    """Values, counters and hit series in one schema of a Postgres.

    The constructor takes a pool and leaves it open; `connect` makes one that `close` ends.
    """

    def __init__(self, pool: Pool, *, schema: str = "commonhold") -> None:
        self._pool = pool
        self._owns_pool = False
        self._sql = statements_in(schema).cache

    @classmethod
    async def connect(cls, dsn: str, *, schema: str = "commonhold", **pool_options: Any) -> Self:
        """A cache with a pool of its own; an absent database is no error yet."""
        cache = cls(await Pool.open(dsn, **pool_options), schema=schema)
        cache._owns_pool = True
        return cache

    async def close(self) -> None:
        if self._owns_pool:
            await self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def get(self, key: str) -> str | None:
        if text_fault(key) is not None:
            return None
        value: str | None = await self._fetch(self._sql.select_value, _digest(key))
        return value

    async def set(self, key: str, value: str, *, ttl_seconds: float | None = None) -> None:
        require_storable(key, name="key")
        require_storable(value, name="value")
        check_ttl(ttl_seconds)
        await self._fetch(self._sql.set_value, _digest(key), key, value, ttl_seconds)

    async def increment(self, key: str, *, ttl_seconds: float | None = None) -> int:
        require_storable(key, name="key")
        check_ttl(ttl_seconds)
        total: int | None = await self._fetch(
            self._sql.increment_value, _digest(key), key, ttl_seconds
        )
        if total is None:
            raise not_a_counter(key)
        return total

    async def delete(self, key: str) -> None:
        if text_fault(key) is None:
            await self._fetch(self._sql.delete_key, _digest(key))

    async def record_hit(self, key: str, *, at: float, ttl_seconds: float) -> None:
        check_hit(key, at=at, ttl_seconds=ttl_seconds)
        await self._fetch(self._sql.record_hit, _digest(key), key, at, ttl_seconds)

    async def count_hits(self, key: str, *, since: float) -> int:
        check_instant(since, name="since")
        if text_fault(key) is not None:
            return 0
        return int(await self._fetch(self._sql.count_hits, _digest(key), since))

    async def oldest_hit(self, key: str, *, since: float) -> float | None:
        check_instant(since, name="since")
        if text_fault(key) is not None:
            return None
        oldest: float | None = await self._fetch(self._sql.select_oldest_hit, _digest(key), since)
        return oldest

    async def try_record_hit(
        self, key: str, *, at: float, since: float, limit: int, ttl_seconds: float
    ) -> float | None:
        check_limited_hit(key, at=at, since=since, limit=limit, ttl_seconds=ttl_seconds)
        most = min(limit, LARGEST_BIGINT)
        while True:
            recorded = await self._fetch(
                self._sql.try_record_hit, _digest(key), key, at, ttl_seconds, since, most
            )
            if recorded:
                return None
            # The statement that was refused may have begun before those hits were there.
            oldest = await self.oldest_hit(key, since=since)
            if oldest is not None:
                return oldest

    async def sweep(self) -> int:
        """Delete one batch of what is over, and return how much; readers ignore it anyway."""
        async with self._pool.connection() as conn:
            values = await conn.fetchval(self._sql.sweep_values, _SWEEP_BATCH)
            series = await conn.fetchval(self._sql.sweep_series, _SWEEP_BATCH)
        return int(values) + int(series)

    async def _fetch(self, statement: str, *arguments: object) -> Any:
        async with self._pool.connection() as conn:
            return await conn.fetchval(statement, *arguments)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
