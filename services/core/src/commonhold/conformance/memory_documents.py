"""Documents: writing, reading, deleting, and the numbers that versions get."""

import pytest

from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import (
    ACTORS,
    CONTENTS,
    HUGE_NUMBERS,
    OTHER_PATH,
    OTHER_SCOPE,
    PATH,
    SCOPE,
    SUB_SCOPE,
    UNSTORABLE_TEXTS,
)
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.documents import MemoryDocument, MemoryEntry, MemoryVersion
from commonhold.contract.errors import MemoryConflictError
from commonhold.contract.stores import MemoryStore


class DocumentSlice(StoreSubject):
    """Part of MemoryStoreContract."""

    async def test_a_new_store_is_empty(self, store: MemoryStore) -> None:
        rule = Rule("4", "a store starts empty")
        rule.equal(await store.read(SCOPE, PATH), None)
        rule.equal(await store.list_documents(SCOPE), ())
        rule.equal(await store.versions(SCOPE, PATH), ())
        rule.equal(await store.history(SCOPE), ())
        rule.equal(await store.redactions(SCOPE), ())

    async def test_the_store_says_whether_its_version_check_is_race_safe(
        self, store: MemoryStore
    ) -> None:
        rule = Rule("3", "`supports_optimistic_concurrency` is a class-level bool")
        flag = getattr(type(store), "supports_optimistic_concurrency", None)
        rule.holds(isinstance(flag, bool), flag)

    async def test_the_store_is_a_memory_store(self, store: MemoryStore) -> None:
        rule = Rule("3", "every method of MemoryStore is there")
        rule.holds(isinstance(store, MemoryStore), type(store))

    async def test_a_path_never_written_reads_as_none(self, store: MemoryStore) -> None:
        await store.write(SCOPE, OTHER_PATH, "x")
        rule = Rule("4", "read answers none for a path never written")
        rule.equal(await store.read(SCOPE, PATH), None)
        rule.equal(await store.read(OTHER_SCOPE, OTHER_PATH), None)

    async def test_reading_records_nothing(self, store: MemoryStore) -> None:
        await store.read(SCOPE, PATH)
        await store.versions(SCOPE, PATH)
        await store.list_documents(SCOPE)
        Rule("4", "reads have no effect").equal(await store.history(SCOPE), ())

    async def test_the_first_write_is_version_one_and_reads_back(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("4", "write returns the new document, and every read agrees with it")
        now = clock.next_reading
        actor = self.recorded_actor("conv:x")
        written = await store.write(SCOPE, PATH, "one", actor="conv:x")
        expected = MemoryDocument(
            scope=SCOPE,
            path=PATH,
            content="one",
            version=1,
            created_at=now,
            updated_at=now,
            actor=actor,
        )
        rule.equal(written, expected)
        rule.equal(await store.read(SCOPE, PATH), expected)
        entry = MemoryEntry(path=PATH, version=1, created_at=now, updated_at=now)
        rule.equal(await store.list_documents(SCOPE), (entry,))
        row = MemoryVersion(
            path=PATH, version=1, action="created", content="one", actor=actor, created_at=now
        )
        rule.equal(await store.versions(SCOPE, PATH), (row,))
        rule.equal(await store.history(SCOPE), (row,))

    @pytest.mark.parametrize("content", CONTENTS)
    async def test_content_comes_back_byte_for_byte(self, store: MemoryStore, content: str) -> None:
        rule = Rule("4", "content is any string, byte-exact")
        rule.equal((await store.write(SCOPE, PATH, content)).content, content)
        document = await store.read(SCOPE, PATH)
        rule.equal(document and document.content, content)
        rule.equal([row.content for row in await store.versions(SCOPE, PATH)], [content])
        rule.equal([row.content for row in await store.history(SCOPE)], [content])

    async def test_a_large_content_comes_back_whole(self, store: MemoryStore) -> None:
        content = "line of text \N{GRINNING FACE}\r\n" * 60_000
        await store.write(SCOPE, PATH, content)
        document = await store.read(SCOPE, PATH)
        Rule("4", "content is any string, whatever its length").holds(
            document is not None and document.content == content, "another content"
        )

    @pytest.mark.parametrize("text", UNSTORABLE_TEXTS, ids=["nul", "surrogate"])
    async def test_text_that_cannot_be_kept_is_refused_whole(
        self, store: MemoryStore, text: str
    ) -> None:
        rule = Rule("4", "what a substrate cannot hold is refused before anything is written")
        await store.write(SCOPE, PATH, "before")
        try:
            written = await store.write(SCOPE, PATH, text)
        except ValueError:
            pass
        else:
            rule.equal(written.content, text)
            rule.equal(await store.read(SCOPE, PATH), written)
            return
        document = await store.read(SCOPE, PATH)
        rule.equal(document and (document.content, document.version), ("before", 1))
        rule.equal(len(await store.history(SCOPE)), 1)

    @pytest.mark.parametrize("text", UNSTORABLE_TEXTS, ids=["nul", "surrogate"])
    async def test_an_actor_that_cannot_be_kept_is_refused_whole(
        self, store: MemoryStore, text: str
    ) -> None:
        rule = Rule("4", "what a substrate cannot hold is refused before anything is written")
        await store.write(SCOPE, PATH, "before")
        calls = (
            lambda: store.write(SCOPE, PATH, "after", actor=text),
            lambda: store.delete(SCOPE, PATH, actor=text),
            lambda: store.rename(SCOPE, PATH, OTHER_PATH, actor=text),
            lambda: store.redact(SCOPE, actor=text),
        )
        for call in calls:
            try:
                await call()
            except ValueError:
                continue
            return
        document = await store.read(SCOPE, PATH)
        rule.equal(document and (document.content, document.version), ("before", 1))
        rule.equal(len(await store.history(SCOPE)), 1)
        rule.equal(await store.redactions(SCOPE), ())

    async def test_empty_content_is_not_redacted(self, store: MemoryStore) -> None:
        rule = Rule("4", "a document written empty is not redacted")
        rule.equal((await store.write(SCOPE, PATH, "")).redacted, False)
        rule.equal([row.redacted for row in await store.versions(SCOPE, PATH)], [False])

    async def test_an_update_bumps_the_version_and_keeps_created_at(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("4", "write makes the next version live and keeps created_at")
        first = await store.write(SCOPE, PATH, "one", actor="a")
        now = clock.next_reading
        second = await store.write(SCOPE, PATH, "two", actor="b")
        expected = MemoryDocument(
            scope=SCOPE,
            path=PATH,
            content="two",
            version=2,
            created_at=first.created_at,
            updated_at=now,
            actor=self.recorded_actor("b"),
        )
        rule.equal(second, expected)
        rule.equal(await store.read(SCOPE, PATH), expected)
        actions = [row.action for row in await store.versions(SCOPE, PATH)]
        rule.equal(actions, ["modified", "created"])

    async def test_an_identical_write_is_still_a_version(self, store: MemoryStore) -> None:
        await store.write(SCOPE, PATH, "same")
        again = await store.write(SCOPE, PATH, "same")
        rule = Rule("4", "identical content is still a new version")
        rule.equal(again.version, 2)
        rule.equal(len(await store.versions(SCOPE, PATH)), 2)

    @pytest.mark.parametrize("actor", [None, *ACTORS])
    async def test_an_actor_is_recorded_as_given(
        self, store: MemoryStore, actor: str | None
    ) -> None:
        rule = Rule("4", "an actor is stored as given, null allowed, never parsed")
        expected = self.recorded_actor(actor)
        rule.equal((await store.write(SCOPE, PATH, "x", actor=actor)).actor, expected)
        await store.delete(SCOPE, PATH, actor=actor)
        rule.equal([row.actor for row in await store.versions(SCOPE, PATH)], [expected] * 2)
        await store.redact(SCOPE, actor=actor)
        rule.equal([act.actor for act in await store.redactions(SCOPE)], [expected])

    async def test_the_actor_of_a_document_is_its_last_writer(self, store: MemoryStore) -> None:
        await store.write(SCOPE, PATH, "x", actor="first")
        written = await store.write(SCOPE, PATH, "y")
        rule = Rule("2", "a document's actor is its last writer, who may be unknown")
        rule.equal(written.actor, self.recorded_actor(None))

    async def test_delete_removes_and_records_the_content(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule(
            "4", "delete records a `deleted` row with the content, and removes the document"
        )
        await store.write(SCOPE, PATH, "kept in the ledger", actor="writer")
        now = clock.next_reading
        rule.equal(await store.delete(SCOPE, PATH, actor="deleter"), True)
        rule.equal(await store.read(SCOPE, PATH), None)
        rule.equal(await store.list_documents(SCOPE), ())
        newest = (await store.versions(SCOPE, PATH))[0]
        rule.equal(
            newest,
            MemoryVersion(
                path=PATH,
                version=2,
                action="deleted",
                content="kept in the ledger",
                actor=self.recorded_actor("deleter"),
                created_at=now,
            ),
        )

    async def test_deleting_nothing_is_false_and_silent(self, store: MemoryStore) -> None:
        rule = Rule("4", "delete without a live document is false and records nothing")
        rule.equal(await store.delete(SCOPE, PATH), False)
        rule.equal(await store.history(SCOPE), ())
        await store.write(SCOPE, PATH, "x")
        await store.delete(SCOPE, PATH)
        rule.equal(await store.delete(SCOPE, PATH), False)
        rule.equal(len(await store.history(SCOPE)), 2)

    async def test_numbers_continue_over_a_deletion(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule(
            "4", "numbers are never given twice: 1 created, 2 modified, 3 deleted, 4 created"
        )
        await store.write(SCOPE, PATH, "one")
        await store.write(SCOPE, PATH, "two")
        await store.delete(SCOPE, PATH)
        now = clock.next_reading
        again = await store.write(SCOPE, PATH, "four")
        rule.equal((again.version, again.created_at, again.updated_at), (4, now, now))
        rule.equal(dict(again.extra), {})
        rows = [(row.version, row.action) for row in await store.versions(SCOPE, PATH)]
        rule.equal(rows, [(4, "created"), (3, "deleted"), (2, "modified"), (1, "created")])

    async def test_scopes_do_not_nest(self, store: MemoryStore) -> None:
        rule = Rule(
            "1", "a scope is not a hierarchy: its sub-scopes are other stores", "grammar.md"
        )
        await store.write(SCOPE, PATH, "outer")
        await store.write(SUB_SCOPE, PATH, "inner")
        await store.delete(SUB_SCOPE, PATH)
        document = await store.read(SCOPE, PATH)
        rule.equal(document and document.content, "outer")
        rule.equal(len(await store.list_documents(SCOPE)), 1)
        rule.equal([row.content for row in await store.history(SCOPE)], ["outer"])

    async def test_a_matching_expected_version_is_accepted(self, store: MemoryStore) -> None:
        rule = Rule("4", "a write that expects the live version is accepted")
        await store.write(SCOPE, PATH, "one")
        second = await store.write(SCOPE, PATH, "two", expected_version=1)
        rule.equal(second.version, 2)
        third = await store.write(SCOPE, PATH, "three", expected_version=2)
        rule.equal((third.version, third.content), (3, "three"))

    @pytest.mark.parametrize("expected", [1, 3, 0, -1, *HUGE_NUMBERS, -(2**63), -(2**100)])
    async def test_another_expected_version_is_refused_without_effect(
        self, store: MemoryStore, expected: int
    ) -> None:
        rule = Rule("4", "a write that expects another version is refused with version_mismatch")
        await store.write(SCOPE, PATH, "one")
        live = await store.write(SCOPE, PATH, "two")
        with rule.refuses(
            MemoryConflictError,
            scope=SCOPE,
            path=PATH,
            reason="version_mismatch",
            expected_version=expected,
            actual_version=2,
        ):
            await store.write(SCOPE, PATH, "three", expected_version=expected)
        rule.equal(await store.read(SCOPE, PATH), live)
        rule.equal(len(await store.history(SCOPE)), 2)

    @pytest.mark.parametrize("expected", [0, 1, 2, -1, *HUGE_NUMBERS])
    async def test_an_expected_version_of_an_absent_document_is_refused(
        self, store: MemoryStore, expected: int
    ) -> None:
        rule = Rule("4", "any expected version is refused with document_absent when none is live")
        for _ in range(2):
            with rule.refuses(
                MemoryConflictError,
                scope=SCOPE,
                path=PATH,
                reason="document_absent",
                expected_version=expected,
                actual_version=None,
            ):
                await store.write(SCOPE, PATH, "x", expected_version=expected)
            # Once more over a deleted document, whose last version is 2.
            await store.write(SCOPE, PATH, "x")
            await store.delete(SCOPE, PATH)
        rule.equal(len(await store.history(SCOPE)), 4)
        rule.equal(await store.read(SCOPE, PATH), None)

    async def test_the_newest_row_mirrors_the_live_document(self, store: MemoryStore) -> None:
        rule = Rule("4", "the newest row has the live document's version, content, actor, redacted")
        steps = (
            lambda: store.write(SCOPE, PATH, "one", actor="a"),
            lambda: store.write(SCOPE, PATH, "two"),
            lambda: store.redact(SCOPE, path=PATH, actor="c"),
            lambda: store.write(SCOPE, PATH, "three", actor="d"),
            lambda: store.delete(SCOPE, PATH, actor="e"),
            lambda: store.write(SCOPE, PATH, "four", actor="f"),
            lambda: store.rename(SCOPE, PATH, OTHER_PATH, actor="g"),
            lambda: store.redact(SCOPE),
            lambda: store.rename(SCOPE, OTHER_PATH, PATH, actor="h"),
        )
        for step in steps:
            await step()
            for path in (PATH, OTHER_PATH):
                await _check_mirror(store, path, rule=rule)


async def _check_mirror(store: MemoryStore, path: str, *, rule: Rule) -> None:
    live = await store.read(SCOPE, path)
    rows = await store.versions(SCOPE, path, limit=1)
    if live is None:
        rule.holds(not rows or rows[0].action == "deleted", rows)
        return
    seen = [(row.version, row.content, row.actor, row.redacted) for row in rows]
    rule.equal(seen, [(live.version, live.content, live.actor, live.redacted)])
    rule.equal([row.created_at for row in rows], [live.updated_at])
