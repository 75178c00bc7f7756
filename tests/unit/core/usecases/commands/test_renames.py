"""`rename`: within a mount, across mounts, and what is in the way."""

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from tests.support.memory_callers import (
    PROJECT,
    USER,
    Caller,
    ConditionalInterruptedStore,
    InterruptedStore,
)


async def paths(store: InMemoryStore, scope: str) -> list[str]:
    return [entry.path for entry in await store.list_documents(scope)]


async def test_a_rename_within_a_mount_is_the_stores(store: InMemoryStore, ana: Caller) -> None:
    await ana.succeed("create", path="/user/a", content="x")
    result = await ana.call("rename", old_path="/user/a", new_path="/user/n/b")
    assert result.data == "Renamed /user/a to /user/n/b (v1)"
    assert result.receipt is not None
    assert (result.receipt.path, result.receipt.previous_path, result.receipt.version) == (
        "/user/n/b",
        "/user/a",
        1,
    )
    assert await paths(store, "user:ana") == ["n/b"]


async def test_a_move_across_mounts_copies_and_deletes(store: InMemoryStore, ana: Caller) -> None:
    await ana.succeed("create", path="/user/a", content="x")
    result = await ana.call("rename", old_path="/user/a", new_path="/project/b")
    assert result.data == "Moved /user/a to /project/b (v1)"
    assert result.receipt is not None
    assert (result.receipt.mount_path, result.receipt.previous_path) == ("project", "/user/a")
    assert await ana.succeed("view", path="/project/b") == "/project/b (v1):\n1: x"
    assert await paths(store, "user:ana") == []


@pytest.mark.parametrize(
    ("new_path", "scope", "path"),
    [
        ("/user/b", "user:ana", "b"),
        ("/user/a", "user:ana", "a"),
        ("/project/b", "project:erp", "b"),
    ],
)
async def test_an_occupied_destination_is_a_conflict(
    ana: Caller, new_path: str, scope: str, path: str
) -> None:
    for taken in ("/user/a", "/user/b", "/project/b"):
        await ana.succeed("create", path=taken, content=taken)
    result = await ana.call("rename", old_path="/user/a", new_path=new_path)
    assert result.error == (
        f"[memory_conflict] Memory conflict on {path!r} in scope {scope!r}: destination_exists"
    )
    assert "another name" in (result.system_reminder or "")


@pytest.mark.parametrize("new_path", ["/user/b", "/project/b"])
async def test_a_missing_source_is_named(ana: Caller, new_path: str) -> None:
    error = await ana.fail("rename", old_path="/user/a", new_path=new_path)
    assert error == (
        "[memory_document_not_found] Memory document not found: 'a' in scope 'user:ana'"
    )


async def test_two_mounts_of_one_scope_are_two_mounts(store: InMemoryStore) -> None:
    caller = Caller(store, USER, "scope=user:ana,path=mine")
    await caller.succeed("create", path="/user/a", content="x")
    onto_itself = await caller.fail("rename", old_path="/user/a", new_path="/mine/a")
    assert onto_itself.endswith("on 'a' in scope 'user:ana': destination_exists")
    moved = await caller.succeed("rename", old_path="/user/a", new_path="/mine/b")
    assert moved == "Moved /user/a to /mine/b (v1)"


async def test_a_source_that_changes_during_a_move_is_kept(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/a", content="one")

    async def write_meanwhile() -> None:
        await store.write("user:ana", "a", "two")

    slow = Caller(InterruptedStore(store, after="write", act=write_meanwhile), USER, PROJECT)
    error = await slow.fail("rename", old_path="/user/a", new_path="/project/b")
    assert error.endswith("on 'a' in scope 'user:ana': version_mismatch")
    assert await ana.succeed("view", path="/user/a") == "/user/a (v2):\n1: two"


async def test_a_change_of_the_source_in_the_last_instant_leaves_both_copies(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="one")

    async def write_meanwhile() -> None:
        await store.write("user:ana", "p", "newer")

    slow = Caller(
        ConditionalInterruptedStore(store, after="create_if_absent", act=write_meanwhile),
        USER,
        PROJECT,
    )
    error = await slow.fail("rename", old_path="/user/p", new_path="/project/p")
    assert error.endswith("version_mismatch")
    left = await store.read("user:ana", "p")
    assert left is not None
    assert left.content == "newer"


async def test_a_document_that_is_made_at_the_target_meanwhile_is_not_written_over(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="mine")

    async def write_meanwhile() -> None:
        await store.write("project:erp", "p", "another's")

    # Behind the second reading, which found the target free.
    slow = Caller(
        ConditionalInterruptedStore(store, after="read", act=write_meanwhile, nth=2), USER, PROJECT
    )
    error = await slow.fail("rename", old_path="/user/p", new_path="/project/p")
    assert error.endswith("on 'p' in scope 'project:erp': destination_exists")
    assert await ana.succeed("view", path="/project/p") == "/project/p (v1):\n1: another's"
    assert await ana.succeed("view", path="/user/p") == "/user/p (v1):\n1: mine"
