"""Trying again, later each time (docs/reference/cache.md, section 8)."""

import asyncio
import functools
import random
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeAlias, TypeVar

import msgspec
import structlog

from commonhold.contract.model_errors import RetryExhausted

_log = structlog.get_logger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

Retryable: TypeAlias = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]
Coroutine: TypeAlias = Callable[P, Awaitable[T]]


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often, and how long to wait: the cap is on the base, the jitter around it.

    No error makes anybody wait longer than `max_delay`: whoever asks for more is not asked
    again.
    """

    max_retries: int = 3
    initial_delay: float = 1.0
    max_delay: float = 60.0
    multiplier: float = 2.0
    jitter: float = 0.1

    def __post_init__(self) -> None:
        for name in ("max_retries", "initial_delay", "max_delay"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be >= 0, got {getattr(self, name)}")
        if not self.multiplier >= 1:
            raise ValueError(f"multiplier must be >= 1, got {self.multiplier}")
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter must be from 0 to 1, got {self.jitter}")

    def delay(self, retry: int, *, uniform: Callable[[float, float], float]) -> float:
        """Seconds to wait before retry number `retry`, counted from 0."""
        try:
            base = min(self.initial_delay * self.multiplier**retry, self.max_delay)
        except OverflowError:
            base = self.max_delay
        spread = base * self.jitter
        return max(0.0, uniform(base - spread, base + spread))


DEFAULT_POLICY = RetryPolicy()
NO_RETRIES = RetryPolicy(max_retries=0)


def is_retryable(error: Exception) -> bool:
    """What our providers say of their failures."""
    return bool(getattr(error, "retryable", False))


def with_retry(
    retryable_exceptions: Retryable,
    policy: RetryPolicy | None = None,
    *,
    sleeper: Callable[[float], Awaitable[object]] = asyncio.sleep,
    uniform: Callable[[float, float], float] = random.uniform,
) -> Callable[[Coroutine[P, T]], Callable[P, Awaitable[T]]]:
    """Decorate a coroutine function so that failures of the given kinds are tried again.

    A failure of another kind, and a cancellation, pass at once as they are. An error's
    `retry_after` is the least that is waited. When all attempts failed, or the wait that is
    asked for is longer than the policy's longest, RetryExhausted is raised, with the last
    failure as its cause.
    """
    chosen = DEFAULT_POLICY if policy is None else policy
    worth_it = _predicate(retryable_exceptions)

    def decorate(function: Coroutine[P, T]) -> Callable[P, Awaitable[T]]:
        @functools.wraps(function)
        async def attempt(*args: P.args, **kwargs: P.kwargs) -> T:
            for retry in range(chosen.max_retries + 1):
                try:
                    return await function(*args, **kwargs)
                except Exception as error:
                    if not worth_it(error):
                        raise
                    if retry == chosen.max_retries or _asked(error) > chosen.max_delay:
                        raise _exhausted(function, error, attempts=retry + 1) from error
                    delay = max(_asked(error), chosen.delay(retry, uniform=uniform))
                    _log.warning(
                        "retrying",
                        call=function.__qualname__,
                        attempt=retry + 1,
                        error=type(error).__name__,
                        delay_seconds=round(delay, 3),
                    )
                await sleeper(delay)
            raise AssertionError("the last attempt returns or raises")

        return attempt

    return decorate


def _predicate(retryable: Retryable) -> Callable[[Exception], bool]:
    if isinstance(retryable, type | tuple):
        kinds = retryable
        return lambda error: isinstance(error, kinds)
    return retryable


def _asked(error: Exception) -> float:
    """The seconds for which the other side wants to be left alone."""
    return float(getattr(error, "retry_after", None) or 0.0)


def _exhausted(
    function: Callable[..., object], error: Exception, *, attempts: int
) -> RetryExhausted:
    name = getattr(function, "__qualname__", repr(function))
    kind = type(error).__name__
    _log.error("retries_exhausted", call=name, attempts=attempts, error=kind)
    return RetryExhausted(f"{name} failed {attempts} times, last with {kind}", attempts=attempts)
