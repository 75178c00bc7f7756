"""The in-memory store passes every kit."""

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock, MemoryStoreContract
from tests.support.planting import PlantsInMemory


class InMemorySubject(PlantsInMemory):
    @pytest.fixture
    def store(self, clock: ControlledClock) -> InMemoryStore:
        return InMemoryStore(clock=clock)


class TestMemory(InMemorySubject, MemoryStoreContract):
    pass
