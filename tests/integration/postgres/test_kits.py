"""PostgresStore passes every kit: directly, with one connection, and behind a pooler."""

from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.postgres import PostgresStore
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
from tests.support.planting_postgres import PlantsInPostgres
from tests.support.pools import open_pool


class Direct(PlantsInPostgres):
    """Eight connections to the server itself."""

    pool_size = 8

    @pytest.fixture
    def dsn(self, database_dsn: str) -> str:
        return database_dsn

    @pytest.fixture
    async def store(self, dsn: str, clock: ControlledClock) -> AsyncIterator[PostgresStore]:
        pool = await open_pool(dsn, size=self.pool_size)
        yield PostgresStore(pool, clock=clock)
        await pool.close()


class SingleConnection(Direct):
    """A pool of one: whatever needs a second connection would wait for itself."""

    pool_size = 1


class BehindPooler(Direct):
    """PgBouncer in transaction mode: nothing may live on a session."""

    @pytest.fixture
    def dsn(self, pgbouncer_dsn: str) -> str:
        return pgbouncer_dsn


class FrozenTime:
    @pytest.fixture
    def clock(self) -> ControlledClock:
        return FrozenClock()


class TestMemory(Direct, MemoryStoreContract):
    pass


class TestMemoryOnOneConnection(SingleConnection, MemoryStoreContract):
    pass


class TestMemoryBehindPooler(BehindPooler, MemoryStoreContract):
    pass


class TestConversations(Direct, ConversationStoreContract):
    pass


class TestConversationsOnOneConnection(SingleConnection, ConversationStoreContract):
    pass


class TestConversationsBehindPooler(BehindPooler, ConversationStoreContract):
    pass


class TestSearchOnEqualStamps(FrozenTime, Direct, SearchContract):
    pass


class TestSearchWithin(Direct, SearchWithinContract):
    pass


class TestSearchWithinOnEqualStamps(FrozenTime, Direct, SearchWithinContract):
    pass


class TestSearchWithinOnOneConnection(SingleConnection, SearchWithinContract):
    pass


class TestSearchWithinBehindPooler(BehindPooler, SearchWithinContract):
    pass


class TestErasure(Direct, ErasureContract):
    pass


class TestErasureOnOneConnection(SingleConnection, ErasureContract):
    pass


class TestErasureBehindPooler(BehindPooler, ErasureContract):
    pass


class TestExpirations(Direct, ExpirableContract):
    pass


class TestExpirationsOnOneConnection(SingleConnection, ExpirableContract):
    pass


class TestExpirationsBehindPooler(BehindPooler, ExpirableContract):
    pass


class TestConditional(Direct, ConditionalContract):
    pass


class TestConditionalOnOneConnection(SingleConnection, ConditionalContract):
    pass


class TestConditionalBehindPooler(BehindPooler, ConditionalContract):
    pass


class TestClaims(Direct, ClaimsContract):
    pass


class TestClaimsOnOneConnection(SingleConnection, ClaimsContract):
    pass


class TestClaimsBehindPooler(BehindPooler, ClaimsContract):
    pass


class TestOutlines(Direct, OutlinedContract):
    pass


class TestOutlinesOnEqualStamps(FrozenTime, Direct, OutlinedContract):
    pass


class TestOutlinesBehindPooler(BehindPooler, OutlinedContract):
    pass


class TestPageable(Direct, PageableContract):
    pass


class TestPageableOnOneConnection(SingleConnection, PageableContract):
    pass


class TestPageableBehindPooler(BehindPooler, PageableContract):
    pass


class TestPortable(Direct, PortableContract):
    pass


class TestPortableOnOneConnection(SingleConnection, PortableContract):
    pass


class TestPortableBehindPooler(BehindPooler, PortableContract):
    pass


class TestGuarded(Direct, GuardedContract):
    pass


class TestGuardedOnOneConnection(SingleConnection, GuardedContract):
    pass


class TestGuardedBehindPooler(BehindPooler, GuardedContract):
    pass


class TestGuardedConditional(Direct, GuardedConditionalContract):
    pass


class TestGuardedConditionalOnOneConnection(SingleConnection, GuardedConditionalContract):
    pass


class TestGuardedConditionalBehindPooler(BehindPooler, GuardedConditionalContract):
    pass


class TestRemembering(Direct, RememberingContract):
    pass


class TestRememberingOnOneConnection(SingleConnection, RememberingContract):
    pass


class TestRememberingBehindPooler(BehindPooler, RememberingContract):
    pass


class TestDigests(Direct, DigestibleContract):
    pass


class TestDigestsOnOneConnection(SingleConnection, DigestibleContract):
    pass


class TestDigestsBehindPooler(BehindPooler, DigestibleContract):
    pass


class TestArchives(Direct, ArchivableContract):
    pass


class TestArchivesBehindPooler(BehindPooler, ArchivableContract):
    pass
