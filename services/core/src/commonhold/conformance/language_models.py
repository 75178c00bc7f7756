"""The kit of language models (docs/reference/models.md).

Apart from the facade `commonhold.conformance`, since it needs pydantic (the extra
`models`). A subclass gives `provider_for`, which scripts what the server behind a provider
says, and `asked`.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, NoReturn, TypeAlias

import msgspec
import pytest
from pydantic import BaseModel

from commonhold.conformance.rules import CitesRules, Rule
from commonhold.contract.language_models import (
    LlmProvider,
    MeteredLlmProvider,
    extract_metered,
)
from commonhold.contract.model_errors import (
    EmptyCompletionError,
    LlmProviderError,
    MalformedCompletionError,
    ProviderTransportError,
    RefusedCompletionError,
    TokenUsage,
    TruncatedCompletionError,
    UnstructuredCompletionError,
)

USAGE = TokenUsage(prompt_tokens=11, completion_tokens=7, total_tokens=18)
SENT = "marker-of-the-text-that-was-sent"
EXCERPT_CHARACTERS = 200


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of a server, in whatever shape it gives it."""

    content: str = ""
    finish_reason: Literal["stop", "length", "content_filter"] = "stop"
    refusal: str | None = None
    usage: TokenUsage | None = USAGE


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """No answer: an HTTP status other than 200, or with None no connection."""

    status: int | None = None
    retry_after: int | None = None


class Asked(msgspec.Struct, frozen=True):
    """One call as it reached the server."""

    text: str
    system_prompt: str | None


Step: TypeAlias = Completion | Outage


class Fact(BaseModel):
    text: str
    weight: int


class Pair(BaseModel):
    """Holds nothing unless it is told."""

    text: str = ""
    facts: list[Fact] = []


GOOD = Completion(content='{"text": "tea", "weight": 3}')
EMPTY = (Completion(), Completion(content=" \n\t"))
CUT = (
    Completion(content='{"text": "te', finish_reason="length"),
    Completion(content='{"text": "tea", "weight": 3}', finish_reason="length"),
    Completion(finish_reason="length"),
)
REFUSED = (
    Completion(finish_reason="content_filter"),
    Completion(content='{"text": "tea", "weight": 3}', finish_reason="content_filter"),
    Completion(refusal="I would rather not."),
)
UNSTRUCTURED = tuple(
    Completion(content=content)
    for content in ("tea", "[1]", '"tea"', "3", "null", "```json\n{}\n```", "x" * 5000)
)
MALFORMED = tuple(
    Completion(content=content)
    for content in ("{}", '{"text": "tea"}', '{"text": "tea", "weight": "heavy"}')
)
BAD_ANSWERS: tuple[tuple[type[LlmProviderError], tuple[Completion, ...]], ...] = (
    (EmptyCompletionError, EMPTY),
    (TruncatedCompletionError, CUT),
    (RefusedCompletionError, REFUSED),
    (UnstructuredCompletionError, UNSTRUCTURED),
    (MalformedCompletionError, MALFORMED),
)


def promise(section: str, text: str) -> Rule:
    return Rule(section, text, "models.md")


class LlmProviderSubject(CitesRules):
    """What a test class tells the kit about its provider."""

    pytestmark = pytest.mark.asyncio

    def provider_for(self, *steps: Step) -> AbstractAsyncContextManager[LlmProvider]:
        """A provider whose server takes the steps in order, one a call, and then no more."""
        self._missing("the hook `provider_for`")

    def asked(self, provider: Any) -> Sequence[Asked]:
        """The calls that reached the server."""
        self._missing("the hook `asked`")

    def _missing(self, what: str) -> NoReturn:
        pytest.fail(
            f"{type(self).__name__} must provide {what} (docs/reference/kits.md)", pytrace=False
        )


class LlmProviderCompliance(LlmProviderSubject):
    """What every LlmProvider does, but for what wraps another and repeats its calls."""

    async def test_the_provider_names_its_model(self) -> None:
        rule = promise("1", "a provider says where its answers come from, PROVIDER/MODEL")
        async with self.provider_for() as provider:
            rule.holds(isinstance(provider, LlmProvider), provider)
            before, slash, after = provider.model.partition("/")
            rule.holds(before and slash and after, provider.model)

    async def test_an_answer_is_an_instance_of_the_schema(self) -> None:
        rule = promise("1", "extract answers an instance that validated, from one call")
        async with self.provider_for(GOOD) as provider:
            rule.equal(await provider.extract("hello", Fact), Fact(text="tea", weight=3))
            rule.equal(len(self.asked(provider)), 1)

    async def test_an_answer_may_hold_nothing(self) -> None:
        rule = promise("1", "an instance that validated and holds nothing is an answer")
        async with self.provider_for(Completion(content="{}")) as provider:
            rule.equal(await provider.extract("hello", Pair), Pair())

    async def test_each_call_has_its_own_answer(self) -> None:
        rule = promise("1", "what was answered before is no answer to another call")
        other = Completion(content='{"text": "milk", "weight": 1}')
        async with self.provider_for(GOOD, Completion(), other) as provider:
            rule.equal((await provider.extract("same", Fact)).text, "tea")
            with rule.refuses(EmptyCompletionError):
                await provider.extract("same", Fact)
            rule.equal((await provider.extract("same", Fact)).text, "milk")

    async def test_blank_text_is_refused_before_any_call(self) -> None:
        rule = promise("1", "blank text is a ValueError, and nothing is sent")
        async with self.provider_for(GOOD) as provider:
            for text in ("", " \n\t"):
                with rule.refuses(ValueError):
                    await provider.extract(text, Fact)
            rule.equal(self.asked(provider), ())

    async def test_what_is_sent_is_what_was_given(self) -> None:
        rule = promise("1", "the text as it is; a system prompt is sent when there is one")
        text = ' two\n lines and "quotes" \u00e9\U0001f600 '
        async with self.provider_for(GOOD, GOOD) as provider:
            await provider.extract(text, Fact)
            await provider.extract(text, Fact, system_prompt="Be brief.")
            rule.equal(self.asked(provider), (Asked(text, None), Asked(text, "Be brief.")))

    async def test_an_empty_answer_is_an_error_of_its_own(self) -> None:
        rule = promise("3", "no text or only blanks is an EmptyCompletionError, with the reason")
        for step in EMPTY:
            error = await self._failure(rule, step, EmptyCompletionError)
            rule.equal(getattr(error, "finish_reason", None), "stop")

    async def test_an_answer_that_was_cut_off_is_not_used(self) -> None:
        rule = promise("3", "cut off is a TruncatedCompletionError, though what came would parse")
        for step in CUT:
            error = await self._failure(rule, step, TruncatedCompletionError)
            rule.equal(getattr(error, "finish_reason", None), "length")

    async def test_a_refusal_is_an_error_of_its_own(self) -> None:
        rule = promise("3", "a refusal, or a content filter, is a RefusedCompletionError")
        for step in REFUSED:
            await self._failure(rule, step, RefusedCompletionError)

    async def test_what_is_no_object_is_an_error_of_its_own(self) -> None:
        rule = promise("3", "no JSON, or JSON that is no object, is an UnstructuredCompletionError")
        for step in UNSTRUCTURED:
            error = await self._failure(rule, step, UnstructuredCompletionError)
            rule.equal(getattr(error, "content", None), step.content)
            rule.holds("Fact" in str(error), str(error))
            rule.holds(str(error).count("x") < EXCERPT_CHARACTERS * 2, len(str(error)))

    async def test_an_object_that_does_not_fit_is_an_error_of_its_own(self) -> None:
        rule = promise("3", "an object that does not fit is a MalformedCompletionError")
        for step in MALFORMED:
            error = await self._failure(rule, step, MalformedCompletionError)
            rule.equal(getattr(error, "schema", None), "Fact")
            rule.holds(getattr(error, "cause", ""), error)

    async def test_an_outage_says_whether_to_try_again(self) -> None:
        rule = promise("2", "408, 429, 5xx and no connection may be tried again, others not")
        for status, retryable in (
            (None, True),
            (408, True),
            (429, True),
            (500, True),
            (503, True),
            (400, False),
            (401, False),
            (404, False),
        ):
            error = await self._failure(rule, Outage(status=status), ProviderTransportError)
            seen = [getattr(error, name, None) for name in ("status", "retryable", "retry_after")]
            rule.equal(seen, [status, retryable, None])

    async def test_an_outage_says_when_to_try_again(self) -> None:
        rule = promise("2", "retry_after is what the server said, in seconds")
        outage = Outage(status=429, retry_after=7)
        error = await self._failure(rule, outage, ProviderTransportError)
        rule.equal(getattr(error, "retry_after", None), 7.0)

    async def test_no_message_quotes_what_was_sent(self) -> None:
        rule = promise("4", "no message quotes what was sent; each starts with the model")
        bad: list[Step] = [steps[0] for _, steps in BAD_ANSWERS]
        for step in [*bad, Outage(), Outage(status=400), Outage(status=503)]:
            async with self.provider_for(step) as provider:
                try:
                    await provider.extract(SENT, Fact, system_prompt=f"about {SENT}")
                except LlmProviderError as error:
                    rule.holds(SENT not in f"{error} {error!r}", str(error))
                    rule.holds(str(error).startswith(f"[{provider.model}]"), str(error))
                    rule.equal(error.model, provider.model)
                else:
                    rule.broken(f"no failure for {step!r}")

    async def _failure(
        self, rule: Rule, step: Step, kind: type[LlmProviderError]
    ) -> LlmProviderError:
        """The error of exactly that kind that the one call made."""
        async with self.provider_for(step) as provider:
            try:
                answer = await provider.extract("hello", Fact)
            except LlmProviderError as error:
                rule.equal((step, type(error)), (step, kind))
                return error
            return rule.broken(f"{step!r} was answered by {answer!r}")


class MeteredLlmProviderCompliance(LlmProviderCompliance):
    """What every MeteredLlmProvider does."""

    async def test_the_provider_is_metered(self) -> None:
        async with self.provider_for() as provider:
            promise("5", "every method of MeteredLlmProvider is there").holds(
                isinstance(provider, MeteredLlmProvider), provider
            )

    async def test_what_an_answer_took_is_told(self) -> None:
        rule = promise("5", "usage as the server reports it, beside the answer of extract")
        async with self.provider_for(GOOD) as provider:
            metered = await extract_metered(provider, "hello", Fact)
            rule.equal(metered.answer, Fact(text="tea", weight=3))
            rule.equal(metered.spend and metered.spend.usage, USAGE)

    async def test_usage_that_is_not_reported_is_none(self) -> None:
        rule = promise("5", "usage None when the server reports none, and then no cost")
        silent = msgspec.structs.replace(GOOD, usage=None)
        async with self.provider_for(silent) as provider:
            spend = (await extract_metered(provider, "hello", Fact)).spend
            rule.equal(spend and (spend.usage, spend.cost_micro_usd), (None, None))

    async def test_what_an_unusable_answer_took_is_told(self) -> None:
        rule = promise("5", "an error of an answer that was billed carries its spend")
        for kind, steps in BAD_ANSWERS:
            error = await self._failure(rule, steps[0], kind)
            rule.equal((kind, error.spend and error.spend.usage), (kind, USAGE))

    async def test_an_outage_took_nothing(self) -> None:
        rule = promise("5", "what was not answered was not billed")
        error = await self._failure(rule, Outage(status=503), ProviderTransportError)
        rule.equal(error.spend, None)
