"""A language model that says what a test told it to (docs/reference/models.md, section 7).

Apart from the package's facade, since it needs pydantic (the extra `models`).
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, Literal, TypeAlias

import msgspec

from commonhold.contract.language_models import Metered, Schema, read_answer, require_text
from commonhold.contract.model_errors import EmptyCompletionError, LlmProviderError, Spend


class _Empty(Enum):
    EMPTY = "empty"


EMPTY: Final = _Empty.EMPTY
"""In place of a payload: the answer has no content."""

Payload: TypeAlias = Mapping[str, Any] | Literal[_Empty.EMPTY] | LlmProviderError

_NOTHING: Mapping[str, Any] = {}


class Prompt(msgspec.Struct, frozen=True):
    """One call that was made."""

    text: str
    system_prompt: str | None


class FakeLlmProvider:
    """Answers from `script` in order, or by the first key of `by_substring` in the text.

    Payloads are dicts and pass the validation of a real answer; an LlmProviderError is
    raised as it is. A script that runs out is a failed assertion, not a repeat.
    """

    def __init__(
        self,
        *,
        script: Sequence[Payload] | None = None,
        by_substring: Mapping[str, Payload] | None = None,
        default: Payload | None = None,
        model: str = "fake/scripted-1",
        spend: Spend | None = None,
    ) -> None:
        if script is not None and (by_substring is not None or default is not None):
            raise ValueError("give script= alone, or by_substring= and default=")
        self._script = None if script is None else list(script)
        self._by_substring = by_substring or {}
        self._default: Payload = _NOTHING if default is None else default
        self._model = model
        self._spend = spend
        self.prompts: list[Prompt] = []

    @property
    def model(self) -> str:
        return self._model

    async def extract(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Schema:
        metered = await self.extract_metered(text, schema, system_prompt=system_prompt)
        return metered.answer

    async def extract_metered(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Metered[Schema]:
        require_text(text)
        self.prompts.append(Prompt(text, system_prompt))
        payload = self._next(text)
        if isinstance(payload, LlmProviderError):
            raise payload
        if payload is EMPTY:
            raise EmptyCompletionError(model=self._model, finish_reason="stop", spend=self._spend)
        content = msgspec.json.encode(payload).decode()
        answer = read_answer(content, schema, model=self._model, spend=self._spend)
        return Metered(answer, self._spend)

    def _next(self, text: str) -> Payload:
        if self._script is None:
            found = (self._by_substring[key] for key in self._by_substring if key in text)
            return next(found, self._default)
        if not self._script:
            raise AssertionError(f"the script is over, and call {len(self.prompts)} was made")
        return self._script.pop(0)
