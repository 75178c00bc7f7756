"""Prompts: skills under names that stand once."""

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.usecases.failures import CommandError
from commonhold.usecases.mount_tokens import parse_mounts
from commonhold.usecases.prompts import get_prompt, list_prompts
from tests.support.memory_callers import HANDBOOK, PROJECT, USER

TABLE = parse_mounts([USER, PROJECT, HANDBOOK])


def skill(description: str, body: str = "Do it.") -> str:
    return f"---\ndescription: {description}\n---\n{body}\n"


async def named(store: InMemoryStore) -> dict[str, str]:
    return {one.name: one.description for one in await list_prompts(store, TABLE)}


async def test_the_first_of_a_name_has_it_and_later_ones_their_path(store: InMemoryStore) -> None:
    await store.write("project:erp", "skills/release", skill("of the project"))
    await store.write("user:ana", "skills/release", "no skill")
    await store.write("tenant:acme/kb:handbook", "skills/release", skill("of the handbook"))
    await store.write("project:erp", "skills/release/notes", "a supporting file")
    prompts = await named(store)
    assert list(prompts) == ["release", "/kb/skills/release", "handoff"]
    assert prompts["release"] == "of the project"
    for name, description in prompts.items():
        assert (await get_prompt(store, TABLE, name)).description == description


async def test_a_skill_of_the_name_of_a_built_in_one_takes_its_place(store: InMemoryStore) -> None:
    assert list(await named(store)) == ["handoff"]
    await store.write("user:ana", "skills/handoff", skill("our own", "Our way."))
    assert await named(store) == {"handoff": "our own"}
    assert (await get_prompt(store, TABLE, "handoff")).text == "Our way."


async def test_prompts_are_read_anew(store: InMemoryStore) -> None:
    await store.write("user:ana", "skills/x", skill("one"))
    assert "x" in await named(store)
    await store.redact("user:ana", path="skills/x")
    assert "x" not in await named(store)


@pytest.mark.parametrize(
    "name", ["nope", "", "/", "/nowhere/skills/x", "/user/skills/a b", "/user/notes", "skills/x"]
)
async def test_what_names_no_skill_is_not_found(store: InMemoryStore, name: str) -> None:
    with pytest.raises(CommandError) as refusal:
        await get_prompt(store, TABLE, name)
    assert refusal.value.message == f"Skill {name!r} not found"


async def test_a_broken_skill_is_not_found(store: InMemoryStore) -> None:
    await store.write("user:ana", "skills/broken", "no skill")
    for name in ("broken", "/user/skills/broken"):
        with pytest.raises(CommandError):
            await get_prompt(store, TABLE, name)
