"""The port of language models: text in, a validated instance of a schema out.

Semantics are in docs/reference/models.md. The one module of the contract that needs
pydantic (the extra `models`), so the facade `commonhold.contract` leaves it out.
"""

from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import msgspec
from pydantic import BaseModel, ValidationError

from commonhold.contract.model_errors import (
    MalformedCompletionError,
    Spend,
    UnstructuredCompletionError,
)

Schema = TypeVar("Schema", bound=BaseModel)


class Metered(msgspec.Struct, Generic[Schema], frozen=True):
    """An answer with what it took; `spend` is None for a provider that does not say."""

    answer: Schema
    spend: Spend | None


@runtime_checkable
class LlmProvider(Protocol):
    """A language model that answers in a given shape (docs/reference/models.md, section 1)."""

    @property
    def model(self) -> str:
        """Provenance, not a setting: qualified by its provider, as `ollama/qwen3:8b`."""
        ...

    async def extract(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Schema:
        """A validated instance: never None, never partial, never a stand-in for a failure.

        An instance that holds nothing is an answer. Raises ValueError for blank text,
        before any call, and an LlmProviderError for every failure.
        """
        ...


@runtime_checkable
class MeteredLlmProvider(LlmProvider, Protocol):
    """Optional: answers together with usage and cost (models.md, section 5)."""

    async def extract_metered(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Metered[Schema]:
        """As `extract`; where a failure was billed, the error's `spend` says so."""
        ...


async def extract_metered(
    provider: LlmProvider, text: str, schema: type[Schema], *, system_prompt: str | None = None
) -> Metered[Schema]:
    """The answer of any provider, with its spend where it reports one."""
    if isinstance(provider, MeteredLlmProvider):
        return await provider.extract_metered(text, schema, system_prompt=system_prompt)
    return Metered(await provider.extract(text, schema, system_prompt=system_prompt), None)


def require_text(text: str) -> None:
    """ValueError for text that is blank: a model would invent an answer to it."""
    if not text.strip():
        raise ValueError("parameter 'text' must not be blank")


def read_answer(
    content: str, schema: type[Schema], *, model: str, spend: Spend | None = None
) -> Schema:
    """The content of a completion as the schema's instance (models.md, section 3)."""
    if not isinstance(_decoded(content), dict):
        raise UnstructuredCompletionError(
            model=model, schema=schema.__name__, content=content, spend=spend
        )
    try:
        return schema.model_validate_json(content)
    except ValidationError as error:
        raise MalformedCompletionError(
            model=model, schema=schema.__name__, cause=str(error), spend=spend
        ) from error


def _decoded(content: str) -> Any:
    """None for what is no JSON: with an encoding, a number or a nesting that none has."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
