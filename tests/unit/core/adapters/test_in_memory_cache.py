"""The in-memory cache passes its kits, and does not grow with what is over."""

import asyncio

import pytest

from commonhold.adapters.in_memory import InMemoryCache
from commonhold.conformance import AtomicHitWindowCompliance, CacheCompliance
from tests.support.steady_clocks import MonotonicClock


class OnASteadyClock:
    @pytest.fixture
    def cache(self) -> InMemoryCache:
        return InMemoryCache(monotonic=MonotonicClock())

    async def pass_time(self, cache: InMemoryCache, seconds: float) -> None:
        monotonic = cache._monotonic
        assert isinstance(monotonic, MonotonicClock)
        monotonic.seconds += seconds


class TestCache(OnASteadyClock, CacheCompliance):
    pass


class TestLimits(OnASteadyClock, AtomicHitWindowCompliance):
    pass


async def test_by_default_lifetimes_are_of_the_machines_clock() -> None:
    cache = InMemoryCache()
    await cache.set("k", "v", ttl_seconds=0.05)
    await cache.set("longer", "v", ttl_seconds=600)
    await asyncio.sleep(0.2)
    assert (await cache.get("k"), await cache.get("longer")) == (None, "v")


async def test_what_is_over_is_dropped_though_nobody_asks_for_it() -> None:
    monotonic = MonotonicClock()
    cache = InMemoryCache(monotonic=monotonic)
    for number in range(5000):
        await cache.set(f"value:{number}", "v", ttl_seconds=10)
        await cache.record_hit(f"series:{number}", at=0, ttl_seconds=10)
        monotonic.seconds += 1
    assert len(cache._values) + len(cache._series) < 2048
    assert await cache.get("value:4995") == "v"


async def test_closing_forgets_everything() -> None:
    cache = InMemoryCache()
    await cache.set("k", "v")
    await cache.record_hit("k", at=1, ttl_seconds=60)
    await cache.close()
    assert (await cache.get("k"), await cache.count_hits("k", since=0)) == (None, 0)
