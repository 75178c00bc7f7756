"""The erasure of documents by age, over any store (docs/reference/maintenance.md, section 6.3)."""

from datetime import timedelta
from typing import Any, Protocol

import pytest

from commonhold.conformance import ControlledClock
from commonhold.contract import (
    ClaimLostError,
    Claims,
    Expirable,
    IdempotencyKey,
    MemoryStore,
    VersionEraser,
)
from commonhold.usecases.upkeep.expirations import expire_documents
from commonhold.usecases.upkeep.holds import Holds
from commonhold.usecases.upkeep.prunes import PruneReport
from commonhold.usecases.upkeep.session_listings import DocumentName
from tests.support.upkeep.gardens import MICROSECOND, NOW, PROJECT, USER, GardenCases

CUTOFF = NOW - timedelta(days=7)
RETENTION = "gardener:retention"


class Ageing(MemoryStore, Expirable, Protocol):
    """What the cases ask of a store."""

    @property
    def claims(self) -> Claims: ...

    def guarded(self, **options: Any) -> VersionEraser: ...


async def run_expiry(store: Ageing, clock: ControlledClock, **options: Any) -> PruneReport:
    clock.set(NOW)
    fields: dict[str, Any] = {"scopes": ["user:"], "actor": RETENTION, **options}
    return await expire_documents(store, older_than=timedelta(days=7), clock=clock, **fields)


async def texts(store: Ageing, scope: str, path: str) -> list[str]:
    """What every version holds, the oldest first."""
    return [row.content for row in await store.versions(scope, path)][::-1]


class ExpirationCases(GardenCases):
    async def test_what_was_last_changed_before_the_cutoff_goes_with_its_history(
        self, store: Ageing, clock: ControlledClock
    ) -> None:
        await store.write(USER, "old", "one")
        await store.write(USER, "old", "two")
        await store.write(USER, "gone", "text")
        await store.delete(USER, "gone")
        await store.write(USER, "mended", "one")
        await store.write(USER, "messages/1", "letter")
        await store.write(PROJECT, "old", "elsewhere")
        clock.set(CUTOFF)
        await store.write(USER, "mended", "two")
        report = await run_expiry(store, clock)
        assert report.cutoff == CUTOFF
        assert report.documents == tuple(
            DocumentName(USER, path) for path in ("gone", "messages/1", "old")
        )
        assert (report.kept, report.turns, report.conversations) == ((), 0, ())
        assert await texts(store, USER, "old") == ["", ""]
        assert await texts(store, USER, "gone") == ["", ""]
        assert await texts(store, USER, "mended") == ["one", "two"]
        assert await texts(store, PROJECT, "old") == ["elsewhere"]
        trail = await store.redactions(USER)
        assert {(act.path, act.actor, act.count) for act in trail} == {
            (path, RETENTION, 1) for path in ("gone", "messages/1", "old")
        }

    async def test_the_cutoff_itself_is_young(self, store: Ageing, clock: ControlledClock) -> None:
        clock.set(CUTOFF - MICROSECOND)
        await store.write(USER, "before", "x")
        clock.set(CUTOFF)
        await store.write(USER, "at", "x")
        report = await run_expiry(store, clock)
        assert report.documents == (DocumentName(USER, "before"),)

    async def test_a_dry_run_plans_what_the_act_does_and_a_second_act_nothing(
        self, store: Ageing, clock: ControlledClock
    ) -> None:
        await store.write(USER, "old", "x")
        dry = await run_expiry(store, clock, dry_run=True)
        assert await texts(store, USER, "old") == ["x"]
        assert dry.dry_run
        real = await run_expiry(store, clock)
        assert (real.documents, real.dry_run) == (dry.documents, False)
        assert (await run_expiry(store, clock)).documents == ()
        assert len(await store.redactions(USER)) == 1

    @pytest.mark.parametrize("dry_run", [False, True])
    async def test_what_is_held_stays_and_is_reported(
        self, store: Ageing, clock: ControlledClock, *, dry_run: bool
    ) -> None:
        await store.write("user:counsel", "file", "x")
        await store.write(USER, "sessions/case-9", "x")
        await store.write(USER, "sessions/chat-1", "x")
        await store.write(USER, "case-9", "x")
        holds = Holds(scopes=("user:counsel",), conversations=("case-",))
        report = await run_expiry(store, clock, holds=holds, dry_run=dry_run)
        assert [(one.scope, one.path, one.reason) for one in report.kept] == [
            (USER, "sessions/case-9", "legal hold"),
            ("user:counsel", "file", "legal hold"),
        ]
        assert [one.path for one in report.documents] == ["case-9", "sessions/chat-1"]
        assert await texts(store, "user:counsel", "file") == ["x"]
        assert await texts(store, USER, "sessions/case-9") == ["x"]

    async def test_what_is_written_after_it_was_looked_at_is_never_erased(
        self, store: Ageing, clock: ControlledClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for path in ("a", "deleted", "mended", "moved"):
            await store.write(USER, path, path)
        await store.write(USER, "revived", "first")
        await store.delete(USER, "revived")
        look = store.aged_documents_page

        async def look_before_others_write(*arguments: Any, **options: Any) -> object:
            page = await look(*arguments, **options)
            await store.write(USER, "mended", "newer")
            await store.write(USER, "revived", "newer")
            await store.delete(USER, "deleted")
            await store.rename(USER, "moved", "there")
            return page

        monkeypatch.setattr(store, "aged_documents_page", look_before_others_write)
        report = await run_expiry(store, clock)
        assert [one.path for one in report.documents] == ["a"]
        assert [(one.path, one.reason) for one in report.kept] == [
            (path, "changed underneath") for path in ("deleted", "mended", "moved", "revived")
        ]
        assert await texts(store, USER, "mended") == ["mended", "newer"]
        assert await texts(store, USER, "revived") == ["first", "first", "newer"]
        assert await texts(store, USER, "there") == ["moved"]

    async def test_more_than_a_page_goes_in_one_run(
        self, store: Ageing, clock: ControlledClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("commonhold.usecases.upkeep.expirations.PAGE_SIZE", 2)
        for number in range(5):
            await store.write(USER, f"n{number}", "x")
        report = await run_expiry(store, clock)
        assert [one.path for one in report.documents] == [f"n{number}" for number in range(5)]
        assert (await run_expiry(store, clock)).documents == ()

    async def test_under_a_claim_that_is_lost_nothing_more_is_erased(
        self, store: Ageing, clock: ControlledClock
    ) -> None:
        await store.write(USER, "old", "x")
        claim = await store.claims.acquire(["retention"], holder="a", lease_seconds=1)
        assert claim is not None
        view = store.guarded(fence=claim)
        await store.claims.release(claim)
        with pytest.raises(ClaimLostError):
            await run_expiry(store, clock, acts=view)
        assert await texts(store, USER, "old") == ["x"]
        again = await store.claims.acquire(["retention"], holder="b", lease_seconds=1)
        report = await run_expiry(store, clock, acts=store.guarded(fence=again))
        assert report.documents == (DocumentName(USER, "old"),)

    async def test_under_a_key_an_erasure_happens_once(self, store: Ageing) -> None:
        await store.write(USER, "old", "x")
        view = store.guarded(key=IdempotencyKey("cli:a", "k"), digest=b"d")
        for _ in range(2):
            await view.redact_if(USER, "old", expected_version=1)
        assert len(await store.redactions(USER)) == 1
