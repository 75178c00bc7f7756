"""The kit of hits under a limit: checked and recorded in one step (docs/reference/cache.md)."""

import asyncio
import math

from commonhold.conformance.caches import BAD_TTLS, NOW, SHORT, WINDOW, CacheSubject, rule
from commonhold.contract.caches import AtomicHitWindow

SINCE = NOW - WINDOW


class AtomicHitWindowCompliance(CacheSubject):
    """What every AtomicHitWindow does. A subclass gives the fixture `cache`."""

    async def test_the_cache_is_atomic(self, cache: AtomicHitWindow) -> None:
        rule("3", "the protocol is there").holds(isinstance(cache, AtomicHitWindow), cache)

    async def test_hits_are_recorded_up_to_the_limit(self, cache: AtomicHitWindow) -> None:
        seen = [await _try(cache, NOW + n, limit=2) for n in range(3)]
        rule("3", "below the limit None, at it the oldest hit").equal(seen, [None, None, NOW])

    async def test_a_refused_hit_is_not_recorded(self, cache: AtomicHitWindow) -> None:
        for n in range(5):
            await _try(cache, NOW + n, limit=2)
        seen = await cache.count_hits("w", since=SINCE)
        rule("3", "a refusal leaves no hit").equal(seen, 2)

    async def test_hits_before_the_window_do_not_count(self, cache: AtomicHitWindow) -> None:
        await cache.record_hit("w", at=SINCE - 1, ttl_seconds=3600)
        await cache.record_hit("w", at=SINCE, ttl_seconds=3600)
        seen = [await _try(cache, NOW, limit=2), await _try(cache, NOW, limit=2)]
        rule("3", "the window begins at `since`, inclusive").equal(seen, [None, SINCE])

    async def test_the_oldest_hit_is_by_instant(self, cache: AtomicHitWindow) -> None:
        for instant in (NOW, NOW - 5, NOW - 3):
            await cache.record_hit("w", at=instant, ttl_seconds=3600)
        rule("3", "a refusal names the oldest hit of the window").equal(
            await _try(cache, NOW, limit=3), NOW - 5
        )

    async def test_a_series_that_is_over_does_not_count(self, cache: AtomicHitWindow) -> None:
        await cache.record_hit("w", at=NOW, ttl_seconds=SHORT)
        await self.pass_time(cache, 1.2 * SHORT)
        seen = [await _try(cache, NOW + 1, limit=1), await cache.count_hits("w", since=SINCE)]
        rule("3", "KN-3: a series whose time is over has lost its hits").equal(seen, [None, 1])

    async def test_old_hits_are_dropped_as_new_ones_come(self, cache: AtomicHitWindow) -> None:
        for second in range(100):
            await cache.try_record_hit(
                "w", at=NOW + second, since=NOW + second, limit=1000, ttl_seconds=10
            )
        rule("3", "KN-9: hits older than at - ttl are dropped").equal(
            await cache.count_hits("w", since=0), 11
        )

    async def test_a_recorded_hit_renews_the_series(self, cache: AtomicHitWindow) -> None:
        await cache.try_record_hit("w", at=NOW, since=SINCE, limit=9, ttl_seconds=SHORT)
        await self.pass_time(cache, 0.6 * SHORT)
        await cache.try_record_hit("w", at=NOW, since=SINCE, limit=9, ttl_seconds=SHORT)
        await self.pass_time(cache, 0.6 * SHORT)
        rule("3", "a hit renews the lifetime of the whole series").equal(
            await cache.count_hits("w", since=SINCE), 2
        )

    async def test_a_refused_hit_renews_nothing(self, cache: AtomicHitWindow) -> None:
        await cache.try_record_hit("w", at=NOW, since=SINCE, limit=1, ttl_seconds=SHORT)
        await self.pass_time(cache, 0.6 * SHORT)
        await cache.try_record_hit("w", at=NOW, since=SINCE, limit=1, ttl_seconds=SHORT)
        await self.pass_time(cache, 0.6 * SHORT)
        rule("3", "a refusal changes nothing").equal(await cache.count_hits("w", since=SINCE), 0)

    async def test_a_burst_never_passes_the_limit(self, cache: AtomicHitWindow) -> None:
        seen = await asyncio.gather(*(_try(cache, NOW + n / 100, limit=10) for n in range(50)))
        limit = rule("3", "of 50 hits at once under a limit of 10 exactly 10 are recorded")
        limit.equal(seen.count(None), 10)
        limit.equal(await cache.count_hits("w", since=SINCE), 10)

    async def test_bad_arguments_are_refused(self, cache: AtomicHitWindow) -> None:
        refused = rule("3", "KN-7: arguments are checked before anything is recorded")
        for ttl in BAD_TTLS:
            with refused.refuses(ValueError, saying="ttl_seconds"):
                await cache.try_record_hit("w", at=NOW, since=SINCE, limit=1, ttl_seconds=ttl)
        with refused.refuses(ValueError, saying="limit"):
            await _try(cache, NOW, limit=0)
        with refused.refuses(ValueError, saying="at must be finite"):
            await _try(cache, math.nan, limit=1)
        with refused.refuses(ValueError, saying="since must be finite"):
            await cache.try_record_hit("w", at=NOW, since=math.inf, limit=1, ttl_seconds=60)
        with refused.refuses(ValueError, saying="'key'"):
            await cache.try_record_hit("a\x00b", at=NOW, since=SINCE, limit=1, ttl_seconds=60)
        refused.equal(await cache.count_hits("w", since=0), 0)


async def _try(cache: AtomicHitWindow, at: float, *, limit: int) -> float | None:
    return await cache.try_record_hit("w", at=at, since=SINCE, limit=limit, ttl_seconds=2 * WINDOW)
