"""Redaction of documents: what is blanked, what stays, and what is counted."""

from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import OTHER_PATH, OTHER_SCOPE, PATH, SCOPE, SUB_SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.documents import MemoryRedaction
from commonhold.contract.stores import MemoryStore


class RedactionSlice(StoreSubject):
    """Part of MemoryStoreContract."""

    async def test_a_path_redaction_keeps_the_skeleton(self, store: MemoryStore) -> None:
        rule = Rule("4", "redact blanks content and sets redacted; all else stays, rows included")
        await store.write(SCOPE, PATH, "one", actor="a")
        await store.delete(SCOPE, PATH, actor="b")
        await store.write(SCOPE, PATH, "three", actor="c")
        await store.write(SCOPE, OTHER_PATH, "untouched")
        before = await store.versions(SCOPE, PATH)
        rule.equal(await store.redact(SCOPE, path=PATH, actor="eraser"), 1)
        after = await store.versions(SCOPE, PATH)
        rule.equal({(row.content, row.redacted) for row in after}, {("", True)})
        rule.equal(
            [(row.path, row.version, row.action, row.actor, row.created_at) for row in after],
            [(row.path, row.version, row.action, row.actor, row.created_at) for row in before],
        )
        other = await store.read(SCOPE, OTHER_PATH)
        rule.equal(other and (other.content, other.redacted), ("untouched", False))

    async def test_a_redaction_keeps_every_field_of_the_document_but_content(
        self, store: MemoryStore
    ) -> None:
        rule = Rule("4", "redact leaves version, created_at, updated_at and actor of the document")
        await store.write(SCOPE, PATH, "one")
        before = await store.write(SCOPE, PATH, "two", actor="writer")
        await store.redact(SCOPE, path=PATH, actor="eraser")
        after = await store.read(SCOPE, PATH)
        rule.holds(after is not None, after)
        if after is None:
            return
        rule.equal((after.content, after.redacted), ("", True))
        rule.equal(
            (after.version, after.created_at, after.updated_at, after.actor, dict(after.extra)),
            (before.version, before.created_at, before.updated_at, before.actor, {}),
        )

    async def test_a_redaction_appends_no_version(self, store: MemoryStore) -> None:
        await store.write(SCOPE, PATH, "x")
        await store.redact(SCOPE, path=PATH)
        rule = Rule("4", "redact appends no version row and is never an action")
        rule.equal([row.action for row in await store.history(SCOPE)], ["created"])
        rule.equal((await store.write(SCOPE, PATH, "y")).version, 2)

    async def test_a_redaction_reaches_every_version(self, store: MemoryStore) -> None:
        rule = Rule("4", "redact blanks every version row of its target")
        for number in range(60):
            await store.write(SCOPE, PATH, f"secret {number}")
        await store.redact(SCOPE, path=PATH)
        rows = await store.history(SCOPE)
        rule.equal((len(rows), {row.content for row in rows}), (60, {""}))

    async def test_a_redaction_of_a_deleted_path_counts(self, store: MemoryStore) -> None:
        rule = Rule("4", "a path with only version rows is a target too")
        await store.write(SCOPE, PATH, "secret")
        await store.delete(SCOPE, PATH)
        rule.equal(await store.redact(SCOPE, path=PATH), 1)
        rule.equal({row.content for row in await store.versions(SCOPE, PATH)}, {""})
        rule.equal(await store.read(SCOPE, PATH), None)

    async def test_a_scope_redaction_covers_every_path_and_no_other_scope(
        self, store: MemoryStore
    ) -> None:
        rule = Rule("4", "redact without a path targets every path of the scope, deleted ones too")
        for path in (PATH, OTHER_PATH, "gone"):
            await store.write(SCOPE, path, "secret")
        await store.delete(SCOPE, "gone")
        await store.write(SUB_SCOPE, PATH, "sub")
        await store.write(OTHER_SCOPE, PATH, "other")
        rule.equal(await store.redact(SCOPE), 3)
        rows = await store.history(SCOPE)
        rule.equal({(row.content, row.redacted) for row in rows}, {("", True)})
        for scope, content in ((SUB_SCOPE, "sub"), (OTHER_SCOPE, "other")):
            document = await store.read(scope, PATH)
            rule.equal(document and document.content, content)
            rule.equal(await store.redactions(scope), ())

    async def test_a_repeated_redaction_counts_the_same(self, store: MemoryStore) -> None:
        rule = Rule("4", "repeat calls return the same number and record an act each")
        for path in (PATH, OTHER_PATH):
            await store.write(SCOPE, path, "secret")
        await store.delete(SCOPE, PATH)
        rule.equal([await store.redact(SCOPE), await store.redact(SCOPE)], [2, 2])
        rule.equal([await store.redact(SCOPE, path=PATH) for _ in range(2)], [1, 1])
        rule.equal([act.count for act in await store.redactions(SCOPE)], [1, 1, 2, 2])

    async def test_redacting_nothing_is_zero_and_silent(self, store: MemoryStore) -> None:
        rule = Rule("4", "redact that matches nothing answers 0 and records no act")
        rule.equal(await store.redact(SCOPE), 0)
        rule.equal(await store.redact(SCOPE, path=PATH), 0)
        await store.write(SCOPE, OTHER_PATH, "x")
        rule.equal(await store.redact(SCOPE, path=PATH), 0)
        rule.equal(await store.redactions(SCOPE), ())

    async def test_a_write_after_a_redaction_is_clean(self, store: MemoryStore) -> None:
        rule = Rule("4", "a later write clears the flag for the document and its new row only")
        await store.write(SCOPE, PATH, "secret")
        await store.redact(SCOPE, path=PATH)
        written = await store.write(SCOPE, PATH, "fresh", expected_version=1)
        rule.equal((written.content, written.version, written.redacted), ("fresh", 2, False))
        seen = [(row.content, row.redacted) for row in await store.versions(SCOPE, PATH)]
        rule.equal(seen, [("fresh", False), ("", True)])

    async def test_deleting_a_redacted_document_records_a_redacted_row(
        self, store: MemoryStore
    ) -> None:
        rule = Rule("4", "the `deleted` row has the live content and the live redacted flag")
        await store.write(SCOPE, PATH, "secret")
        await store.redact(SCOPE, path=PATH)
        await store.delete(SCOPE, PATH)
        newest = (await store.versions(SCOPE, PATH))[0]
        rule.equal((newest.action, newest.content, newest.redacted), ("deleted", "", True))

    async def test_the_trail_names_paths_and_scope_acts_newest_first(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("4", "each redaction that matched is an act: path as given, actor, now, count")
        await store.write(SCOPE, PATH, "x")
        await store.write(SCOPE, OTHER_PATH, "x")
        first, second = clock.next_reading, clock.next_reading + clock.step
        await store.redact(SCOPE, path=PATH, actor="one")
        await store.redact(SCOPE, actor="two")
        expected = (
            MemoryRedaction(
                path=None, actor=self.recorded_actor("two"), created_at=second, count=2
            ),
            MemoryRedaction(path=PATH, actor=self.recorded_actor("one"), created_at=first, count=1),
        )
        rule.equal(await store.redactions(SCOPE), expected)

    async def test_acts_on_one_stamp_keep_their_order(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("4", "acts with equal stamps are ordered by insertion, last first")
        paths = ["c", "a", "d", "b"]
        for path in paths:
            await store.write(SCOPE, path, "x")
        clock.step *= 0
        for path in paths:
            await store.redact(SCOPE, path=path)
        rule.equal([act.path for act in await store.redactions(SCOPE)], paths[::-1])
