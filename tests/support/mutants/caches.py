"""Caches with one planted bug each, and the tests of their kits that must see it."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from commonhold.adapters.in_memory.cache import InMemoryCache

CACHE = "CacheCompliance"
LIMITS = "AtomicHitWindowCompliance"

Bug = TypeVar("Bug", bound=type[InMemoryCache])


class CacheMutant(msgspec.Struct, frozen=True):
    cache: type[InMemoryCache]
    kit: str
    seen_by: tuple[str, ...]


CACHE_MUTANTS: dict[str, CacheMutant] = {}


def breaks(kit: str, *tests: str) -> Callable[[Bug], Bug]:
    """Register a cache whose bug each of `tests` of `kit` must report."""

    def register(cache: Bug) -> Bug:
        seen_by = tuple(f"test_{name}" for name in tests)
        CACHE_MUTANTS[f"{cache.__name__}{kit}"] = CacheMutant(cache, kit=kit, seen_by=seen_by)
        return cache

    return register


@breaks(CACHE, "the_cache_is_both_halves")
class HasNoWindows(InMemoryCache):
    count_hits = None  # type: ignore[assignment]  # the bug


@breaks(LIMITS, "the_cache_is_atomic")
class HasNoSingleStep(InMemoryCache):
    try_record_hit = None  # type: ignore[assignment]  # the bug


@breaks(
    CACHE,
    "a_missing_key_reads_as_none",
    "text_that_nothing_can_hold_reads_as_missing",
    "deleting_what_is_absent_is_fine",
    "a_value_ends_with_its_time",
    "lifetimes_below_a_second_are_kept",
)
class ReadsMissingAsEmpty(InMemoryCache):
    async def get(self, key: str) -> str | None:
        return await super().get(key) or ""


@breaks(CACHE, "a_value_comes_back_as_text", "a_counter_reads_as_its_decimal_text")
class ReadsBytes(InMemoryCache):
    async def get(self, key: str) -> Any:
        value = await super().get(key)
        return None if value is None else value.encode()


@breaks(CACHE, "an_empty_value_is_a_value")
class ReadsEmptyAsMissing(InMemoryCache):
    async def get(self, key: str) -> str | None:
        return await super().get(key) or None


@breaks(CACHE, "a_second_set_replaces_the_first", "a_set_without_a_time_takes_the_old_one_away")
class KeepsTheFirst(InMemoryCache):
    async def set(self, key: str, value: str, *, ttl_seconds: float | None = None) -> None:
        if await self.get(key) is None:
            await super().set(key, value, ttl_seconds=ttl_seconds)


@breaks(CACHE, "a_set_without_a_time_takes_the_old_one_away")
class KeepsTheOldTime(InMemoryCache):
    async def set(self, key: str, value: str, *, ttl_seconds: float | None = None) -> None:
        before = self._live_value(key)
        await super().set(key, value, ttl_seconds=ttl_seconds)
        if before is not None and ttl_seconds is None:
            self._values[key].deadline = before.deadline


@breaks(CACHE, "a_deleted_key_is_gone", "a_deleted_counter_starts_anew", "delete_clears_the_window")
class DeletesNothing(InMemoryCache):
    async def delete(self, key: str) -> None:
        pass


@breaks(CACHE, "a_deleted_key_is_gone")
class DeletesEverything(InMemoryCache):
    async def delete(self, key: str) -> None:
        self._values.clear()


@breaks(CACHE, "deleting_what_is_absent_is_fine", "text_that_nothing_can_hold_reads_as_missing")
class RefusesToDeleteNothing(InMemoryCache):
    async def delete(self, key: str) -> None:
        del self._values[key]


@breaks(
    CACHE,
    "a_counter_starts_at_one",
    "a_counter_counts",
    "a_deleted_counter_starts_anew",
    "a_counter_continues_from_a_number",
    "a_counter_goes_on_beyond_32_bits",
    "a_counter_whose_time_is_over_starts_anew",
    "a_word_whose_time_is_over_is_no_obstacle",
    "increments_at_once_give_each_number_once",
)
class ReturnsTheCountBefore(InMemoryCache):
    async def increment(self, key: str, *, ttl_seconds: float | None = None) -> int:
        return await super().increment(key, ttl_seconds=ttl_seconds) - 1


@breaks(CACHE, "a_counter_continues_from_a_number", "a_counter_reads_as_its_decimal_text")
class CountsBesideTheValues(InMemoryCache):
    async def increment(self, key: str, *, ttl_seconds: float | None = None) -> int:
        return await super().increment(f"counter:{key}", ttl_seconds=ttl_seconds)


@breaks(CACHE, "a_text_is_not_counted")
class CountsTextAsNothing(InMemoryCache):
    async def increment(self, key: str, *, ttl_seconds: float | None = None) -> int:
        try:
            return await super().increment(key, ttl_seconds=ttl_seconds)
        except ValueError as error:
            if "whole number" not in str(error):
                raise
            await self.set(key, "1")
            return 1


@breaks(CACHE, "increments_at_once_give_each_number_once")
class ReadsThenWrites(InMemoryCache):
    async def increment(self, key: str, *, ttl_seconds: float | None = None) -> int:
        total = int(await self.get(key) or "0") + 1
        await asyncio.sleep(0)
        await self.set(key, str(total), ttl_seconds=ttl_seconds)
        return total


@breaks(CACHE, "increments_do_not_renew_the_time")
class RenewsACounter(InMemoryCache):
    async def increment(self, key: str, *, ttl_seconds: float | None = None) -> int:
        total = await super().increment(key, ttl_seconds=ttl_seconds)
        if ttl_seconds is not None:
            self._values[key].deadline = self._monotonic() + ttl_seconds
        return total


@breaks(CACHE, "an_increment_gives_no_time_to_what_has_none")
class TakesOneForNew(InMemoryCache):
    async def increment(self, key: str, *, ttl_seconds: float | None = None) -> int:
        total = await super().increment(key, ttl_seconds=ttl_seconds)
        if total == 1 and ttl_seconds is not None:
            self._values[key].deadline = self._monotonic() + ttl_seconds
        return total


@breaks(CACHE, "a_window_without_hits_is_empty", "text_that_nothing_can_hold_reads_as_missing")
class FindsAHitInNothing(InMemoryCache):
    async def oldest_hit(self, key: str, *, since: float) -> float | None:
        found = await super().oldest_hit(key, since=since)
        return since if found is None else found


@breaks(
    CACHE, "hits_inside_the_window_count", "hits_at_one_instant_are_separate", "any_text_is_a_key"
)
class CountsOneLess(InMemoryCache):
    async def count_hits(self, key: str, *, since: float) -> int:
        return max(0, await super().count_hits(key, since=since) - 1)


@breaks(CACHE, "hits_before_the_window_do_not_count")
class CountsEverything(InMemoryCache):
    async def count_hits(self, key: str, *, since: float) -> int:
        return await super().count_hits(key, since=min(since, 0.0))


@breaks(CACHE, "the_edge_of_the_window_is_inside")
class LeavesTheEdgeOut(InMemoryCache):
    async def count_hits(self, key: str, *, since: float) -> int:
        return await super().count_hits(key, since=since + 1e-6)


@breaks(CACHE, "hits_at_one_instant_are_separate")
class TakesHitsForASet(InMemoryCache):
    async def record_hit(self, key: str, *, at: float, ttl_seconds: float) -> None:
        if await self.oldest_hit(key, since=at) != at:
            await super().record_hit(key, at=at, ttl_seconds=ttl_seconds)


@breaks(CACHE, "hits_may_come_out_of_order")
class TakesTheFirstForTheOldest(InMemoryCache):
    async def record_hit(self, key: str, *, at: float, ttl_seconds: float) -> None:
        newest = max(self._hits_since(key, 0.0), default=at)
        await super().record_hit(key, at=max(at, newest), ttl_seconds=ttl_seconds)


@breaks(CACHE, "the_oldest_hit_is_of_the_window")
class FindsTheOldestOfAll(InMemoryCache):
    async def oldest_hit(self, key: str, *, since: float) -> float | None:
        return await super().oldest_hit(key, since=min(since, 0.0))


@breaks(CACHE, "windows_of_two_keys_are_apart")
class HasOneWindow(InMemoryCache):
    async def record_hit(self, key: str, *, at: float, ttl_seconds: float) -> None:
        await super().record_hit("all", at=at, ttl_seconds=ttl_seconds)

    async def count_hits(self, key: str, *, since: float) -> int:
        return await super().count_hits("all", since=since)


@breaks(CACHE, "a_value_and_a_window_may_share_a_key")
class HitsAreValues(InMemoryCache):
    async def record_hit(self, key: str, *, at: float, ttl_seconds: float) -> None:
        await super().record_hit(key, at=at, ttl_seconds=ttl_seconds)
        await self.set(key, str(at))


@breaks(CACHE, "a_read_of_a_narrow_window_keeps_the_wide_one")
class DropsWhatAReadPassed(InMemoryCache):
    async def count_hits(self, key: str, *, since: float) -> int:
        found = self._hits_since(key, since)
        if key in self._series:
            self._series[key].hits = found
        return len(found)


class _NeverDrops(InMemoryCache):
    def _record(self, key: str, *, at: float, ttl_seconds: float) -> None:
        before = self._hits_since(key, 0.0)
        super()._record(key, at=at, ttl_seconds=ttl_seconds)
        self._series[key].hits = sorted([*before, at])


@breaks(CACHE, "old_hits_are_dropped_as_new_ones_come")
class KeepsOldHits(_NeverDrops):
    pass


@breaks(LIMITS, "old_hits_are_dropped_as_new_ones_come")
class KeepsOldLimitedHits(_NeverDrops):
    pass


@breaks(
    CACHE,
    "a_value_ends_with_its_time",
    "lifetimes_below_a_second_are_kept",
    "increments_do_not_renew_the_time",
    "a_counter_whose_time_is_over_starts_anew",
    "a_word_whose_time_is_over_is_no_obstacle",
    "a_series_that_is_over_does_not_come_back",
)
class NeverEnds(InMemoryCache):
    def _is_over(self, entry: object) -> bool:
        return False


@breaks(CACHE, "lifetimes_below_a_second_are_kept")
class RoundsUpToSeconds(InMemoryCache):
    async def set(self, key: str, value: str, *, ttl_seconds: float | None = None) -> None:
        rounded = ttl_seconds if ttl_seconds is None else max(1.0, ttl_seconds)
        if ttl_seconds is not None and ttl_seconds <= 0:
            rounded = ttl_seconds
        await super().set(key, value, ttl_seconds=rounded)


@breaks(CACHE, "a_value_without_a_time_stays")
class EndsEverything(InMemoryCache):
    async def set(self, key: str, value: str, *, ttl_seconds: float | None = None) -> None:
        await super().set(key, value, ttl_seconds=1.0 if ttl_seconds is None else ttl_seconds)


class _RevivesHits(InMemoryCache):
    """Hits of a series that is over count again once it is renewed."""

    def _live_series(self, key: str) -> Any:
        return self._series.get(key)

    async def count_hits(self, key: str, *, since: float) -> int:
        over = key in self._series and self._is_over(self._series[key])
        return 0 if over else await super().count_hits(key, since=since)

    async def oldest_hit(self, key: str, *, since: float) -> float | None:
        over = key in self._series and self._is_over(self._series[key])
        return None if over else await super().oldest_hit(key, since=since)


@breaks(CACHE, "a_series_that_is_over_does_not_come_back")
class RevivesHits(_RevivesHits):
    pass


@breaks(LIMITS, "a_series_that_is_over_does_not_count")
class RevivesLimitedHits(_RevivesHits):
    pass


class _NeverRenews(InMemoryCache):
    def _record(self, key: str, *, at: float, ttl_seconds: float) -> None:
        before = self._live_series(key)
        deadline = None if before is None else before.deadline
        super()._record(key, at=at, ttl_seconds=ttl_seconds)
        if deadline is not None:
            self._series[key].deadline = deadline


@breaks(CACHE, "each_hit_renews_the_series")
class NeverRenews(_NeverRenews):
    pass


@breaks(LIMITS, "a_recorded_hit_renews_the_series")
class NeverRenewsLimited(_NeverRenews):
    pass


@breaks(CACHE, "a_lifetime_that_is_none_is_refused")
class TakesAnyLifetime(InMemoryCache):
    async def set(self, key: str, value: str, *, ttl_seconds: float | None = None) -> None:
        self._put(key, value, ttl_seconds)


@breaks(CACHE, "an_instant_is_finite")
class TakesAnyInstant(InMemoryCache):
    async def record_hit(self, key: str, *, at: float, ttl_seconds: float) -> None:
        self._record(key, at=at, ttl_seconds=ttl_seconds)


@breaks(CACHE, "any_text_is_a_key")
class CutsKeys(InMemoryCache):
    async def set(self, key: str, value: str, *, ttl_seconds: float | None = None) -> None:
        await super().set(key[:255], value, ttl_seconds=ttl_seconds)

    async def get(self, key: str) -> str | None:
        return await super().get(key[:255])


@breaks(CACHE, "text_that_nothing_can_hold_is_refused")
class TakesAnyText(InMemoryCache):
    async def set(self, key: str, value: str, *, ttl_seconds: float | None = None) -> None:
        if ttl_seconds is not None:
            await super().set(key, value, ttl_seconds=ttl_seconds)
        else:
            self._put(key, value, None)


@breaks(CACHE, "closing_twice_is_safe", "a_block_closes_once_whatever_happens")
class ClosesOnce(InMemoryCache):
    async def close(self) -> None:
        await super().close()
        del self._monotonic


@breaks(CACHE, "a_block_gives_the_cache_itself")
class EntersAsAnother(InMemoryCache):
    async def __aenter__(self) -> Any:
        return InMemoryCache()


@breaks(CACHE, "a_block_closes_once_whatever_happens")
class SwallowsExceptions(InMemoryCache):
    async def __aexit__(  # type: ignore[override]  # the bug
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        await self.close()
        return True


@breaks(CACHE, "a_block_closes_once_whatever_happens")
class StaysOpen(InMemoryCache):
    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass


@breaks(
    LIMITS,
    "hits_are_recorded_up_to_the_limit",
    "a_refused_hit_is_not_recorded",
    "a_refused_hit_renews_nothing",
)
class RecordsARefusedHit(InMemoryCache):
    async def try_record_hit(
        self, key: str, *, at: float, since: float, limit: int, ttl_seconds: float
    ) -> float | None:
        oldest = await super().try_record_hit(
            key, at=at, since=since, limit=limit, ttl_seconds=ttl_seconds
        )
        if oldest is not None:
            self._record(key, at=at, ttl_seconds=ttl_seconds)
            return at
        return None


@breaks(LIMITS, "hits_before_the_window_do_not_count")
class LimitsWithoutAWindow(InMemoryCache):
    async def try_record_hit(
        self, key: str, *, at: float, since: float, limit: int, ttl_seconds: float
    ) -> float | None:
        return await super().try_record_hit(
            key, at=at, since=min(since, 0.0), limit=limit, ttl_seconds=ttl_seconds
        )


@breaks(LIMITS, "the_oldest_hit_is_by_instant")
class NamesTheNewestHit(InMemoryCache):
    async def try_record_hit(
        self, key: str, *, at: float, since: float, limit: int, ttl_seconds: float
    ) -> float | None:
        oldest = await super().try_record_hit(
            key, at=at, since=since, limit=limit, ttl_seconds=ttl_seconds
        )
        return None if oldest is None else self._hits_since(key, since)[-1]


@breaks(LIMITS, "a_burst_never_passes_the_limit")
class ChecksThenRecords(InMemoryCache):
    async def try_record_hit(
        self, key: str, *, at: float, since: float, limit: int, ttl_seconds: float
    ) -> float | None:
        oldest = await self.oldest_hit(key, since=since)
        if await self.count_hits(key, since=since) >= limit:
            return oldest
        await asyncio.sleep(0)
        await self.record_hit(key, at=at, ttl_seconds=ttl_seconds)
        return None


@breaks(LIMITS, "bad_arguments_are_refused")
class LimitsToNothing(InMemoryCache):
    async def try_record_hit(
        self, key: str, *, at: float, since: float, limit: int, ttl_seconds: float
    ) -> float | None:
        return await super().try_record_hit(
            key, at=at, since=since, limit=max(1, limit), ttl_seconds=ttl_seconds
        )
