"""One caller over the store: the contexts that the use cases take.

Handlers of tools, prompts and instructions all get them here, so that mounts, actor and
fence are the same whatever was asked.
"""

import msgspec

from commonhold.contract import ConversationReader, MemoryStore, SearchableWithin
from commonhold.contract.clock import Clock, SystemClock
from commonhold.usecases.contexts import MemoryContext
from commonhold.usecases.history.contexts import ConversationSource, HistoryContext
from commonhold.usecases.history.contexts import Reach as ConversationReach
from commonhold.usecases.mounts import sessions_mount
from commonhold_gateway.identities import Identity, Reach


class Stores(msgspec.Struct, frozen=True, kw_only=True):
    """What the service serves; without conversations it has fewer tools."""

    documents: MemoryStore
    conversations: ConversationSource | None
    clock: Clock


def stores_of(store: MemoryStore, *, clock: Clock | None = None) -> Stores:
    """The parts of a store; its conversations count when they can be searched in a fence."""
    return Stores(
        documents=store,
        conversations=_conversations_of(store),
        clock=SystemClock() if clock is None else clock,
    )


class Caller(msgspec.Struct, frozen=True):
    """Who asks, over which stores."""

    stores: Stores
    identity: Identity
    reach: Reach

    @property
    def has_history(self) -> bool:
        return self.stores.conversations is not None

    @property
    def has_sessions(self) -> bool:
        """Whether there is a place for notes and sessions to be kept."""
        return self.has_history and sessions_mount(self.reach.mounts) is not None

    def memory(self) -> MemoryContext:
        return MemoryContext(
            documents=self.stores.documents,
            mounts=self.reach.mounts,
            actor=self.identity.actor,
        )

    def history(self) -> HistoryContext | None:
        """None where no conversations are kept."""
        if self.stores.conversations is None:
            return None
        return HistoryContext(
            conversations=self.stores.conversations,
            memory=self.memory(),
            clock=self.stores.clock,
            reach=ConversationReach(self.reach.conversation_prefixes),
        )

    def required_history(self) -> HistoryContext:
        """As `history`; a tool that needs it is only there when it is."""
        history = self.history()
        if history is None:
            raise RuntimeError("no conversations are kept here")
        return history


def _conversations_of(store: object) -> ConversationSource | None:
    if isinstance(store, ConversationReader) and isinstance(store, SearchableWithin):
        return store
    return None
