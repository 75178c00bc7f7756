"""Transfers between stores: what moves, in which order, and what stops them."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from commonhold.adapters.file import FileStore
from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance.archives import conversation_archive, scope_archive, version
from commonhold.conformance.samples import SCOPE, THREAD, says
from commonhold.contract import (
    ConfigurationError,
    ConversationArchive,
    ConversationConflictError,
    ConversationIdInvalidError,
    ConversationRedaction,
    MemoryConflictError,
    MemoryDocument,
    ScopeArchive,
    ScopeInvalidError,
    StoreUnavailableError,
)
from commonhold.usecases.transfers.archives import (
    archive_conversation,
    archive_scope,
)
from commonhold.usecases.transfers.transfers import transfer
from commonhold.usecases.transfers.units import Choice, Unit
from tests.support.plain_store import PlainStore
from tests.support.planting import PlantsInMemory


class Refusing(InMemoryStore):
    """A target with one fault, which the name of a unit sets off."""

    def __init__(self, fault: Exception) -> None:
        super().__init__()
        self._fault = fault

    async def restore_scope(self, archive: ScopeArchive) -> None:
        if archive.scope == SCOPE:
            raise self._fault
        await super().restore_scope(archive)


class Forgetful(InMemoryStore):
    """A target without a bottom."""

    async def restore_scope(self, archive: ScopeArchive) -> None:
        pass


class Unsnapped(PlainStore):
    """Reads alone, as a store has them that archives nothing and erases turns."""

    def __init__(self, *, most_acts: int = 10**10) -> None:
        super().__init__()
        self._most_acts = most_acts

    @property
    def inner(self) -> InMemoryStore:
        return self._inner

    async def redact_turns(self, conversation_id: str, **options: Any) -> int:
        return await self._inner.redact_turns(conversation_id, **options)

    async def turn_redactions(
        self, *, conversations: Sequence[str] | None = None, since: Any = None, limit: int = 50
    ) -> tuple[ConversationRedaction, ...]:
        if limit > self._most_acts:
            raise ValueError("the wire answers no more")
        return await self._inner.turn_redactions(conversations=conversations, limit=limit)


class FailsOnce(PlainStore):
    """Reads that take a while, but for the one of `a`, which fails at once."""

    running = 0

    async def read(self, scope: str, path: str) -> MemoryDocument | None:
        if path == "a":
            raise StoreUnavailableError("away")
        self.running += 1
        await asyncio.sleep(0.01)
        self.running -= 1
        return await super().read(scope, path)


@pytest.fixture
async def source() -> InMemoryStore:
    store = InMemoryStore()
    await store.restore_scope(scope_archive())
    await store.restore_conversation(conversation_archive())
    await store.write("user:Bob", "a", "of another scope")
    await store.append_turn("Another", [says("x")])
    return store


@pytest.fixture(params=["memory", "files"])
async def target(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    if request.param == "memory":
        yield InMemoryStore()
        return
    async with FileStore(tmp_path / "archive") as store:
        yield store


async def test_everything_moves_verbatim_scopes_first_in_order(
    source: InMemoryStore, target: Any
) -> None:
    started: list[tuple[Unit, ...]] = []
    moved: list[str] = []
    report = await transfer(
        source,
        target,
        started=started.append,
        moved=lambda one: moved.append(str(one.unit)),
    )
    expected = [
        "scope user:Bob",
        f"scope {SCOPE}",
        "conversation Another",
        f"conversation {THREAD}",
    ]
    assert ([str(unit) for unit in started[0]], moved) == (expected, expected)
    assert await _whole(target) == await _whole(source)
    by_name = {str(one.unit): one for one in report.units}
    scope, conversation = by_name[f"scope {SCOPE}"], by_name[f"conversation {THREAD}"]
    assert (scope.documents, scope.versions, scope.redactions) == (2, 5, 2)
    counts = (conversation.turns, conversation.projections, conversation.redactions)
    assert counts == (3, 3, 2)


async def test_what_is_named_moves_alone(source: InMemoryStore, target: Any) -> None:
    await transfer(source, target, choice=Choice(scopes=(SCOPE, SCOPE)))
    assert (await target.scopes(), await target.conversations()) == ((SCOPE,), ())
    await transfer(source, target, choice=Choice(conversations=(THREAD,)))
    assert (await target.scopes(), await target.conversations()) == ((SCOPE,), (THREAD,))


async def test_a_named_unit_that_is_not_there_is_reported_and_not_made(
    source: InMemoryStore, target: Any
) -> None:
    choice = Choice(scopes=("user:nobody",), conversations=("nobody",))
    report = await transfer(source, target, choice=choice)
    assert [one.is_empty for one in report.units] == [True, True]
    assert (await target.scopes(), await target.conversations()) == ((), ())


@pytest.mark.parametrize("choice", [Choice(scopes=("no scope",)), Choice(conversations=("a/b",))])
async def test_a_bad_name_is_refused_before_anything(choice: Choice) -> None:
    with pytest.raises((ScopeInvalidError, ConversationIdInvalidError)):
        await transfer(InMemoryStore(), InMemoryStore(), choice=choice)


async def test_a_taken_scope_is_found_before_anything_is_written(
    source: InMemoryStore, target: Any
) -> None:
    await target.write(SCOPE, "a", "mine")
    with pytest.raises(MemoryConflictError) as refusal:
        await transfer(source, target)
    assert (refusal.value.scope, refusal.value.reason) == (SCOPE, "target_occupied")
    assert (await target.scopes(), await target.conversations()) == ((SCOPE,), ())


@pytest.mark.parametrize("taken_by", ["turn", "trail"])
async def test_a_taken_conversation_is_found_before_anything_is_written(
    source: InMemoryStore, target: Any, taken_by: str
) -> None:
    if taken_by == "turn":
        await target.append_turn(THREAD, [says("mine")])
    else:
        trail = conversation_archive().redactions
        archive = ConversationArchive(conversation_id=THREAD, redactions=trail)
        await target.restore_conversation(archive)
    with pytest.raises(ConversationConflictError) as refusal:
        await transfer(source, target)
    assert refusal.value.conversation_id == THREAD
    assert await target.scopes() == ()


async def test_a_unit_that_does_not_fit_is_named_and_the_others_go_on(
    source: InMemoryStore,
) -> None:
    fault = ValueError("request body exceeds 67108864 bytes")
    target = Refusing(fault)
    report = await transfer(source, target)
    assert [(str(one.unit), one.error) for one in report.failed] == [
        (f"scope {SCOPE}", "request body exceeds 67108864 bytes")
    ]
    assert len(report.units) == 4
    assert await target.scopes() == ("user:Bob",)


async def test_what_no_directory_can_hold_is_named(source: InMemoryStore, tmp_path: Path) -> None:
    for path in ("a", "a.md/b"):
        await source.write("user:clash", path, "x")
    async with FileStore(tmp_path / "archive") as files:
        report = await transfer(source, files)
        assert "user:clash" not in await files.scopes()
    (failed,) = report.failed
    assert str(failed.unit) == "scope user:clash"
    assert failed.error is not None
    assert failed.error.startswith("[memory_conflict] Memory conflict on 'a.md/b'")
    assert "layout_clash" in failed.error
    assert "user%3Aclash/documents/a.md/b.md" in failed.error


async def test_what_cannot_be_read_is_named(source: InMemoryStore) -> None:
    await PlantsInMemory().plant_newer_document(source, SCOPE, "a")
    await PlantsInMemory().plant_newer_turn(source, THREAD, 1)
    target = InMemoryStore()
    report = await transfer(source, target)
    codes = [str(one.error).partition("]")[0] for one in report.failed]
    assert codes == ["[memory_format_unsupported", "[agent_conversation_format_unsupported"]
    assert (await target.scopes(), await target.conversations()) == (("user:Bob",), ("Another",))


@pytest.mark.parametrize(
    "fault",
    [
        StoreUnavailableError("away"),
        MemoryConflictError(scope=SCOPE, path=None, reason="target_occupied"),
    ],
)
async def test_a_store_that_is_away_and_a_place_taken_meanwhile_stop_the_transfer(
    source: InMemoryStore, fault: Exception
) -> None:
    target = Refusing(fault)
    with pytest.raises(type(fault)):
        await transfer(source, target)
    assert (await target.scopes(), await target.conversations()) == (("user:Bob",), ())


async def test_units_of_a_store_that_lists_none_must_be_named() -> None:
    source, target = PlainStore(), InMemoryStore()
    await source.write(SCOPE, "a", "x")
    with pytest.raises(ConfigurationError, match="name scopes or conversations"):
        await transfer(source, target)
    await transfer(source, target, choice=Choice(scopes=(SCOPE,)))
    assert await target.read(SCOPE, "a") == await source.read(SCOPE, "a")


async def test_a_store_without_snapshots_is_put_together_from_its_reads() -> None:
    store = Unsnapped()
    await store.inner.restore_scope(scope_archive())
    await store.inner.restore_conversation(conversation_archive())
    for path in ("m", "n/o", "p", "q", "r", "s", "t", "u", "v"):
        await store.write(SCOPE, path, path)
    assert await archive_scope(store, SCOPE) == await store.inner.archive_scope(SCOPE)
    assert await archive_conversation(store, THREAD) == conversation_archive()


async def test_a_read_that_fails_leaves_none_running() -> None:
    """Whoever asked may close the store next."""
    store = FailsOnce()
    for path in ("a", "b", "c"):
        await store.write(SCOPE, path, path)
    with pytest.raises(StoreUnavailableError, match="away"):
        await archive_scope(store, SCOPE)
    assert store.running == 0


async def test_a_trail_beyond_a_page_is_asked_for_whole_or_named() -> None:
    for most_acts, whole in ((10**10, True), (500, False)):
        store = Unsnapped(most_acts=most_acts)
        await store.append_turn(THREAD, [says("x")])
        for _ in range(501):
            await store.redact_turns(THREAD)
        report = await transfer(store, InMemoryStore(), choice=Choice(conversations=(THREAD,)))
        (one,) = report.units
        assert one.redactions == (501 if whole else 0)
        assert (one.error is None) is whole
        assert whole or "longer than the 500 acts" in str(one.error)


async def test_the_versions_of_an_archive_are_by_path_and_number() -> None:
    store = Unsnapped()
    archive = ScopeArchive(scope=SCOPE, versions=tuple(version("b", n) for n in (2, 10, 1)))
    await store.inner.restore_scope(msgspec.structs.replace(archive))
    assert [row.version for row in (await archive_scope(store, SCOPE)).versions] == [1, 2, 10]


async def test_no_more_than_a_unit_is_held_at_a_time(tmp_path: Path) -> None:
    class Endless(InMemoryStore):
        async def scopes(self) -> tuple[str, ...]:
            return tuple(f"user:s{number:02}" for number in range(20))

        async def archive_scope(self, scope: str) -> ScopeArchive:
            rows = tuple(version("a", n, content=f"{scope}{n}" + "x" * 2**17) for n in range(1, 17))
            return ScopeArchive(scope=scope, versions=rows)

    # 2 MiB a unit and 40 in all, into files and out of them again.
    tracemalloc.start()
    try:
        async with FileStore(tmp_path / "archive") as files:
            report = await transfer(Endless(), files)
            _, gone = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            returned = await transfer(files, Forgetful())
            _, came = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [len(report.units), len(returned.units)] == [20, 20]
    assert max(gone, came) < 16 * 2**20


async def _whole(store: Any) -> list[Any]:
    scopes = [await archive_scope(store, name) for name in await store.scopes()]
    names = await store.conversations()
    return [repr(one) for one in (*scopes, *[await archive_conversation(store, n) for n in names])]
