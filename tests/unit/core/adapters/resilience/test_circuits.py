"""The circuit breaker, state by state (docs/reference/cache.md, section 7)."""

import math
from collections.abc import MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.in_memory import InMemoryCache
from commonhold.adapters.resilience import CircuitBreaker
from commonhold.contract.errors import StoreUnavailableError
from tests.support.steady_clocks import MonotonicClock, MovedClock


class Time:
    """The caller's clock and the cache's, moved together."""

    def __init__(self) -> None:
        self.clock = MovedClock()
        self.monotonic = MonotonicClock()

    def move(self, seconds: float) -> None:
        self.clock.move(seconds)
        self.monotonic.seconds += seconds


class AwayCache(InMemoryCache):
    """A cache whose backend is gone."""

    async def get(self, key: str) -> str | None:
        raise StoreUnavailableError("gone")

    async def increment(self, key: str, *, ttl_seconds: float | None = None) -> int:
        raise StoreUnavailableError("gone")

    async def set(self, key: str, value: str, *, ttl_seconds: float | None = None) -> None:
        raise StoreUnavailableError("gone")

    async def delete(self, key: str) -> None:
        raise StoreUnavailableError("gone")


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def cache(time: Time) -> InMemoryCache:
    return InMemoryCache(monotonic=time.monotonic)


def _breaker(cache: InMemoryCache | None, time: Time, **options: Any) -> CircuitBreaker:
    return CircuitBreaker(
        **{"failure_threshold": 3, "recovery_timeout": 60.0, **options},
        cache=cache,
        clock=time.clock,
    )


@pytest.fixture
def breaker(cache: InMemoryCache, time: Time) -> CircuitBreaker:
    return _breaker(cache, time)


async def _trip(breaker: CircuitBreaker) -> None:
    for _ in range(3):
        await breaker.record_failure()


async def test_a_fresh_circuit_is_closed_and_allows(breaker: CircuitBreaker) -> None:
    assert await breaker.state() == "closed"
    assert await breaker.allow_request()
    assert await breaker.retry_after() == 0


async def test_it_opens_at_the_threshold_and_not_before(breaker: CircuitBreaker) -> None:
    seen = []
    for _ in range(3):
        await breaker.record_failure()
        seen.append(await breaker.state())
    assert seen == ["closed", "closed", "open"]


async def test_a_success_clears_earlier_failures(breaker: CircuitBreaker) -> None:
    for _ in range(2):
        await breaker.record_failure()
    await breaker.record_success()
    for _ in range(2):
        await breaker.record_failure()
    assert await breaker.state() == "closed"


async def test_failures_far_apart_decay(breaker: CircuitBreaker, time: Time) -> None:
    await breaker.record_failure()
    time.move(40)
    await breaker.record_failure()
    time.move(30)
    await breaker.record_failure()
    assert await breaker.state() == "closed"


async def test_open_refuses_and_reports_the_wait(breaker: CircuitBreaker, time: Time) -> None:
    await _trip(breaker)
    assert not await breaker.allow_request()
    assert await breaker.retry_after() == pytest.approx(60)
    time.move(45)
    assert not await breaker.allow_request()
    assert await breaker.retry_after() == pytest.approx(15)


async def test_in_an_open_circuit_outcomes_change_nothing(breaker: CircuitBreaker) -> None:
    await _trip(breaker)
    await breaker.record_success()
    await breaker.record_failure()
    assert await breaker.state() == "open"


async def test_after_the_timeout_exactly_the_probes_pass(cache: InMemoryCache, time: Time) -> None:
    breaker = _breaker(cache, time, half_open_max_calls=2)
    await _trip(breaker)
    time.move(60)
    assert [await breaker.allow_request() for _ in range(4)] == [True, True, False, False]
    assert await breaker.state() == "half_open"


async def test_a_good_probe_closes(breaker: CircuitBreaker, time: Time) -> None:
    await _trip(breaker)
    time.move(60)
    assert await breaker.allow_request()
    await breaker.record_success()
    assert await breaker.state() == "closed"
    assert [await breaker.allow_request() for _ in range(3)] == [True] * 3


async def test_a_bad_probe_reopens_at_once_with_a_fresh_wait(
    breaker: CircuitBreaker, time: Time
) -> None:
    await _trip(breaker)
    time.move(70)
    assert await breaker.allow_request()
    await breaker.record_failure()
    assert await breaker.state() == "open"
    assert await breaker.retry_after() == pytest.approx(60)


async def test_a_second_recovery_has_a_fresh_allowance(breaker: CircuitBreaker, time: Time) -> None:
    await _trip(breaker)
    time.move(60)
    assert await breaker.allow_request()
    await breaker.record_failure()
    time.move(60)
    assert [await breaker.allow_request() for _ in range(2)] == [True, False]


async def test_a_lost_probe_gives_its_place_back(breaker: CircuitBreaker, time: Time) -> None:
    await _trip(breaker)
    time.move(60)
    assert await breaker.allow_request()
    assert not await breaker.allow_request()
    time.move(61)
    assert [await breaker.allow_request() for _ in range(2)] == [True, False]


async def test_workers_that_go_half_open_at_once_share_the_allowance(
    cache: InMemoryCache, time: Time
) -> None:
    one, other = _breaker(cache, time), _breaker(cache, time)
    await _trip(one)
    time.move(60)
    assert await one.allow_request()
    # The other had read the state before the first one moved it on.
    await cache.set("kg:circuit:state", "open")
    assert not await other.allow_request()


@pytest.mark.parametrize("opened_at", [None, "yesterday", "nan"])
async def test_a_lost_opening_probes(
    breaker: CircuitBreaker, cache: InMemoryCache, opened_at: str | None
) -> None:
    await _trip(breaker)
    if opened_at is None:
        await cache.delete("kg:circuit:opened_at")
    else:
        await cache.set("kg:circuit:opened_at", opened_at)
    assert await breaker.retry_after() == 0
    assert [await breaker.allow_request() for _ in range(2)] == [True, False]


async def test_a_clock_set_back_does_not_wedge_the_circuit(
    breaker: CircuitBreaker, time: Time
) -> None:
    await _trip(breaker)
    time.clock.move(-30)
    assert await breaker.retry_after() == pytest.approx(60)
    time.clock.move(-3600)
    assert await breaker.allow_request()


async def test_a_corrupt_state_reads_closed_and_is_told(
    breaker: CircuitBreaker, cache: InMemoryCache
) -> None:
    await cache.set("kg:circuit:state", "ajar")
    with capture_logs() as logs:
        assert await breaker.state() == "closed"
        assert await breaker.allow_request()
    assert {entry["event"] for entry in logs} == {"circuit_state_unreadable"}


async def test_breakers_share_by_cache_and_prefix(cache: InMemoryCache, time: Time) -> None:
    await _trip(_breaker(cache, time))
    others = {
        "same": _breaker(cache, time),
        "elsewhere": _breaker(InMemoryCache(), time),
        "renamed": _breaker(cache, time, key_prefix="other"),
    }
    seen = {name: await breaker.state() for name, breaker in others.items()}
    assert seen == {"same": "open", "elsewhere": "closed", "renamed": "closed"}


async def test_reset_closes_and_forgets(breaker: CircuitBreaker, cache: InMemoryCache) -> None:
    await _trip(breaker)
    await breaker.reset()
    assert await breaker.state() == "closed"
    assert cache._values == {}


async def test_recovering_leaves_nothing_behind(
    breaker: CircuitBreaker, cache: InMemoryCache, time: Time
) -> None:
    await _trip(breaker)
    time.move(60)
    await breaker.allow_request()
    await breaker.record_success()
    assert cache._values == {}


async def test_a_host_that_asked_for_it_is_left_alone_by_all_for_so_long(
    cache: InMemoryCache, time: Time
) -> None:
    first, second = (_breaker(cache, time) for _ in range(2))
    await first.rest(90)
    assert not await second.allow_request()
    assert await second.retry_after() == pytest.approx(90)
    assert await second.state() == "closed"
    time.move(89)
    assert not await second.allow_request()
    time.move(1)
    assert (await second.allow_request(), await second.retry_after()) == (True, 0)


async def test_a_rest_takes_no_probe_and_the_longer_wait_is_told(
    breaker: CircuitBreaker, time: Time
) -> None:
    await _trip(breaker)
    await breaker.rest(70)
    time.move(60)
    assert await breaker.retry_after() == pytest.approx(10)
    assert [await breaker.allow_request() for _ in range(2)] == [False, False]
    time.move(10)
    assert [await breaker.allow_request() for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("asked", "wait"), [(math.inf, 3600), (86400, 3600), (0, 0), (-5, 0), (math.nan, 0)]
)
async def test_a_rest_is_at_most_an_hour_and_none_is_none(
    breaker: CircuitBreaker, time: Time, asked: float, wait: float
) -> None:
    await breaker.rest(asked)
    assert await breaker.retry_after() == pytest.approx(wait)
    assert await breaker.allow_request() == (wait == 0)
    time.move(3600)
    assert await breaker.allow_request()


async def test_a_clock_set_back_does_not_lengthen_a_rest(
    breaker: CircuitBreaker, time: Time
) -> None:
    await breaker.rest(30)
    time.clock.move(-86400)
    time.monotonic.seconds += 30
    assert await breaker.allow_request()


async def test_a_reset_ends_a_rest(breaker: CircuitBreaker) -> None:
    await breaker.rest(30)
    await breaker.reset()
    assert await breaker.allow_request()


async def test_opening_and_closing_are_told(breaker: CircuitBreaker, time: Time) -> None:
    with capture_logs() as logs:
        await _trip(breaker)
        time.move(60)
        await breaker.allow_request()
        await breaker.record_success()
    assert [(entry["event"], entry["circuit"]) for entry in logs] == [
        ("circuit_opened", "kg:circuit"),
        ("circuit_closed", "kg:circuit"),
    ]


async def test_without_its_cache_it_allows_and_says_so_once_a_minute(time: Time) -> None:
    breaker = _breaker(AwayCache(), time)
    with capture_logs() as logs:
        for _ in range(3):
            assert await breaker.allow_request()
            await breaker.record_failure()
            await breaker.record_success()
            await breaker.rest(5)
        assert (await breaker.state(), await breaker.retry_after()) == ("closed", 0)
        time.move(61)
        await breaker.reset()
    assert [_without_level(entry) for entry in logs] == [
        {"event": "circuit_cache_away", "circuit": "kg:circuit", "reason": "gone"}
    ] * 2


async def test_closing_releases_only_an_own_cache(cache: InMemoryCache, time: Time) -> None:
    async with _breaker(cache, time) as shared:
        await _trip(shared)
    assert await shared.state() == "open"
    async with _breaker(None, time) as own:
        await _trip(own)
    assert await own.state() == "closed"


@pytest.mark.parametrize("name", ["failure_threshold", "recovery_timeout", "half_open_max_calls"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_a_setting_that_is_not_positive_is_named(name: str, value: float) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=name):
        CircuitBreaker(**options)


def _without_level(entry: MutableMapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "log_level"}
