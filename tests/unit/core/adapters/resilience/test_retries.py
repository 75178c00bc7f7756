"""Retry: which failures, how often, and after how long (docs/reference/cache.md, section 8)."""

import asyncio
import math
from typing import Any

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.resilience import RetryPolicy, is_retryable, with_retry
from commonhold.contract.model_errors import ProviderTransportError, RetryExhausted

PLAIN = RetryPolicy(jitter=0.0)


class Sleeper:
    def __init__(self) -> None:
        self.delays: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.delays.append(seconds)


class Flaky:
    """Fails with each error in turn, then answers."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def call(self, text: str, *, suffix: str = "") -> str:
        """Answer at last."""
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return text + suffix


def transport(*, retryable: bool = True, retry_after: float | None = None) -> Exception:
    return ProviderTransportError(
        "no answer", model="m", retryable=retryable, retry_after=retry_after
    )


@pytest.fixture
def sleeper() -> Sleeper:
    return Sleeper()


async def test_it_tries_again_until_the_answer(sleeper: Sleeper) -> None:
    flaky = Flaky(KeyError("a"), KeyError("b"))
    answer = await with_retry(KeyError, PLAIN, sleeper=sleeper)(flaky.call)("x", suffix="y")
    assert (answer, flaky.calls, sleeper.delays) == ("xy", 3, [1.0, 2.0])


async def test_every_attempt_failed(sleeper: Sleeper) -> None:
    errors = [KeyError(number) for number in range(4)]
    flaky = Flaky(*errors)
    with capture_logs() as logs, pytest.raises(RetryExhausted) as failed:
        await with_retry(KeyError, PLAIN, sleeper=sleeper)(flaky.call)("x")
    assert failed.value.attempts == flaky.calls == 4
    assert failed.value.__cause__ is errors[3]
    assert sleeper.delays == [1.0, 2.0, 4.0]
    assert [entry["log_level"] for entry in logs] == ["warning"] * 3 + ["error"]


async def test_without_retries_one_failure_is_the_end(sleeper: Sleeper) -> None:
    with pytest.raises(RetryExhausted) as failed:
        await with_retry(KeyError, RetryPolicy(max_retries=0), sleeper=sleeper)(
            Flaky(KeyError("a")).call
        )("x")
    assert (failed.value.attempts, sleeper.delays) == (1, [])


@pytest.mark.parametrize(
    "retryable", [KeyError, (KeyError, TypeError), lambda error: isinstance(error, KeyError)]
)
async def test_another_failure_passes_at_once_as_it_is(sleeper: Sleeper, retryable: Any) -> None:
    other = ValueError("other")
    flaky = Flaky(KeyError("a"), other, KeyError("b"))
    with pytest.raises(ValueError, match="other") as seen:
        await with_retry(retryable, PLAIN, sleeper=sleeper)(flaky.call)("x")
    assert seen.value is other
    assert flaky.calls == 2


async def test_a_cancellation_is_never_tried_again(sleeper: Sleeper) -> None:
    flaky = Flaky(asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await with_retry(lambda _error: True, PLAIN, sleeper=sleeper)(flaky.call)("x")
    assert flaky.calls == 1


async def test_a_server_that_names_a_time_is_given_it(sleeper: Sleeper) -> None:
    flaky = Flaky(transport(retry_after=7.5), transport(retry_after=0.5), transport())
    await with_retry(is_retryable, PLAIN, sleeper=sleeper)(flaky.call)("x")
    assert sleeper.delays == [7.5, 2.0, 4.0]


async def test_a_server_that_names_a_longer_time_than_anybody_waits_is_not_asked_again(
    sleeper: Sleeper,
) -> None:
    longest, too_long = transport(retry_after=60.0), transport(retry_after=60.1)
    flaky = Flaky(longest, too_long)
    with pytest.raises(RetryExhausted) as failed:
        await with_retry(is_retryable, PLAIN, sleeper=sleeper)(flaky.call)("x")
    assert (failed.value.attempts, flaky.calls, sleeper.delays) == (2, 2, [60.0])
    assert failed.value.__cause__ is too_long


async def test_what_the_provider_calls_final_is_final(sleeper: Sleeper) -> None:
    flaky = Flaky(transport(retryable=False))
    with pytest.raises(ProviderTransportError):
        await with_retry(is_retryable, PLAIN, sleeper=sleeper)(flaky.call)("x")
    assert flaky.calls == 1


def test_the_function_keeps_its_name() -> None:
    decorated: Any = with_retry(KeyError)(Flaky().call)
    assert (decorated.__name__, decorated.__doc__) == ("call", "Answer at last.")


def test_the_cap_is_on_the_base_and_the_jitter_around_it() -> None:
    policy = RetryPolicy(initial_delay=1, max_delay=10, multiplier=3, jitter=0.2)
    asked: list[tuple[float, float]] = []

    def highest(low: float, high: float) -> float:
        asked.append((low, high))
        return high

    delays = [policy.delay(retry, uniform=highest) for retry in (0, 1, 2, 3, 5000)]
    assert delays == pytest.approx([1.2, 3.6, 10.8, 12.0, 12.0])
    assert asked[3] == pytest.approx((8.0, 12.0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_retries", -1),
        ("initial_delay", -0.1),
        ("max_delay", math.nan),
        ("multiplier", 0.9),
        ("jitter", 1.1),
        ("jitter", -0.1),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_name(name: str, value: float) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=name):
        RetryPolicy(**options)
