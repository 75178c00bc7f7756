"""Whole units out in one look (docs/reference/stores.md, section "Archives")."""

from typing import Protocol, runtime_checkable

from commonhold.contract.documents import ScopeArchive
from commonhold.contract.turns import ConversationArchive


@runtime_checkable
class Archivable(Protocol):
    """A unit as its archive, in one snapshot: what `Portable` puts into another store.

    Without it an archive is put together from reads, each of them of another moment.
    """

    async def archive_scope(self, scope: str) -> ScopeArchive:
        """Documents by path, versions by path and number, erasures oldest first.

        A scope that holds nothing is an empty archive. Raises MemoryFormatError where a
        row is one that this release cannot read.
        """
        ...

    async def archive_conversation(self, conversation_id: str) -> ConversationArchive:
        """Turns by number, projections in the order they are read in, erasures oldest first.

        A conversation that holds nothing is an empty archive. Raises
        ConversationFormatError where a row is one that this release cannot read.
        """
        ...
