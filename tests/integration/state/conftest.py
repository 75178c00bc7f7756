"""The service over Postgres, on a socket of loopback."""

from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold_state.backend import StateStore
from tests.support.pools import open_pool
from tests.support.wire_service import HandClock, Wire, running


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def pool(database_dsn: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_dsn, size=4)
    yield pool
    await pool.close()


@pytest.fixture
def store(pool: Pool, clock: HandClock) -> StateStore:
    return PostgresStore(pool, clock=clock)


@pytest.fixture
async def wire(store: StateStore) -> AsyncIterator[Wire]:
    async with running(store) as service:
        yield service
