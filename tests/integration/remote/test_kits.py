"""RemoteStore passes every kit of what the wire carries, over a service on Postgres.

Every mutation goes under a key of its own, as it does by default.
"""

from collections.abc import AsyncIterator
from datetime import datetime

import pytest

from commonhold.adapters.postgres import PostgresStore
from commonhold.adapters.remote import RemoteStore
from commonhold.conformance import (
    ControlledClock,
    ConversationStoreContract,
    ErasureContract,
    FrozenClock,
    GuardedContract,
    MemoryStoreContract,
    PageableContract,
    PortableContract,
    RememberingContract,
    SearchContract,
    SearchWithinContract,
)
from tests.support.planting_postgres import PlantsInPostgres
from tests.support.pools import open_pool
from tests.support.remote_stores import RemoteSubject, served


class Glances:
    """A clock that is looked at without being asked: a key's age is no stamp of a row."""

    def __init__(self, clock: ControlledClock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        return self._clock.next_reading


class OverPostgres(RemoteSubject):
    plants = PlantsInPostgres()

    @pytest.fixture
    async def store(self, database_dsn: str, clock: ControlledClock) -> AsyncIterator[RemoteStore]:
        pool = await open_pool(database_dsn, size=4)
        self.backing = PostgresStore(pool, clock=clock)
        self.backing._keys._clock = Glances(clock)
        async with served(self.backing) as store:
            yield store
        await pool.close()


class FrozenTime:
    @pytest.fixture
    def clock(self) -> ControlledClock:
        return FrozenClock()


class TestMemory(OverPostgres, MemoryStoreContract):
    pass


class TestConversations(OverPostgres, ConversationStoreContract):
    pass


class TestSearchOnEqualStamps(FrozenTime, OverPostgres, SearchContract):
    pass


class TestSearchWithinOnEqualStamps(FrozenTime, OverPostgres, SearchWithinContract):
    pass


class TestErasure(OverPostgres, ErasureContract):
    pass


class TestPageable(OverPostgres, PageableContract):
    pass


class TestPortable(OverPostgres, PortableContract):
    pass


class TestGuarded(OverPostgres, GuardedContract):
    pass


class TestRemembering(OverPostgres, RememberingContract):
    pass
