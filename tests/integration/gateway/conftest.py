"""The gateway over Postgres, on a socket of loopback."""

from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.postgres import Pool, PostgresStore
from tests.support.gateway_service import RunningGateway, running_gateway
from tests.support.pools import open_pool


@pytest.fixture
async def pool(database_dsn: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_dsn, size=4)
    yield pool
    await pool.close()


@pytest.fixture
def store(pool: Pool) -> PostgresStore:
    return PostgresStore(pool)


@pytest.fixture
async def gateway(store: PostgresStore) -> AsyncIterator[RunningGateway]:
    async with running_gateway(store) as service:
        yield service
