"""A provider behind breaker, limiter and retry (docs/reference/cache.md, section 9)."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from commonhold.adapters.in_memory.language_models import EMPTY, FakeLlmProvider
from commonhold.adapters.resilience import CircuitBreaker, RateLimiter, RetryPolicy
from commonhold.adapters.resilience.language_models import ResilientLlmProvider
from commonhold.contract.language_models import LlmProvider, MeteredLlmProvider
from commonhold.contract.model_errors import (
    CircuitOpen,
    EmptyCompletionError,
    LlmProviderError,
    MalformedCompletionError,
    ProviderTransportError,
    RateLimitExceeded,
    RefusedCompletionError,
    RetryExhausted,
    Spend,
)


class Fact(BaseModel):
    text: str


AWAY = ProviderTransportError("no answer", model="m", retryable=True)
DENIED = ProviderTransportError("HTTP 401", model="m", retryable=False, status=401)
REFUSED = RefusedCompletionError(model="m")
GOOD = {"text": "x"}
SPEND = Spend(model="m-1", usage=None, cost_micro_usd=7)


class Breaker(CircuitBreaker):
    """Remembers what it was told."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.told: list[str] = []

    async def record_success(self) -> None:
        self.told.append("success")
        await super().record_success()

    async def record_failure(self) -> None:
        self.told.append("failure")
        await super().record_failure()


class Hanging(FakeLlmProvider):
    """Never answers."""

    def __init__(self) -> None:
        super().__init__(script=[])
        self.is_called = asyncio.Event()

    async def extract_metered(self, *_args: object, **_options: object) -> Any:
        self.is_called.set()
        await asyncio.Event().wait()


async def _no_sleep(_seconds: float) -> None:
    pass


def _around(
    inner: LlmProvider, *, breaker: CircuitBreaker, rpm: int = 100, retries: int = 2
) -> ResilientLlmProvider:
    return ResilientLlmProvider(
        inner,
        tenant_id="user:ana",
        breaker=breaker,
        limiter=RateLimiter(rpm=rpm),
        policy=RetryPolicy(max_retries=retries),
        sleeper=_no_sleep,
    )


@pytest.fixture
def breaker() -> Breaker:
    return Breaker(failure_threshold=1)


async def test_it_is_a_provider_that_passes_everything_through(breaker: Breaker) -> None:
    inner = FakeLlmProvider(script=[GOOD], spend=SPEND, model="ollama/tiny-1")
    provider = _around(inner, breaker=breaker)
    assert isinstance(provider, MeteredLlmProvider)
    assert provider.model == "ollama/tiny-1"
    metered = await provider.extract_metered("hello", Fact, system_prompt="be brief")
    assert (metered.answer, metered.spend) == (Fact(text="x"), SPEND)
    assert [(p.text, p.system_prompt) for p in inner.prompts] == [("hello", "be brief")]
    assert breaker.told == ["success"]


async def test_a_passing_failure_is_tried_again(breaker: Breaker) -> None:
    inner = FakeLlmProvider(script=[AWAY, AWAY, GOOD])
    assert await _around(inner, breaker=breaker).extract("hello", Fact) == Fact(text="x")
    assert breaker.told == ["success"]


async def test_a_host_that_stays_away_is_one_failure(breaker: Breaker) -> None:
    inner = FakeLlmProvider(script=[AWAY, AWAY, AWAY])
    provider = _around(inner, breaker=breaker)
    with pytest.raises(RetryExhausted) as failed:
        await provider.extract("hello", Fact)
    assert failed.value.__cause__ is AWAY
    assert breaker.told == ["failure"]
    with pytest.raises(CircuitOpen) as refused:
        await provider.extract("hello", Fact)
    assert 59 < refused.value.retry_after <= 60
    assert len(inner.prompts) == 3


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (EMPTY, EmptyCompletionError),
        ({"no": "text"}, MalformedCompletionError),
        (REFUSED, RefusedCompletionError),
        (DENIED, ProviderTransportError),
    ],
)
async def test_any_answer_is_a_sign_of_health_and_final(
    breaker: Breaker, payload: Any, error: type[LlmProviderError]
) -> None:
    inner = FakeLlmProvider(script=[payload])
    with pytest.raises(error):
        await _around(inner, breaker=breaker).extract("hello", Fact)
    assert breaker.told == ["success"]


async def test_a_refusal_of_the_breaker_takes_no_place_of_the_limiter(breaker: Breaker) -> None:
    limiter = RateLimiter(rpm=1)
    await breaker.record_failure()
    provider = ResilientLlmProvider(
        FakeLlmProvider(), tenant_id="t", breaker=breaker, limiter=limiter
    )
    with pytest.raises(CircuitOpen):
        await provider.extract("hello", Fact)
    assert await limiter.remaining("t") == 1


async def test_a_refusal_of_the_limiter_says_nothing_of_the_host(breaker: Breaker) -> None:
    inner = FakeLlmProvider(default=GOOD)
    provider = _around(inner, breaker=breaker, rpm=1)
    await provider.extract("hello", Fact)
    with pytest.raises(RateLimitExceeded):
        await provider.extract("hello", Fact)
    assert breaker.told == ["success"]
    assert len(inner.prompts) == 1


async def test_tenants_share_the_breaker_and_not_the_limit(breaker: Breaker) -> None:
    limiter = RateLimiter(rpm=1)
    inner = FakeLlmProvider(default=GOOD)
    for tenant in ("a", "b"):
        provider = ResilientLlmProvider(inner, tenant_id=tenant, breaker=breaker, limiter=limiter)
        await provider.extract("hello", Fact)
    assert (await limiter.remaining("a"), await limiter.remaining("b")) == (0, 0)


async def test_a_call_that_is_cancelled_had_no_answer(breaker: Breaker) -> None:
    inner = Hanging()
    task = asyncio.create_task(_around(inner, breaker=breaker).extract("hello", Fact))
    await inner.is_called.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert breaker.told == ["failure"]


async def test_a_caller_that_cancels_for_its_own_reasons_says_nothing_of_the_host(
    breaker: Breaker,
) -> None:
    inner = Hanging()
    provider = ResilientLlmProvider(
        inner, tenant_id="t", breaker=breaker, fails_when_cancelled=False
    )
    task = asyncio.create_task(provider.extract("hello", Fact))
    await inner.is_called.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert breaker.told == []


async def test_blank_text_is_refused_before_anything(breaker: Breaker) -> None:
    inner = FakeLlmProvider(default=GOOD)
    with pytest.raises(ValueError, match="'text' must not be blank"):
        await _around(inner, breaker=breaker).extract(" \n", Fact)
    assert (breaker.told, inner.prompts) == ([], [])


async def test_under_a_policy_without_retries_the_failure_passes_with_what_it_cost(
    breaker: Breaker,
) -> None:
    billed = ProviderTransportError("half", model="m", retryable=True, status=200, spend=SPEND)
    inner = FakeLlmProvider(script=[billed])
    with pytest.raises(ProviderTransportError) as failed:
        await _around(inner, breaker=breaker, retries=0).extract("hello", Fact)
    assert failed.value.spend == SPEND
    assert (breaker.told, len(inner.prompts)) == (["failure"], 1)


@pytest.mark.parametrize("retries", [0, 1])
async def test_a_host_that_says_when_is_left_alone_until_then(retries: int) -> None:
    busy = ProviderTransportError(
        "HTTP 429", model="m", retryable=True, status=429, retry_after=50.0
    )
    inner = FakeLlmProvider(script=[busy] * (retries + 1))
    # Far from its threshold: the host's own word is enough.
    provider = _around(inner, breaker=Breaker(failure_threshold=100), retries=retries)
    with pytest.raises(ProviderTransportError if retries == 0 else RetryExhausted):
        await provider.extract("hello", Fact)
    with pytest.raises(CircuitOpen) as refused:
        await provider.extract("hello", Fact)
    assert 49 < refused.value.retry_after <= 50
    assert len(inner.prompts) == retries + 1


async def test_without_a_limiter_there_is_no_limit(breaker: Breaker) -> None:
    inner = FakeLlmProvider(default=GOOD)
    provider = ResilientLlmProvider(inner, tenant_id="t", breaker=breaker)
    for _ in range(3):
        await provider.extract("hello", Fact)
    assert len(inner.prompts) == 3


async def test_a_provider_that_does_not_meter_is_served_too(breaker: Breaker) -> None:
    class Plain:
        model = "plain/1"

        async def extract(self, text: str, schema: Any, **_options: object) -> Any:
            return schema(text=text)

    provider = _around(Plain(), breaker=breaker)
    metered = await provider.extract_metered("hello", Fact)
    assert (metered.answer, metered.spend) == (Fact(text="hello"), None)
