"""Rows of a newer format, and keys that this release does not know: planted by hooks."""

from collections.abc import Awaitable, Callable

from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import OTHER_PATH, PATH, SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.errors import MemoryConflictError, MemoryFormatError
from commonhold.contract.stores import MemoryStore

EXTRA = {"title": "kept", "nested": {"z": [1, 2.5, None, True], "a": "é"}}


class FormatSlice(StoreSubject):
    """Part of MemoryStoreContract."""

    async def test_a_newer_document_is_refused_never_skipped(self, store: MemoryStore) -> None:
        rule = Rule("4", "a row of another format is refused by every answer that would contain it")
        await store.write(SCOPE, PATH, "from the future")
        await store.write(SCOPE, OTHER_PATH, "readable")
        await self.plant_newer_document(store, SCOPE, PATH)
        calls: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda: store.read(SCOPE, PATH),
            lambda: store.write(SCOPE, PATH, "x"),
            lambda: store.delete(SCOPE, PATH),
            lambda: store.rename(SCOPE, PATH, "free"),
            lambda: store.list_documents(SCOPE),
            lambda: store.list_documents(SCOPE, prefix=PATH),
            lambda: store.versions(SCOPE, PATH),
            lambda: store.history(SCOPE),
        )
        for call in calls:
            with rule.refuses(MemoryFormatError, scope=SCOPE, path=PATH):
                await call()

    async def test_a_newer_document_leaves_the_others_readable(self, store: MemoryStore) -> None:
        rule = Rule("4", "only answers that would contain the newer row are refused")
        await store.write(SCOPE, PATH, "from the future")
        await store.write(SCOPE, OTHER_PATH, "readable")
        await self.plant_newer_document(store, SCOPE, PATH)
        document = await store.read(SCOPE, OTHER_PATH)
        rule.equal(document and document.content, "readable")
        rule.equal((await store.write(SCOPE, OTHER_PATH, "again")).version, 2)
        rule.equal(len(await store.versions(SCOPE, OTHER_PATH)), 2)

    async def test_a_newer_document_is_refused_before_the_expected_version(
        self, store: MemoryStore
    ) -> None:
        rule = Rule("4", "write checks the format of the live document before expected_version")
        await store.write(SCOPE, PATH, "from the future")
        await self.plant_newer_document(store, SCOPE, PATH)
        with rule.refuses(MemoryFormatError, scope=SCOPE, path=PATH):
            await store.write(SCOPE, PATH, "x", expected_version=99)

    async def test_a_rename_onto_a_newer_document_is_a_conflict(self, store: MemoryStore) -> None:
        rule = Rule("4", "rename asks whether the destination is live, not what it holds")
        await store.write(SCOPE, PATH, "from the future")
        await store.write(SCOPE, OTHER_PATH, "readable")
        await self.plant_newer_document(store, SCOPE, PATH)
        with rule.refuses(MemoryConflictError, path=PATH, reason="destination_exists"):
            await store.rename(SCOPE, OTHER_PATH, PATH)

    async def test_a_newer_version_row_is_refused_by_the_ledgers(self, store: MemoryStore) -> None:
        rule = Rule("4", "every stored row declares its format, version rows too")
        await store.write(SCOPE, PATH, "one")
        live = await store.write(SCOPE, PATH, "two")
        await self.plant_newer_version(store, SCOPE, PATH, 1)
        with rule.refuses(MemoryFormatError, scope=SCOPE, path=PATH):
            await store.versions(SCOPE, PATH)
        with rule.refuses(MemoryFormatError, scope=SCOPE, path=PATH):
            await store.history(SCOPE)
        rule.equal(await store.read(SCOPE, PATH), live)

    async def test_an_erasure_is_not_stopped_by_a_newer_format(self, store: MemoryStore) -> None:
        rule = Rule("4", "redact blanks rows of an unsupported format too")
        await store.write(SCOPE, PATH, "secret")
        await store.write(SCOPE, OTHER_PATH, "secret")
        await self.plant_newer_document(store, SCOPE, PATH)
        rule.equal(await store.redact(SCOPE, path=PATH), 1)
        rule.equal(await store.redact(SCOPE), 2)
        rule.equal([act.count for act in await store.redactions(SCOPE)], [2, 1])
        document = await store.read(SCOPE, OTHER_PATH)
        rule.equal(document and document.redacted, True)

    async def test_unknown_keys_survive_writes_renames_and_redactions(
        self, store: MemoryStore
    ) -> None:
        rule = Rule("4", "extra survives write, rename and redact")
        await store.write(SCOPE, PATH, "x")
        await self.plant_extra(store, SCOPE, PATH, EXTRA)
        document = await store.read(SCOPE, PATH)
        rule.equal(document and document.extra, EXTRA)
        rule.equal((await store.write(SCOPE, PATH, "y")).extra, EXTRA)
        await store.redact(SCOPE, path=PATH)
        document = await store.read(SCOPE, PATH)
        rule.equal(document and document.extra, EXTRA)
        rule.equal((await store.rename(SCOPE, PATH, OTHER_PATH)).extra, EXTRA)
        document = await store.read(SCOPE, OTHER_PATH)
        rule.equal(document and document.extra, EXTRA)

    async def test_unknown_keys_go_with_their_document(self, store: MemoryStore) -> None:
        rule = Rule("4", "extra is dropped by delete and re-create")
        await store.write(SCOPE, PATH, "x")
        await self.plant_extra(store, SCOPE, PATH, EXTRA)
        await store.delete(SCOPE, PATH)
        rule.equal(dict((await store.write(SCOPE, PATH, "y")).extra), {})
        document = await store.read(SCOPE, PATH)
        rule.equal(document and dict(document.extra), {})

    async def test_a_renamed_source_starts_without_unknown_keys(self, store: MemoryStore) -> None:
        await store.write(SCOPE, PATH, "x")
        await self.plant_extra(store, SCOPE, PATH, EXTRA)
        await store.rename(SCOPE, PATH, OTHER_PATH)
        Rule("4", "extra moves with a rename; the source starts anew").equal(
            dict((await store.write(SCOPE, PATH, "y")).extra), {}
        )
