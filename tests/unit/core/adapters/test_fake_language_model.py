"""The fake model: it answers by script or by what the text holds (models.md, section 7)."""

from typing import Any

import pytest
from pydantic import BaseModel

from commonhold.adapters.in_memory.language_models import EMPTY, FakeLlmProvider, Prompt
from commonhold.contract.language_models import LlmProvider, extract_metered
from commonhold.contract.model_errors import (
    EmptyCompletionError,
    MalformedCompletionError,
    ProviderTransportError,
    Spend,
)


class Fact(BaseModel):
    text: str = "nothing"


SPEND = Spend(model="fake-1", usage=None, cost_micro_usd=3)


async def test_a_script_is_played_once_in_order() -> None:
    fake = FakeLlmProvider(script=[{"text": "one"}, {"text": "two"}])
    assert isinstance(fake, LlmProvider)
    seen = [await fake.extract("hello", Fact) for _ in range(2)]
    assert seen == [Fact(text="one"), Fact(text="two")]
    with pytest.raises(AssertionError, match="call 3"):
        await fake.extract("hello", Fact)


async def test_the_first_key_that_the_text_holds_decides() -> None:
    fake = FakeLlmProvider(by_substring={"tea": {"text": "t"}, "coffee": {"text": "c"}})
    texts = ("coffee", "coffee and tea", "water")
    assert [(await fake.extract(text, Fact)).text for text in texts] == ["c", "t", "nothing"]


async def test_the_default_may_be_given() -> None:
    fake = FakeLlmProvider(by_substring={}, default={"text": "d"})
    assert await fake.extract("water", Fact) == Fact(text="d")


@pytest.mark.parametrize("options", [{"by_substring": {}}, {"default": {}}])
def test_a_script_stands_alone(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="script="):
        FakeLlmProvider(script=[], **options)


async def test_payloads_fail_as_answers_do() -> None:
    away = ProviderTransportError("away", model="m", retryable=True)
    fake = FakeLlmProvider(script=[EMPTY, {"text": 7}, away], spend=SPEND)
    with pytest.raises(EmptyCompletionError) as empty:
        await fake.extract("hello", Fact)
    assert empty.value.spend == SPEND
    with pytest.raises(MalformedCompletionError) as malformed:
        await fake.extract("hello", Fact)
    assert malformed.value.schema == "Fact"
    with pytest.raises(ProviderTransportError) as transport:
        await fake.extract("hello", Fact)
    assert transport.value is away


async def test_prompts_are_kept_and_blank_ones_refused() -> None:
    fake = FakeLlmProvider(spend=SPEND)
    with pytest.raises(ValueError, match="'text' must not be blank"):
        await fake.extract(" ", Fact)
    metered = await extract_metered(fake, "hello", Fact, system_prompt="be brief")
    assert metered.spend == SPEND
    assert fake.prompts == [Prompt("hello", "be brief")]
