"""A scripted server, and a provider that calls it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, TypeAlias

import pytest

from commonhold.adapters.openai import OpenAiLlmProvider, openai_compatible
from tests.support.scripted_model import ScriptedModel, Step, scripted_model

Serve: TypeAlias = Callable[..., Awaitable[tuple[ScriptedModel, OpenAiLlmProvider]]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start a server with the steps and a provider with the options."""
    async with AsyncExitStack() as stack:

        async def start(*steps: Step, **options: Any) -> tuple[ScriptedModel, OpenAiLlmProvider]:
            model = await stack.enter_async_context(scripted_model(*steps))
            provider = openai_compatible(
                base_url=model.base_url, model="tiny-1", **{"timeout_seconds": 20.0, **options}
            )
            return model, await stack.enter_async_context(provider)

        yield start
