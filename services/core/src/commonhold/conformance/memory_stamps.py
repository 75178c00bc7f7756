"""Stamps of documents: one clock reading a call, and never backwards on a path."""

from datetime import timedelta

from commonhold.conformance.clocks import STEP, ControlledClock
from commonhold.conformance.memory_grammar import Calls
from commonhold.conformance.memory_ledger import NAIVE
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import OTHER_PATH, PATH, SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.stores import MemoryStore

AN_HOUR = timedelta(hours=1)


class StampSlice(StoreSubject):
    """Part of MemoryStoreContract."""

    async def test_every_stamp_is_aware_and_keeps_microseconds(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("4", "stamps are the clock's own, in UTC, with their microseconds")
        now = clock.next_reading
        written = await store.write(SCOPE, PATH, "x")
        await store.redact(SCOPE)
        document = await store.read(SCOPE, PATH)
        stamps = [
            written.created_at,
            written.updated_at,
            *([] if document is None else [document.created_at, document.updated_at]),
            *(entry.updated_at for entry in await store.list_documents(SCOPE)),
            *(row.created_at for row in await store.versions(SCOPE, PATH)),
            *(row.created_at for row in await store.history(SCOPE)),
        ]
        rule.equal(stamps, [now] * 7)
        rule.equal({stamp.utcoffset() for stamp in stamps}, {timedelta()})
        acts = [act.created_at for act in await store.redactions(SCOPE)]
        rule.equal(acts, [now + STEP])

    async def test_a_mutation_reads_the_clock_once(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "one clock reading a call")
        calls: Calls = {
            "write": lambda: store.write(SCOPE, PATH, "x"),
            "rename": lambda: store.rename(SCOPE, PATH, OTHER_PATH),
            "redact": lambda: store.redact(SCOPE),
            "delete": lambda: store.delete(SCOPE, OTHER_PATH),
        }
        for name, call in calls.items():
            before = clock.readings
            await call()
            rule.equal((name, clock.readings - before), (name, 1))

    async def test_a_naive_clock_is_refused_without_effect(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("4", "a naive clock reading is a value error, and nothing changes")
        live = await store.write(SCOPE, PATH, "x")
        for call in (
            lambda: store.write(SCOPE, PATH, "y"),
            lambda: store.write(SCOPE, OTHER_PATH, "y"),
            lambda: store.delete(SCOPE, PATH),
            lambda: store.rename(SCOPE, PATH, OTHER_PATH),
            lambda: store.redact(SCOPE),
        ):
            clock.set(NAIVE)
            with rule.refuses(ValueError):
                await call()
        rule.equal(await store.read(SCOPE, PATH), live)
        rule.equal(len(await store.history(SCOPE)), 1)
        rule.equal(await store.redactions(SCOPE), ())

    async def test_stamps_never_run_backwards_on_a_path(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "a stamp is clamped to the newest stamp of its document")
        clock.step = -STEP
        first = await store.write(SCOPE, PATH, "one")
        second = await store.write(SCOPE, PATH, "two")
        rule.equal(second.updated_at, first.updated_at)
        await store.delete(SCOPE, PATH)
        again = await store.write(SCOPE, PATH, "four")
        rule.equal((again.created_at, again.updated_at), (first.updated_at, first.updated_at))
        stamps = [row.created_at for row in await store.versions(SCOPE, PATH)]
        rule.equal(stamps, [first.created_at] * 4)

    async def test_a_clamped_path_follows_the_clock_again(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "a newest stamp holds until the clock passes it")
        first = await store.write(SCOPE, PATH, "one")
        clock.set(first.updated_at - AN_HOUR)
        rule.equal((await store.write(SCOPE, PATH, "two")).updated_at, first.updated_at)
        later = first.updated_at + STEP
        clock.set(later)
        rule.equal((await store.write(SCOPE, PATH, "three")).updated_at, later)

    async def test_the_newest_version_stays_first_in_history(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("5", "created_at is non-decreasing per path in version order")
        for number in range(6):
            clock.set(clock.next_reading - AN_HOUR if number % 2 else clock.next_reading + AN_HOUR)
            await store.write(SCOPE, PATH, str(number))
        rule.equal([row.version for row in await store.history(SCOPE)], [6, 5, 4, 3, 2, 1])
        stamps = [row.created_at for row in await store.versions(SCOPE, PATH)]
        rule.equal(stamps, sorted(stamps, reverse=True))

    async def test_paths_are_clamped_apart(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "a stamp is clamped to its own document, not to the whole scope")
        ahead = await store.write(SCOPE, PATH, "x")
        behind = ahead.updated_at - AN_HOUR
        clock.set(behind)
        rule.equal((await store.write(SCOPE, OTHER_PATH, "y")).updated_at, behind)

    async def test_a_rename_is_clamped_to_its_source(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "rename is clamped to the newest stamp of both paths")
        source = await store.write(SCOPE, PATH, "x")
        clock.set(source.updated_at - AN_HOUR)
        moved = await store.rename(SCOPE, PATH, OTHER_PATH)
        rule.equal((moved.created_at, moved.updated_at), (source.updated_at,) * 2)
        stamps = {row.created_at for row in await store.history(SCOPE)}
        rule.equal(stamps, {source.updated_at})

    async def test_a_rename_is_clamped_to_its_destination(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "rename is clamped to the newest stamp of both paths")
        source = await store.write(SCOPE, PATH, "x")
        await store.write(SCOPE, OTHER_PATH, "y")
        clock.set(source.updated_at + AN_HOUR)
        await store.delete(SCOPE, OTHER_PATH)
        clock.set(source.updated_at + STEP)
        moved = await store.rename(SCOPE, PATH, OTHER_PATH)
        rule.equal(moved.updated_at, source.updated_at + AN_HOUR)
        gone = (await store.versions(SCOPE, PATH))[0]
        rule.equal((gone.action, gone.created_at), ("deleted", moved.updated_at))

    async def test_an_act_is_not_older_than_what_it_blanks(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "an act is clamped to the newest stamp of the rows it blanks")
        live = await store.write(SCOPE, PATH, "x")
        clock.set(live.updated_at - AN_HOUR)
        await store.redact(SCOPE, path=PATH)
        clock.set(live.updated_at - AN_HOUR)
        await store.redact(SCOPE)
        acts = [act.created_at for act in await store.redactions(SCOPE)]
        rule.equal(acts, [live.updated_at] * 2)

    async def test_a_write_after_an_act_is_not_older_than_the_act(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "what follows an erasure is not stamped before it")
        for path, target in ((PATH, PATH), (OTHER_PATH, None)):
            live = await store.write(SCOPE, path, "x")
            clock.set(live.updated_at + AN_HOUR)
            await store.redact(SCOPE, path=target)
            clock.set(live.updated_at + STEP)
            after = await store.write(SCOPE, path, "y")
            rule.equal(after.updated_at, live.updated_at + AN_HOUR)
