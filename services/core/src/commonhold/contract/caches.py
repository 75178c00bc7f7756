"""Shared state that expires: values, counters and hit series (docs/reference/cache.md).

Not a general cache: exactly what a circuit breaker and a sliding-window rate limiter ask.
"""

import math
import re
from typing import Protocol, runtime_checkable

from commonhold.contract.closing import AsyncClosable
from commonhold.contract.text import require_storable

# Longer than any window or recovery, and within what every backend can add to a date.
LONGEST_TTL_SECONDS = 1e9
# What `increment` takes for a number; one more than the largest still fits 64 bits.
COUNTER = re.compile(r"-?[0-9]{1,18}", re.ASCII)


@runtime_checkable
class KeyValueCache(AsyncClosable, Protocol):
    """Values and counters by key (docs/reference/cache.md, section 2)."""

    async def get(self, key: str) -> str | None:
        """The value; None when there is none or its time is over."""
        ...

    async def set(self, key: str, value: str, *, ttl_seconds: float | None = None) -> None:
        """Replace the value and its lifetime; without `ttl_seconds` it lives on."""
        ...

    async def increment(self, key: str, *, ttl_seconds: float | None = None) -> int:
        """Add one, atomically, and return the sum; what is missing or over counts as 0.

        `ttl_seconds` applies when this call creates the counter and is never renewed.
        Raises ValueError for a value that is not a whole number and leaves it.
        """
        ...

    async def delete(self, key: str) -> None:
        """Remove the value and the hit series of the key; absent is fine."""
        ...


@runtime_checkable
class HitWindow(AsyncClosable, Protocol):
    """Series of instants by key, counted from an instant on (cache.md, section 3).

    The instants are the caller's: epoch seconds, never read from a clock here.
    """

    async def record_hit(self, key: str, *, at: float, ttl_seconds: float) -> None:
        """Add a hit and renew the lifetime of the whole series.

        Hits older than `at - ttl_seconds` are dropped. A series whose time is over has
        lost its hits for good.
        """
        ...

    async def count_hits(self, key: str, *, since: float) -> int:
        """How many hits lie at or after `since`."""
        ...

    async def oldest_hit(self, key: str, *, since: float) -> float | None:
        """The earliest hit at or after `since`."""
        ...


@runtime_checkable
class AtomicHitWindow(HitWindow, Protocol):
    """Optional: check and record in one step, so that a burst cannot pass a limit."""

    async def try_record_hit(
        self, key: str, *, at: float, since: float, limit: int, ttl_seconds: float
    ) -> float | None:
        """Record a hit when fewer than `limit` lie at or after `since`, and return None.

        Otherwise record nothing and return the oldest of them.
        """
        ...


@runtime_checkable
class Cache(KeyValueCache, HitWindow, Protocol):
    """Both halves. A value and a series may share a key without meeting."""


def check_ttl(ttl_seconds: float | None) -> None:
    """ValueError unless it is positive, finite and at most LONGEST_TTL_SECONDS."""
    if ttl_seconds is not None and not 0 < ttl_seconds <= LONGEST_TTL_SECONDS:
        raise ValueError(
            f"ttl_seconds must be above 0 and at most {LONGEST_TTL_SECONDS:g}, got {ttl_seconds}"
        )


def check_instant(value: float, *, name: str) -> None:
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")


def check_hit(key: str, *, at: float, ttl_seconds: float) -> None:
    """What every cache asks of a hit before it touches anything."""
    require_storable(key, name="key")
    check_instant(at, name="at")
    check_ttl(ttl_seconds)


def check_limited_hit(key: str, *, at: float, since: float, limit: int, ttl_seconds: float) -> None:
    """As `check_hit`, for a hit under a limit."""
    check_hit(key, at=at, ttl_seconds=ttl_seconds)
    check_instant(since, name="since")
    if limit < 1:
        raise ValueError(f"limit must be >= 1, got {limit}")


def not_a_counter(key: str) -> ValueError:
    """The refusal of `increment`, alike in every cache; the value may be anything, so unnamed."""
    return ValueError(f"the value of key {key!r} is not a whole number of at most 18 digits")
