"""Retention over stores that can do some of it, and under a claim."""

from datetime import timedelta

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock
from commonhold.contract import ClaimLostError, ConfigurationError, Message, StoreUnavailableError
from commonhold.usecases.upkeep.erasures import redact_conversation
from commonhold.usecases.upkeep.passes import maintain
from commonhold.usecases.upkeep.prunes import prune
from tests.support.upkeep.gardens import NOW, USER, GardenCases, garden


class Unlisted(InMemoryStore):
    """A store that cannot enumerate itself."""

    scopes = None  # type: ignore[assignment]  # what it lacks


class Refusing(InMemoryStore):
    """A store that does not let this caller enumerate it."""

    async def scopes(self) -> tuple[str, ...]:
        raise ConfigurationError("this token's allowance does not reach the whole store")


async def one_turn(store: InMemoryStore) -> None:
    await store.append_turn("chat-1", [Message(role="user", content="x")])
    await store.write(USER, "sessions/chat-1", "x")


class TestRetention(GardenCases):
    @pytest.mark.parametrize("kind", [Unlisted, Refusing])
    async def test_turns_are_erased_where_sessions_cannot_be_found_and_it_says_so(
        self, kind: type[InMemoryStore], clock: ControlledClock
    ) -> None:
        store = kind(clock=clock)
        await one_turn(store)
        erasure = await redact_conversation(store, "chat-1")
        assert (erasure.count, erasure.documents) == (1, ())
        assert "the documents under sessions/ were not erased: " in (erasure.unfinished or "")
        assert (await store.read_turns("chat-1"))[0].redacted

    async def test_a_store_that_cannot_enumerate_is_not_pruned(
        self, clock: ControlledClock
    ) -> None:
        store = Unlisted(clock=clock)
        await one_turn(store)
        clock.set(NOW)
        with pytest.raises(ConfigurationError, match="cannot enumerate"):
            await prune(store, older_than=timedelta(days=1), clock=clock)
        assert not (await store.read_turns("chat-1"))[0].redacted
        assert await store.turn_redactions() == ()

    async def test_whose_claim_is_lost_erases_and_deletes_nothing_more(
        self, store: InMemoryStore, clock: ControlledClock
    ) -> None:
        await one_turn(store)
        await store.write(USER, "empty", "")
        claim = await store.claims.acquire([USER], holder="a", lease_seconds=1)
        assert claim is not None
        view = store.guarded(fence=claim)
        await store.claims.release(claim)
        clock.set(NOW)
        with pytest.raises(ClaimLostError):
            await prune(store, older_than=timedelta(days=1), clock=clock, acts=view)
        with pytest.raises(ClaimLostError):
            await maintain(store, garden(), clock=clock, acts=view)
        assert not (await store.read_turns("chat-1"))[0].redacted
        assert await store.read(USER, "empty") is not None

    async def test_whose_claim_is_lost_erases_no_document_of_a_session(
        self, store: InMemoryStore, clock: ControlledClock
    ) -> None:
        await one_turn(store)
        await store.redact_turns("chat-1")
        claim = await store.claims.acquire([USER], holder="a", lease_seconds=1)
        assert claim is not None
        view = store.guarded(fence=claim)
        await store.claims.release(claim)
        clock.set(NOW)
        with pytest.raises(ClaimLostError):
            await prune(store, older_than=timedelta(days=1), clock=clock, acts=view)
        assert await store.redactions(USER) == ()

    async def test_under_a_claim_that_stands_everything_is_done(
        self, store: InMemoryStore, clock: ControlledClock
    ) -> None:
        await one_turn(store)
        await store.write(USER, "empty", "")
        claim = await store.claims.acquire([USER], holder="a", lease_seconds=1)
        view = store.guarded(fence=claim)
        clock.set(NOW)
        report = await maintain(store, garden(), clock=clock, acts=view)
        assert [write.path for write in report.writes] == ["/user/empty"]
        assert report.fence == "conditional"
        pruned = await prune(store, older_than=timedelta(days=1), clock=clock, acts=view)
        assert (pruned.turns, len(pruned.documents)) == (1, 1)

    async def test_a_mount_that_fails_does_not_stop_the_others(
        self, store: InMemoryStore, clock: ControlledClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await store.write(USER, "empty", "")
        await store.write("project:erp", "empty", "")
        digest = store.digest_documents_page

        async def fail(scope: str, **options: object) -> object:
            if scope == USER:
                raise StoreUnavailableError("gone")
            return await digest(scope, **options)  # type: ignore[arg-type]  # as it was called

        monkeypatch.setattr(store, "digest_documents_page", fail)
        clock.set(NOW)
        report = await maintain(store, garden(), clock=clock)
        assert [write.path for write in report.writes] == ["/project/empty"]
        assert [(one.path, one.reason) for one in report.failed] == [("/user", "store_unavailable")]
        assert not report.is_whole
