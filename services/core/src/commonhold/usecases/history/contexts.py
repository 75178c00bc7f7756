"""What the tools over conversations are given beside their own arguments."""

from datetime import datetime
from typing import Protocol

import msgspec

from commonhold.contract.clock import Clock, read_clock
from commonhold.contract.documents import MemoryDocument
from commonhold.contract.ids import check_conversation_id
from commonhold.contract.stores import ConversationReader, SearchableWithin
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.failures import CommandError
from commonhold.usecases.mounts import Mount, sessions_mount

NOBODY = "-"


class ConversationSource(ConversationReader, SearchableWithin, Protocol):
    """Conversations to read, searchable under a fence."""


class Reach(msgspec.Struct, frozen=True):
    """Which conversations a caller can name: ids with one of the prefixes, or with None all.

    Without any prefix none is reached.
    """

    prefixes: tuple[str, ...] | None = None

    def holds(self, conversation_id: str) -> bool:
        return self.prefixes is None or conversation_id.startswith(self.prefixes)


EVERYTHING = Reach()


class HistoryContext(msgspec.Struct, frozen=True, kw_only=True):
    """One caller's view of the past: its memory, the conversations, and how far it reaches.

    Every change goes through `memory.documents`, so that a view which answers a repeated
    call as the first one can stand there. `earlier_pick_up` is then the handoff document
    that the first run of this very call wrote, when it wrote one.
    """

    conversations: ConversationSource
    memory: MemoryContext
    clock: Clock
    reach: Reach = EVERYTHING
    earlier_pick_up: MemoryDocument | None = None

    def now(self) -> datetime:
        return read_clock(self.clock)

    @property
    def actor(self) -> str:
        return self.memory.actor or NOBODY


def require_reach(context: HistoryContext, conversation_id: str, *, hint: str | None = None) -> str:
    """The id again; ConversationIdInvalidError for a bad one, CommandError beyond the fence."""
    check_conversation_id(conversation_id)
    if not context.reach.holds(conversation_id):
        raise CommandError(
            f"Conversation {conversation_id!r} is not addressable from here", hint=hint
        )
    return conversation_id


def require_sessions_mount(context: HistoryContext) -> Mount:
    mount = sessions_mount(context.memory.mounts)
    if mount is None:
        raise CommandError("No mount here can hold sessions and notes: none is open for writing")
    return mount
