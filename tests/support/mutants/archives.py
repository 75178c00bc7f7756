"""Bugs of archives."""

import asyncio

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import (
    CommonholdError,
    ConversationArchive,
    MemoryDocument,
    ScopeArchive,
)
from tests.support.mutants.registry import ARCHIVES, breaks

_replace = msgspec.structs.replace


@breaks(ARCHIVES, "the_store_archives")
class MakesWhatIsArchived(InMemoryStore):
    async def archive_scope(self, scope: str) -> ScopeArchive:
        self._documents._put_ledger(scope, "a")
        return await super().archive_scope(scope)


@breaks(ARCHIVES, "what_was_restored_is_archived")
class LeavesUnknownKeysOut(InMemoryStore):
    async def archive_scope(self, scope: str) -> ScopeArchive:
        archive = await super().archive_scope(scope)
        documents: tuple[MemoryDocument, ...] = tuple(
            _replace(document, extra={}) for document in archive.documents
        )
        return _replace(archive, documents=documents)


@breaks(ARCHIVES, "an_archive_is_what_the_reads_say")
class ArchivesErasuresNewestFirst(InMemoryStore):
    async def archive_scope(self, scope: str) -> ScopeArchive:
        archive = await super().archive_scope(scope)
        return _replace(archive, redactions=archive.redactions[::-1])


@breaks(ARCHIVES, "a_conversation_is_whole")
class ArchivesOnePageOfActs(InMemoryStore):
    async def archive_conversation(self, conversation_id: str) -> ConversationArchive:
        archive = await super().archive_conversation(conversation_id)
        return _replace(archive, redactions=archive.redactions[-50:])


@breaks(ARCHIVES, "a_row_of_a_newer_format_is_refused", "bad_names_are_refused")
class ArchivesNothingWhereItCannotRead(InMemoryStore):
    async def archive_scope(self, scope: str) -> ScopeArchive:
        try:
            return await super().archive_scope(scope)
        except CommonholdError:
            return ScopeArchive(scope=scope)


@breaks(ARCHIVES, "an_archive_is_of_one_moment")
class ArchivesFromTwoLooks(InMemoryStore):
    async def archive_scope(self, scope: str) -> ScopeArchive:
        documents = (await super().archive_scope(scope)).documents
        await asyncio.sleep(0)
        return _replace(await super().archive_scope(scope), documents=documents)
