"""The cache in dicts: the default where one process is enough.

Deadlines are of a monotonic clock, and what is over is dropped when it is met, or at a
write once there is much of it.
"""

import time
from bisect import bisect_left, insort
from collections.abc import Callable
from types import TracebackType
from typing import Self

from commonhold.contract.caches import (
    COUNTER,
    check_hit,
    check_instant,
    check_limited_hit,
    check_ttl,
    not_a_counter,
)
from commonhold.contract.text import require_storable

_LEAST_SWEEP = 1024


class _Value:
    __slots__ = ("deadline", "text")

    def __init__(self, text: str, deadline: float | None) -> None:
        self.text = text
        self.deadline = deadline


class _Series:
    """Hits in order, and when the series is over."""

    __slots__ = ("deadline", "hits")

    def __init__(self) -> None:
        self.hits: list[float] = []
        self.deadline: float | None = None


class InMemoryCache:
    """Values, counters and hit series of one process. Closing forgets them all."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._values: dict[str, _Value] = {}
        self._series: dict[str, _Series] = {}
        self._sweep_at = _LEAST_SWEEP

    async def close(self) -> None:
        self._values.clear()
        self._series.clear()

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
        value = self._live_value(key)
        return None if value is None else value.text

    async def set(self, key: str, value: str, *, ttl_seconds: float | None = None) -> None:
        require_storable(key, name="key")
        require_storable(value, name="value")
        check_ttl(ttl_seconds)
        self._put(key, value, ttl_seconds)

    async def increment(self, key: str, *, ttl_seconds: float | None = None) -> int:
        require_storable(key, name="key")
        check_ttl(ttl_seconds)
        value = self._live_value(key)
        if value is None:
            self._put(key, "1", ttl_seconds)
            return 1
        if COUNTER.fullmatch(value.text) is None:
            raise not_a_counter(key)
        total = int(value.text) + 1
        value.text = str(total)
        return total

    async def delete(self, key: str) -> None:
        self._values.pop(key, None)
        self._series.pop(key, None)

    async def record_hit(self, key: str, *, at: float, ttl_seconds: float) -> None:
        check_hit(key, at=at, ttl_seconds=ttl_seconds)
        self._record(key, at=at, ttl_seconds=ttl_seconds)

    async def count_hits(self, key: str, *, since: float) -> int:
        return len(self._hits_since(key, since))

    async def oldest_hit(self, key: str, *, since: float) -> float | None:
        hits = self._hits_since(key, since)
        return hits[0] if hits else None

    async def try_record_hit(
        self, key: str, *, at: float, since: float, limit: int, ttl_seconds: float
    ) -> float | None:
        check_limited_hit(key, at=at, since=since, limit=limit, ttl_seconds=ttl_seconds)
        hits = self._hits_since(key, since)
        if len(hits) >= limit:
            return hits[0]
        self._record(key, at=at, ttl_seconds=ttl_seconds)
        return None

    def _put(self, key: str, text: str, ttl_seconds: float | None) -> None:
        self._sweep()
        deadline = None if ttl_seconds is None else self._monotonic() + ttl_seconds
        self._values[key] = _Value(text, deadline)

    def _record(self, key: str, *, at: float, ttl_seconds: float) -> None:
        self._sweep()
        series = self._live_series(key)
        if series is None:
            series = self._series[key] = _Series()
        insort(series.hits, at)
        del series.hits[: bisect_left(series.hits, at - ttl_seconds)]
        series.deadline = self._monotonic() + ttl_seconds

    def _hits_since(self, key: str, since: float) -> list[float]:
        check_instant(since, name="since")
        series = self._live_series(key)
        return [] if series is None else series.hits[bisect_left(series.hits, since) :]

    def _live_value(self, key: str) -> _Value | None:
        value = self._values.get(key)
        if value is not None and self._is_over(value):
            del self._values[key]
            return None
        return value

    def _live_series(self, key: str) -> _Series | None:
        series = self._series.get(key)
        if series is not None and self._is_over(series):
            del self._series[key]
            return None
        return series

    def _is_over(self, entry: _Value | _Series) -> bool:
        return entry.deadline is not None and entry.deadline <= self._monotonic()

    def _sweep(self) -> None:
        """Drop what is over once the number of keys has doubled since the last time."""
        if len(self._values) + len(self._series) < self._sweep_at:
            return
        self._values = {k: v for k, v in self._values.items() if not self._is_over(v)}
        self._series = {k: s for k, s in self._series.items() if not self._is_over(s)}
        self._sweep_at = max(_LEAST_SWEEP, 2 * (len(self._values) + len(self._series)))
