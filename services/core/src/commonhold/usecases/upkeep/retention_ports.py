"""What retention asks of a store, and the refusal of one that cannot do it."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from commonhold.contract.errors import ConfigurationError
from commonhold.contract.expirations import Expirable
from commonhold.contract.stores import Erasable, MemoryEraser, MemoryReader
from commonhold.contract.turns import ConversationTurn


@runtime_checkable
class Enumerable(Protocol):
    """The whole of a store by name: the part of Portable that only looks."""

    async def scopes(self) -> tuple[str, ...]: ...

    async def conversations(self) -> tuple[str, ...]: ...


class TurnReader(Protocol):
    """The ends of conversations."""

    async def read_turns(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[ConversationTurn, ...]: ...

    async def last_turn_number(self, conversation_id: str) -> int: ...


class RetainedStore(MemoryReader, MemoryEraser, TurnReader, Protocol):
    """Documents and conversations of one store; the rest of it is asked for by name."""


class TurnEraser(Protocol):
    """The one act of Erasable."""

    async def redact_turns(
        self,
        conversation_id: str,
        *,
        through: int | None = None,
        turns: Sequence[int] | None = None,
        actor: str | None = None,
    ) -> int: ...


class RetentionActs(MemoryEraser, TurnEraser, Protocol):
    """The erasures themselves: of a store, or of a view of it that stands under a claim."""


def require_erasable(store: object) -> Erasable:
    """The store's eraser; ConfigurationError when it has none."""
    if not isinstance(store, Erasable):
        raise ConfigurationError(f"{type(store).__name__} cannot erase turns")
    return store


def require_expirable(store: object) -> Expirable:
    """The store's listing and erasure by age; ConfigurationError when it has none."""
    if not isinstance(store, Expirable):
        raise ConfigurationError(f"{type(store).__name__} cannot erase documents by age")
    return store


def require_enumerable(store: object) -> Enumerable:
    """The store's enumeration; ConfigurationError when it has none."""
    if not isinstance(store, Enumerable):
        raise ConfigurationError(
            f"{type(store).__name__} cannot enumerate its scopes and conversations"
        )
    return store
