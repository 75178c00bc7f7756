"""Reverts: what each newest row leads to, what is refused, and who is never overwritten."""

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from tests.support.memory_callers import (
    BOARD,
    USER,
    Caller,
    ConditionalInterruptedStore,
    InterruptedStore,
)

STALE = "[memory_conflict] Memory conflict on 'p' in scope 'user:ana': revert_stale"


async def actions(store: InMemoryStore, path: str = "p") -> list[tuple[str, str]]:
    rows = await store.versions("user:ana", path)
    return [(row.action, row.content) for row in reversed(rows)]


async def test_a_modification_is_undone_by_the_prior_content(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="one")
    await ana.succeed("create", path="/user/p", content="two")
    result = await ana.revert("user/p", 2)
    assert result.data == "Reverted /user/p to v1's content (now v3)"
    assert result.system_reminder is None
    assert result.receipt is not None
    assert (result.receipt.command, result.receipt.path, result.receipt.version) == (
        "revert",
        "/user/p",
        3,
    )
    assert await actions(store) == [("created", "one"), ("modified", "two"), ("modified", "one")]
    assert (await store.versions("user:ana", "p"))[0].actor == "client:ana"


async def test_a_creation_after_a_deletion_is_undone_by_a_deletion(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="one")
    await ana.succeed("delete", path="/user/p")
    await ana.succeed("create", path="/user/p", content="two")
    result = await ana.revert("/user/p", 3)
    assert result.data == "Reverted /user/p: v3 undone — the document is removed (now v4)"
    assert result.receipt is not None
    assert (result.receipt.command, result.receipt.version) == ("revert", 4)
    assert (await actions(store))[-1] == ("deleted", "two")


async def test_the_source_of_a_rename_comes_back_and_the_destination_stays(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="one")
    await ana.succeed("rename", old_path="/user/p", new_path="/user/q")
    result = await ana.revert("/user/p", 2)
    assert result.data == "Reverted /user/p to v1's content (now v3)"
    assert (await actions(store))[-1] == ("created", "one")
    assert await ana.succeed("view", path="/user") == "- /user/p\n- /user/q"


async def test_only_the_newest_write_is_undone(ana: Caller) -> None:
    for content in ("one", "two"):
        await ana.succeed("create", path="/user/p", content=content)
    for version in (1, 3):
        result = await ana.revert("/user/p", version)
        assert result.error == STALE
        assert "again" in (result.system_reminder or "")


async def test_a_path_without_history_has_nothing_to_undo(ana: Caller) -> None:
    result = await ana.revert("/user/p", 1)
    assert result.error == "No history for /user/p"
    assert result.system_reminder


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/user", "[memory_path_invalid] "),
        ("/nope/p", "[memory_path_invalid] "),
        ("/kb/p", "[memory_read_only_mount] "),
    ],
)
async def test_a_place_that_takes_no_change_takes_no_revert(
    ana: Caller, path: str, error: str
) -> None:
    assert ((await ana.revert(path, 1)).error or "").startswith(error)


async def test_the_state_of_other_tools_is_not_reverted(store: InMemoryStore, ana: Caller) -> None:
    await store.write("user:ana", "messages/m", "x")
    result = await ana.revert("/user/messages/m", 1)
    assert "messages tool" in (result.error or "")
    assert await store.read("user:ana", "messages/m") is not None


async def test_an_edit_only_mount_reverts_edits_and_nothing_else(store: InMemoryStore) -> None:
    caller = Caller(store, BOARD, USER)
    await store.write("task:42", "x", "one")
    removal = await caller.revert("/board/x", 1)
    await store.write("task:42", "x", "two")
    edit = await caller.revert("/board/x", 2)
    await store.delete("task:42", "x")
    return_ = await caller.revert("/board/x", 4)
    assert (removal.error or "").startswith("[memory_edit_only_mount]")
    assert edit.data == "Reverted /board/x to v1's content (now v3)"
    assert (return_.error or "").startswith("[memory_edit_only_mount]")


async def test_a_redacted_row_is_not_undone(store: InMemoryStore, ana: Caller) -> None:
    await ana.succeed("create", path="/user/p", content="secret")
    await ana.succeed("create", path="/user/p", content="secret too")
    await store.redact("user:ana", path="p")
    result = await ana.revert("/user/p", 2)
    assert result.error == (
        "/user/p's history is redacted; the prior content was cleared and cannot be restored"
    )
    assert result.system_reminder
    assert len(await actions(store)) == 2


async def test_a_creation_over_a_redacted_deletion_may_be_undone(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="secret")
    await ana.succeed("delete", path="/user/p")
    await store.redact("user:ana", path="p")
    await ana.succeed("create", path="/user/p", content="clean")
    assert (await ana.revert("/user/p", 3)).success
    assert await store.read("user:ana", "p") is None


@pytest.mark.parametrize("method", ["versions", "read"])
async def test_a_write_meanwhile_is_not_covered_by_the_prior_content(
    store: InMemoryStore, ana: Caller, method: str
) -> None:
    for content in ("one", "two"):
        await ana.succeed("create", path="/user/p", content=content)

    async def write_meanwhile() -> None:
        await store.write("user:ana", "p", "three")

    slow = Caller(InterruptedStore(store, after=method, act=write_meanwhile), USER)
    assert (await slow.revert("/user/p", 2)).error == STALE
    assert (await actions(store))[-1] == ("modified", "three")


@pytest.mark.parametrize("method", ["versions", "read"])
async def test_a_deletion_meanwhile_is_not_undone_on_the_way(
    store: InMemoryStore, ana: Caller, method: str
) -> None:
    for content in ("one", "two"):
        await ana.succeed("create", path="/user/p", content=content)

    async def delete_meanwhile() -> None:
        await store.delete("user:ana", "p")

    slow = Caller(InterruptedStore(store, after=method, act=delete_meanwhile), USER)
    assert (await slow.revert("/user/p", 2)).error == STALE
    assert await store.read("user:ana", "p") is None


async def test_a_creation_meanwhile_is_not_covered_by_the_deleted_content(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="one")
    await ana.succeed("delete", path="/user/p")

    async def create_meanwhile() -> None:
        await store.write("user:ana", "p", "anew")

    slow = Caller(InterruptedStore(store, after="versions", act=create_meanwhile), USER)
    assert (await slow.revert("/user/p", 2)).error == STALE
    assert (await actions(store))[-1] == ("created", "anew")


async def test_an_edit_meanwhile_is_not_deleted_with_the_creation(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="one")

    async def edit_meanwhile() -> None:
        await store.write("user:ana", "p", "two")

    slow = Caller(InterruptedStore(store, after="versions", act=edit_meanwhile), USER)
    assert (await slow.revert("/user/p", 1)).error == STALE
    assert (await actions(store))[-1] == ("modified", "two")


async def test_an_edit_in_the_last_instant_is_not_deleted_with_the_creation(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="one")

    async def edit_meanwhile() -> None:
        await store.write("user:ana", "p", "two")

    slow = Caller(ConditionalInterruptedStore(store, after="read", act=edit_meanwhile), USER)
    assert (await slow.revert("/user/p", 1)).error == STALE
    assert (await actions(store))[-1] == ("modified", "two")


async def test_a_deletion_that_cannot_be_told_leaves_no_receipt(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="one")

    async def create_meanwhile() -> None:
        await store.write("user:ana", "p", "anew")

    slow = Caller(InterruptedStore(store, after="delete", act=create_meanwhile), USER)
    result = await slow.revert("/user/p", 1)
    assert result.receipt is None
    assert result.data == "Reverted /user/p: v1 undone — the document is removed"


async def test_a_revert_that_breaks_is_answered_like_a_command(store: InMemoryStore) -> None:
    async def fail() -> None:
        raise RuntimeError("dsn=secret")

    broken = Caller(InterruptedStore(store, after="versions", act=fail), USER)
    assert (await broken.revert("/user/p", 1)).error == "Tool 'memory' failed: internal error"
