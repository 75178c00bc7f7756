"""The model of `memory maintain --model`; apart, since it needs the extra `commonhold[models]`."""

from collections.abc import Mapping

import msgspec

from commonhold.adapters.openai import ModelSettings, OpenAiLlmProvider, open_provider
from commonhold.cli.stores import OperatedStore
from commonhold.contract.clock import SystemClock
from commonhold.contract.errors import ConfigurationError
from commonhold.ops.settings import read_settings
from commonhold.usecases.upkeep.passes import Garden, maintain
from commonhold.usecases.upkeep.reports import PassReport
from commonhold.usecases.upkeep.semantic import SemanticStage


def choose_provider(environment: Mapping[str, str], *, name: str) -> OpenAiLlmProvider:
    """The model of that name at the server of the environment; nothing is called yet.

    Raises ConfigurationError when there is no server, or one of its settings is bad.
    """
    settings = msgspec.structs.replace(read_settings(ModelSettings, environment), name=name)
    provider = open_provider(settings) if settings.url else None
    if provider is None:
        raise ConfigurationError("--model needs COMMONHOLD_MODEL_URL, the server that has it")
    return provider


async def maintain_with(
    provider: OpenAiLlmProvider, store: OperatedStore, garden: Garden
) -> PassReport:
    """One pass with both stages; the provider is closed at its end."""
    async with provider:
        return await maintain(store, garden, clock=SystemClock(), semantic=SemanticStage(provider))
