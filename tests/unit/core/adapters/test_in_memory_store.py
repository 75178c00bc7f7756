"""The in-memory store passes every kit."""

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import (
    ArchivableContract,
    ClaimsContract,
    ConditionalContract,
    ControlledClock,
    ConversationStoreContract,
    DigestibleContract,
    ErasureContract,
    ExpirableContract,
    FrozenClock,
    GuardedConditionalContract,
    GuardedContract,
    MemoryStoreContract,
    OutlinedContract,
    PageableContract,
    PortableContract,
    RememberingContract,
    SearchContract,
    SearchWithinContract,
)
from tests.support.planting import PlantsInMemory


class InMemorySubject(PlantsInMemory):
    @pytest.fixture
    def store(self, clock: ControlledClock) -> InMemoryStore:
        return InMemoryStore(clock=clock)


class TestMemory(InMemorySubject, MemoryStoreContract):
    pass


class TestConversations(InMemorySubject, ConversationStoreContract):
    pass


class TestSearchOnEqualStamps(InMemorySubject, SearchContract):
    @pytest.fixture
    def clock(self) -> ControlledClock:
        return FrozenClock()


class TestSearchWithin(InMemorySubject, SearchWithinContract):
    pass


class TestSearchWithinOnEqualStamps(InMemorySubject, SearchWithinContract):
    @pytest.fixture
    def clock(self) -> ControlledClock:
        return FrozenClock()


class TestErasure(InMemorySubject, ErasureContract):
    pass


class TestExpirations(InMemorySubject, ExpirableContract):
    pass


class TestConditions(InMemorySubject, ConditionalContract):
    pass


class TestClaims(InMemorySubject, ClaimsContract):
    pass


class TestArchives(InMemorySubject, ArchivableContract):
    pass


class TestOutlines(InMemorySubject, OutlinedContract):
    pass


class TestPages(InMemorySubject, PageableContract):
    pass


class TestPortability(InMemorySubject, PortableContract):
    pass


class TestKeys(InMemorySubject, GuardedContract):
    pass


class TestConditionsUnderKeys(InMemorySubject, GuardedConditionalContract):
    pass


class TestRecalls(InMemorySubject, RememberingContract):
    pass


class TestDigests(InMemorySubject, DigestibleContract):
    pass
