"""The kit of caches: values, counters, windows of hits, lifetimes (docs/reference/cache.md).

Ids in the rules are those of the page. A subclass gives the fixture `cache`.
"""

import asyncio
import math
from typing import Any, NoReturn

import pytest

from commonhold.conformance.rules import CitesRules, Rule
from commonhold.contract.caches import Cache, HitWindow, KeyValueCache

NOW = 1_700_000_000.0
WINDOW = 60.0
# Long enough that a busy machine gets from one call to the next in it.
SHORT = 1.0
LONG_KEY = "k" * 10_000
BAD_TTLS = (0.0, -1.0, math.nan, math.inf, 1e10)
NOT_FINITE = (math.nan, math.inf, -math.inf)
UNSTORABLE = ("a\x00b", "a\ud800b")
NOT_A_COUNTER = ("", "four", "4.0", " 4", "+4", "4_0", "\u0664", "1" * 19)


def rule(section: str, text: str) -> Rule:
    return Rule(section, text, "cache.md")


class CacheSubject(CitesRules):
    """What a test class tells the kit about its cache."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def cache(self) -> Any:
        self._missing("the fixture `cache`: an empty cache")

    async def pass_time(self, cache: Any, seconds: float) -> None:
        """Let the cache's own clock advance. Override it where that needs no waiting."""
        await asyncio.sleep(seconds)

    def _missing(self, what: str) -> NoReturn:
        pytest.fail(
            f"{type(self).__name__} must provide {what} (docs/reference/kits.md)", pytrace=False
        )


class CacheCompliance(CacheSubject):
    """What every Cache does."""

    async def test_the_cache_is_both_halves(self, cache: Cache) -> None:
        seen = [isinstance(cache, port) for port in (KeyValueCache, HitWindow, Cache)]
        rule("1", "a cache has the methods of values and of windows").equal(seen, [True] * 3)

    async def test_a_missing_key_reads_as_none(self, cache: Cache) -> None:
        rule("2", "K-1: a key that was never set is None").equal(await cache.get("k"), None)

    async def test_a_value_comes_back_as_text(self, cache: Cache) -> None:
        await cache.set("k", "v")
        rule("2", "K-2, K-3: what was set comes back, as str").equal(await cache.get("k"), "v")

    async def test_a_second_set_replaces_the_first(self, cache: Cache) -> None:
        await cache.set("k", "one")
        await cache.set("k", "two")
        rule("2", "K-4: the last set wins").equal(await cache.get("k"), "two")

    async def test_a_deleted_key_is_gone(self, cache: Cache) -> None:
        await cache.set("k", "v")
        await cache.set("other", "w")
        await cache.delete("k")
        seen = (await cache.get("k"), await cache.get("other"))
        rule("2", "K-5: delete removes its key alone").equal(seen, (None, "w"))

    async def test_deleting_what_is_absent_is_fine(self, cache: Cache) -> None:
        await cache.delete("k")
        await cache.delete("k")
        rule("2", "K-6: an absent key may be deleted").equal(await cache.get("k"), None)

    async def test_an_empty_value_is_a_value(self, cache: Cache) -> None:
        await cache.set("k", "")
        rule("2", "KN-8: an empty text is no miss").equal(await cache.get("k"), "")

    async def test_a_counter_starts_at_one(self, cache: Cache) -> None:
        rule("2", "K-7: the first increment is 1").equal(await cache.increment("n"), 1)

    async def test_a_counter_counts(self, cache: Cache) -> None:
        seen = [await cache.increment("n") for _ in range(3)]
        seen.append(await cache.increment("other"))
        rule("2", "K-8: each increment adds one, key by key").equal(seen, [1, 2, 3, 1])

    async def test_a_counter_reads_as_its_decimal_text(self, cache: Cache) -> None:
        await cache.increment("n")
        await cache.increment("n")
        rule("2", "K-9: a counter is a value").equal(await cache.get("n"), "2")

    async def test_a_deleted_counter_starts_anew(self, cache: Cache) -> None:
        await cache.increment("n")
        await cache.delete("n")
        rule("2", "K-10: after delete the next is 1").equal(await cache.increment("n"), 1)

    async def test_a_counter_continues_from_a_number(self, cache: Cache) -> None:
        await cache.set("n", "4")
        await cache.set("minus", "-1")
        seen = (await cache.increment("n"), await cache.increment("minus"))
        rule("2", "K-11: increment continues from a number that was set").equal(seen, (5, 0))

    async def test_a_counter_goes_on_beyond_32_bits(self, cache: Cache) -> None:
        await cache.set("n", "9" * 18)
        rule("2", "a counter may have 18 digits").equal(await cache.increment("n"), 10**18)

    @pytest.mark.parametrize("text", NOT_A_COUNTER)
    async def test_a_text_is_not_counted(self, cache: Cache, text: str) -> None:
        refused = rule("2", "KN-4: increment of what is no number is refused and changes nothing")
        await cache.set("n", text)
        with refused.refuses(ValueError, saying="key 'n'"):
            await cache.increment("n")
        refused.equal(await cache.get("n"), text)

    async def test_increments_at_once_give_each_number_once(self, cache: Cache) -> None:
        seen = await asyncio.gather(*(cache.increment("n", ttl_seconds=60.0) for _ in range(50)))
        rule("2", "KN-5: 50 increments at once are 1 to 50").equal(sorted(seen), [*range(1, 51)])

    async def test_a_window_without_hits_is_empty(self, cache: Cache) -> None:
        seen = (await cache.count_hits("w", since=NOW), await cache.oldest_hit("w", since=NOW))
        rule("3", "K-12: no hits are 0 and None").equal(seen, (0, None))

    async def test_hits_inside_the_window_count(self, cache: Cache) -> None:
        await _record(cache, "w", NOW, NOW + 1, NOW + 2)
        seen = await cache.count_hits("w", since=NOW - WINDOW)
        rule("3", "K-13: three hits inside are 3").equal(seen, 3)

    async def test_hits_before_the_window_do_not_count(self, cache: Cache) -> None:
        await cache.record_hit("w", at=NOW - 600, ttl_seconds=3600)
        await cache.record_hit("w", at=NOW, ttl_seconds=3600)
        seen = await cache.count_hits("w", since=NOW - WINDOW)
        rule("3", "K-14: a hit of ten minutes ago is outside a minute").equal(seen, 1)

    async def test_the_edge_of_the_window_is_inside(self, cache: Cache) -> None:
        await _record(cache, "w", NOW - WINDOW)
        seen = (
            await cache.count_hits("w", since=NOW - WINDOW),
            await cache.oldest_hit("w", since=NOW - WINDOW),
        )
        rule("3", "K-15: `since` is inclusive").equal(seen, (1, NOW - WINDOW))

    async def test_hits_at_one_instant_are_separate(self, cache: Cache) -> None:
        await _record(cache, "w", NOW, NOW)
        rule("3", "K-16: equal instants are two hits").equal(
            await cache.count_hits("w", since=NOW), 2
        )

    async def test_hits_may_come_out_of_order(self, cache: Cache) -> None:
        await _record(cache, "w", NOW + 5, NOW + 1, NOW + 3)
        seen = (
            await cache.oldest_hit("w", since=NOW),
            await cache.count_hits("w", since=NOW + 2),
        )
        rule("3", "K-17: the oldest is by instant, not by arrival").equal(seen, (NOW + 1, 2))

    async def test_the_oldest_hit_is_of_the_window(self, cache: Cache) -> None:
        await cache.record_hit("w", at=NOW - 600, ttl_seconds=3600)
        await cache.record_hit("w", at=NOW, ttl_seconds=3600)
        seen = await cache.oldest_hit("w", since=NOW - WINDOW)
        rule("3", "K-18: a hit before `since` is not the oldest").equal(seen, NOW)

    async def test_windows_of_two_keys_are_apart(self, cache: Cache) -> None:
        await _record(cache, "w", NOW)
        await _record(cache, "other", NOW, NOW)
        rule("3", "K-19: each key has its own window").equal(
            await cache.count_hits("w", since=NOW), 1
        )

    async def test_a_value_and_a_window_may_share_a_key(self, cache: Cache) -> None:
        await cache.set("k", "v")
        await _record(cache, "k", NOW)
        seen = (await cache.get("k"), await cache.count_hits("k", since=NOW))
        rule("3", "K-20: a value and a series of one key do not meet").equal(seen, ("v", 1))

    async def test_delete_clears_the_window(self, cache: Cache) -> None:
        await _record(cache, "w", NOW)
        await cache.delete("w")
        rule("3", "K-21: delete removes the series too").equal(
            await cache.count_hits("w", since=NOW), 0
        )

    async def test_a_read_of_a_narrow_window_keeps_the_wide_one(self, cache: Cache) -> None:
        await cache.record_hit("w", at=NOW - 600, ttl_seconds=3600)
        await cache.record_hit("w", at=NOW, ttl_seconds=3600)
        await cache.count_hits("w", since=NOW)
        await cache.oldest_hit("w", since=NOW)
        rule("3", "reading discards no hit: two windows may share a series").equal(
            await cache.count_hits("w", since=NOW - 3600), 2
        )

    async def test_old_hits_are_dropped_as_new_ones_come(self, cache: Cache) -> None:
        for second in range(100):
            await cache.record_hit("w", at=NOW + second, ttl_seconds=10)
        rule("3", "KN-9: hits older than at - ttl are dropped, and none that is younger").equal(
            await cache.count_hits("w", since=0), 11
        )

    async def test_a_value_ends_with_its_time(self, cache: Cache) -> None:
        await cache.set("k", "v", ttl_seconds=SHORT)
        seen = [await cache.get("k")]
        await self.pass_time(cache, 1.2 * SHORT)
        seen.append(await cache.get("k"))
        rule("2", "K-22: a value is gone when its time is over").equal(seen, ["v", None])

    async def test_lifetimes_below_a_second_are_kept(self, cache: Cache) -> None:
        await cache.set("k", "v", ttl_seconds=0.05)
        await self.pass_time(cache, 0.15)
        rule("2", "K-22: 0.05 s have passed after 0.15 s").equal(await cache.get("k"), None)

    async def test_a_value_without_a_time_stays(self, cache: Cache) -> None:
        await cache.set("k", "v")
        await self.pass_time(cache, 1.2 * SHORT)
        rule("2", "K-23: without a lifetime a value stays").equal(await cache.get("k"), "v")

    async def test_increments_do_not_renew_the_time(self, cache: Cache) -> None:
        await cache.increment("n", ttl_seconds=SHORT)
        await self.pass_time(cache, 0.6 * SHORT)
        await cache.increment("n", ttl_seconds=SHORT)
        await self.pass_time(cache, 0.6 * SHORT)
        rule("2", "K-24: a counter ends at the time of its first increment").equal(
            await cache.get("n"), None
        )

    async def test_a_counter_whose_time_is_over_starts_anew(self, cache: Cache) -> None:
        await cache.set("n", "7", ttl_seconds=SHORT)
        await self.pass_time(cache, 1.2 * SHORT)
        seen = [await cache.increment("n", ttl_seconds=SHORT)]
        await self.pass_time(cache, 1.2 * SHORT)
        seen.append(await cache.increment("n"))
        rule("2", "what is over counts as 0, and the new lifetime applies").equal(seen, [1, 1])

    async def test_a_word_whose_time_is_over_is_no_obstacle(self, cache: Cache) -> None:
        await cache.set("n", "four", ttl_seconds=SHORT)
        await self.pass_time(cache, 1.2 * SHORT)
        rule("2", "what is over counts as 0, whatever it was").equal(await cache.increment("n"), 1)

    async def test_a_set_without_a_time_takes_the_old_one_away(self, cache: Cache) -> None:
        await cache.set("k", "v", ttl_seconds=SHORT)
        await cache.set("k", "w")
        await self.pass_time(cache, 1.2 * SHORT)
        rule("2", "KN-1: set replaces the lifetime with the value").equal(await cache.get("k"), "w")

    async def test_an_increment_gives_no_time_to_what_has_none(self, cache: Cache) -> None:
        await cache.set("n", "0")
        await cache.increment("n", ttl_seconds=SHORT)
        await self.pass_time(cache, 1.2 * SHORT)
        rule("2", "KN-2: a lifetime applies only to a counter that this call made").equal(
            await cache.get("n"), "1"
        )

    async def test_a_series_that_is_over_does_not_come_back(self, cache: Cache) -> None:
        await cache.record_hit("w", at=NOW, ttl_seconds=SHORT)
        await self.pass_time(cache, 1.2 * SHORT)
        gone = rule("3", "KN-3: a series whose time is over has lost its hits for good")
        gone.equal(await cache.count_hits("w", since=0), 0)
        gone.equal(await cache.oldest_hit("w", since=0), None)
        await cache.record_hit("w", at=NOW, ttl_seconds=SHORT)
        gone.equal(await cache.count_hits("w", since=0), 1)

    async def test_each_hit_renews_the_series(self, cache: Cache) -> None:
        await cache.record_hit("w", at=NOW, ttl_seconds=SHORT)
        await self.pass_time(cache, 0.6 * SHORT)
        await cache.record_hit("w", at=NOW, ttl_seconds=SHORT)
        await self.pass_time(cache, 0.6 * SHORT)
        rule("3", "a hit renews the lifetime of the whole series").equal(
            await cache.count_hits("w", since=0), 2
        )

    @pytest.mark.parametrize("ttl", BAD_TTLS)
    async def test_a_lifetime_that_is_none_is_refused(self, cache: Cache, ttl: float) -> None:
        refused = rule("2", "KN-7: a lifetime is above 0 and at most 1e9, and nothing is written")
        with refused.refuses(ValueError, saying="ttl_seconds"):
            await cache.set("k", "v", ttl_seconds=ttl)
        with refused.refuses(ValueError, saying="ttl_seconds"):
            await cache.increment("k", ttl_seconds=ttl)
        with refused.refuses(ValueError, saying="ttl_seconds"):
            await cache.record_hit("k", at=NOW, ttl_seconds=ttl)
        seen = (await cache.get("k"), await cache.count_hits("k", since=0))
        refused.equal(seen, (None, 0))

    @pytest.mark.parametrize("instant", NOT_FINITE)
    async def test_an_instant_is_finite(self, cache: Cache, instant: float) -> None:
        refused = rule("3", "KN-7: `at` and `since` are finite")
        with refused.refuses(ValueError, saying="at must be finite"):
            await cache.record_hit("w", at=instant, ttl_seconds=60)
        with refused.refuses(ValueError, saying="since must be finite"):
            await cache.count_hits("w", since=instant)
        with refused.refuses(ValueError, saying="since must be finite"):
            await cache.oldest_hit("w", since=instant)

    @pytest.mark.parametrize("key", ["schlüssel 鍵 \U0001f511", LONG_KEY, ""])
    async def test_any_text_is_a_key(self, cache: Cache, key: str) -> None:
        await cache.set(key, f"{key} wert")
        await cache.set(f"{key}2", "other")
        await cache.increment(f"{key}3")
        await _record(cache, key, NOW)
        seen = (await cache.get(key), await cache.count_hits(key, since=NOW))
        rule("2", "KN-11: keys and values are any text, of 10,000 characters too").equal(
            seen, (f"{key} wert", 1)
        )

    @pytest.mark.parametrize("text", UNSTORABLE)
    async def test_text_that_nothing_can_hold_is_refused(self, cache: Cache, text: str) -> None:
        refused = rule("2", "KN-12: unstorable text is refused on a write")
        with refused.refuses(ValueError, saying="'key'"):
            await cache.set(text, "v")
        with refused.refuses(ValueError, saying="'value'"):
            await cache.set("k", text)
        with refused.refuses(ValueError, saying="'key'"):
            await cache.increment(text)
        with refused.refuses(ValueError, saying="'key'"):
            await cache.record_hit(text, at=NOW, ttl_seconds=60)
        refused.equal(await cache.get("k"), None)

    @pytest.mark.parametrize("text", UNSTORABLE)
    async def test_text_that_nothing_can_hold_reads_as_missing(
        self, cache: Cache, text: str
    ) -> None:
        await cache.delete(text)
        seen = (
            await cache.get(text),
            await cache.count_hits(text, since=0),
            await cache.oldest_hit(text, since=0),
        )
        rule("2", "KN-12: unstorable text reads as missing").equal(seen, (None, 0, None))

    async def test_closing_twice_is_safe(self, cache: Cache) -> None:
        await cache.close()
        await cache.close()
        rule("5", "K-25: a cache may be closed twice").holds(condition=True)

    async def test_a_block_gives_the_cache_itself(self, cache: Cache) -> None:
        async with cache as entered:
            rule("5", "L-1: entering returns the cache itself").holds(entered is cache)

    async def test_a_block_closes_once_whatever_happens(self, cache: Cache) -> None:
        calls: list[str] = []
        close = cache.close

        async def counted() -> None:
            calls.append("close")
            await close()

        cache.close = counted  # type: ignore[method-assign]  # to see the call, on any class
        for error in (RuntimeError("inside"), asyncio.CancelledError()):
            seen = await _leave(cache, error)
            rule("5", "L-3: an exception passes, a cancellation too").holds(seen is error)
        rule("5", "L-2: leaving the block closes once").equal(calls, ["close"] * 2)


async def _record(cache: HitWindow, key: str, *instants: float) -> None:
    for instant in instants:
        await cache.record_hit(key, at=instant, ttl_seconds=2 * WINDOW)


async def _leave(cache: Cache, error: BaseException) -> BaseException | None:
    """What comes out of a block that raises `error`."""
    try:
        async with cache:
            raise error
    except (RuntimeError, asyncio.CancelledError) as seen:
        return seen
    return None
