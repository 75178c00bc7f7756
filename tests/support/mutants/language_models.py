"""A provider over scripted completions, and ones with a planted bug each."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel

from commonhold.conformance.language_models import Asked, Completion, Fact, Outage, Step
from commonhold.contract.language_models import Metered, Schema, read_answer, require_text
from commonhold.contract.model_errors import (
    EmptyCompletionError,
    LlmProviderError,
    MalformedCompletionError,
    ProviderTransportError,
    RefusedCompletionError,
    Spend,
    TokenUsage,
    TruncatedCompletionError,
    UnstructuredCompletionError,
)

PASSING = (408, 429)
NO_TOKENS = TokenUsage(prompt_tokens=0, completion_tokens=0, total_tokens=0)


class ScriptedProvider:
    """Takes its steps one a call, and has no more to say after them."""

    model = "scripted/one"

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.asked: list[Asked] = []

    async def extract(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Schema:
        return (await self.extract_metered(text, schema, system_prompt=system_prompt)).answer

    async def extract_metered(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Metered[Schema]:
        require_text(text)
        step = self.ask(text, system_prompt)
        if isinstance(step, Outage):
            raise self.outage(step)
        spend = self.spend_of(step)
        return Metered(self.read(step, schema, spend), spend)

    def ask(self, text: str, system_prompt: str | None) -> Step:
        self.asked.append(Asked(text, system_prompt))
        return self.steps.pop(0)

    def outage(self, step: Outage) -> LlmProviderError:
        status, after = step.status, step.retry_after
        return ProviderTransportError(
            "away",
            model=self.model,
            retryable=status is None or status >= 500 or status in PASSING,
            status=status,
            retry_after=None if after is None else float(after),
        )

    def spend_of(self, step: Completion) -> Spend | None:
        return Spend(model=self.model, usage=step.usage, cost_micro_usd=None)

    def read(self, step: Completion, schema: type[Schema], spend: Spend | None) -> Schema:
        if step.refusal or step.finish_reason == "content_filter":
            raise RefusedCompletionError(model=self.model, spend=spend)
        if step.finish_reason == "length":
            raise TruncatedCompletionError(model=self.model, spend=spend)
        if not step.content.strip():
            raise EmptyCompletionError(
                model=self.model, finish_reason=step.finish_reason, spend=spend
            )
        return read_answer(step.content, schema, model=self.model, spend=spend)


Bug = TypeVar("Bug", bound=type[ScriptedProvider])
MUTANTS: list[tuple[type[ScriptedProvider], str]] = []


def breaks(*tests: str) -> Callable[[Bug], Bug]:
    """Register a provider whose bug each of `tests` must report."""

    def register(provider: Bug) -> Bug:
        MUTANTS.extend((provider, f"test_{name}") for name in tests)
        return provider

    return register


@breaks("the_provider_names_its_model")
class NamesNoServer(ScriptedProvider):
    model = "one"


@breaks("the_provider_is_metered")
class IsNotMetered(ScriptedProvider):
    extract_metered = None  # type: ignore[assignment]  # what it lacks


@breaks("an_answer_is_an_instance_of_the_schema", "what_is_sent_is_what_was_given")
class AsksTwice(ScriptedProvider):
    def ask(self, text: str, system_prompt: str | None) -> Step:
        self.asked.append(Asked(text, system_prompt))
        return super().ask(text, system_prompt)


@breaks("an_answer_may_hold_nothing")
class TakesNothingForEmpty(ScriptedProvider):
    def read(self, step: Completion, schema: type[Schema], spend: Spend | None) -> Schema:
        if step.content == "{}":
            raise EmptyCompletionError(model=self.model, finish_reason="stop", spend=spend)
        return super().read(step, schema, spend)


@breaks("each_call_has_its_own_answer")
class RemembersAnswers(ScriptedProvider):
    def ask(self, text: str, system_prompt: str | None) -> Step:
        first = self.steps[0]
        super().ask(text, system_prompt)
        self.steps.insert(0, first)
        return first


@breaks("blank_text_is_refused_before_any_call")
class SendsBlankText(ScriptedProvider):
    async def extract(self, text: str, schema: type[Any], **options: Any) -> Any:
        return await super().extract(text or ".", schema, **options)


@breaks("what_is_sent_is_what_was_given")
class TrimsTheText(ScriptedProvider):
    def ask(self, text: str, system_prompt: str | None) -> Step:
        return super().ask(text.strip(), system_prompt)


@breaks("what_is_sent_is_what_was_given")
class HasAPromptOfItsOwn(ScriptedProvider):
    def ask(self, text: str, system_prompt: str | None) -> Step:
        return super().ask(text, system_prompt or "You are helpful.")


@breaks("an_empty_answer_is_an_error_of_its_own")
class ParsesBlanks(ScriptedProvider):
    def read(self, step: Completion, schema: type[Schema], spend: Spend | None) -> Schema:
        if step.content.isspace():
            return read_answer(step.content, schema, model=self.model, spend=spend)
        return super().read(step, schema, spend)


@breaks("an_answer_that_was_cut_off_is_not_used")
class UsesWhatParses(ScriptedProvider):
    def read(self, step: Completion, schema: type[Schema], spend: Spend | None) -> Schema:
        if step.finish_reason == "length" and step.content.endswith("}"):
            return read_answer(step.content, schema, model=self.model, spend=spend)
        return super().read(step, schema, spend)


@breaks("a_refusal_is_an_error_of_its_own")
class TakesARefusalForEmpty(ScriptedProvider):
    def read(self, step: Completion, schema: type[Schema], spend: Spend | None) -> Schema:
        return super().read(msgspec.structs.replace(step, refusal=None), schema, spend)


@breaks("what_is_no_object_is_an_error_of_its_own")
class UnwrapsFences(ScriptedProvider):
    def read(self, step: Completion, schema: type[Schema], spend: Spend | None) -> Schema:
        bare = step.content.removeprefix("```json\n").removesuffix("\n```")
        return super().read(msgspec.structs.replace(step, content=bare), schema, spend)


@breaks("what_is_no_object_is_an_error_of_its_own")
class QuotesTheWholeAnswer(ScriptedProvider):
    def read(self, step: Completion, schema: type[Schema], spend: Spend | None) -> Schema:
        try:
            return super().read(step, schema, spend)
        except UnstructuredCompletionError as error:
            error.args = (f"{error} {step.content}",)
            error.message = f"{error.message} {step.content}"
            raise


@breaks("an_object_that_does_not_fit_is_an_error_of_its_own")
class SaysNothingFits(ScriptedProvider):
    def read(self, step: Completion, schema: type[Schema], spend: Spend | None) -> Schema:
        try:
            return super().read(step, schema, spend)
        except UnstructuredCompletionError:
            raise
        except MalformedCompletionError as error:
            raise UnstructuredCompletionError(
                model=self.model, schema=error.schema, content=step.content, spend=spend
            ) from None


@breaks("an_object_that_does_not_fit_is_an_error_of_its_own")
class FillsInWhatIsMissing(ScriptedProvider):
    def read(self, step: Completion, schema: type[Schema], spend: Spend | None) -> Schema:
        if schema is Fact and step.content == '{"text": "tea"}':
            filled: BaseModel = Fact(text="tea", weight=0)
            return schema.model_validate(filled.model_dump())
        return super().read(step, schema, spend)


@breaks("an_outage_says_whether_to_try_again")
class TriesEverythingAgain(ScriptedProvider):
    def outage(self, step: Outage) -> LlmProviderError:
        return ProviderTransportError("away", model=self.model, retryable=True, status=step.status)


@breaks("an_outage_says_when_to_try_again")
class ForgetsWhen(ScriptedProvider):
    def outage(self, step: Outage) -> LlmProviderError:
        return super().outage(msgspec.structs.replace(step, retry_after=None))


@breaks("no_message_quotes_what_was_sent")
class QuotesTheText(ScriptedProvider):
    def outage(self, step: Outage) -> LlmProviderError:
        told = f"no answer to {self.asked[-1].text}"
        return ProviderTransportError(told, model=self.model, retryable=False, status=step.status)


@breaks("what_an_answer_took_is_told", "what_an_unusable_answer_took_is_told")
class CountsNothing(ScriptedProvider):
    def spend_of(self, step: Completion) -> Spend | None:
        return super().spend_of(msgspec.structs.replace(step, usage=None))


@breaks("usage_that_is_not_reported_is_none")
class CountsZero(ScriptedProvider):
    def spend_of(self, step: Completion) -> Spend | None:
        return super().spend_of(msgspec.structs.replace(step, usage=step.usage or NO_TOKENS))


@breaks("what_an_unusable_answer_took_is_told")
class ForgetsWhatWasWasted(ScriptedProvider):
    def read(self, step: Completion, schema: type[Schema], spend: Spend | None) -> Schema:
        return super().read(step, schema, None)


@breaks("an_outage_took_nothing")
class BillsOutages(ScriptedProvider):
    def outage(self, step: Outage) -> LlmProviderError:
        error = super().outage(step)
        error.spend = Spend(model=self.model, usage=NO_TOKENS, cost_micro_usd=0)
        return error
