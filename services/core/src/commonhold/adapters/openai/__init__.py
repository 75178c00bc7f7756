"""Models behind any server that speaks OpenAI's chat completions (the extra `models`)."""

from commonhold.adapters.openai.costs import Prices
from commonhold.adapters.openai.providers import OpenAiLlmProvider, openai_compatible
from commonhold.adapters.openai.settings import ModelSettings, open_provider

__all__ = [
    "ModelSettings",
    "OpenAiLlmProvider",
    "Prices",
    "open_provider",
    "openai_compatible",
]
