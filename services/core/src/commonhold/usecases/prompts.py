"""Skills as prompts, which a user picks by name (docs/reference/mcp.md, section 9)."""

import msgspec

from commonhold.contract.errors import PathInvalidError
from commonhold.contract.stores import MemoryReader
from commonhold.usecases.failures import CommandError
from commonhold.usecases.mounts import MountTable
from commonhold.usecases.skills import find_skill, read_skills


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a list shows of a prompt: no name stands twice in it."""

    name: str
    description: str


class PromptText(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as it is given out; the text is the whole body of the skill."""

    description: str
    text: str


async def list_prompts(documents: MemoryReader, table: MountTable) -> list[Prompt]:
    """Every valid skill, then the built-in ones.

    The first of a name has it; a later one is listed under its path, and a built-in
    skill, which has none, gives way.
    """
    prompts: dict[str, Prompt] = {}
    for row in await read_skills(documents, table):
        name = row.path if row.name in prompts else row.name
        if row.error is None and name is not None:
            prompts[name] = Prompt(name=name, description=row.description or "")
    return list(prompts.values())


async def get_prompt(documents: MemoryReader, table: MountTable, name: str) -> PromptText:
    """A prompt by its name or path; raises CommandError when no valid skill has it."""
    try:
        skill = await find_skill(documents, table, name)
    except PathInvalidError:
        skill = None
    if skill is None:
        raise CommandError(f"Skill {name!r} not found")
    return PromptText(description=skill.description, text=skill.body)
