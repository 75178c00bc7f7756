"""The kit of archives (docs/reference/stores.md, section 21)."""

import asyncio
from typing import Protocol

from commonhold.conformance.archives import conversation_archive, scope_archive
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import (
    BAD_CONVERSATION_IDS,
    BAD_SCOPES,
    NEVER_WRITTEN,
    OTHER_PATH,
    OTHER_SCOPE,
    OTHER_THREAD,
    PATH,
    SCOPE,
    SUB_SCOPE,
    THREAD,
    says,
)
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.archiving import Archivable
from commonhold.contract.documents import ScopeArchive
from commonhold.contract.errors import (
    ConversationFormatError,
    ConversationIdInvalidError,
    MemoryFormatError,
    ScopeInvalidError,
)
from commonhold.contract.stores import ConversationStore, Erasable, MemoryStore, Portable
from commonhold.contract.turns import ConversationArchive, ConversationProjection

ROUNDS = 6


class ArchivableStore(MemoryStore, ConversationStore, Portable, Erasable, Archivable, Protocol):
    """What the kit needs of a store."""


class ArchivableContract(StoreSubject):
    """What every Archivable store does.

    A subclass gives the fixture `store` and the hooks `plant_newer_document`,
    `plant_newer_version`, `plant_newer_turn` and `plant_newer_projection`.
    """

    async def test_the_store_archives(self, store: ArchivableStore) -> None:
        rule = Rule("21", "what holds nothing is an empty archive, and is not made by asking")
        rule.holds(isinstance(store, Archivable), store)
        rule.equal(await store.archive_scope(SCOPE), ScopeArchive(scope=SCOPE))
        empty = ConversationArchive(conversation_id=NEVER_WRITTEN)
        rule.equal(await store.archive_conversation(NEVER_WRITTEN), empty)
        rule.equal((await store.scopes(), await store.conversations()), ((), ()))

    async def test_what_was_restored_is_archived(self, store: ArchivableStore) -> None:
        rule = Rule("21", "an archive that was restored comes out as it went in")
        await store.restore_scope(scope_archive())
        await store.restore_conversation(conversation_archive())
        rule.equal(repr(await store.archive_scope(SCOPE)), repr(scope_archive()))
        rule.equal(await store.archive_conversation(THREAD), conversation_archive())

    async def test_an_archive_is_what_the_reads_say(self, store: ArchivableStore) -> None:
        rule = Rule("21", "every document, row, act, turn and entry, in the archive's order")
        for path in ("b", "B", "a/b", "_x", "a"):
            await store.write(SCOPE, path, path, actor="w")
            await store.write(SCOPE, path, path * 2)
        await store.delete(SCOPE, "b")
        for target in ("a", "_x", None, "a"):
            await store.redact(SCOPE, path=target, actor="e")
        await store.write(SUB_SCOPE, PATH, "another scope")
        archive = await store.archive_scope(SCOPE)
        entries = await store.list_documents(SCOPE)
        rule.equal(
            archive.documents, tuple([await store.read(SCOPE, entry.path) for entry in entries])
        )
        rows = sorted(await store.history(SCOPE), key=lambda row: (row.path, row.version))
        rule.equal(archive.versions, tuple(rows))
        rule.equal(archive.redactions, (await store.redactions(SCOPE))[::-1])

    async def test_a_conversation_is_whole(self, store: ArchivableStore) -> None:
        rule = Rule("21", "every turn, entry and act of the one conversation")
        for number in range(60):
            await store.append_turn(THREAD, [says(str(number))])
            await store.redact_turns(THREAD, turns=[1])
        entries = [ConversationProjection(turn=n, kind="log", text=str(n)) for n in (9, 2, 9)]
        await store.append_projections(THREAD, entries)
        await store.append_turn(OTHER_THREAD, [says("other")])
        archive = await store.archive_conversation(THREAD)
        rule.equal(archive.turns, await store.read_turns(THREAD))
        rule.equal(archive.projections, await store.read_projections(THREAD))
        trail = await store.turn_redactions(conversations=[THREAD], limit=99)
        rule.equal((len(archive.redactions), archive.redactions), (60, trail[::-1]))

    async def test_a_row_of_a_newer_format_is_refused(self, store: ArchivableStore) -> None:
        rule = Rule("4", "a row of another format is refused by every answer that would contain it")
        await store.write(SCOPE, PATH, "x")
        await store.write(SCOPE, OTHER_PATH, "x")
        await store.write(OTHER_SCOPE, PATH, "x")
        await self.plant_newer_version(store, SCOPE, PATH, 1)
        await self.plant_newer_document(store, OTHER_SCOPE, PATH)
        for scope in (SCOPE, OTHER_SCOPE):
            with rule.refuses(MemoryFormatError, scope=scope, path=PATH):
                await store.archive_scope(scope)
        await store.append_turn(THREAD, [says("x")])
        await self.plant_newer_turn(store, THREAD, 1)
        entry = ConversationProjection(turn=1, kind="log", text="x")
        await store.append_projections(OTHER_THREAD, [entry])
        await self.plant_newer_projection(store, OTHER_THREAD, 1)
        for name in (THREAD, OTHER_THREAD):
            with rule.refuses(ConversationFormatError, conversation_id=name):
                await store.archive_conversation(name)

    async def test_an_archive_is_of_one_moment(self, store: ArchivableStore) -> None:
        rule = Rule("21", "an archive is one snapshot: its documents are its newest rows")
        for number in range(ROUNDS):
            path = f"race/{number}"
            await store.write(SCOPE, path, "x")
            archive, *_ = await asyncio.gather(
                store.archive_scope(SCOPE),
                store.write(SCOPE, path, "y"),
                store.redact(SCOPE, path=path),
                store.rename(SCOPE, path, f"{path}-moved"),
            )
            newest = {row.path: row for row in archive.versions}
            live = [row for _, row in sorted(newest.items()) if row.action != "deleted"]
            seen = [(one.path, one.version, one.content) for one in archive.documents]
            rule.equal(seen, [(row.path, row.version, row.content) for row in live])

    async def test_bad_names_are_refused(self, store: ArchivableStore) -> None:
        rule = Rule("21", "the scope, and the conversation's id, are checked")
        for scope in BAD_SCOPES:
            with rule.refuses(ScopeInvalidError, scope=scope):
                await store.archive_scope(scope)
        for name in BAD_CONVERSATION_IDS:
            with rule.refuses(ConversationIdInvalidError, conversation_id=name):
                await store.archive_conversation(name)
