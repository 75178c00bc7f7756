"""History and trail of a scope: what they span, how they are ordered and cut."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import HUGE_NUMBERS, OTHER_PATH, OTHER_SCOPE, PATH, SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.stores import MemoryStore

FAR_EAST = timezone(timedelta(hours=14))
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
LATEST = datetime(9999, 12, 30, tzinfo=UTC)
NAIVE = datetime(2030, 1, 1)  # noqa: DTZ001 - what must be refused


class LedgerSlice(StoreSubject):
    """Part of MemoryStoreContract."""

    async def test_history_spans_paths_and_deletions_newest_first(self, store: MemoryStore) -> None:
        rule = Rule("4", "history has all rows of all paths, deleted ones too, newest first")
        await store.write(SCOPE, PATH, "one")
        await store.write(SCOPE, OTHER_PATH, "two")
        await store.delete(SCOPE, PATH)
        await store.write(SCOPE, OTHER_PATH, "four")
        await store.write(OTHER_SCOPE, PATH, "elsewhere")
        seen = [(row.path, row.version, row.action) for row in await store.history(SCOPE)]
        rule.equal(
            seen,
            [
                (OTHER_PATH, 2, "modified"),
                (PATH, 2, "deleted"),
                (OTHER_PATH, 1, "created"),
                (PATH, 1, "created"),
            ],
        )

    async def test_rows_on_one_stamp_order_by_path_then_version(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("4", "history orders by created_at desc, path asc by code point, version desc")
        clock.step *= 0
        for path in ("b", "B", "a/b", "_x", "a"):
            await store.write(SCOPE, path, "one")
            await store.write(SCOPE, path, "two")
        seen = [(row.path, row.version) for row in await store.history(SCOPE)]
        expected = [(path, number) for path in ("B", "_x", "a", "a/b", "b") for number in (2, 1)]
        rule.equal(seen, expected)

    async def test_since_is_inclusive(self, store: MemoryStore) -> None:
        rule = Rule("4", "`since` is inclusive, whatever offset it is written with")
        stamps = [(await store.write(SCOPE, PATH, str(n))).updated_at for n in range(4)]
        for place, stamp in enumerate(stamps):
            for since in (stamp, stamp.astimezone(FAR_EAST)):
                rows = await store.history(SCOPE, since=since)
                rule.equal([row.version for row in rows], list(range(4, place, -1)))
            after = await store.history(SCOPE, since=stamp + timedelta(microseconds=1))
            rule.equal([row.version for row in after], list(range(4, place + 1, -1)))

    async def test_since_reaches_from_the_first_day_to_the_last(self, store: MemoryStore) -> None:
        rule = Rule("4", "`since` is any aware instant")
        await store.write(SCOPE, PATH, "x")
        await store.redact(SCOPE)
        rule.equal(len(await store.history(SCOPE, since=EARLIEST)), 1)
        rule.equal(len(await store.redactions(SCOPE, since=EARLIEST)), 1)
        rule.equal(await store.history(SCOPE, since=LATEST), ())
        rule.equal(await store.redactions(SCOPE, since=LATEST), ())

    async def test_a_history_limit_keeps_the_newest(self, store: MemoryStore) -> None:
        rule = Rule("4", "limit none is all, 0 is empty, N is the newest N")
        for number in range(3):
            await store.write(SCOPE, PATH, str(number))
        for limit, expected in {0: [], 1: [3], 2: [3, 2], 9: [3, 2, 1], None: [3, 2, 1]}.items():
            rows = await store.history(SCOPE, limit=limit)
            rule.equal((limit, [row.version for row in rows]), (limit, expected))
        for limit in HUGE_NUMBERS:
            rule.equal(len(await store.history(SCOPE, limit=limit)), 3)

    async def test_since_and_limit_together_keep_the_newest(self, store: MemoryStore) -> None:
        rule = Rule("4", "limit keeps the newest of what `since` leaves")
        stamps = [(await store.write(SCOPE, PATH, str(n))).updated_at for n in range(4)]
        rows = await store.history(SCOPE, since=stamps[1], limit=2)
        rule.equal([row.version for row in rows], [4, 3])

    async def test_history_has_no_default_bound(self, store: MemoryStore) -> None:
        for number in range(60):
            await store.write(SCOPE, f"p{number}", "x")
        Rule("4", "history without a limit answers all rows").equal(
            len(await store.history(SCOPE)), 60
        )

    async def test_an_unknown_scope_is_empty(self, store: MemoryStore) -> None:
        await store.write(SCOPE, PATH, "x")
        await store.redact(SCOPE)
        rule = Rule("4", "a scope never written has no rows and no acts")
        rule.equal(await store.history(OTHER_SCOPE), ())
        rule.equal(await store.redactions(OTHER_SCOPE), ())

    async def test_a_naive_since_and_a_negative_limit_are_refused(self, store: MemoryStore) -> None:
        rule = Rule("4", "history and redactions refuse a naive since, then a negative limit")
        for listing in (store.history, store.redactions):
            with rule.refuses(ValueError, saying="timezone-aware"):
                await listing(SCOPE, since=NAIVE)
            with rule.refuses(ValueError, saying="limit must be >= 0"):
                await listing(SCOPE, limit=-1)
            with rule.refuses(ValueError, saying="timezone-aware"):
                await listing(SCOPE, since=NAIVE, limit=0)

    async def test_the_trail_is_cut_as_history_is(self, store: MemoryStore) -> None:
        rule = Rule("4", "redactions takes since (inclusive) and limit (newest) as history does")
        await store.write(SCOPE, PATH, "x")
        for _ in range(4):
            await store.redact(SCOPE)
        trail = await store.redactions(SCOPE)
        rule.equal(len(trail), 4)
        for limit, length in {0: 0, 1: 1, 3: 3, 4: 4, 9: 4, None: 4}.items():
            rule.equal(await store.redactions(SCOPE, limit=limit), trail[:length])
        for limit in HUGE_NUMBERS:
            rule.equal(await store.redactions(SCOPE, limit=limit), trail)
        for place, act in enumerate(trail):
            rule.equal(await store.redactions(SCOPE, since=act.created_at), trail[: place + 1])
        rule.equal(await store.redactions(SCOPE, since=trail[2].created_at, limit=1), trail[:1])

    async def test_history_keeps_skeleton_and_actor_after_a_redaction(
        self, store: MemoryStore
    ) -> None:
        rule = Rule("4", "a redaction leaves every row of history but its content")
        await store.write(SCOPE, PATH, "secret", actor="writer")
        await store.delete(SCOPE, PATH, actor="deleter")
        before = await store.history(SCOPE)
        await store.redact(SCOPE, actor="eraser")
        after = await store.history(SCOPE)
        rule.equal(
            [(row.path, row.version, row.action, row.actor, row.created_at) for row in after],
            [(row.path, row.version, row.action, row.actor, row.created_at) for row in before],
        )
        rule.equal([row.actor for row in after], [*map(self.recorded_actor, ("deleter", "writer"))])
        rule.equal({(row.content, row.redacted) for row in after}, {("", True)})

    @pytest.mark.parametrize("listing", ["history", "redactions"])
    async def test_stamps_come_back_in_utc(self, store: MemoryStore, listing: str) -> None:
        rule = Rule("4", "every stamp is an aware UTC datetime")
        await store.write(SCOPE, PATH, "x")
        await store.redact(SCOPE)
        rows = await (store.history(SCOPE) if listing == "history" else store.redactions(SCOPE))
        rule.equal([row.created_at.utcoffset() for row in rows], [timedelta()])
