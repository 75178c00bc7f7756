"""The kit of outlines (docs/reference/stores.md, section 18)."""

from typing import Protocol

from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import BAD_SCOPES, HUGE_NUMBERS, OTHER_SCOPE, SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.errors import MemoryFormatError, ScopeInvalidError
from commonhold.contract.outlines import Outline, Outlined, newest_first
from commonhold.contract.stores import MemoryStore

PATHS = ("b", "a/x", "a/y/z", "ab", "B/x", "a_b/x", "axb/x", "_", "a/x-2")


class OutlinedStore(Outlined, MemoryStore, Protocol):
    """What the kit needs of a store."""


class OutlinedContract(StoreSubject):
    """What every Outlined store does.

    A subclass gives the fixture `store` and the hook `plant_newer_document`.
    """

    async def test_the_store_is_outlined(self, store: OutlinedStore) -> None:
        rule = Rule("18", "every method of Outlined is there")
        rule.holds(isinstance(store, Outlined), store)
        rule.equal(await store.outline(SCOPE, newest=5), Outline(newest=(), counts={}))

    async def test_documents_are_counted_by_first_segment(self, store: OutlinedStore) -> None:
        rule = Rule("18", "counts by first segment; those outside of any directory under ''")
        await _write_all(store)
        await store.write(OTHER_SCOPE, "a/elsewhere", "x")
        await store.redact(SCOPE, path="a/x")
        await store.delete(SCOPE, "ab")
        outline = await store.outline(SCOPE, newest=0)
        expected = {"": 2, "a": 3, "B": 1, "a_b": 1, "axb": 1}
        rule.equal((outline.newest, dict(outline.counts)), ((), expected))

    async def test_the_newest_are_the_rows_of_the_listing(self, store: OutlinedStore) -> None:
        rule = Rule("18", "newest by updated_at, equal stamps by path, each as it is listed")
        await _write_all(store)
        await store.write(SCOPE, "a/x", "again")
        await store.redact(SCOPE, path="B/x")
        await store.delete(SCOPE, "_")
        everything = newest_first(await store.list_documents(SCOPE))
        for newest in (0, 1, 3, len(everything), 99, *HUGE_NUMBERS):
            outline = await store.outline(SCOPE, newest=newest)
            rule.equal((newest, outline.newest), (newest, tuple(everything[: min(newest, 99)])))
            rule.equal(sum(outline.counts.values()), len(everything))

    async def test_what_is_excluded_is_neither_counted_nor_shown(
        self, store: OutlinedStore
    ) -> None:
        rule = Rule("18", "excluded prefixes are plain text; what they match is left out")
        await _write_all(store)
        for excluding in (
            ("a/",),
            ("a_",),
            ("a",),
            ("a/", "b", "a/"),
            ("a/y", "a", "a/", "B"),
            ("%", "_"),
            ("\x00",),
            ("",),
        ):
            kept = [
                one
                for one in await store.list_documents(SCOPE)
                if not one.path.startswith(excluding)
            ]
            outline = await store.outline(SCOPE, excluding=excluding, newest=99)
            rule.equal((excluding, outline.newest), (excluding, tuple(newest_first(kept))))
            rule.equal((excluding, sum(outline.counts.values())), (excluding, len(kept)))

    async def test_a_newer_document_is_refused_never_skipped(self, store: OutlinedStore) -> None:
        rule = Rule("18", "a document of an unsupported format is refused, excluded or not shown")
        await _write_all(store)
        await self.plant_newer_document(store, SCOPE, "a/x")
        for excluding in ((), ("a/",)):
            for newest in (0, 99):
                with rule.refuses(MemoryFormatError, path="a/x"):
                    await store.outline(SCOPE, excluding=excluding, newest=newest)

    async def test_bad_arguments_are_refused_in_order(self, store: OutlinedStore) -> None:
        rule = Rule("18", "refused in order: the scope, a lone surrogate, a negative number")
        for scope in BAD_SCOPES:
            with rule.refuses(ScopeInvalidError, scope=scope):
                await store.outline(scope, excluding=["\ud800"], newest=-1)
        with rule.refuses(ValueError, saying="'excluding' must not contain a lone surrogate"):
            await store.outline(SCOPE, excluding=["a", "\ud800"], newest=-1)
        with rule.refuses(ValueError, saying="newest must be >= 0, got -1"):
            await store.outline(SCOPE, newest=-1)


async def _write_all(store: OutlinedStore) -> None:
    for path in PATHS:
        await store.write(SCOPE, path, path)
