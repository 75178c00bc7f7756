"""The kit of erasure by age (docs/reference/stores.md, section 19)."""

import asyncio
from datetime import datetime, timedelta
from typing import Protocol

import pytest

from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.memory_concurrency import ROUNDS
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import (
    BAD_PATHS,
    BAD_SCOPES,
    HUGE_NUMBERS,
    NEVER_WRITTEN,
    OTHER_PATH,
    OTHER_SCOPE,
    PATH,
    SCOPE,
    UNSTORABLE_TEXTS,
)
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.documents import MemoryRedaction
from commonhold.contract.errors import MemoryConflictError, PathInvalidError, ScopeInvalidError
from commonhold.contract.expirations import AgedDocument, Expirable
from commonhold.contract.stores import MemoryStore, Pageable

A_DAY = timedelta(days=1)
A_MICROSECOND = timedelta(microseconds=1)


class ExpirableStore(MemoryStore, Expirable, Pageable, Protocol):
    """What the kit needs of a store."""


class ExpirableContract(StoreSubject):
    """What every Expirable store does.

    A subclass gives the fixture `store` and the hook `plant_newer_document`.
    """

    async def test_the_store_expires(self, store: ExpirableStore) -> None:
        rule = Rule("3", "every method of Expirable is there")
        rule.holds(isinstance(store, Expirable), store)

    async def test_what_is_old_is_listed_by_path(
        self, store: ExpirableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("19", "paths by code point, with the newest version and its stamp")
        for path in ("b", "a/b", "B", "a"):
            await store.write(SCOPE, path, f"{path} one")
        await store.write(OTHER_SCOPE, "c", "elsewhere")
        changed = clock.next_reading
        await store.write(SCOPE, "a", "a two")
        moved = clock.next_reading
        await store.rename(SCOPE, "b", "moved")
        found = {one.path: one for one in await _aged(store, before=clock.next_reading)}
        rule.equal(list(found), ["B", "a", "a/b", "b", "moved"])
        rule.equal(found["a"], AgedDocument(path="a", version=2, changed_at=changed))
        rule.equal(found["b"], AgedDocument(path="b", version=2, changed_at=moved))
        rule.equal(found["moved"], AgedDocument(path="moved", version=1, changed_at=moved))

    async def test_the_boundary_is_young(
        self, store: ExpirableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("19", "what was changed at `before` is not listed, a microsecond earlier it is")
        written = clock.next_reading
        await store.write(SCOPE, PATH, "x")
        rule.equal(await _aged(store, before=written), [])
        rule.equal([one.path for one in await _aged(store, before=written + A_MICROSECOND)], [PATH])
        clock.advance(A_DAY)
        later = clock.next_reading
        await store.write(SCOPE, PATH, "y")
        rule.equal(await _aged(store, before=later), [])

    async def test_a_deleted_document_is_listed(
        self, store: ExpirableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("19", "a deleted path counts from its deletion, under the number of that")
        await store.write(SCOPE, PATH, "x")
        clock.advance(A_DAY)
        gone = clock.next_reading
        await store.delete(SCOPE, PATH)
        rule.equal(await _aged(store, before=gone), [])
        (found,) = await _aged(store, before=gone + A_MICROSECOND)
        rule.equal(found, AgedDocument(path=PATH, version=2, changed_at=gone))

    async def test_what_is_erased_is_not_listed(
        self, store: ExpirableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("19", "where nothing is left to erase nothing is listed, until it is written")
        for path in (PATH, OTHER_PATH, "empty"):
            await store.write(SCOPE, path, "" if path == "empty" else "x")
        await store.delete(SCOPE, OTHER_PATH)
        listed = await _aged(store, before=clock.next_reading)
        rule.equal([one.path for one in listed], ["empty", PATH, OTHER_PATH])
        for one in listed:
            await store.redact(SCOPE, path=one.path)
        rule.equal(await _aged(store, before=clock.next_reading), [])
        await store.write(SCOPE, PATH, "anew")
        await store.delete(SCOPE, PATH)
        (found,) = await _aged(store, before=clock.next_reading)
        rule.equal((found.path, found.version), (PATH, 3))

    @pytest.mark.parametrize("limit", [1, 2, 3, 500])
    async def test_pages_joined_are_the_listing(
        self, store: ExpirableStore, clock: ControlledClock, limit: int
    ) -> None:
        rule = Rule("19", "pages as those of list_documents_page")
        for path in ("d", "a", "c/x", "b"):
            await store.write(SCOPE, path, "x")
        whole = await _aged(store, before=clock.next_reading)
        rule.equal([one.path for one in whole], ["a", "b", "c/x", "d"])
        rule.equal(await _aged(store, before=clock.next_reading, limit=limit), whole)

    async def test_an_erasure_between_pages_skips_nothing(
        self, store: ExpirableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("19", "whoever erases page by page meets every path once")
        paths = ["a", "b", "c", "d", "e"]
        for path in paths:
            await store.write(SCOPE, path, "x")
        met: list[str] = []
        cursor: str | None = None
        while len(met) <= len(paths):
            page = await store.aged_documents_page(
                SCOPE, before=clock.next_reading, cursor=cursor, limit=2
            )
            for one in page.items:
                await store.redact_if(SCOPE, one.path, expected_version=one.version)
                met.append(one.path)
            cursor = page.next_cursor
            if cursor is None:
                break
        rule.equal(met, paths)

    async def test_the_expected_version_is_erased(
        self, store: ExpirableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("19", "redact_if erases as redact of the path does, and is in the trail")
        await store.write(SCOPE, PATH, "one")
        await store.write(SCOPE, PATH, "two")
        await store.write(SCOPE, OTHER_PATH, "other")
        now = clock.next_reading
        await store.redact_if(SCOPE, PATH, expected_version=2, actor="conv:x")
        found = await store.read(SCOPE, PATH)
        rule.equal(found and (found.content, found.redacted, found.version), ("", True, 2))
        rows = await store.versions(SCOPE, PATH)
        rule.equal([(row.content, row.redacted) for row in rows], [("", True)] * 2)
        act = MemoryRedaction(
            path=PATH, actor=self.recorded_actor("conv:x"), created_at=now, count=1
        )
        rule.equal(await store.redactions(SCOPE), (act,))
        other = await store.read(SCOPE, OTHER_PATH)
        rule.equal(other and other.content, "other")

    async def test_a_deleted_document_is_erased_by_its_number(self, store: ExpirableStore) -> None:
        rule = Rule("19", "of a deleted path the number of the deletion is what must stand")
        await store.write(SCOPE, PATH, "one")
        await store.delete(SCOPE, PATH)
        with rule.refuses(MemoryConflictError, path=PATH, reason="version_mismatch"):
            await store.redact_if(SCOPE, PATH, expected_version=1)
        rule.equal([row.content for row in await store.versions(SCOPE, PATH)], ["one", "one"])
        await store.redact_if(SCOPE, PATH, expected_version=2)
        rule.equal([row.redacted for row in await store.versions(SCOPE, PATH)], [True, True])

    @pytest.mark.parametrize("expected", [1, 3, 0, -1, *HUGE_NUMBERS])
    async def test_another_version_is_refused_without_effect(
        self, store: ExpirableStore, expected: int
    ) -> None:
        rule = Rule("19", "another version is a version_mismatch, and nothing changes")
        await store.write(SCOPE, PATH, "one")
        await store.write(SCOPE, PATH, "two")
        before = await store.history(SCOPE)
        with rule.refuses(
            MemoryConflictError,
            path=PATH,
            reason="version_mismatch",
            expected_version=expected,
            actual_version=2,
        ):
            await store.redact_if(SCOPE, PATH, expected_version=expected)
        rule.equal(await store.history(SCOPE), before)
        rule.equal(await store.redactions(SCOPE), ())

    async def test_a_path_never_written_is_refused(self, store: ExpirableStore) -> None:
        rule = Rule("19", "a path never written is a document_absent, and leaves no trace")
        await store.write(SCOPE, PATH, "x")
        for expected in (0, 1):
            with rule.refuses(
                MemoryConflictError,
                path=NEVER_WRITTEN,
                reason="document_absent",
                actual_version=None,
            ):
                await store.redact_if(SCOPE, NEVER_WRITTEN, expected_version=expected)
        rule.equal(await store.redactions(SCOPE), ())
        rule.equal((await store.write(SCOPE, NEVER_WRITTEN, "x")).version, 1)

    async def test_a_racing_write_is_never_erased(self, store: ExpirableStore) -> None:
        rule = Rule("19", "of a write and an erasure that race the written text stays")
        for number in range(ROUNDS):
            written = await store.write(SCOPE, PATH, "old")
            erased, _ = await asyncio.gather(
                store.redact_if(SCOPE, PATH, expected_version=written.version),
                store.write(SCOPE, PATH, f"new {number}"),
                return_exceptions=True,
            )
            newest, older, *_ = await store.versions(SCOPE, PATH)
            rule.equal((newest.content, newest.redacted), (f"new {number}", False))
            rule.equal(older.redacted, erased is None)

    async def test_an_erasure_is_not_stopped_by_a_newer_format(
        self, store: ExpirableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("19", "what this release does not read is listed and erased too")
        await store.write(SCOPE, PATH, "x")
        await self.plant_newer_document(store, SCOPE, PATH)
        (found,) = await _aged(store, before=clock.next_reading)
        await store.redact_if(SCOPE, found.path, expected_version=found.version)
        rule.equal(await _aged(store, before=clock.next_reading), [])

    async def test_an_actor_that_cannot_be_kept_is_refused_whole(
        self, store: ExpirableStore
    ) -> None:
        rule = Rule("4", "an actor that no row can hold is refused before anything happens")
        await store.write(SCOPE, PATH, "x")
        for actor in UNSTORABLE_TEXTS:
            with rule.refuses(ValueError, saying="'actor'"):
                await store.redact_if(SCOPE, PATH, expected_version=1, actor=actor)
        rule.equal((await store.versions(SCOPE, PATH))[0].content, "x")

    async def test_bad_arguments_are_refused_in_order(
        self, store: ExpirableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("19", "scope, then before, limit and cursor; of redact_if scope, path, actor")
        await store.write(SCOPE, "a", "x")
        await store.write(SCOPE, "b", "x")
        moment = clock.next_reading
        naive = moment.replace(tzinfo=None)
        for scope in BAD_SCOPES:
            with rule.refuses(ScopeInvalidError):
                await store.aged_documents_page(scope, before=naive, limit=0)
            with rule.refuses(ScopeInvalidError):
                await store.redact_if(scope, "/", expected_version=1)
        for path in BAD_PATHS:
            with rule.refuses(PathInvalidError):
                await store.redact_if(SCOPE, path, expected_version=1, actor="\x00")
        with rule.refuses(ValueError, saying="before"):
            await store.aged_documents_page(SCOPE, before=naive, limit=0)
        with rule.refuses(ValueError, saying="limit must be >= 1, got 0"):
            await store.aged_documents_page(SCOPE, before=moment, cursor="zzz", limit=0)
        listed = (await store.list_documents_page(SCOPE, limit=1)).next_cursor
        for cursor in ("zzz", "", listed or ""):
            with rule.refuses(ValueError, saying=f"malformed aged cursor: {cursor!r}"):
                await store.aged_documents_page(SCOPE, before=moment, cursor=cursor, limit=1)


async def _aged(store: ExpirableStore, *, before: datetime, limit: int = 500) -> list[AgedDocument]:
    found: list[AgedDocument] = []
    cursor: str | None = None
    while True:
        page = await store.aged_documents_page(SCOPE, before=before, cursor=cursor, limit=limit)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found
