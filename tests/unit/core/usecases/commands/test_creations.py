"""`create`: new, whole anew, and over what another agent wrote meanwhile."""

from commonhold.adapters.in_memory import InMemoryStore
from tests.support.memory_callers import USER, Caller, InterruptedStore


async def test_a_change_between_reading_and_writing_is_a_conflict(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="one")

    async def write_meanwhile() -> None:
        await store.write("user:ana", "p", "two")

    late = Caller(InterruptedStore(store, after="read", act=write_meanwhile), USER)
    result = await late.call("create", path="/user/p", content="three")
    assert (result.error or "").endswith("on 'p' in scope 'user:ana': version_mismatch")
    assert "again" in (result.system_reminder or "")
    document = await store.read("user:ana", "p")
    assert document is not None
    assert document.content == "two"


async def test_a_deletion_between_reading_and_writing_is_a_conflict(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="one")

    async def delete_meanwhile() -> None:
        await store.delete("user:ana", "p")

    late = Caller(InterruptedStore(store, after="read", act=delete_meanwhile), USER)
    error = await late.fail("create", path="/user/p", content="three")
    assert error.endswith(": document_absent")
    assert await store.read("user:ana", "p") is None


async def test_two_racing_creations_are_two_versions(store: InMemoryStore) -> None:
    async def create_meanwhile() -> None:
        await store.write("user:ana", "p", "first")

    late = Caller(InterruptedStore(store, after="read", act=create_meanwhile), USER)
    assert await late.succeed("create", path="/user/p", content="x") == "Created /user/p (v2)"


async def test_a_redacted_document_is_alive_again_and_its_history_stays_blank(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="secret")
    await store.redact("user:ana", path="p")
    await ana.succeed("create", path="/user/p", content="clean")
    rows = await store.versions("user:ana", "p")
    assert [(row.content, row.redacted) for row in rows] == [("clean", False), ("", True)]


async def test_the_receipt_names_the_version(ana: Caller) -> None:
    await ana.succeed("create", path="user/n/p/", content="x")
    receipt = (await ana.call("create", path="user/n/p/", content="x")).receipt
    assert receipt is not None
    assert (receipt.command, receipt.mount_path, receipt.path, receipt.version) == (
        "create",
        "user",
        "/user/n/p",
        2,
    )
