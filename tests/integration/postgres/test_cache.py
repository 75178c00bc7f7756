"""PostgresCache passes its kits, shares one view, and leaves no row behind for ever."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.postgres import PostgresCache
from commonhold.adapters.resilience import CircuitBreaker, RateLimiter
from commonhold.conformance import AtomicHitWindowCompliance, CacheCompliance
from commonhold.contract.errors import StoreUnavailableError
from commonhold.contract.model_errors import RateLimitExceeded
from tests.support.pools import open_pool
from tests.support.tcp_proxy import proxy_to

AGE = """
UPDATE commonhold.cache_values SET expires_at = expires_at - make_interval(secs => $1)
"""
AGE_SERIES = """
UPDATE commonhold.cache_series SET expires_at = expires_at - make_interval(secs => $1)
"""


class Direct:
    """Eight connections to the server itself; time passes by waiting."""

    pool_size = 8

    @pytest.fixture
    def dsn(self, database_dsn: str) -> str:
        return database_dsn

    @pytest.fixture
    async def cache(self, dsn: str) -> AsyncIterator[PostgresCache]:
        pool = await open_pool(dsn, size=self.pool_size, wait_seconds=20)
        yield PostgresCache(pool)
        await pool.close()


class SingleConnection(Direct):
    """A pool of one, on rows that are aged in place of waiting."""

    pool_size = 1

    async def pass_time(self, cache: PostgresCache, seconds: float) -> None:
        async with cache._pool.connection() as conn:
            await conn.execute(AGE, seconds)
            await conn.execute(AGE_SERIES, seconds)


class BehindPooler(SingleConnection):
    """PgBouncer in transaction mode."""

    pool_size = 8

    @pytest.fixture
    def dsn(self, pgbouncer_dsn: str) -> str:
        return pgbouncer_dsn


class TestCache(Direct, CacheCompliance):
    pass


class TestCacheOnOneConnection(SingleConnection, CacheCompliance):
    pass


class TestCacheBehindPooler(BehindPooler, CacheCompliance):
    pass


class TestLimits(Direct, AtomicHitWindowCompliance):
    pass


class TestLimitsOnOneConnection(SingleConnection, AtomicHitWindowCompliance):
    pass


class TestLimitsBehindPooler(BehindPooler, AtomicHitWindowCompliance):
    pass


@pytest.fixture
async def two_caches(database_dsn: str) -> AsyncIterator[tuple[PostgresCache, PostgresCache]]:
    async with (
        await PostgresCache.connect(database_dsn, size=4, wait_seconds=20) as one,
        await PostgresCache.connect(database_dsn, size=4, wait_seconds=20) as other,
    ):
        yield one, other


async def test_two_pools_see_one_view(two_caches: tuple[PostgresCache, PostgresCache]) -> None:
    one, other = two_caches
    await one.set("k", "v")
    await one.record_hit("w", at=5.0, ttl_seconds=60)
    assert await other.get("k") == "v"
    assert await other.oldest_hit("w", since=0) == 5.0
    counts = await asyncio.gather(*(cache.increment("n") for cache in (one, other) * 25))
    assert sorted(counts) == [*range(1, 51)]


async def test_limiters_of_two_pools_share_their_window(
    two_caches: tuple[PostgresCache, PostgresCache],
) -> None:
    limiters = [RateLimiter(rpm=10, cache=cache) for cache in two_caches]
    taken = await asyncio.gather(
        *(limiter.acquire("tenant") for limiter in limiters * 25), return_exceptions=True
    )
    assert taken.count(None) == 10
    assert sum(isinstance(answer, RateLimitExceeded) for answer in taken) == 40


async def test_breakers_of_two_pools_trip_together(
    two_caches: tuple[PostgresCache, PostgresCache],
) -> None:
    one, other = (CircuitBreaker(failure_threshold=2, cache=cache) for cache in two_caches)
    await one.record_failure()
    await other.record_failure()
    assert not await one.allow_request()
    assert 0 < await other.retry_after() <= 60


async def test_a_burst_of_first_hits_is_counted_whole(database_dsn: str) -> None:
    async with await PostgresCache.connect(database_dsn, size=8, wait_seconds=20) as cache:
        await asyncio.gather(*(cache.record_hit("w", at=n, ttl_seconds=900) for n in range(64)))
        assert await cache.count_hits("w", since=0) == 64


async def test_the_sweep_removes_what_is_over_and_nothing_else(database_dsn: str) -> None:
    pool = await open_pool(database_dsn, size=2)
    cache = PostgresCache(pool)
    await cache.set("over", "v", ttl_seconds=60)
    await cache.record_hit("over", at=1, ttl_seconds=60)
    async with pool.connection() as conn:
        await conn.execute(AGE, 120.0)
        await conn.execute(AGE_SERIES, 120.0)
    await cache.set("stays", "v")
    await cache.set("lives", "v", ttl_seconds=60)
    await cache.record_hit("lives", at=1, ttl_seconds=60)
    assert await cache.sweep() == 2
    assert await cache.sweep() == 0
    async with pool.connection() as conn:
        values = await conn.fetch("SELECT key FROM commonhold.cache_values ORDER BY key")
        series = await conn.fetch("SELECT key FROM commonhold.cache_series")
    await pool.close()
    assert [row["key"] for row in values] == ["lives", "stays"]
    assert [row["key"] for row in series] == ["lives"]


async def test_only_what_was_opened_here_is_closed(database_dsn: str) -> None:
    pool = await open_pool(database_dsn, size=1)
    async with PostgresCache(pool) as borrowing:
        await borrowing.set("k", "v")
    assert await borrowing.get("k") == "v"
    async with await PostgresCache.connect(database_dsn, size=1) as owning:
        assert await owning.get("k") == "v"
    with pytest.raises(StoreUnavailableError, match="closed"):
        await owning.get("k")
    await pool.close()


async def test_a_breaker_without_its_database_lets_calls_through(database_dsn: str) -> None:
    async with proxy_to(database_dsn) as (proxy, dsn):
        cache = await PostgresCache.connect(dsn, size=1, wait_seconds=1)
        breaker = CircuitBreaker(failure_threshold=1, cache=cache)
        await breaker.record_failure()
        assert not await breaker.allow_request()
        proxy.refusing = True
        proxy.cut()
        assert await breaker.allow_request()
        with pytest.raises(StoreUnavailableError):
            await RateLimiter(rpm=1, cache=cache).acquire("tenant")
        await cache.close()
