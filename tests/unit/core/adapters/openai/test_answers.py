"""What a completion says and what comes of it (docs/reference/models.md, sections 1 to 5)."""

from decimal import Decimal
from typing import Any, Generic, TypeVar

import pytest
from pydantic import BaseModel

from commonhold.adapters.openai import Prices
from commonhold.contract.language_models import LlmProvider, MeteredLlmProvider
from commonhold.contract.model_errors import (
    EmptyCompletionError,
    LlmProviderError,
    MalformedCompletionError,
    RefusedCompletionError,
    Spend,
    TokenUsage,
    TruncatedCompletionError,
    UnstructuredCompletionError,
)
from tests.support.scripted_model import completion, says
from tests.unit.core.adapters.openai.conftest import Serve

T = TypeVar("T")
GOOD = '{"text": "x", "tags": ["a"]}'
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
PRICES = Prices(input_usd_per_million=Decimal("0.15"), output_usd_per_million=Decimal("0.6"))


class Fact(BaseModel):
    text: str = ""
    tags: list[str] = []


class Named(BaseModel):
    name: str


class Box(BaseModel, Generic[T]):
    inside: T


async def _failure(serve: Serve, answer: Any, schema: type[BaseModel] = Named) -> LlmProviderError:
    _, provider = await serve(says(answer), prices=PRICES)
    with pytest.raises(LlmProviderError) as failed:
        await provider.extract("hello", schema)
    return failed.value


async def test_ll_1_it_satisfies_the_port_and_reports_its_model(serve: Serve) -> None:
    _, provider = await serve(says({}), provider="ollama")
    assert isinstance(provider, LlmProvider)
    assert isinstance(provider, MeteredLlmProvider)
    assert provider.model == "ollama/tiny-1"


async def test_ll_2_valid_json_becomes_the_schema(serve: Serve) -> None:
    _, provider = await serve(says(completion(f"\n {GOOD} ")))
    assert await provider.extract("hello", Fact) == Fact(text="x", tags=["a"])


async def test_ll_3_an_object_that_holds_nothing_is_an_answer(serve: Serve) -> None:
    _, provider = await serve(says(completion("{}")))
    assert await provider.extract("hello", Fact) == Fact()


@pytest.mark.parametrize("content", ["", " \n\t", None, [], [{"type": "text", "text": " "}]])
@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
async def test_ll_4_an_empty_answer(serve: Serve, content: Any, reason: str) -> None:
    error = await _failure(serve, completion(content, finish_reason=reason))
    assert type(error) is EmptyCompletionError
    assert error.finish_reason == reason
    assert str(error).startswith("[openai-compatible/tiny-1] ")


@pytest.mark.parametrize("content", ["", '{"name": "cut o', '{"name": "whole"}'])
async def test_ll_5_a_truncated_answer_is_never_used(serve: Serve, content: str) -> None:
    error = await _failure(serve, completion(content, finish_reason="length"))
    assert isinstance(error, EmptyCompletionError)
    assert type(error) is TruncatedCompletionError
    assert error.finish_reason == "length"


@pytest.mark.parametrize(
    "answer",
    [
        completion("", finish_reason="content_filter"),
        completion('{"name": "x"}', finish_reason="content_filter"),
        completion(None, message={"refusal": "I cannot help with that"}),
        completion('{"name": "x"}', message={"refusal": "no"}),
        completion([{"type": "refusal", "refusal": "no"}]),
        completion("", finish_reason="length", message={"refusal": "no"}),
    ],
)
async def test_ll_6_a_refusal_is_not_an_empty_answer(serve: Serve, answer: Any) -> None:
    error = await _failure(serve, answer)
    assert type(error) is RefusedCompletionError
    assert not isinstance(error, EmptyCompletionError)


@pytest.mark.parametrize(
    "content",
    [
        "Sure! Here is the JSON you asked for",
        '```json\n{"name": "x"}\n```',
        '["a"]',
        "42",
        '"text"',
        "null",
        '{"name": NaN}',
        '{"name": "\\ud800"}',
        "[" * 100_000,
        '{"name": "x"} trailing',
    ],
)
async def test_ll_7_what_is_no_json_object_is_unstructured(serve: Serve, content: str) -> None:
    error = await _failure(serve, completion(content))
    assert type(error) is UnstructuredCompletionError
    assert isinstance(error, MalformedCompletionError)
    assert (error.schema, error.content) == ("Named", content)
    assert "Named" in str(error)


async def test_ll_7_the_excerpt_is_bounded(serve: Serve) -> None:
    error = await _failure(serve, completion("A" * 5000))
    assert str(error).count("A") == 200


@pytest.mark.parametrize("content", ["{}", '{"name": 7}', '{"name": null}'])
async def test_ll_8_another_shape_is_malformed(serve: Serve, content: str) -> None:
    error = await _failure(serve, completion(content))
    assert type(error) is MalformedCompletionError
    assert error.schema == "Named"
    assert "name" in error.cause
    assert "does not fit the schema Named" in str(error)


async def test_ll_9_text_blocks_are_joined_and_others_ignored(serve: Serve) -> None:
    blocks = [
        {"type": "reasoning", "text": "hmm"},
        {"type": "text", "text": '{"na'},
        {"type": "thinking", "thinking": "what?"},
        {"type": "text", "text": 'me": "x"}'},
        {"type": "text"},
    ]
    _, provider = await serve(says(completion(blocks)))
    assert await provider.extract("hello", Named) == Named(name="x")


async def test_ll_9_blocks_without_text_are_empty(serve: Serve) -> None:
    error = await _failure(serve, completion([{"type": "reasoning", "text": '{"name": "x"}'}]))
    assert type(error) is EmptyCompletionError


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_ll_10_reasoning_is_never_the_answer(serve: Serve, field: str) -> None:
    error = await _failure(serve, completion("", message={field: '{"name": "x"}'}))
    assert type(error) is EmptyCompletionError
    _, provider = await serve(says(completion('{"name": "y"}', message={field: '{"name": "x"}'})))
    assert await provider.extract("hello", Named) == Named(name="y")


@pytest.mark.parametrize("answer", [{}, {"choices": []}, {"choices": None}, {"choices": [{}]}])
async def test_ll_16_an_answer_without_a_message_is_empty(serve: Serve, answer: Any) -> None:
    error = await _failure(serve, answer)
    assert type(error) is EmptyCompletionError
    assert error.finish_reason is None


async def test_ll_11_and_12_what_is_sent(serve: Serve) -> None:
    model, provider = await serve(says(completion(GOOD)))
    await provider.extract("hello", Fact)
    await provider.extract("hello", Fact, system_prompt="be brief")
    plain, prompted = (request.body for request in model.requests)
    assert plain["messages"] == [{"role": "user", "content": "hello"}]
    assert prompted["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hello"},
    ]
    assert plain["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "Fact",
            "strict": True,
            "schema": {
                "type": "object",
                "title": "Fact",
                "properties": {
                    "text": {"type": "string", "title": "Text"},
                    "tags": {"type": "array", "title": "Tags", "items": {"type": "string"}},
                },
                "required": ["text", "tags"],
                "additionalProperties": False,
            },
        },
    }
    assert model.requests[0].line == "POST /v1/chat/completions HTTP/1.1"
    assert "authorization" not in model.requests[0].headers


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
async def test_ll_13_blank_text_makes_no_request(serve: Serve, text: str) -> None:
    model, provider = await serve(says(completion(GOOD)))
    with pytest.raises(ValueError, match="'text' must not be blank"):
        await provider.extract(text, Fact)
    assert model.requests == []


async def test_ll_14_defaults_say_nothing_of_thinking(serve: Serve) -> None:
    model, provider = await serve(says(completion(GOOD)))
    await provider.extract("hello", Fact)
    body = model.requests[0].body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("tiny-1", 0.0, 8192)
    assert set(body) == {"model", "messages", "response_format", "temperature", "max_tokens"}


async def test_ll_14_thinking_may_be_asked_away(serve: Serve) -> None:
    model, provider = await serve(says(completion(GOOD)), thinking=False, max_tokens=9)
    await provider.extract("hello", Fact)
    assert model.requests[0].body["chat_template_kwargs"] == {"enable_thinking": False}
    assert model.requests[0].body["max_tokens"] == 9


async def test_ll_19_a_plain_schema_is_sent_as_it_is(serve: Serve) -> None:
    model, provider = await serve(says(completion("{}")), strict=False)
    assert await provider.extract("hello", Fact) == Fact()
    sent = model.requests[0].body["response_format"]["json_schema"]
    assert sent == {"name": "Fact", "strict": False, "schema": Fact.model_json_schema()}


async def test_ll_20_the_name_of_a_generic_class_is_made_legal(serve: Serve) -> None:
    model, provider = await serve(says(completion('{"inside": 7}')))
    assert (await provider.extract("hello", Box[int])).inside == 7
    assert model.requests[0].body["response_format"]["json_schema"]["name"] == "Box_int_"


async def test_usage_and_cost_are_reported(serve: Serve) -> None:
    answer = completion(GOOD, usage=USAGE, model="tiny-1-2026-01")
    _, provider = await serve(says(answer), prices=PRICES)
    metered = await provider.extract_metered("hello", Fact)
    usage = TokenUsage(prompt_tokens=100, completion_tokens=20, total_tokens=120)
    # 100 x 0.15 + 20 x 0.6
    assert metered.spend == Spend(model="tiny-1-2026-01", usage=usage, cost_micro_usd=27)


async def test_a_cost_is_rounded_up(serve: Serve) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 0}
    _, provider = await serve(says(completion(GOOD, usage=usage)), prices=PRICES)
    spend = (await provider.extract_metered("hello", Fact)).spend
    assert spend is not None
    assert spend.usage is not None
    assert (spend.usage.total_tokens, spend.cost_micro_usd) == (1, 1)


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": "many"}, {"prompt_tokens": -1}, {"prompt_tokens": True}]
)
async def test_usage_that_cannot_be_counted_is_none(serve: Serve, usage: Any) -> None:
    _, provider = await serve(says(completion(GOOD, usage=usage)), prices=PRICES)
    spend = (await provider.extract_metered("hello", Fact)).spend
    assert spend == Spend(model="openai-compatible/tiny-1", usage=None, cost_micro_usd=None)


async def test_without_prices_there_is_no_cost(serve: Serve) -> None:
    _, provider = await serve(says(completion(GOOD, usage=USAGE)))
    spend = (await provider.extract_metered("hello", Fact)).spend
    assert spend is not None
    assert spend.usage is not None
    assert spend.cost_micro_usd is None


@pytest.mark.parametrize(
    "answer",
    [
        completion("", usage=USAGE),
        completion("", finish_reason="length", usage=USAGE),
        completion("", finish_reason="content_filter", usage=USAGE),
        completion("prose", usage=USAGE),
        completion("{}", usage=USAGE),
    ],
    ids=["empty", "truncated", "refused", "unstructured", "malformed"],
)
async def test_a_billed_failure_says_what_it_cost(serve: Serve, answer: Any) -> None:
    error = await _failure(serve, answer)
    assert error.spend is not None
    assert error.spend.cost_micro_usd == 27
