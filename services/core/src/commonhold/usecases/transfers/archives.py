"""A unit as its archive, from any store (docs/reference/stores.md, sections 9 and 21)."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from commonhold.contract.archiving import Archivable
from commonhold.contract.documents import MemoryDocument, MemoryEntry, ScopeArchive
from commonhold.contract.stores import ConversationStore, Erasable, MemoryStore
from commonhold.contract.turns import (
    TRAIL_BOUND,
    ConversationArchive,
    ConversationRedaction,
)

# Documents that are read at once, so that the way to a store is not waited for each time.
_READ_AT_ONCE = 8
# More acts than anybody will ever have made.
_ENDLESS = 2**31 - 1


class Source(MemoryStore, ConversationStore, Protocol):
    """What an archive is read from; the optional protocols are found out."""


class LongTrailError(ValueError):
    """A trail that the store does not give whole, so its conversation cannot move verbatim."""

    def __init__(self) -> None:
        super().__init__(f"its trail is longer than the {TRAIL_BOUND} acts that the source answers")


async def archive_scope(source: Source, scope: str) -> ScopeArchive:
    """One snapshot where the store gives it, else its reads put together."""
    if isinstance(source, Archivable):
        return await source.archive_scope(scope)
    documents = await _read_all(source, scope, await source.list_documents(scope))
    rows = sorted(await source.history(scope), key=lambda row: (row.path, row.version))
    acts = await source.redactions(scope)
    return ScopeArchive(
        scope=scope, documents=documents, versions=tuple(rows), redactions=acts[::-1]
    )


async def archive_conversation(source: Source, conversation_id: str) -> ConversationArchive:
    """As `archive_scope`. Raises LongTrailError where acts would be lost."""
    if isinstance(source, Archivable):
        return await source.archive_conversation(conversation_id)
    return ConversationArchive(
        conversation_id=conversation_id,
        turns=await source.read_turns(conversation_id),
        projections=await source.read_projections(conversation_id),
        redactions=(await _trail(source, conversation_id))[::-1],
    )


async def _read_all(
    source: Source, scope: str, entries: Sequence[MemoryEntry]
) -> tuple[MemoryDocument, ...]:
    """The documents that are still there, in the order of the entries."""
    documents: list[MemoryDocument] = []
    for start in range(0, len(entries), _READ_AT_ONCE):
        some = entries[start : start + _READ_AT_ONCE]
        reads = (source.read(scope, entry.path) for entry in some)
        # All of them to their end: none may still run against a store that is closed then.
        for found in await asyncio.gather(*reads, return_exceptions=True):
            if isinstance(found, BaseException):
                raise found
            if found is not None:
                documents.append(found)
    return tuple(documents)


async def _trail(source: Source, conversation_id: str) -> tuple[ConversationRedaction, ...]:
    if not isinstance(source, Erasable):
        return ()
    chosen = [conversation_id]
    trail = await source.turn_redactions(conversations=chosen, limit=TRAIL_BOUND)
    if len(trail) < TRAIL_BOUND:
        return trail
    try:
        return await source.turn_redactions(conversations=chosen, limit=_ENDLESS)
    except ValueError as error:
        raise LongTrailError from error
