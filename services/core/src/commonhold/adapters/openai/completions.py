"""What a chat completion says, whatever shape its server gives it (models.md, section 3)."""

from typing import Any

import msgspec

from commonhold.adapters.openai.costs import Prices, read_usage
from commonhold.contract.language_models import Schema, read_answer
from commonhold.contract.model_errors import (
    EmptyCompletionError,
    ProviderTransportError,
    RefusedCompletionError,
    Spend,
    TruncatedCompletionError,
)


class Message(msgspec.Struct):
    """Reasoning comes in fields of other names, which are not read."""

    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None


class Choice(msgspec.Struct):
    message: Message | None = None
    finish_reason: str | None = None


class Completion(msgspec.Struct):
    choices: list[Choice] | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


_decode = msgspec.json.Decoder(Completion).decode


def read_completion(body: bytes, *, model: str, status: int) -> Completion:
    """The body as a completion; ProviderTransportError for anything else."""
    try:
        completion = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProviderTransportError(
            "the server's answer is not a chat completion",
            model=model,
            # As likely the page of a gateway in between as a wrong address.
            retryable=True,
            status=status,
        ) from error
    if completion.error is not None and not completion.choices:
        raise ProviderTransportError(
            "the server answered with an error in place of a completion",
            model=model,
            retryable=_is_passing(completion.error),
            status=status,
        )
    return completion


def spend_of(completion: Completion, *, model: str, prices: Prices | None) -> Spend:
    usage = read_usage(completion.usage)
    cost = None if usage is None or prices is None else prices.cost_micro_usd(usage)
    return Spend(model=completion.model or model, usage=usage, cost_micro_usd=cost)


def read_instance(
    completion: Completion, schema: type[Schema], *, model: str, spend: Spend
) -> Schema:
    """The first choice's answer; every way to have none is an error of its own."""
    choice = completion.choices[0] if completion.choices else Choice()
    message = choice.message or Message()
    if choice.finish_reason == "content_filter" or _refuses(message):
        raise RefusedCompletionError(model=model, spend=spend)
    if choice.finish_reason == "length":
        raise TruncatedCompletionError(model=model, spend=spend)
    content = _text(message)
    if not content.strip():
        raise EmptyCompletionError(model=model, finish_reason=choice.finish_reason, spend=spend)
    return read_answer(content, schema, model=model, spend=spend)


def is_passing_status(status: int) -> bool:
    """Whether the same call may fare better later."""
    return status in {408, 429} or status >= 500  # noqa: PLR2004 - the statuses of HTTP


def _is_passing(error: Any) -> bool:
    """Whether an error in a body says so by a status of HTTP, as some gateways do."""
    code = error.get("code") if isinstance(error, dict) else None
    return isinstance(code, int) and is_passing_status(code)


def _refuses(message: Message) -> bool:
    if message.refusal:
        return True
    return isinstance(message.content, list) and any(
        block.get("type") == "refusal" for block in message.content
    )


def _text(message: Message) -> str:
    """The text blocks joined; what is no text block, reasoning say, is no answer."""
    if not isinstance(message.content, list):
        return message.content or ""
    texts = (block.get("text") for block in message.content if block.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))
