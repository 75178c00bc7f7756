"""The rate limiter over shared and own caches (docs/reference/cache.md, section 6)."""

import asyncio
import math
from uuid import UUID

import pytest

from commonhold.adapters.in_memory import InMemoryCache
from commonhold.adapters.resilience import RateLimiter
from commonhold.contract.caches import HitWindow
from commonhold.contract.model_errors import RateLimitExceeded
from tests.support.steady_clocks import MovedClock

TENANT = "user:ana"


class TwoSteps:
    """A HitWindow without the single step."""

    def __init__(self, inner: InMemoryCache) -> None:
        self.count_hits = inner.count_hits
        self.oldest_hit = inner.oldest_hit
        self.record_hit = inner.record_hit
        self.close = inner.close
        self.__aenter__ = inner.__aenter__
        self.__aexit__ = inner.__aexit__


@pytest.fixture(params=["one step", "two steps"])
def cache(request: pytest.FixtureRequest) -> HitWindow:
    inner = InMemoryCache()
    if request.param == "one step":
        return inner
    two_steps: HitWindow = TwoSteps(inner)  # type: ignore[assignment]  # its methods are attributes
    assert isinstance(two_steps, HitWindow)
    return two_steps


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def limiter(cache: HitWindow, clock: MovedClock) -> RateLimiter:
    return RateLimiter(rpm=3, cache=cache, clock=clock)


async def _refusal(limiter: RateLimiter, tenant: str | UUID = TENANT) -> RateLimitExceeded:
    with pytest.raises(RateLimitExceeded) as refused:
        await limiter.acquire(tenant)
    return refused.value


async def test_the_allowance_is_admitted_and_the_next_is_refused(limiter: RateLimiter) -> None:
    for _ in range(3):
        await limiter.acquire(TENANT)
    assert (await _refusal(limiter)).retry_after == 60.0


async def test_retry_after_is_when_the_oldest_leaves_the_window(
    limiter: RateLimiter, clock: MovedClock
) -> None:
    for _ in range(3):
        await limiter.acquire(TENANT)
        clock.move(10)
    assert (await _refusal(limiter)).retry_after == pytest.approx(30.0)
    clock.move(30.5)
    await limiter.acquire(TENANT)
    assert (await _refusal(limiter)).retry_after == pytest.approx(9.5)


async def test_refusals_take_no_place(limiter: RateLimiter, clock: MovedClock) -> None:
    for _ in range(3):
        await limiter.acquire(TENANT)
    clock.move(59)
    for _ in range(5):
        await _refusal(limiter)
    clock.move(1.5)
    assert await limiter.remaining(TENANT) == 3


async def test_tenants_are_apart(limiter: RateLimiter) -> None:
    for _ in range(3):
        await limiter.acquire(TENANT)
    await limiter.acquire(UUID(int=7))
    assert await limiter.remaining(str(UUID(int=7))) == 2


async def test_remaining_falls_by_one_a_call_and_never_below_zero(
    limiter: RateLimiter, cache: HitWindow, clock: MovedClock
) -> None:
    seen = [await limiter.remaining(TENANT)]
    for _ in range(3):
        await limiter.acquire(TENANT)
        seen.append(await limiter.remaining(TENANT))
    assert seen == [3, 2, 1, 0]
    now = clock.now().timestamp()
    await cache.record_hit(f"kg:ratelimit:{TENANT}", at=now, ttl_seconds=60)
    assert await limiter.remaining(TENANT) == 0


async def test_limiters_share_by_cache_and_prefix(cache: HitWindow, clock: MovedClock) -> None:
    one = RateLimiter(rpm=1, cache=cache, clock=clock)
    same = RateLimiter(rpm=1, cache=cache, clock=clock)
    elsewhere = RateLimiter(rpm=1, clock=clock)
    renamed = RateLimiter(rpm=1, cache=cache, clock=clock, key_prefix="other")
    await one.acquire(TENANT)
    assert [await each.remaining(TENANT) for each in (same, elsewhere, renamed)] == [0, 1, 1]


async def test_a_burst_admits_exactly_the_limit() -> None:
    limiter = RateLimiter(rpm=10)
    answers = await asyncio.gather(
        *(limiter.acquire(TENANT) for _ in range(50)), return_exceptions=True
    )
    assert answers.count(None) == 10
    assert sum(isinstance(answer, RateLimitExceeded) for answer in answers) == 40


async def test_two_windows_of_different_width_share_a_series(clock: MovedClock) -> None:
    cache = InMemoryCache()
    narrow = RateLimiter(rpm=9, window_seconds=10, cache=cache, clock=clock)
    for _ in range(4):
        await narrow.acquire(TENANT)
        clock.move(5)
    assert await narrow.remaining(TENANT) == 7
    assert (
        await RateLimiter(rpm=9, window_seconds=20, cache=cache, clock=clock).remaining(TENANT) == 5
    )


async def test_closing_releases_only_an_own_cache(clock: MovedClock) -> None:
    cache = InMemoryCache()
    async with RateLimiter(rpm=1, cache=cache, clock=clock) as shared:
        await shared.acquire(TENANT)
    assert await shared.remaining(TENANT) == 0
    async with RateLimiter(rpm=1, clock=clock) as own:
        await own.acquire(TENANT)
    assert await own.remaining(TENANT) == 1


@pytest.mark.parametrize("rpm", [0, -1])
def test_a_limit_is_positive(rpm: int) -> None:
    with pytest.raises(ValueError, match="rpm"):
        RateLimiter(rpm=rpm)


@pytest.mark.parametrize("window", [0.0, -1.0, math.nan, math.inf])
def test_a_window_is_positive(window: float) -> None:
    with pytest.raises(ValueError, match="window_seconds"):
        RateLimiter(rpm=1, window_seconds=window)
