"""Calls that overlap: whatever their order, each happens whole and none is lost."""

import asyncio

from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import OTHER_PATH, PATH, SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.documents import MemoryDocument
from commonhold.contract.errors import DocumentNotFoundError, MemoryConflictError
from commonhold.contract.stores import MemoryStore

ROUNDS = 8
WRITERS = 8


class ConcurrencySlice(StoreSubject):
    """Part of MemoryStoreContract."""

    async def test_a_write_is_visible_to_the_next_call(self, store: MemoryStore) -> None:
        rule = Rule("4", "a completed call is visible to the next call on the same store")
        for number in range(ROUNDS):
            await store.write(SCOPE, PATH, str(number))
            document = await store.read(SCOPE, PATH)
            rule.equal(document and document.content, str(number))

    async def test_a_deletion_is_visible_to_the_next_call(self, store: MemoryStore) -> None:
        rule = Rule("4", "a completed call is visible to the next call on the same store")
        for _ in range(ROUNDS):
            await store.write(SCOPE, PATH, "x")
            await store.delete(SCOPE, PATH)
            rule.equal(await store.read(SCOPE, PATH), None)
            rule.equal(await store.list_documents(SCOPE), ())

    async def test_a_rename_and_a_redaction_are_visible_to_the_next_call(
        self, store: MemoryStore
    ) -> None:
        rule = Rule("4", "a completed call is visible to the next call on the same store")
        await store.write(SCOPE, PATH, "x")
        await store.rename(SCOPE, PATH, OTHER_PATH)
        rule.equal([entry.path for entry in await store.list_documents(SCOPE)], [OTHER_PATH])
        await store.redact(SCOPE)
        document = await store.read(SCOPE, OTHER_PATH)
        rule.equal(document and (document.content, document.redacted), ("", True))

    async def test_one_of_two_racing_writers_loses(self, store: MemoryStore) -> None:
        rule = Rule("4", "of racing writers that expect one version exactly one succeeds")
        live = await store.write(SCOPE, PATH, "start")
        for _ in range(ROUNDS):
            expected = live.version
            results = await asyncio.gather(
                *(
                    store.write(SCOPE, PATH, f"writer {n}", expected_version=expected)
                    for n in range(2)
                ),
                return_exceptions=True,
            )
            won = [result for result in results if isinstance(result, MemoryDocument)]
            lost = [result for result in results if isinstance(result, MemoryConflictError)]
            rule.equal((len(won), len(lost)), (1, 1))
            rule.equal(
                (lost[0].reason, lost[0].expected_version, lost[0].actual_version),
                ("version_mismatch", expected, expected + 1),
            )
            live = won[0]
            rule.equal(await store.read(SCOPE, PATH), live)

    async def test_racing_blind_writers_all_get_a_version(self, store: MemoryStore) -> None:
        rule = Rule("4", "every write gets its own number, without gaps and without retries")
        for start in range(0, ROUNDS * WRITERS, WRITERS):
            written = await asyncio.gather(
                *(store.write(SCOPE, PATH, f"writer {n}") for n in range(WRITERS))
            )
            numbers = sorted(document.version for document in written)
            rule.equal(numbers, list(range(start + 1, start + WRITERS + 1)))
        rows = await store.history(SCOPE)
        rule.equal([row.version for row in rows], list(range(ROUNDS * WRITERS, 0, -1)))
        rule.equal([row.action for row in rows].count("created"), 1)

    async def test_a_racing_deletion_happens_once(self, store: MemoryStore) -> None:
        rule = Rule("4", "of racing deletions one is true, the others are false and silent")
        for number in range(ROUNDS):
            await store.write(SCOPE, PATH, str(number))
            results = await asyncio.gather(*(store.delete(SCOPE, PATH) for _ in range(4)))
            rule.equal(sorted(results), [False, False, False, True])
        rows = await store.history(SCOPE)
        rule.equal([row.version for row in rows], list(range(ROUNDS * 2, 0, -1)))

    async def test_racing_renames_to_one_place_have_one_winner(self, store: MemoryStore) -> None:
        rule = Rule("4", "of racing renames onto one destination exactly one succeeds")
        for number in range(ROUNDS):
            sources = [f"from/{number}-{source}" for source in range(3)]
            for source in sources:
                await store.write(SCOPE, source, source)
            target = f"to/{number}"
            results = await asyncio.gather(
                *(store.rename(SCOPE, source, target) for source in sources),
                return_exceptions=True,
            )
            won = [result for result in results if isinstance(result, MemoryDocument)]
            lost = [result for result in results if isinstance(result, MemoryConflictError)]
            rule.equal((len(won), len(lost)), (1, 2))
            rule.equal({error.reason for error in lost}, {"destination_exists"})
            rule.equal(await store.read(SCOPE, target), won[0])

    async def test_crossing_renames_end(self, store: MemoryStore) -> None:
        rule = Rule("13", "locks of several rows are taken in key order: crossing renames end")
        for number in range(ROUNDS):
            paths = (f"x/{number}", f"y/{number}")
            await store.write(SCOPE, paths[0], "x")
            results = await asyncio.wait_for(
                asyncio.gather(
                    store.rename(SCOPE, paths[0], paths[1]),
                    store.rename(SCOPE, paths[1], paths[0]),
                    return_exceptions=True,
                ),
                timeout=30,
            )
            for result in results:
                rule.holds(isinstance(result, MemoryDocument | DocumentNotFoundError), result)
            live = [await store.read(SCOPE, path) for path in paths]
            rule.equal(sum(document is not None for document in live), 1)

    async def test_a_racing_redaction_leaves_no_older_content(self, store: MemoryStore) -> None:
        rule = Rule("4", "once redact returned, no row from before it holds content")
        for number in range(ROUNDS):
            path = f"race/{number}"
            await store.write(SCOPE, path, "secret")
            await asyncio.gather(
                *(store.write(SCOPE, path, f"secret {n}") for n in range(3)),
                store.redact(SCOPE, path=path if number % 2 else None),
                *(store.write(SCOPE, path, f"secret {n}") for n in range(3)),
            )
            await _check_no_leak(store, path, rule=rule)

    async def test_a_racing_redaction_leaves_no_renamed_content(self, store: MemoryStore) -> None:
        rule = Rule("4", "a scope redaction blanks both rows of a rename, or comes before it")
        for number in range(ROUNDS):
            source, target = f"race/{number}", f"race/{number}-moved"
            await store.write(SCOPE, source, "secret")
            await asyncio.gather(
                store.rename(SCOPE, source, target), store.redact(SCOPE), store.delete(SCOPE, "no")
            )
            rows = [*await store.versions(SCOPE, source), *await store.versions(SCOPE, target)]
            # The content was there before the redaction, wherever the rename took it.
            rule.equal({(row.content, row.redacted) for row in rows}, {("", True)})


async def _check_no_leak(store: MemoryStore, path: str, *, rule: Rule) -> None:
    rows = await store.versions(SCOPE, path)
    flags = [row.redacted for row in reversed(rows)]
    # In version order the blanked rows come first: what the redaction saw, and nothing after.
    rule.equal(flags, sorted(flags, reverse=True))
    rule.holds(flags[0], rows)
    rule.equal([row.content for row in rows if row.redacted], [""] * flags.count(True))
    live = await store.read(SCOPE, path)
    rule.equal(live and (live.content, live.redacted), (rows[0].content, rows[0].redacted))
