"""A circuit breaker over shared state (docs/reference/cache.md, section 7).

Its state lives in a cache, so that workers on one cache trip together. A damaged or
absent cache never becomes an outage: it reads as a closed circuit.
"""

import math
from collections.abc import Awaitable
from datetime import datetime, timedelta
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias, TypeVar

import structlog

from commonhold.adapters.in_memory.cache import InMemoryCache
from commonhold.contract.caches import KeyValueCache
from commonhold.contract.clock import Clock, SystemClock, read_clock
from commonhold.contract.errors import StoreUnavailableError

CircuitState: TypeAlias = Literal["closed", "open", "half_open"]

_CLOSED: Final = "closed"
_OPEN: Final = "open"
_HALF_OPEN: Final = "half_open"
_SYSTEM_CLOCK = SystemClock()
_COMPLAINT_INTERVAL = timedelta(minutes=1)
# What a host may ask for and get: a header that is wrong by far must not be an outage.
LONGEST_REST_SECONDS: Final = 3600.0

_log = structlog.get_logger(__name__)
T = TypeVar("T")


class CircuitBreaker:
    """Refuses calls of a host that keeps failing, and probes it after a while.

    Whoever was admitted reports one outcome. A probe that is never reported gives its
    place back after `recovery_timeout` seconds.
    """

    def __init__(
        self,
        *,
        failure_threshold: int = 5,
        recovery_timeout: float = 60.0,
        half_open_max_calls: int = 1,
        cache: KeyValueCache | None = None,
        key_prefix: str = "kg:circuit",
        clock: Clock = _SYSTEM_CLOCK,
    ) -> None:
        _require_positive(failure_threshold, name="failure_threshold")
        _require_positive(recovery_timeout, name="recovery_timeout")
        _require_positive(half_open_max_calls, name="half_open_max_calls")
        self._failure_threshold = failure_threshold
        self._recovery_timeout = recovery_timeout
        self._half_open_max_calls = half_open_max_calls
        self._owns_cache = cache is None
        self._cache: KeyValueCache = InMemoryCache() if cache is None else cache
        self._clock = clock
        self._key_prefix = key_prefix
        self._state_key = f"{key_prefix}:state"
        self._opened_at_key = f"{key_prefix}:opened_at"
        self._failures_key = f"{key_prefix}:failures"
        self._rest_key = f"{key_prefix}:rest"
        self._complained_at: datetime | None = None

    async def close(self) -> None:
        if self._owns_cache:
            await self._cache.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def state(self) -> CircuitState:
        """What is stored; missing, unreadable or unreachable reads as closed."""
        return await self._unless_away(self._state(), _CLOSED)

    async def allow_request(self) -> bool:
        """Whether a call may be made now. In a half-open circuit asking takes a probe."""
        return await self._unless_away(self._allow_request(), fallback=True)

    async def record_success(self) -> None:
        """The host answered, whatever it said."""
        await self._unless_away(self._record_success(), None)

    async def record_failure(self) -> None:
        """The host did not answer."""
        await self._unless_away(self._record_failure(), None)

    async def rest(self, seconds: float) -> None:
        """Refuse every call for so long, an hour at most: the host asked to be left alone."""
        await self._unless_away(self._rest(seconds), None)

    async def retry_after(self) -> float:
        """Seconds until a call may be made; 0 when it may be now, or when that is unknown."""
        return await self._unless_away(self._longest_wait(), 0.0)

    async def reset(self) -> None:
        """Close the circuit and forget what led to its state."""
        await self._unless_away(self._clear(), None)

    async def _state(self) -> CircuitState:
        stored = await self._cache.get(self._state_key)
        if stored is None or stored == _CLOSED:
            return _CLOSED
        if stored == _OPEN:
            return _OPEN
        if stored == _HALF_OPEN:
            return _HALF_OPEN
        _log.warning("circuit_state_unreadable", circuit=self._key_prefix)
        return _CLOSED

    async def _allow_request(self) -> bool:
        if await self._rest_left() > 0:
            return False
        state = await self._state()
        if state == _CLOSED:
            return True
        if state == _OPEN:
            if await self._retry_after() > 0:
                return False
            await self._cache.set(self._state_key, _HALF_OPEN)
        probes = await self._cache.increment(
            await self._probes_key(), ttl_seconds=self._recovery_timeout
        )
        return probes <= self._half_open_max_calls

    async def _record_success(self) -> None:
        state = await self._state()
        if state == _HALF_OPEN:
            await self._clear()
            _log.info("circuit_closed", circuit=self._key_prefix)
        elif state == _CLOSED:
            await self._cache.delete(self._failures_key)

    async def _record_failure(self) -> None:
        state = await self._state()
        if state == _HALF_OPEN:
            await self._open()
        elif state == _CLOSED:
            failures = await self._cache.increment(
                self._failures_key, ttl_seconds=self._recovery_timeout
            )
            if failures >= self._failure_threshold:
                await self._open()

    async def _open(self) -> None:
        # The instant first: a reader that sees the state finds it.
        await self._cache.set(self._opened_at_key, repr(self._now()))
        await self._cache.set(self._state_key, _OPEN)
        await self._cache.delete(self._failures_key)
        _log.warning("circuit_opened", circuit=self._key_prefix, seconds=self._recovery_timeout)

    async def _clear(self) -> None:
        probes_key = await self._probes_key()
        # The state first: whoever reads between the two sees a closed circuit.
        await self._cache.delete(self._state_key)
        for key in (self._opened_at_key, self._failures_key, self._rest_key, probes_key):
            await self._cache.delete(key)

    async def _rest(self, seconds: float) -> None:
        wait = min(seconds, LONGEST_REST_SECONDS)
        if wait > 0:
            await self._cache.set(self._rest_key, repr(self._now() + wait), ttl_seconds=wait)
            _log.warning("circuit_rests", circuit=self._key_prefix, seconds=wait)

    async def _rest_left(self) -> float:
        # Its lifetime ends it too, whatever the clock that wrote it said.
        until = _instant(await self._cache.get(self._rest_key))
        return 0.0 if until is None else min(LONGEST_REST_SECONDS, max(0.0, until - self._now()))

    async def _longest_wait(self) -> float:
        return max(await self._rest_left(), await self._retry_after())

    async def _retry_after(self) -> float:
        opened_at = _instant(await self._cache.get(self._opened_at_key))
        if opened_at is None:
            return 0.0
        elapsed = self._now() - opened_at
        # An instant far ahead is a clock's that was set back since, and must not wedge us.
        if abs(elapsed) >= self._recovery_timeout:
            return 0.0
        return min(self._recovery_timeout, self._recovery_timeout - elapsed)

    async def _probes_key(self) -> str:
        """Named after the opening, so that workers that go half-open at once share it."""
        opened_at = await self._cache.get(self._opened_at_key)
        return f"{self._key_prefix}:probes:{opened_at or 'unknown'}"

    async def _unless_away(self, answer: Awaitable[T], fallback: T) -> T:
        try:
            return await answer
        except StoreUnavailableError as error:
            self._complain(error)
            return fallback

    def _complain(self, error: StoreUnavailableError) -> None:
        now = read_clock(self._clock)
        last = self._complained_at
        if last is None or now - last >= _COMPLAINT_INTERVAL:
            self._complained_at = now
            _log.warning("circuit_cache_away", circuit=self._key_prefix, reason=error.reason)

    def _now(self) -> float:
        return read_clock(self._clock).timestamp()


def _require_positive(value: float, *, name: str) -> None:
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value}")


def _instant(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None
