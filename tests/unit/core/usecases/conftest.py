"""A store in memory whose clock ticks, and a caller with one mount of every kind."""

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import TickingClock
from tests.support.memory_callers import BOARD, HANDBOOK, PROJECT, USER, Caller


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore(clock=TickingClock())


@pytest.fixture
def ana(store: InMemoryStore) -> Caller:
    return Caller(store, USER, HANDBOOK, BOARD, PROJECT, actor="client:ana")
