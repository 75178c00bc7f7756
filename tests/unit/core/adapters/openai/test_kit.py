"""The provider over HTTP passes the kit of language models."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from commonhold.adapters.openai import OpenAiLlmProvider, openai_compatible
from commonhold.conformance.language_models import (
    Asked,
    Completion,
    MeteredLlmProviderCompliance,
    Step,
)
from tests.support.scripted_model import ScriptedModel, completion, resets, says, scripted_model
from tests.support.scripted_model import Step as Answer


class TestOpenAiLlmProvider(MeteredLlmProviderCompliance):
    @asynccontextmanager
    async def provider_for(self, *steps: Step) -> AsyncIterator[OpenAiLlmProvider]:
        answers = [*map(answer_of, steps), says(b"", status=500)]
        async with (
            scripted_model(*answers) as self.server,
            openai_compatible(
                base_url=self.server.base_url, model="tiny-1", timeout_seconds=60.0
            ) as provider,
        ):
            yield provider

    def asked(self, provider: object) -> tuple[Asked, ...]:
        return tuple(asked_of(request.body) for request in self.server.requests)

    server: ScriptedModel


def answer_of(step: Step) -> Answer:
    if isinstance(step, Completion):
        usage = None if step.usage is None else msgspec.to_builtins(step.usage)
        message = {} if step.refusal is None else {"refusal": step.refusal}
        body = completion(
            step.content, finish_reason=step.finish_reason, message=message, usage=usage
        )
        return says(body)
    if step.status is None:
        return resets
    headers = {} if step.retry_after is None else {"Retry-After": str(step.retry_after)}
    return says(b"", status=step.status, headers=headers)


def asked_of(body: Any) -> Asked:
    said = {message["role"]: message["content"] for message in body["messages"]}
    return Asked(said["user"], said.get("system"))
