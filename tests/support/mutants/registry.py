"""Stores with one planted bug each, and the tests of a kit that must see it."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock, TickingClock

MEMORY = "MemoryStoreContract"
CONVERSATIONS = "ConversationStoreContract"
CLAIMS = "ClaimsContract"
CONDITIONS = "ConditionalContract"
FENCES = "SearchWithinContract"
DIGESTS = "DigestibleContract"
ERASURE = "ErasureContract"
EXPIRATIONS = "ExpirableContract"
PAGES = "PageableContract"
OUTLINES = "OutlinedContract"
ARCHIVES = "ArchivableContract"
PORTABLE = "PortableContract"
KEYS = "GuardedContract"
KEYED_CONDITIONS = "GuardedConditionalContract"
RECALLS = "RememberingContract"

Store = TypeVar("Store", bound=type[InMemoryStore])


class Mutant(msgspec.Struct, frozen=True):
    """`kit` is a contract's class name, `seen_by` some of its tests, run on `clock`."""

    store: type[InMemoryStore]
    kit: str
    seen_by: tuple[str, ...]
    clock: type[ControlledClock]


MUTANTS: dict[str, Mutant] = {}


def breaks(
    kit: str, *tests: str, clock: type[ControlledClock] = TickingClock
) -> Callable[[Store], Store]:
    """Register a store whose bug each of `tests` of `kit` must report."""

    def register(store: Store) -> Store:
        seen_by = tuple(f"test_{name}" for name in tests)
        MUTANTS[f"{store.__name__}{kit}"] = Mutant(store, kit=kit, seen_by=seen_by, clock=clock)
        return store

    return register
