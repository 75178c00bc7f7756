"""The deterministic stage over any store (docs/reference/maintenance.md, sections 2 and 3)."""

from datetime import datetime, timedelta

import pytest

from commonhold.conformance import ControlledClock
from commonhold.contract import MemoryStore
from commonhold.usecases.upkeep.holds import Holds
from tests.support.upkeep.gardens import (
    ACTOR,
    BOARD,
    CUTOFF,
    HANDBOOK,
    MICROSECOND,
    NOW,
    OLD,
    PROJECT,
    USER,
    GardenCases,
    deletions,
    run_pass,
)

MAILBOX = "messages/6f1c6e6e-0000-4000-8000-000000000000"
# Scope, path and content of the worked example, oldest first.
EXAMPLE = (
    (USER, "dup/z", "same"),
    (USER, "dup/m", "same"),
    (USER, "dup/a", "same"),
    (USER, "empty", ""),
    (USER, "blank", " \n\t"),
    (USER, "red", "same"),
    (USER, "trail", "same\n"),
    (USER, "sessions/s1", "same"),
    (USER, "sessions/s2", "same"),
    (USER, "handoff", ""),
    (USER, "skills/x", "skill"),
    (USER, "skills/y", "skill"),
    (USER, MAILBOX, ""),
    (USER, "message-links/a", ""),
    (PROJECT, "copy", "same"),
    (BOARD, "e", ""),
    (HANDBOOK, "e", ""),
)
GONE = ["/user/blank", "/user/empty", "/user/dup/a", "/user/dup/m"]


async def plant_example(store: MemoryStore) -> None:
    for scope, path, content in EXAMPLE:
        await store.write(scope, path, content, actor="client:ana")
    await store.redact(USER, path="red")


async def paths(store: MemoryStore, scope: str) -> list[str]:
    return [entry.path for entry in await store.list_documents(scope)]


async def write_at(
    store: MemoryStore, clock: ControlledClock, moment: datetime, path: str, content: str
) -> None:
    clock.set(moment)
    await store.write(USER, path, content)


class DeterministicCases(GardenCases):
    async def test_the_worked_example_loses_exactly_its_empties_and_copies(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        await plant_example(store)
        report = await run_pass(store, clock)
        assert deletions(report) == GONE
        assert (report.skipped, report.failed, report.degraded) == ((), (), None)
        kept = {path for scope, path, _ in EXAMPLE if scope == USER}
        assert set(await paths(store, USER)) == kept - {path[6:] for path in GONE}
        for scope in (PROJECT, BOARD, HANDBOOK):
            assert len(await paths(store, scope)) == 1

    async def test_every_deletion_is_a_row_under_the_actor_of_the_pass(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        await plant_example(store)
        await run_pass(store, clock)
        rows = [row for row in await store.history(USER) if row.action == "deleted"]
        assert {f"/user/{row.path}" for row in rows} == set(GONE)
        assert {(row.actor, row.version) for row in rows} == {(ACTOR, 2)}
        assert {row.content for row in rows} == {"same", "", " \n\t"}

    async def test_a_second_pass_finds_nothing(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        await plant_example(store)
        await run_pass(store, clock)
        before = [await store.history(scope) for scope in (USER, PROJECT, BOARD, HANDBOOK)]
        report = await run_pass(store, clock, at=NOW + timedelta(days=30))
        assert (report.writes, report.skipped) == ((), ())
        after = [await store.history(scope) for scope in (USER, PROJECT, BOARD, HANDBOOK)]
        assert after == before

    async def test_a_dry_run_reports_the_same_and_changes_nothing(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        await plant_example(store)
        before = await store.history(USER)
        dry = await run_pass(store, clock, dry_run=True)
        assert (deletions(dry), dry.dry_run) == (GONE, True)
        assert await store.history(USER) == before
        real = await run_pass(store, clock)
        assert (real.writes, real.dry_run) == (dry.writes, False)

    @pytest.mark.parametrize("dry_run", [False, True])
    async def test_two_mounts_of_one_scope_lose_a_document_once(
        self, store: MemoryStore, clock: ControlledClock, *, dry_run: bool
    ) -> None:
        await plant_example(store)
        report = await run_pass(
            store, clock, f"scope={USER},path=user", f"scope={USER},path=same", dry_run=dry_run
        )
        assert deletions(report) == GONE

    async def test_the_floor_is_exact_to_the_microsecond(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        await write_at(store, clock, CUTOFF, "at", "")
        await write_at(store, clock, CUTOFF + MICROSECOND, "after", "")
        report = await run_pass(store, clock)
        assert deletions(report) == ["/user/at"]
        assert await paths(store, USER) == ["after"]

    async def test_a_floor_of_no_days_is_now(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        await write_at(store, clock, NOW, "now", "")
        await write_at(store, clock, NOW + MICROSECOND, "later", "")
        assert deletions(await run_pass(store, clock, min_age_days=0)) == ["/user/now"]

    async def test_a_floor_of_ages_lets_nothing_go(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        await plant_example(store)
        assert deletions(await run_pass(store, clock, min_age_days=10**9)) == []

    async def test_the_age_is_that_of_the_last_change(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        await write_at(store, clock, OLD, "a", "text")
        await write_at(store, clock, NOW - timedelta(days=1), "a", "")
        assert deletions(await run_pass(store, clock)) == []

    async def test_the_older_copy_stays_even_when_it_was_edited_last(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        await write_at(store, clock, OLD, "z", "first")
        await write_at(store, clock, OLD + timedelta(days=1), "a", "same")
        await write_at(store, clock, NOW - timedelta(hours=1), "z", "same")
        assert deletions(await run_pass(store, clock)) == ["/user/a"]
        assert await paths(store, USER) == ["z"]

    async def test_of_copies_as_old_as_each_other_the_smaller_path_stays(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        clock.step = timedelta()
        for path in ("b", "a.b", "a/b", "a-b"):
            await store.write(USER, path, "same")
        assert deletions(await run_pass(store, clock)) == ["/user/a.b", "/user/a/b", "/user/b"]

    async def test_a_fresh_copy_stays_and_keeps_nothing(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        await write_at(store, clock, OLD, "keeper", "same")
        await write_at(store, clock, OLD + timedelta(days=1), "old", "same")
        await write_at(store, clock, NOW - timedelta(days=1), "fresh", "same")
        assert deletions(await run_pass(store, clock)) == ["/user/old"]
        assert await paths(store, USER) == ["fresh", "keeper"]

    async def test_groups_go_in_the_order_of_their_first_paths(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        for path, content in {"d": "two", "c": "one", "b": "two", "a": "one", "e": "two"}.items():
            await store.write(USER, path, content)
        report = await run_pass(store, clock)
        assert deletions(report) == ["/user/a", "/user/b", "/user/e"]

    async def test_only_the_named_paths_are_state(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        neighbours = ("handoff-1", "handoff.md", "message-link", "messages.md", "sessions2")
        for path in (*neighbours, "handoff", "message-links/a", "messages/a", "sessions/a"):
            await store.write(USER, path, "")
        assert deletions(await run_pass(store, clock)) == [f"/user/{path}" for path in neighbours]

    async def test_skills_may_be_empty_but_never_copies(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        for path in ("notes", "skills/a", "skills/a/example", "skills/b"):
            await store.write(USER, path, "same")
        await store.write(USER, "skills/empty", "")
        assert deletions(await run_pass(store, clock)) == ["/user/skills/empty"]

    async def test_a_held_scope_is_left_alone_and_reported(
        self, store: MemoryStore, clock: ControlledClock
    ) -> None:
        await plant_example(store)
        await store.write(PROJECT, "empty", "")
        report = await run_pass(store, clock, holds=Holds(scopes=("user:",)))
        assert deletions(report) == ["/project/empty"]
        assert [(skip.path, skip.reason) for skip in report.skipped] == [("/user", "legal hold")]
        assert [skip.label for skip in report.skipped] == ["held"]
