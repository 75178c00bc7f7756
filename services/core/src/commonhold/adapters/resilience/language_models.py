"""A language model behind breaker, limiter and retry (docs/reference/cache.md, section 9)."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from uuid import UUID

from commonhold.adapters.resilience.circuits import CircuitBreaker
from commonhold.adapters.resilience.rate_limits import RateLimiter
from commonhold.adapters.resilience.retries import (
    RetryPolicy,
    is_retryable,
    with_retry,
)
from commonhold.contract.language_models import (
    LlmProvider,
    Metered,
    Schema,
    extract_metered,
    require_text,
)
from commonhold.contract.model_errors import (
    CircuitOpen,
    LlmProviderError,
    ProviderTransportError,
    RetryExhausted,
)


class ResilientLlmProvider:
    """The provider of one tenant; tenants share a breaker and a limiter, not this object.

    Raises CircuitOpen and RateLimitExceeded before any call, and RetryExhausted when
    every attempt failed in transport; under a policy without retries the failure itself.
    The breaker hears one outcome of each call made, and for how long the host asked to be
    left alone. Of a call that was cancelled it hears nothing where `fails_when_cancelled` is
    off: for callers that cancel for reasons of their own.
    """

    def __init__(
        self,
        inner: LlmProvider,
        *,
        tenant_id: str | UUID,
        breaker: CircuitBreaker,
        limiter: RateLimiter | None = None,
        policy: RetryPolicy | None = None,
        fails_when_cancelled: bool = True,
        sleeper: Callable[[float], Awaitable[object]] = asyncio.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._inner = inner
        self._tenant_id = tenant_id
        self._breaker = breaker
        self._limiter = limiter
        self._fails_when_cancelled = fails_when_cancelled
        # One attempt has nothing to exhaust: its failure says more, and what was billed.
        is_final = policy is not None and policy.max_retries == 0
        worth_it = _is_never_retried if is_final else is_retryable
        self._retrying = with_retry(worth_it, policy, sleeper=sleeper, uniform=uniform)

    @property
    def model(self) -> str:
        return self._inner.model

    async def extract(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Schema:
        metered = await self.extract_metered(text, schema, system_prompt=system_prompt)
        return metered.answer

    async def extract_metered(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Metered[Schema]:
        require_text(text)
        await self._admit()

        @self._retrying
        async def model_call() -> Metered[Schema]:
            return await extract_metered(self._inner, text, schema, system_prompt=system_prompt)

        try:
            answer = await model_call()
        except BaseException as error:
            await self._report_failure(error)
            raise
        await self._breaker.record_success()
        return answer

    async def _admit(self) -> None:
        if not await self._breaker.allow_request():
            wait = await self._breaker.retry_after()
            raise CircuitOpen(f"the circuit of {self.model} is open", retry_after=wait)
        if self._limiter is not None:
            await self._limiter.acquire(self._tenant_id)

    async def _report_failure(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError) and not self._fails_when_cancelled:
            return
        if _was_answered(error):
            await self._breaker.record_success()
        else:
            await self._breaker.record_failure()
        last = error.__cause__ if isinstance(error, RetryExhausted) else error
        if isinstance(last, ProviderTransportError) and last.retry_after:
            await self._breaker.rest(last.retry_after)


def _is_never_retried(_error: Exception) -> bool:
    return False


def _was_answered(error: BaseException) -> bool:
    """Whether the host is well: it answered, if only to refuse.

    A call that was cancelled had, as a rule, waited for a host that said nothing.
    """
    return isinstance(error, LlmProviderError) and not error.retryable
