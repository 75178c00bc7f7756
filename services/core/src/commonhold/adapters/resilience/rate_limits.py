"""So many calls in any window of time, tenant by tenant (docs/reference/cache.md, section 6)."""

from types import TracebackType
from typing import Self
from uuid import UUID

from commonhold.adapters.in_memory.cache import InMemoryCache
from commonhold.contract.caches import AtomicHitWindow, HitWindow
from commonhold.contract.clock import Clock, SystemClock, read_clock
from commonhold.contract.model_errors import RateLimitExceeded

_SYSTEM_CLOCK = SystemClock()


class RateLimiter:
    """A sliding window over the hits of a cache; limiters on one cache share theirs.

    On a cache that is an AtomicHitWindow a burst never passes the limit; on another the
    check and the hit are two steps, and calls at one moment may.
    """

    def __init__(
        self,
        *,
        rpm: int,
        window_seconds: float = 60.0,
        cache: HitWindow | None = None,
        key_prefix: str = "kg:ratelimit",
        clock: Clock = _SYSTEM_CLOCK,
    ) -> None:
        if rpm < 1:
            raise ValueError(f"rpm must be >= 1, got {rpm}")
        if not 0 < window_seconds < float("inf"):
            raise ValueError(f"window_seconds must be positive and finite, got {window_seconds}")
        self._rpm = rpm
        self._window_seconds = window_seconds
        self._owns_cache = cache is None
        self._cache: HitWindow = InMemoryCache() if cache is None else cache
        self._key_prefix = key_prefix
        self._clock = clock

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

    async def acquire(self, tenant_id: str | UUID) -> None:
        """Take a place, or raise RateLimitExceeded; a call that is refused takes none."""
        now = self._now()
        is_full, oldest = await self._take(self._key(tenant_id), now=now)
        if not is_full:
            return
        wait = self._window_seconds if oldest is None else oldest + self._window_seconds - now
        raise RateLimitExceeded(
            f"more than {self._rpm} calls in {self._window_seconds:g} s", retry_after=max(0.0, wait)
        )

    async def remaining(self, tenant_id: str | UUID) -> int:
        """Places free now, never less than 0."""
        since = self._now() - self._window_seconds
        return max(0, self._rpm - await self._cache.count_hits(self._key(tenant_id), since=since))

    async def _take(self, key: str, *, now: float) -> tuple[bool, float | None]:
        """Whether the window was full, and its oldest hit then."""
        since = now - self._window_seconds
        # Twice the window, so that another limiter's wider view of the series is not cut.
        ttl_seconds = 2 * self._window_seconds
        if isinstance(self._cache, AtomicHitWindow):
            oldest = await self._cache.try_record_hit(
                key, at=now, since=since, limit=self._rpm, ttl_seconds=ttl_seconds
            )
            return oldest is not None, oldest
        if await self._cache.count_hits(key, since=since) >= self._rpm:
            return True, await self._cache.oldest_hit(key, since=since)
        await self._cache.record_hit(key, at=now, ttl_seconds=ttl_seconds)
        return False, None

    def _key(self, tenant_id: str | UUID) -> str:
        return f"{self._key_prefix}:{tenant_id}"

    def _now(self) -> float:
        return read_clock(self._clock).timestamp()
