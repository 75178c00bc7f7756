"""Stores with one planted bug each, and the test of a kit that must see it."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock, TickingClock

Store = TypeVar("Store", bound=type[InMemoryStore])


class Mutant(msgspec.Struct, frozen=True):
    """`kit` is the contract's class name, `seen_by` one of its tests, run on `clock`."""

    store: type[InMemoryStore]
    kit: str
    seen_by: str
    clock: type[ControlledClock]


MUTANTS: dict[str, Mutant] = {}


def breaks(
    kit: str, seen_by: str, *, clock: type[ControlledClock] = TickingClock
) -> Callable[[Store], Store]:
    """Register a store whose bug `seen_by` of `kit` must report."""

    def register(store: Store) -> Store:
        MUTANTS[store.__name__] = Mutant(store, kit=kit, seen_by=f"test_{seen_by}", clock=clock)
        return store

    return register
