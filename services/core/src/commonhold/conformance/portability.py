"""The kit of whole units out and in (docs/reference/stores.md, section 9; wire.md, section 8)."""

import asyncio

import msgspec
import pytest

from commonhold.conformance.archives import (
    EAST,
    EXTRA,
    FUTURE,
    MOMENT,
    act,
    conversation_archive,
    document,
    erased,
    scope_archive,
    turn,
    version,
)
from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.portability_extras import RestoreExtraSlice
from commonhold.conformance.portability_refusals import PortableStore, RestoreRefusalSlice
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import OTHER_THREAD, PATH, SCOPE, SUB_SCOPE, THREAD, says
from commonhold.contract.documents import ScopeArchive
from commonhold.contract.errors import ConversationConflictError, MemoryConflictError
from commonhold.contract.stores import Portable
from commonhold.contract.turns import ConversationArchive, ConversationProjection


class PortableContract(RestoreRefusalSlice, RestoreExtraSlice):
    """What every Portable store does. A subclass gives the fixture `store`."""

    async def test_the_store_is_portable(self, store: PortableStore) -> None:
        Rule("3", "every method of Portable is there").holds(isinstance(store, Portable), store)

    async def test_a_new_store_lists_no_units(self, store: PortableStore) -> None:
        rule = Rule("9", "an empty store has no scopes and no conversations")
        rule.equal((await store.scopes(), await store.conversations()), ((), ()))

    async def test_scopes_are_those_that_hold_anything(self, store: PortableStore) -> None:
        rule = Rule("9", "scopes: with a document, a version row or an act, sorted by code point")
        for scope in ("u:b", "u:B", "u:_", "u:a/p:x", "u:a"):
            await store.write(scope, PATH, "x")
        await store.delete("u:b", PATH)
        await store.read("u:read-only", PATH)
        await store.redact("u:never")
        await store.delete("u:never", PATH)
        await store.restore_scope(ScopeArchive(scope="u:acts", redactions=(act(None),)))
        await store.restore_scope(ScopeArchive(scope="u:rows", versions=(version("a", 1),)))
        await store.restore_scope(ScopeArchive(scope="u:docs", documents=(document("a", 1),)))
        expected = ["u:B", "u:_", "u:a", "u:a/p:x", "u:acts", "u:b", "u:docs", "u:rows"]
        rule.equal(await store.scopes(), tuple(expected))

    async def test_conversations_are_those_with_turns_or_projections(
        self, store: PortableStore
    ) -> None:
        rule = Rule("9", "conversations: with a turn or a projection, sorted by code point")
        for name in ("b", "B", "_", "a.b", "a"):
            await store.append_turn(name, [says("x")])
        await store.redact_turns("b")
        await store.append_projections("p", [ConversationProjection(turn=1, kind="log", text="x")])
        await store.append_projections("none", [])
        await store.read_turns("read-only")
        trail = ConversationArchive(conversation_id="trail", redactions=(erased(1),))
        await store.restore_conversation(trail)
        expected = ("B", "_", "a", "a.b", "b", "p")
        rule.equal(await store.conversations(), expected)

    async def test_a_scope_lands_verbatim(self, store: PortableStore) -> None:
        rule = Rule("9", "all rows land verbatim: numbers, stamps, actors, extra")
        archive = scope_archive()
        await store.restore_scope(archive)
        rule.equal(await _exported_scope(store, SCOPE), archive)
        for row in archive.documents:
            rule.equal(await store.read(SCOPE, row.path), row)
        rule.equal(await store.read(SCOPE, "gone"), None)
        found = await store.read(SCOPE, "a")
        rule.equal(found and dict(found.extra), EXTRA)

    async def test_a_conversation_lands_verbatim(self, store: PortableStore) -> None:
        rule = Rule("9", "all rows land verbatim: numbers, stamps, actors, messages")
        archive = conversation_archive()
        await store.restore_conversation(archive)
        rule.equal(await _exported_conversation(store, THREAD), archive)
        rule.equal(await store.last_turn_number(THREAD), 3)

    async def test_what_was_exported_can_be_restored_elsewhere(self, store: PortableStore) -> None:
        rule = Rule("9", "a unit read whole and restored under another name is the same unit")
        await store.write(SCOPE, "a", "one", actor="x")
        await store.write(SCOPE, "a", "two")
        await store.rename(SCOPE, "a", "b")
        await store.redact(SCOPE, path="b")
        await store.append_turn(THREAD, [says("one")], actor="x")
        await store.append_turn(THREAD, [says("two")])
        await store.redact_turns(THREAD, turns=[1])
        scope = await _exported_scope(store, SCOPE)
        conversation = await _exported_conversation(store, THREAD)
        await store.restore_scope(_replace(scope, scope=SUB_SCOPE))
        await store.restore_conversation(_replace(conversation, conversation_id=OTHER_THREAD))
        copy = await _exported_scope(store, SUB_SCOPE)
        rule.equal((copy.versions, copy.redactions), (scope.versions, scope.redactions))
        copied = await _exported_conversation(store, OTHER_THREAD)
        rule.equal(
            [(row.turn, row.messages, row.created_at, row.actor) for row in copied.turns],
            [(row.turn, row.messages, row.created_at, row.actor) for row in conversation.turns],
        )

    async def test_the_units_name_wins_over_its_rows(self, store: PortableStore) -> None:
        rule = Rule("9", "the scope of a document and the id of a turn in an archive are ignored")
        await store.restore_scope(_replace(scope_archive(), scope=SUB_SCOPE))
        found = await store.read(SUB_SCOPE, "a")
        rule.equal(found and found.scope, SUB_SCOPE)
        rule.equal(await store.read(SCOPE, "a"), None)
        archive = _replace(conversation_archive(), conversation_id=OTHER_THREAD)
        await store.restore_conversation(archive)
        names = {row.conversation_id for row in await store.read_turns(OTHER_THREAD)}
        names |= {row.conversation_id for row in await store.turn_redactions()}
        rule.equal(names, {OTHER_THREAD})
        rule.equal(await store.conversations(), (OTHER_THREAD,))

    async def test_stamps_are_normalised_to_utc(self, store: PortableStore) -> None:
        rule = Rule("9", "offsets are normalised to UTC")
        local = MOMENT.astimezone(EAST)
        await store.restore_scope(
            ScopeArchive(
                scope=SCOPE,
                documents=(_replace(document("a", 1), created_at=local, updated_at=local),),
                versions=(_replace(version("a", 1), created_at=local),),
                redactions=(_replace(act("a"), created_at=local),),
            )
        )
        await store.restore_conversation(
            ConversationArchive(
                conversation_id=THREAD,
                turns=(_replace(turn(1), created_at=local),),
                redactions=(_replace(erased(1), created_at=local),),
            )
        )
        found = await store.read(SCOPE, "a")
        stamps = [
            *([] if found is None else [found.created_at, found.updated_at]),
            *(row.created_at for row in await store.history(SCOPE)),
            *(row.created_at for row in await store.redactions(SCOPE)),
            *(row.created_at for row in await store.read_turns(THREAD)),
            *(row.created_at for row in await store.turn_redactions()),
        ]
        rule.equal(stamps, [MOMENT] * 6)
        rule.equal({stamp.utcoffset() for stamp in stamps}, {MOMENT.utcoffset()})

    async def test_searchable_text_is_rendered_again(self, store: PortableStore) -> None:
        rule = Rule("9", "restored turns are found by search, redacted ones are not")
        await store.restore_conversation(conversation_archive())
        rule.equal([row.turn for row in await store.search_turns("zog HELLO")], [1])
        rule.equal([row.turn for row in await store.search_turns("e")], [3, 1])

    @pytest.mark.parametrize(
        ("documents", "versions", "expected"),
        [((3,), (1, 2), 4), ((1,), (1, 7), 8), ((5,), (), 6), ((), (1, 2), 3)],
        ids=["document higher", "row higher", "no rows", "deleted"],
    )
    async def test_writes_continue_from_the_highest_number(
        self,
        store: PortableStore,
        documents: tuple[int, ...],
        versions: tuple[int, ...],
        expected: int,
    ) -> None:
        rule = Rule("9", "after a restore writes continue from max(rows, document version)")
        await store.restore_scope(
            ScopeArchive(
                scope=SCOPE,
                documents=tuple(document("a", number) for number in documents),
                versions=tuple(version("a", number) for number in versions),
            )
        )
        rows = await store.versions(SCOPE, "a")
        rule.equal([row.version for row in rows], sorted(versions, reverse=True))
        if documents:
            with rule.refuses(MemoryConflictError, actual_version=documents[0]):
                await store.write(SCOPE, "a", "y", expected_version=documents[0] + 1)
        rule.equal((await store.write(SCOPE, "a", "y")).version, expected)
        await store.delete(SCOPE, "a")
        rule.equal((await store.write(SCOPE, "a", "z")).version, expected + 2)

    async def test_turns_may_have_gaps_and_any_order(self, store: PortableStore) -> None:
        rule = Rule("8", "turns land by number, gaps stay, the next append is max + 1", "wire.md")
        archive = ConversationArchive(conversation_id=THREAD, turns=(turn(9), turn(4), turn(6)))
        await store.restore_conversation(archive)
        rule.equal([row.turn for row in await store.read_turns(THREAD)], [4, 6, 9])
        rule.equal(await store.last_turn_number(THREAD), 9)
        rule.equal((await store.append_turn(THREAD, [says("next")])).turn, 10)
        rule.equal([row.turn for row in await store.read_turns(THREAD, after=4, limit=2)], [6, 9])
        rule.equal(await store.redact_turns(THREAD, through=6), 2)

    async def test_the_highest_numbers_land(self, store: PortableStore) -> None:
        rule = Rule("4", "numbers reach 2147483647", "wire.md")
        last = 2**31 - 1
        await store.restore_scope(
            ScopeArchive(
                scope=SCOPE,
                documents=(_replace(document("a", 1), version=last),),
                redactions=(act(None, count=last),),
            )
        )
        found = await store.read(SCOPE, "a")
        rule.equal(found and found.version, last)
        archive = ConversationArchive(
            conversation_id=THREAD,
            turns=(_replace(turn(1), turn=last),),
            redactions=(erased(last),),
        )
        await store.restore_conversation(archive)
        rule.equal(await store.last_turn_number(THREAD), last)

    async def test_trail_turns_are_sorted_and_deduplicated(self, store: PortableStore) -> None:
        rule = Rule("8", "trail turns unsorted or repeated: stored sorted, each once", "wire.md")
        archive = ConversationArchive(
            conversation_id=THREAD, turns=(turn(1),), redactions=(erased(7, 1, 7, 3),)
        )
        await store.restore_conversation(archive)
        rule.equal([row.turns for row in await store.turn_redactions()], [(1, 3, 7)])

    async def test_ties_keep_the_order_of_the_archive(self, store: PortableStore) -> None:
        rule = Rule("8", "on equal stamps the last element of an archive is the newest", "wire.md")
        paths = ("c", "a", "b")
        await store.restore_scope(
            ScopeArchive(scope=SCOPE, redactions=tuple(act(path) for path in paths))
        )
        rule.equal([row.path for row in await store.redactions(SCOPE)], [*paths[::-1]])
        entries = tuple(
            ConversationProjection(turn=1, kind="log", text=text) for text in ("z", "a", "m")
        )
        archive = ConversationArchive(
            conversation_id=THREAD,
            projections=entries,
            redactions=(erased(3), erased(1), erased(2)),
        )
        await store.restore_conversation(archive)
        rule.equal(await store.read_projections(THREAD), entries)
        rule.equal([row.turns for row in await store.turn_redactions()], [(2,), (1,), (3,)])

    async def test_a_stamp_from_the_future_holds(
        self, store: PortableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("13", "a stamp restored from the future holds until the clock passes it")
        await store.restore_scope(
            ScopeArchive(
                scope=SCOPE,
                documents=(_replace(document("a", 1), updated_at=FUTURE),),
                versions=(_replace(version("b", 1), created_at=FUTURE),),
            )
        )
        for path in ("a", "b"):
            rule.equal((await store.write(SCOPE, path, "y")).updated_at, FUTURE)
        await store.restore_conversation(
            ConversationArchive(
                conversation_id=THREAD, turns=(_replace(turn(1), created_at=FUTURE), turn(2))
            )
        )
        rule.equal((await store.append_turn(THREAD, [says("x")])).created_at, FUTURE)
        clock.set(FUTURE.replace(year=2200))
        rule.equal((await store.write(SCOPE, "a", "z")).updated_at, FUTURE.replace(year=2200))

    async def test_an_empty_archive_creates_nothing(self, store: PortableStore) -> None:
        rule = Rule("9", "an empty archive succeeds on an empty target and creates nothing")
        for _ in range(2):
            await store.restore_scope(ScopeArchive(scope=SCOPE))
            await store.restore_conversation(ConversationArchive(conversation_id=THREAD))
        rule.equal((await store.scopes(), await store.conversations()), ((), ()))
        rule.equal(await store.history(SCOPE), ())
        await store.restore_scope(scope_archive())
        await store.restore_conversation(conversation_archive())

    @pytest.mark.parametrize("held", ["document", "deleted", "act", "rows", "documents"])
    async def test_an_occupied_scope_is_refused(self, store: PortableStore, held: str) -> None:
        rule = Rule("9", "a target that holds a document, a row or an act is occupied")
        await _occupy_scope(store, held)
        before = await _exported_scope(store, SCOPE)
        for archive in (scope_archive(), ScopeArchive(scope=SCOPE)):
            with rule.refuses(
                MemoryConflictError,
                scope=SCOPE,
                path=None,
                reason="target_occupied",
                expected_version=None,
                actual_version=None,
            ):
                await store.restore_scope(archive)
        rule.equal(await _exported_scope(store, SCOPE), before)

    @pytest.mark.parametrize("held", ["turn", "projection", "trail"])
    async def test_an_occupied_conversation_is_refused(
        self, store: PortableStore, held: str
    ) -> None:
        rule = Rule("9", "a target that holds a turn, a projection or a trail is occupied")
        await _occupy_conversation(store, held)
        before = await _exported_conversation(store, THREAD)
        for archive in (conversation_archive(), ConversationArchive(conversation_id=THREAD)):
            with rule.refuses(
                ConversationConflictError, conversation_id=THREAD, reason="target_occupied"
            ):
                await store.restore_conversation(archive)
        rule.equal(await _exported_conversation(store, THREAD), before)

    async def test_restores_read_no_clock(
        self, store: PortableStore, clock: ControlledClock
    ) -> None:
        rule = Rule("9", "a restore brings its own stamps: it stamps nothing")
        before = clock.readings
        await store.restore_scope(scope_archive())
        await store.restore_conversation(conversation_archive())
        rule.equal(clock.readings - before, 0)

    async def test_of_racing_restores_one_lands(self, store: PortableStore) -> None:
        rule = Rule("9", "of racing restores of one unit exactly one lands, whole")
        for number in range(6):
            scope, name = f"s:{number}", f"c{number}"
            documents = _replace(scope_archive(), scope=scope)
            turns = _replace(conversation_archive(), conversation_id=name)
            results = await asyncio.gather(
                *(store.restore_scope(documents) for _ in range(3)),
                *(store.restore_conversation(turns) for _ in range(3)),
                return_exceptions=True,
            )
            lost = [type(result) for result in results if result is not None]
            rule.equal(lost, [MemoryConflictError] * 2 + [ConversationConflictError] * 2)
            exported = await _exported_scope(store, scope)
            rule.equal(exported.versions, scope_archive().versions)
            rule.equal(len(await store.read_turns(name)), 3)


async def _exported_scope(store: PortableStore, scope: str) -> ScopeArchive:
    entries = await store.list_documents(scope)
    documents = [await store.read(scope, entry.path) for entry in entries]
    versions = sorted(await store.history(scope), key=lambda row: (row.path, row.version))
    return ScopeArchive(
        scope=scope,
        documents=tuple(found for found in documents if found is not None),
        versions=tuple(versions),
        redactions=(await store.redactions(scope))[::-1],
    )


async def _exported_conversation(store: PortableStore, name: str) -> ConversationArchive:
    return ConversationArchive(
        conversation_id=name,
        turns=await store.read_turns(name),
        projections=await store.read_projections(name),
        redactions=(await store.turn_redactions(conversations=[name], limit=500))[::-1],
    )


async def _occupy_scope(store: PortableStore, held: str) -> None:
    match held:
        case "document":
            await store.write(SCOPE, "z", "x")
        case "deleted":
            await store.write(SCOPE, "z", "x")
            await store.delete(SCOPE, "z")
        case "act":
            await store.restore_scope(ScopeArchive(scope=SCOPE, redactions=(act(None),)))
        case "rows":
            await store.restore_scope(ScopeArchive(scope=SCOPE, versions=(version("z", 1),)))
        case _:
            await store.restore_scope(ScopeArchive(scope=SCOPE, documents=(document("z", 1),)))


async def _occupy_conversation(store: PortableStore, held: str) -> None:
    match held:
        case "turn":
            await store.append_turn(THREAD, [says("x")])
        case "projection":
            entry = ConversationProjection(turn=1, kind="log", text="x")
            await store.append_projections(THREAD, [entry])
        case _:
            archive = ConversationArchive(conversation_id=THREAD, redactions=(erased(1),))
            await store.restore_conversation(archive)


_replace = msgspec.structs.replace
