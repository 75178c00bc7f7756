"""RemoteStore passes the kits when it sends no keys, so that a call is one reading of a clock."""

from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.adapters.remote import RemoteStore
from commonhold.conformance import (
    ControlledClock,
    ConversationStoreContract,
    ErasureContract,
    MemoryStoreContract,
)
from tests.support.planting import PlantsInMemory
from tests.support.remote_stores import UNREPEATED, RemoteSubject, served


class OverMemory(RemoteSubject):
    plants = PlantsInMemory()

    @pytest.fixture
    async def store(self, clock: ControlledClock) -> AsyncIterator[RemoteStore]:
        self.backing = InMemoryStore(clock=clock)
        async with served(self.backing, options=UNREPEATED) as store:
            yield store


class TestMemory(OverMemory, MemoryStoreContract):
    pass


class TestConversations(OverMemory, ConversationStoreContract):
    pass


class TestErasure(OverMemory, ErasureContract):
    pass
