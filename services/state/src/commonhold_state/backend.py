"""The store behind the routes: its capabilities, found once, and its calls, measured."""

from collections.abc import Awaitable
from typing import Protocol, TypeVar, runtime_checkable

from commonhold.contract import (
    ConfigurationError,
    ConversationProjection,
    ConversationStore,
    ConversationTurn,
    Erasable,
    Guarded,
    MemoryStore,
    Pageable,
    Portable,
    Remembering,
)
from commonhold.ops.metrics import OperationTimers

OPERATIONS = (
    "read",
    "write",
    "delete",
    "rename",
    "list_documents",
    "versions",
    "redact",
    "history",
    "redactions",
    "append_turn",
    "read_turns",
    "last_turn_number",
    "search_turns",
    "append_projections",
    "read_projections",
    "redact_turns",
    "turn_redactions",
    "scopes",
    "conversations",
    "restore_scope",
    "restore_conversation",
    "recall",
)

T = TypeVar("T")


@runtime_checkable
class WeighedTurns(Protocol):
    """A store that can end a read of a conversation by its weight, and say that it did."""

    async def read_turns_within(
        self, conversation_id: str, *, after: int, limit: int, max_bytes: int
    ) -> tuple[tuple[ConversationTurn, ...], bool]: ...

    async def read_projections_within(
        self, conversation_id: str, *, after: int, limit: int, max_bytes: int
    ) -> tuple[tuple[ConversationProjection, ...], bool]: ...


class StateStore(MemoryStore, ConversationStore, Protocol):
    """Both seams in one object; the optional protocols are found out."""


class Backend:
    """A store as the handlers see it.

    `pageable` and `guarded` are None without the capability. `erasable`, `portable` and
    `remembering` raise ConfigurationError then, since their routes have no other answer
    (docs/reference/wire.md, section 9).
    """

    def __init__(self, store: StateStore, timers: OperationTimers) -> None:
        self.name = type(store).__name__
        self.documents: MemoryStore = store
        self.turns: ConversationStore = store
        self.pageable = store if isinstance(store, Pageable) else None
        self.guarded = store if isinstance(store, Guarded) else None
        self.weighed = store if isinstance(store, WeighedTurns) else None
        self.is_erasable = isinstance(store, Erasable)
        self._erasable = store if isinstance(store, Erasable) else None
        self._portable = store if isinstance(store, Portable) else None
        self._remembering = store if isinstance(store, Remembering) else None
        self._timers = timers

    @property
    def erasable(self) -> Erasable:
        if self._erasable is None:
            raise self.lacks("erasure of turns")
        return self._erasable

    @property
    def portable(self) -> Portable:
        if self._portable is None:
            raise self.lacks("whole units in and out")
        return self._portable

    @property
    def remembering(self) -> Remembering:
        if self._remembering is None:
            raise self.lacks("idempotency keys")
        return self._remembering

    def lacks(self, capability: str) -> ConfigurationError:
        return ConfigurationError(f"{self.name} does not support {capability}")

    def measure(self, operation: str, call: Awaitable[T]) -> Awaitable[T]:
        """The same call, recorded under the operation's name when it is awaited."""
        return self._timers.measure(operation, call)
