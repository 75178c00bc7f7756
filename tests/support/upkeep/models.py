"""Language models of the cases: what they were sent, and who acts while they think."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from commonhold.contract.language_models import Metered, Schema, read_answer
from commonhold.contract.model_errors import Spend, TokenUsage

SPEND = Spend(
    model="server/model-1",
    usage=TokenUsage(prompt_tokens=100, completion_tokens=20, total_tokens=120),
    cost_micro_usd=45,
)


async def idle() -> None:
    return


class ActingModel:
    """Answers with the text it was given, or the failure, once `meanwhile` has acted.

    A callable answer is made from the text that was sent.
    """

    model = "fake/acting"

    def __init__(
        self,
        answer: str | Exception | Callable[[str], str],
        *,
        meanwhile: Callable[[], Awaitable[object]] = idle,
        spend: Spend | None = None,
    ) -> None:
        self._answer = answer
        self.meanwhile = meanwhile
        self._spend = spend
        self.sent: list[str] = []
        self.instructions: list[str] = []

    async def extract(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Schema:
        return (await self.extract_metered(text, schema, system_prompt=system_prompt)).answer

    async def extract_metered(
        self, text: str, schema: type[Schema], *, system_prompt: str | None = None
    ) -> Metered[Schema]:
        self.sent.append(text)
        self.instructions.append(system_prompt or "")
        await self.meanwhile()
        if isinstance(self._answer, Exception):
            raise self._answer
        content = self._answer if isinstance(self._answer, str) else self._answer(text)
        answer = read_answer(content, schema, model=self.model, spend=self._spend)
        return Metered(answer, self._spend)


def create(path: str, content: str) -> dict[str, Any]:
    return {"command": "create", "path": path, "content": content}


def replace(path: str, old: str, new: str) -> dict[str, Any]:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def delete(path: str) -> dict[str, Any]:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> dict[str, Any]:
    return {"command": "rename", "old_path": old, "new_path": new}


Proposed = Sequence[dict[str, Any]]
