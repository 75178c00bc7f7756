"""`delete`: what goes, and when its receipt is left out."""

from commonhold.adapters.in_memory import InMemoryStore
from tests.support.memory_callers import USER, Caller, ConditionalInterruptedStore, InterruptedStore


async def test_the_receipt_names_the_row_of_the_deletion(ana: Caller) -> None:
    await ana.succeed("create", path="/user/p", content="x")
    result = await ana.call("delete", path="/user/p")
    assert result.data == "Deleted /user/p"
    assert result.receipt is not None
    assert (result.receipt.command, result.receipt.version) == ("delete", 2)


async def test_a_document_that_is_not_there_is_not_deleted(ana: Caller) -> None:
    result = await ana.call("delete", path="/user/p")
    assert result.error == "No document at /user/p"
    assert result.system_reminder


async def test_a_redacted_document_is_deleted_and_stays_redacted(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="secret")
    await store.redact("user:ana", path="p")
    await ana.succeed("delete", path="/user/p")
    rows = await store.versions("user:ana", "p")
    assert [(row.action, row.redacted) for row in rows] == [("deleted", True), ("created", True)]


async def test_a_new_creation_meanwhile_is_not_taken_for_the_deletion(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="x")

    async def create_meanwhile() -> None:
        await store.write("user:ana", "p", "anew")

    slow = Caller(InterruptedStore(store, after="delete", act=create_meanwhile), USER)
    result = await slow.call("delete", path="/user/p")
    assert (result.data, result.receipt) == ("Deleted /user/p", None)


async def test_an_edit_meanwhile_is_not_deleted_unread(store: InMemoryStore, ana: Caller) -> None:
    await ana.succeed("create", path="/user/p", content="x")

    async def edit_meanwhile() -> None:
        await store.write("user:ana", "p", "newer")

    slow = Caller(ConditionalInterruptedStore(store, after="read", act=edit_meanwhile), USER)
    result = await slow.call("delete", path="/user/p")
    assert result.error == (
        "[memory_conflict] Memory conflict on 'p' in scope 'user:ana': version_mismatch"
    )
    live = await store.read("user:ana", "p")
    assert live is not None
    assert live.content == "newer"


async def test_a_deletion_by_another_hand_leaves_nothing_to_delete(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="x")

    async def delete_meanwhile() -> None:
        await store.delete("user:ana", "p")

    slow = Caller(ConditionalInterruptedStore(store, after="read", act=delete_meanwhile), USER)
    assert await slow.fail("delete", path="/user/p") == "No document at /user/p"
    assert len(await store.versions("user:ana", "p")) == 2


async def test_a_store_without_versions_in_deletions_deletes_what_is_there(
    store: InMemoryStore, ana: Caller
) -> None:
    await ana.succeed("create", path="/user/p", content="x")

    async def do_nothing() -> None:
        pass

    plain = Caller(InterruptedStore(store, after="rename", act=do_nothing), USER)
    result = await plain.call("delete", path="/user/p")
    assert result.receipt is not None
    assert result.receipt.version == 2
    assert await plain.fail("delete", path="/user/p") == "No document at /user/p"
