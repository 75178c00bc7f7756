"""The kit of creation, deletion and renaming by version (docs/reference/stores.md, section 15)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

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
from commonhold.contract.documents import MemoryDocument, MemoryVersion
from commonhold.contract.errors import (
    MemoryConflictError,
    MemoryFormatError,
    PathInvalidError,
    ScopeInvalidError,
)
from commonhold.contract.stores import Conditional, MemoryStore, Witness

MOVED = "moved"
THIRD_PATH = "notes/c"
WRONG_VERSIONS = (1, 3, 0, -1, *HUGE_NUMBERS)


class ConditionalStore(MemoryStore, Conditional, Protocol):
    """What the kit needs of a store."""


Act: TypeAlias = Callable[..., Awaitable[object]]


def _deletion(
    store: Conditional, expected: int, witnesses: Sequence[Witness] = ()
) -> Awaitable[object]:
    return store.delete_if(SCOPE, PATH, expected_version=expected, witnesses=witnesses)


def _renaming(
    store: Conditional, expected: int, witnesses: Sequence[Witness] = ()
) -> Awaitable[object]:
    return store.rename_if(SCOPE, PATH, MOVED, expected_version=expected, witnesses=witnesses)


both = pytest.mark.parametrize("act", [_deletion, _renaming], ids=["delete_if", "rename_if"])


class ConditionalContract(StoreSubject):
    """What every Conditional store does.

    A subclass gives the fixture `store` and the hook `plant_newer_document`.
    """

    async def test_the_store_is_conditional(self, store: ConditionalStore) -> None:
        rule = Rule("3", "every method of Conditional is there")
        rule.holds(isinstance(store, Conditional), store)

    async def test_an_absent_document_is_created(
        self, store: ConditionalStore, clock: ControlledClock
    ) -> None:
        rule = Rule("15", "create_if_absent writes as write does where nothing is live")
        for number in (1, 3):
            now = clock.next_reading
            made = await store.create_if_absent(SCOPE, PATH, f"v{number}", actor="conv:x")
            expected = MemoryDocument(
                scope=SCOPE,
                path=PATH,
                content=f"v{number}",
                version=number,
                created_at=now,
                updated_at=now,
                actor=self.recorded_actor("conv:x"),
            )
            rule.equal(made, expected)
            rule.equal(await store.read(SCOPE, PATH), expected)
            row = (await store.versions(SCOPE, PATH))[0]
            rule.equal((row.version, row.action, row.content), (number, "created", f"v{number}"))
            await store.delete(SCOPE, PATH)
        await store.redact(SCOPE, path=PATH)
        rule.equal((await store.create_if_absent(SCOPE, PATH, "clean")).redacted, False)

    async def test_a_live_document_is_not_created_again(self, store: ConditionalStore) -> None:
        rule = Rule("15", "create_if_absent over a live document is a destination_exists")
        await self._write_twice(store)
        await store.write(SCOPE, OTHER_PATH, "")
        await store.redact(SCOPE, path=OTHER_PATH)
        before = await store.history(SCOPE)
        for path in (PATH, OTHER_PATH):
            with rule.refuses(MemoryConflictError, path=path, reason="destination_exists"):
                await store.create_if_absent(SCOPE, path, "two")
        rule.equal(await store.history(SCOPE), before)

    async def test_of_racing_creations_one_succeeds(self, store: ConditionalStore) -> None:
        rule = Rule("15", "of racing creations of one path one succeeds")
        for number in range(ROUNDS):
            results = await asyncio.gather(
                *(store.create_if_absent(SCOPE, PATH, f"{racer}") for racer in range(4)),
                return_exceptions=True,
            )
            lost = [result for result in results if isinstance(result, MemoryConflictError)]
            reasons = [error.reason for error in lost]
            rule.equal((number, reasons), (number, ["destination_exists"] * 3))
            await store.delete(SCOPE, PATH)

    async def test_the_expected_version_is_deleted(
        self, store: ConditionalStore, clock: ControlledClock
    ) -> None:
        rule = Rule("15", "delete_if deletes as delete does and answers the number of the row")
        await self._write_twice(store)
        now = clock.next_reading
        rule.equal(await store.delete_if(SCOPE, PATH, expected_version=2, actor="conv:x"), 3)
        rule.equal(await store.read(SCOPE, PATH), None)
        row = MemoryVersion(
            path=PATH,
            version=3,
            action="deleted",
            content="two",
            actor=self.recorded_actor("conv:x"),
            created_at=now,
        )
        rule.equal((await store.versions(SCOPE, PATH))[0], row)

    async def test_the_expected_version_is_renamed(
        self, store: ConditionalStore, clock: ControlledClock
    ) -> None:
        rule = Rule("15", "rename_if renames as rename does")
        await self._write_twice(store)
        now = clock.next_reading
        moved = await store.rename_if(SCOPE, PATH, MOVED, expected_version=2, actor="conv:x")
        expected = MemoryDocument(
            scope=SCOPE,
            path=MOVED,
            content="two",
            version=1,
            created_at=now,
            updated_at=now,
            actor=self.recorded_actor("conv:x"),
        )
        rule.equal(moved, expected)
        rule.equal(await store.read(SCOPE, MOVED), expected)
        rule.equal(await store.read(SCOPE, PATH), None)
        rows = [(row.path, row.action, row.version) for row in await store.history(SCOPE, limit=2)]
        rule.equal(rows, [(MOVED, "created", 1), (PATH, "deleted", 3)])

    @both
    async def test_another_version_is_refused_without_effect(
        self, store: ConditionalStore, act: Act
    ) -> None:
        rule = Rule("15", "a live document of another version is a version_mismatch")
        await self._write_twice(store)
        before = await store.history(SCOPE)
        for expected in WRONG_VERSIONS:
            with rule.refuses(
                MemoryConflictError,
                path=PATH,
                reason="version_mismatch",
                expected_version=expected,
                actual_version=2,
            ):
                await act(store, expected)
        rule.equal(await store.history(SCOPE), before)

    @both
    async def test_an_absent_document_is_refused(self, store: ConditionalStore, act: Act) -> None:
        rule = Rule("15", "a document that is not live is a document_absent, whatever is expected")
        for expected in (0, 1):
            with rule.refuses(
                MemoryConflictError,
                path=PATH,
                reason="document_absent",
                expected_version=expected,
                actual_version=None,
            ):
                await act(store, expected)
        await self._write_twice(store)
        await store.delete(SCOPE, PATH)
        before = await store.history(SCOPE)
        with rule.refuses(MemoryConflictError, path=PATH, reason="document_absent"):
            await act(store, 3)
        rule.equal(await store.history(SCOPE), before)

    async def test_a_live_destination_is_refused(self, store: ConditionalStore) -> None:
        rule = Rule("15", "a live dst is a destination_exists, src itself included")
        await self._write_twice(store)
        await store.write(SCOPE, MOVED, "there")
        before = await store.history(SCOPE)
        for dst in (MOVED, PATH):
            with rule.refuses(MemoryConflictError, path=dst, reason="destination_exists"):
                await store.rename_if(SCOPE, PATH, dst, expected_version=2)
        rule.equal(await store.history(SCOPE), before)

    @both
    async def test_standing_witnesses_change_nothing(
        self, store: ConditionalStore, act: Act
    ) -> None:
        rule = Rule("15", "with every witness live at its version the act happens")
        await self._write_twice(store)
        for path in (OTHER_PATH, THIRD_PATH):
            await store.write(SCOPE, path, path)
        witnesses = [(THIRD_PATH, 1), (OTHER_PATH, 1), (OTHER_PATH, 1), (PATH, 2)]
        await act(store, 2, witnesses)
        rule.equal(await store.read(SCOPE, PATH), None)
        for path in (OTHER_PATH, THIRD_PATH):
            rule.equal([row.version for row in await store.versions(SCOPE, path)], [1])

    @both
    async def test_a_changed_witness_is_refused_without_effect(
        self, store: ConditionalStore, act: Act
    ) -> None:
        rule = Rule("15", "a witness of another version is a version_mismatch on its path")
        await self._write_twice(store)
        await store.write(SCOPE, OTHER_PATH, "one")
        await store.write(SCOPE, THIRD_PATH, "one")
        await store.write(SCOPE, THIRD_PATH, "two")
        before = await store.history(SCOPE)
        for version in WRONG_VERSIONS:
            with rule.refuses(
                MemoryConflictError,
                path=THIRD_PATH,
                reason="version_mismatch",
                expected_version=version,
                actual_version=2,
            ):
                await act(store, 2, [(OTHER_PATH, 1), (THIRD_PATH, version)])
        rule.equal(await store.history(SCOPE), before)

    @both
    async def test_a_witness_that_is_gone_is_refused(
        self, store: ConditionalStore, act: Act
    ) -> None:
        rule = Rule("15", "a witness that is not live in the scope is a document_absent")
        await self._write_twice(store)
        await store.write(OTHER_SCOPE, NEVER_WRITTEN, "in another scope")
        await store.write(SCOPE, OTHER_PATH, "one")
        await store.delete(SCOPE, OTHER_PATH)
        before = await store.history(SCOPE)
        for path in (NEVER_WRITTEN, OTHER_PATH):
            for version in (1, 2):
                with rule.refuses(
                    MemoryConflictError,
                    path=path,
                    reason="document_absent",
                    expected_version=version,
                    actual_version=None,
                ):
                    await act(store, 2, [(path, version)])
        rule.equal(await store.history(SCOPE), before)

    async def test_the_document_is_judged_before_its_witnesses(
        self, store: ConditionalStore
    ) -> None:
        rule = Rule("15", "refusals in order: the document, the destination, the witnesses")
        await self._write_twice(store)
        await store.write(SCOPE, MOVED, "there")
        gone = [(NEVER_WRITTEN, 1)]
        for act in (_deletion, _renaming):
            with rule.refuses(MemoryConflictError, path=PATH, reason="version_mismatch"):
                await act(store, 1, gone)
        with rule.refuses(MemoryConflictError, path=MOVED, reason="destination_exists"):
            await _renaming(store, 2, gone)
        with rule.refuses(MemoryConflictError, path=NEVER_WRITTEN, reason="document_absent"):
            await _deletion(store, 2, [*gone, (OTHER_PATH, 1)])

    async def test_a_refusal_leaves_no_trace_of_a_path(self, store: ConditionalStore) -> None:
        rule = Rule("15", "a refused rename leaves nothing at its destination")
        await self._write_twice(store)
        with rule.refuses(MemoryConflictError, reason="document_absent"):
            await _renaming(store, 2, [(NEVER_WRITTEN, 1)])
        rule.equal(await store.redact(SCOPE, path=MOVED), 0)
        rule.equal(await store.redact(SCOPE), 1)

    async def test_a_newer_document_is_refused_before_its_version(
        self, store: ConditionalStore
    ) -> None:
        rule = Rule("15", "a document of an unsupported format is refused, whatever is expected")
        await self._write_twice(store)
        await self.plant_newer_document(store, SCOPE, PATH)
        for act in (_deletion, _renaming):
            with rule.refuses(MemoryFormatError, path=PATH):
                await act(store, 7)

    async def test_bad_names_are_refused_in_order(self, store: ConditionalStore) -> None:
        rule = Rule("15", "refused in order: the scope, the path, the witnesses' paths, the actor")
        for scope in BAD_SCOPES:
            with rule.refuses(ScopeInvalidError, scope=scope):
                await store.create_if_absent(scope, "/", "\ud800")
            with rule.refuses(ScopeInvalidError, scope=scope):
                await store.delete_if(scope, "/", expected_version=1)
            with rule.refuses(ScopeInvalidError, scope=scope):
                await store.rename_if(scope, "/", "/", expected_version=1)
        for path in BAD_PATHS:
            witnesses = [(OTHER_PATH, 1), (path, 1)]
            with rule.refuses(PathInvalidError, path=path):
                await store.create_if_absent(SCOPE, path, "\ud800")
            with rule.refuses(PathInvalidError, path=path):
                await store.delete_if(SCOPE, path, expected_version=1, witnesses=[("//", 1)])
            with rule.refuses(PathInvalidError, path=path):
                await store.rename_if(SCOPE, PATH, path, expected_version=1, witnesses=[("//", 1)])
            for act in (_deletion, _renaming):
                with rule.refuses(PathInvalidError, path=path):
                    await act(store, 1, witnesses)

    @pytest.mark.parametrize("text", UNSTORABLE_TEXTS, ids=["nul", "surrogate"])
    async def test_an_actor_that_cannot_be_kept_is_refused_whole(
        self, store: ConditionalStore, text: str
    ) -> None:
        rule = Rule("4", "an actor that cannot be kept is refused before anything is written")
        await self._write_twice(store)
        before = await store.history(SCOPE)
        with rule.refuses(ValueError, saying="actor"):
            await store.create_if_absent(SCOPE, MOVED, "x", actor=text)
        with rule.refuses(ValueError, saying="content"):
            await store.create_if_absent(SCOPE, MOVED, text, actor=text)
        with rule.refuses(ValueError, saying="actor"):
            await store.delete_if(SCOPE, PATH, expected_version=2, actor=text)
        with rule.refuses(ValueError, saying="actor"):
            await store.rename_if(SCOPE, PATH, MOVED, expected_version=2, actor=text)
        rule.equal(await store.history(SCOPE), before)

    @both
    async def test_a_racing_write_is_never_lost(self, store: ConditionalStore, act: Act) -> None:
        rule = Rule("15", "of a writer and an act that expect one version exactly one succeeds")
        for number in range(ROUNDS):
            live = await store.write(SCOPE, PATH, "start")
            writer = store.write(SCOPE, PATH, "newer", expected_version=live.version)
            ours = act(store, live.version)
            racers = (writer, ours) if number % 2 else (ours, writer)
            results = await asyncio.gather(*racers, return_exceptions=True)
            lost = [result for result in results if isinstance(result, MemoryConflictError)]
            rule.equal((number, len(lost)), (number, 1))
            document = await store.read(SCOPE, PATH)
            is_written = document is not None and document.content == "newer"
            is_ours = document is None and lost[0].reason == "document_absent"
            rule.holds(is_written or is_ours, (document, lost))
            await store.delete(SCOPE, MOVED)

    async def test_of_two_copies_that_vouch_for_each_other_one_goes(
        self, store: ConditionalStore
    ) -> None:
        rule = Rule("15", "witnesses are locked too: a copy goes only while the other stands")
        for _ in range(ROUNDS):
            versions = {}
            for path in (PATH, OTHER_PATH):
                versions[path] = (await store.write(SCOPE, path, "same")).version
            deletions = (
                store.delete_if(
                    SCOPE,
                    path,
                    expected_version=versions[path],
                    witnesses=[(keeper, versions[keeper])],
                )
                for path, keeper in ((PATH, OTHER_PATH), (OTHER_PATH, PATH))
            )
            results = await asyncio.wait_for(
                asyncio.gather(*deletions, return_exceptions=True), timeout=30
            )
            lost = [result for result in results if isinstance(result, MemoryConflictError)]
            rule.equal([error.reason for error in lost], ["document_absent"])
            rule.equal(len(await store.list_documents(SCOPE)), 1)

    async def test_a_chain_of_witnesses_ends(self, store: ConditionalStore) -> None:
        rule = Rule("13", "locks of several rows are taken in key order: no circle waits for ever")
        paths = [f"ring/{number}" for number in range(5)]
        for _ in range(ROUNDS):
            live = {path: (await store.write(SCOPE, path, "x")).version for path in paths}
            acts: list[Awaitable[object]] = []
            for path, witness in zip(paths, [*paths[1:], paths[0]], strict=True):
                witnesses = [(witness, live[witness])]
                acts.append(
                    store.delete_if(SCOPE, path, expected_version=live[path], witnesses=witnesses)
                )
                acts.append(
                    store.rename_if(
                        SCOPE, path, MOVED, expected_version=live[path], witnesses=witnesses
                    )
                )
            results = await asyncio.wait_for(
                asyncio.gather(*acts, return_exceptions=True), timeout=30
            )
            for result in results:
                rule.holds(isinstance(result, int | MemoryDocument | MemoryConflictError), result)
            rule.holds(await store.list_documents(SCOPE), "every copy went")
            for entry in await store.list_documents(SCOPE):
                await store.delete(SCOPE, entry.path)

    async def _write_twice(self, store: ConditionalStore) -> None:
        await store.write(SCOPE, PATH, "one")
        await store.write(SCOPE, PATH, "two")
