"""Skills: which documents are ones, how they are listed, and how one is loaded."""

import json
from typing import Any

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.usecases.skill_files import (
    MOST_FRONTMATTER_CHARACTERS,
    SkillFileError,
    parse_skill,
)
from commonhold.usecases.skills import list_skills, load_skill
from tests.support.memory_callers import HANDBOOK, USER, Caller, InterruptedStore

KB = "tenant:acme/kb:handbook"
WHERE = "/user/skills/release"
BAD = f"Invalid or missing frontmatter in skill file: {WHERE}"


def skill(description: str = "How we release", body: str = "Tag it.") -> str:
    return f"---\ndescription: {description}\n---\n\n{body}\n"


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["name"] for row in rows]


async def listed(caller: Caller) -> list[dict[str, Any]]:
    result = await list_skills(caller.context.documents, caller.context.mounts)
    assert result.data is not None
    rows: list[dict[str, Any]] = json.loads(result.data)
    return rows


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("---\ndescription: d\n---\nbody", "body"),
        ("\n  \n---\r\ndescription: d\r\nname: release\r\n---\r\n\r\nbody\n\n", "body"),
        ("---\ndescription: d\nother: [1, {a: b}]\n---", ""),
        ("---\ndescription: d\n---\na\n---\nb", "a\n---\nb"),
        ("---\ndescription: ---x\n ---\n---\nbody", "body"),
    ],
)
def test_a_skill_is_yaml_between_dashes_and_a_body(content: str, body: str) -> None:
    assert parse_skill(content, name="release", where=WHERE).body == body


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", BAD),
        ("just text", BAD),
        ("---\ndescription: d", BAD),
        ("--- \ndescription: d\n---", BAD),
        ("---\n- a\n---", BAD),
        ("---\n---\nbody", BAD),
        ("---\n{unclosed\n---", BAD),
        ("---\ndescription: !!python/object/apply:os.getcwd []\n---", BAD),
        ("---\ndescription: 2026-13-45\n---", BAD),
        ("---\ndescription: !!bool perhaps\n---", BAD),
        ("---\ndescription: !!timestamp later\n---", BAD),
        ("---\n" + "[" * 5000 + "\n---", BAD),
        ("---\ndescription: &d text\nname: *d\n---", BAD),
        (f"---\ndescription: {'x' * MOST_FRONTMATTER_CHARACTERS}\n---", BAD),
        (
            "---\nname: release\n---",
            f"Missing required key 'description' in skill frontmatter: {WHERE}",
        ),
        ("---\ndescription: 7\n---", f"{BAD} — description must be a string"),
        ("---\ndescription:\n---", f"{BAD} — description must be a string"),
        (
            "---\ndescription: d\nname: other\n---",
            f"{BAD} — name 'other' does not match the address 'release'",
        ),
    ],
)
def test_what_is_no_skill_says_why(content: str, error: str) -> None:
    with pytest.raises(SkillFileError) as refusal:
        parse_skill(content, name="release", where=WHERE)
    assert str(refusal.value) == error


def test_a_short_frontmatter_never_stands_for_a_long_one() -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12)]
    fields = ["description: d", "l0: &l0 [x, x, x, x, x, x, x, x, x]", *levels, "name: *l11"]
    with pytest.raises(SkillFileError) as refusal:
        parse_skill("\n".join(["---", *fields, "---"]), name="release", where=WHERE)
    assert str(refusal.value) == BAD


async def test_skills_are_listed_by_mount_and_path_and_the_built_in_ones_last(
    store: InMemoryStore, ana: Caller
) -> None:
    await store.write(KB, "skills/audit", skill("How we audit"))
    await store.write("user:ana", "skills/release", "v1")
    await store.write("user:ana", "skills/release", skill())
    await store.write("user:ana", "skills/bad", "no frontmatter")
    await store.write("user:ana", "skills/release/checklist", skill("a supporting file"))
    await store.write("user:ana", "skills", skill("not under skills/"))
    await store.write("user:ana", "skills/gone", skill())
    await store.redact("user:ana", path="skills/gone")
    rows = await listed(ana)
    assert rows[:3] == [
        {
            "name": "bad",
            "error": "Invalid or missing frontmatter in skill file: /user/skills/bad",
            "path": "/user/skills/bad",
            "version": 1,
        },
        {
            "name": "release",
            "description": "How we release",
            "path": "/user/skills/release",
            "version": 2,
        },
        {
            "name": "audit",
            "description": "How we audit",
            "path": "/kb/skills/audit",
            "version": 1,
        },
    ]
    assert [sorted(row) for row in rows[3:]] == [["description", "name"]]
    assert names(rows[3:]) == ["handoff"]


@pytest.mark.parametrize(
    ("tokens", "address"),
    [
        ((HANDBOOK, USER), "/user/skills/<name>"),
        (("scope=task:1,path=board,eo", USER), "/user/skills/<name>"),
        ((HANDBOOK,), None),
    ],
)
async def test_who_can_write_is_told_how_to_add_a_skill(
    store: InMemoryStore, tokens: tuple[str, ...], address: str | None
) -> None:
    result = await list_skills(store, Caller(store, *tokens).context.mounts)
    if address is None:
        assert result.system_reminder is None
    else:
        assert address in (result.system_reminder or "")


async def test_a_name_loads_the_first_skill_of_that_name(store: InMemoryStore, ana: Caller) -> None:
    await store.write(KB, "skills/release", skill(body="The handbook's way."))
    await store.write("user:ana", "skills/release", skill(body="My way."))
    mine = await load_skill(store, ana.context.mounts, "release")
    theirs = await load_skill(store, ana.context.mounts, "/kb/skills/release/")
    assert (mine.data, mine.system_reminder) == ("My way.", "/user/skills/release (version 1)")
    assert (theirs.data, theirs.system_reminder) == (
        "The handbook's way.",
        "/kb/skills/release (version 1)",
    )


async def test_a_built_in_skill_is_loaded_unless_a_document_takes_its_name(
    store: InMemoryStore, ana: Caller
) -> None:
    built_in = await load_skill(store, ana.context.mounts, "handoff")
    assert built_in.success
    assert built_in.system_reminder is None
    assert "2048" in (built_in.data or "")
    await store.write("user:ana", "skills/handoff", skill(body="Our own way."))
    assert (await load_skill(store, ana.context.mounts, "handoff")).data == "Our own way."


@pytest.mark.parametrize(
    "name",
    ["nothing", "release/checklist", "/kb/policy", "/user", "/user/skills/release/checklist"],
)
async def test_what_is_no_skill_is_answered_with_the_skills_there_are(
    store: InMemoryStore, ana: Caller, name: str
) -> None:
    await store.write("user:ana", "skills/release", skill())
    await store.write("user:ana", "skills/release/checklist", skill())
    await store.write("user:ana", "skills/broken", "no frontmatter")
    await store.write(KB, "policy", skill())
    await store.write(KB, "skills/release", skill())
    result = await load_skill(store, ana.context.mounts, name)
    assert result.error == f"Skill {name!r} not found"
    assert result.system_reminder == "Available skills: release, handoff"


async def test_a_redacted_skill_gives_way_to_the_next_of_its_name(
    store: InMemoryStore, ana: Caller
) -> None:
    await store.write("user:ana", "skills/release", skill())
    await store.redact("user:ana", path="skills/release")
    await store.write(KB, "skills/release", skill(body="The handbook's way."))
    loaded = await load_skill(store, ana.context.mounts, "release")
    assert loaded.data == "The handbook's way."


async def test_a_broken_skill_says_where_to_mend_it(store: InMemoryStore, ana: Caller) -> None:
    await store.write("user:ana", "skills/release", "no frontmatter")
    await store.write(KB, "skills/release", skill())
    result = await load_skill(store, ana.context.mounts, "release")
    assert result.error == BAD
    assert "/user/skills/release (version 1)" in (result.system_reminder or "")
    assert "str_replace" in (result.system_reminder or "")


@pytest.mark.parametrize("name", ["/nope/skills/x", "/user/skills/bad name", "/user/skills/.."])
async def test_a_path_that_leads_nowhere_is_corrected(ana: Caller, name: str) -> None:
    result = await load_skill(ana.context.documents, ana.context.mounts, name)
    assert (result.error or "").startswith("[memory_path_invalid] ")
    assert result.system_reminder


async def test_a_store_that_breaks_is_answered_under_the_name_of_the_tool(
    store: InMemoryStore, ana: Caller
) -> None:
    async def fail() -> None:
        raise RuntimeError("dsn=secret")

    broken = InterruptedStore(store, after="list_documents", act=fail)
    result = await list_skills(broken, ana.context.mounts)
    assert result.error == "Tool 'list_skills' failed: internal error"
    broken = InterruptedStore(store, after="read", act=fail)
    result = await load_skill(broken, ana.context.mounts, "release")
    assert result.error == "Tool 'load_skill' failed: internal error"
