"""A language model behind breaker, limiter and retry (docs/reference/cache.md, section 9)."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from uuid import UUID

from commonhold.adapters.resilience.circuits import CircuitBreaker
from commonhold.adapters.resilience.rate_limits import RateLimiter
from commonhold.adapters.resilience.retries import RetryPolicy, is_retryable, with_retry
from commonhold.contract.language_models import (
    LlmProvider,
    Metered,
    Schema,
    extract_metered,
    require_text,
)
from commonhold.contract.model_errors import CircuitOpen, LlmProviderError


class ResilientLlmProvider:
    """The provider of one tenant; tenants share a breaker and a limiter, not this object.

    Raises CircuitOpen and RateLimitExceeded before any call, and RetryExhausted when
    every attempt failed in transport. The breaker hears one outcome of each call made.
    """

    def __init__(
        self,
        inner: LlmProvider,
        *,
        tenant_id: str | UUID,
        breaker: CircuitBreaker,
        limiter: RateLimiter,
        policy: RetryPolicy | None = None,
        sleeper: Callable[[float], Awaitable[object]] = asyncio.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._inner = inner
        self._tenant_id = tenant_id
        self._breaker = breaker
        self._limiter = limiter
        self._retrying = with_retry(is_retryable, policy, sleeper=sleeper, uniform=uniform)

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
            await self._report(answered=_was_answered(error))
            raise
        await self._report(answered=True)
        return answer

    async def _admit(self) -> None:
        if not await self._breaker.allow_request():
            wait = await self._breaker.retry_after()
            raise CircuitOpen(f"the circuit of {self.model} is open", retry_after=wait)
        await self._limiter.acquire(self._tenant_id)

    async def _report(self, *, answered: bool) -> None:
        if answered:
            await self._breaker.record_success()
        else:
            await self._breaker.record_failure()


def _was_answered(error: BaseException) -> bool:
    """Whether the host is well: it answered, if only to refuse.

    A call that was cancelled had waited for a host that said nothing.
    """
    return isinstance(error, LlmProviderError) and not error.retryable
