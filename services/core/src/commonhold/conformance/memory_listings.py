"""Listings of one scope, versions of one path, and renames."""

import pytest

from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import HUGE_NUMBERS, OTHER_PATH, PATH, SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.documents import MemoryDocument, MemoryVersion
from commonhold.contract.errors import DocumentNotFoundError, MemoryConflictError
from commonhold.contract.stores import MemoryStore

# Code point order, which neither a locale nor a directory walk gives.
ORDERED_PATHS = ("0", "A-z", "A.z", "A/z", "B", "Z", "_x", "a", "a/b")
# Read as plain text none of these starts a path; `%` and `_` would as patterns.
NONSENSE_PREFIXES = ("%", "a%", "_o", "A?", "[a-z]", "\\", "a//", "NOTES", "\N{SNOWMAN}", "a\x00")


class ListingSlice(StoreSubject):
    """Part of MemoryStoreContract."""

    async def test_a_listing_is_in_code_point_order(self, store: MemoryStore) -> None:
        rule = Rule("4", "list_documents orders by path, ascending by code point")
        for path in ("a/b", "B", "_x", "A/z", "0", "a", "Z", "A.z", "A-z"):
            await store.write(SCOPE, path, "x")
        rule.equal(tuple(entry.path for entry in await store.list_documents(SCOPE)), ORDERED_PATHS)

    async def test_a_listing_leaves_deleted_documents_out_and_redacted_ones_in(
        self, store: MemoryStore
    ) -> None:
        rule = Rule("4", "list_documents has live documents, redacted ones included")
        for path in ("gone", "kept", "blank"):
            await store.write(SCOPE, path, "x")
        await store.delete(SCOPE, "gone")
        await store.redact(SCOPE, path="blank")
        seen = [(entry.path, entry.redacted) for entry in await store.list_documents(SCOPE)]
        rule.equal(seen, [("blank", True), ("kept", False)])

    async def test_a_listing_row_agrees_with_the_document(self, store: MemoryStore) -> None:
        await store.write(SCOPE, PATH, "one")
        live = await store.write(SCOPE, PATH, "two")
        (entry,) = await store.list_documents(SCOPE)
        Rule("2", "an entry has the document's version and stamps").equal(
            (entry.path, entry.version, entry.created_at, entry.updated_at, entry.redacted),
            (PATH, 2, live.created_at, live.updated_at, False),
        )

    async def test_a_prefix_is_plain_text(self, store: MemoryStore) -> None:
        rule = Rule("4", "`prefix` filters with startswith")
        for path in ("a", "a/b", "ab", "a_b", "b/a", "A", "notes/x"):
            await store.write(SCOPE, path, "x")
        for prefix, expected in {
            "": ["A", "a", "a/b", "a_b", "ab", "b/a", "notes/x"],
            "a": ["a", "a/b", "a_b", "ab"],
            "a/": ["a/b"],
            "a_": ["a_b"],
            "a/b": ["a/b"],
            "a/bc": [],
            "n": ["notes/x"],
        }.items():
            entries = await store.list_documents(SCOPE, prefix=prefix)
            rule.equal((prefix, [entry.path for entry in entries]), (prefix, expected))

    @pytest.mark.parametrize("prefix", NONSENSE_PREFIXES)
    async def test_a_prefix_that_starts_no_path_matches_nothing(
        self, store: MemoryStore, prefix: str
    ) -> None:
        rule = Rule("2", "a prefix is any string: it is matched, never refused", "grammar.md")
        for path in ("a", "aoo", "notes/x", "A1"):
            await store.write(SCOPE, path, "x")
        rule.equal(await store.list_documents(SCOPE, prefix=prefix), ())

    async def test_versions_are_newest_first_with_full_content(self, store: MemoryStore) -> None:
        rule = Rule("4", "versions answers rows with their content, version descending")
        for content in ("one", "two", "three"):
            await store.write(SCOPE, PATH, content)
        await store.write(SCOPE, OTHER_PATH, "elsewhere")
        seen = [(row.version, row.content) for row in await store.versions(SCOPE, PATH)]
        rule.equal(seen, [(3, "three"), (2, "two"), (1, "one")])

    async def test_versions_past_nine_order_by_number(self, store: MemoryStore) -> None:
        rule = Rule("4", "versions orders by number, not by its text")
        for number in range(12):
            await store.write(SCOPE, PATH, str(number))
        seen = [row.version for row in await store.versions(SCOPE, PATH)]
        rule.equal(seen, list(range(12, 0, -1)))

    async def test_a_versions_limit_keeps_the_newest(self, store: MemoryStore) -> None:
        rule = Rule("4", "versions answers the most recent `limit` rows, none for 0")
        for content in ("one", "two", "three"):
            await store.write(SCOPE, PATH, content)
        for limit, expected in {0: [], 1: [3], 2: [3, 2], 3: [3, 2, 1], 4: [3, 2, 1]}.items():
            rows = await store.versions(SCOPE, PATH, limit=limit)
            rule.equal((limit, [row.version for row in rows]), (limit, expected))
        for limit in HUGE_NUMBERS:
            rule.equal(len(await store.versions(SCOPE, PATH, limit=limit)), 3)
        rule.equal(await store.versions(SCOPE, "unknown"), ())

    async def test_versions_answers_fifty_by_default(self, store: MemoryStore) -> None:
        for number in range(51):
            await store.write(SCOPE, PATH, str(number))
        rows = await store.versions(SCOPE, PATH)
        Rule("1", "the default `versions` limit is 50").equal(
            (len(rows), rows[0].version, rows[-1].version), (50, 51, 2)
        )

    async def test_a_negative_versions_limit_is_refused(self, store: MemoryStore) -> None:
        rule = Rule("4", "versions refuses a negative limit with a value error")
        for limit in (-1, -(2**100)):
            with rule.refuses(ValueError, saying="limit must be >= 0"):
                await store.versions(SCOPE, PATH, limit=limit)


class RenameSlice(StoreSubject):
    """Part of MemoryStoreContract."""

    async def test_a_rename_moves_the_document(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("4", "rename answers the destination, created now by this actor")
        await store.write(SCOPE, PATH, "moved", actor="writer")
        now = clock.next_reading
        moved = await store.rename(SCOPE, PATH, OTHER_PATH, actor="mover")
        expected = MemoryDocument(
            scope=SCOPE,
            path=OTHER_PATH,
            content="moved",
            version=1,
            created_at=now,
            updated_at=now,
            actor=self.recorded_actor("mover"),
        )
        rule.equal(moved, expected)
        rule.equal(await store.read(SCOPE, OTHER_PATH), expected)
        rule.equal(await store.read(SCOPE, PATH), None)
        rule.equal([entry.path for entry in await store.list_documents(SCOPE)], [OTHER_PATH])

    async def test_a_rename_records_both_rows(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("4", "rename adds a `deleted` row to src and a `created` row to dst")
        await store.write(SCOPE, PATH, "one", actor="writer")
        await store.write(SCOPE, PATH, "two", actor="writer")
        now = clock.next_reading
        await store.rename(SCOPE, PATH, OTHER_PATH, actor="mover")
        actor = self.recorded_actor("mover")
        gone = MemoryVersion(
            path=PATH, version=3, action="deleted", content="two", actor=actor, created_at=now
        )
        made = MemoryVersion(
            path=OTHER_PATH, version=1, action="created", content="two", actor=actor, created_at=now
        )
        rule.equal((await store.versions(SCOPE, PATH))[0], gone)
        rule.equal(await store.versions(SCOPE, OTHER_PATH), (made,))
        rule.equal((await store.history(SCOPE))[:2], (gone, made))

    async def test_a_rename_continues_the_numbers_of_its_destination(
        self, store: MemoryStore
    ) -> None:
        rule = Rule("4", "`b` deleted at version 2 gets version 3 `created` by a rename")
        await store.write(SCOPE, OTHER_PATH, "old")
        await store.delete(SCOPE, OTHER_PATH)
        await store.write(SCOPE, PATH, "new")
        moved = await store.rename(SCOPE, PATH, OTHER_PATH)
        rule.equal(moved.version, 3)
        rows = [(row.version, row.action) for row in await store.versions(SCOPE, OTHER_PATH)]
        rule.equal(rows, [(3, "created"), (2, "deleted"), (1, "created")])
        rule.equal((await store.write(SCOPE, PATH, "again")).version, 3)

    async def test_a_rename_there_and_back_keeps_counting(self, store: MemoryStore) -> None:
        await store.write(SCOPE, PATH, "x")
        await store.rename(SCOPE, PATH, OTHER_PATH)
        back = await store.rename(SCOPE, OTHER_PATH, PATH)
        Rule("4", "no number of a path is given twice").equal(back.version, 3)

    async def test_a_rename_carries_the_redacted_flag(self, store: MemoryStore) -> None:
        rule = Rule("4", "rename carries content and redacted from src")
        await store.write(SCOPE, PATH, "secret")
        await store.redact(SCOPE, path=PATH)
        moved = await store.rename(SCOPE, PATH, OTHER_PATH)
        rule.equal((moved.content, moved.redacted), ("", True))
        rows = await store.history(SCOPE)
        rule.equal({(row.content, row.redacted) for row in rows}, {("", True)})

    async def test_a_rename_of_nothing_is_refused(self, store: MemoryStore) -> None:
        rule = Rule("4", "rename needs a live source, else memory_document_not_found")
        await store.write(SCOPE, OTHER_PATH, "x")
        with rule.refuses(DocumentNotFoundError, scope=SCOPE, path=PATH):
            await store.rename(SCOPE, PATH, "free")
        # The source is looked at first, so an occupied destination does not matter.
        with rule.refuses(DocumentNotFoundError, scope=SCOPE, path=PATH):
            await store.rename(SCOPE, PATH, OTHER_PATH)
        with rule.refuses(DocumentNotFoundError, scope=SCOPE, path=PATH):
            await store.rename(SCOPE, PATH, PATH)
        await store.write(SCOPE, PATH, "x")
        await store.delete(SCOPE, PATH)
        with rule.refuses(DocumentNotFoundError, scope=SCOPE, path=PATH):
            await store.rename(SCOPE, PATH, "free")
        rule.equal(len(await store.history(SCOPE)), 3)

    @pytest.mark.parametrize("target", [OTHER_PATH, PATH], ids=["occupied", "itself"])
    async def test_a_rename_onto_a_live_document_is_refused(
        self, store: MemoryStore, target: str
    ) -> None:
        rule = Rule("4", "rename onto a live document is memory_conflict destination_exists")
        source = await store.write(SCOPE, PATH, "source")
        standing = await store.write(SCOPE, OTHER_PATH, "standing")
        with rule.refuses(
            MemoryConflictError,
            scope=SCOPE,
            path=target,
            reason="destination_exists",
            expected_version=None,
            actual_version=None,
        ):
            await store.rename(SCOPE, PATH, target)
        rule.equal(await store.read(SCOPE, PATH), source)
        rule.equal(await store.read(SCOPE, OTHER_PATH), standing)
        rule.equal(len(await store.history(SCOPE)), 2)
