"""A store on Postgres, on the clock of the cases."""

from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.postgres import PostgresStore
from commonhold.conformance import ControlledClock
from tests.support.pools import open_pool


@pytest.fixture
async def store(database_dsn: str, clock: ControlledClock) -> AsyncIterator[PostgresStore]:
    pool = await open_pool(database_dsn, size=8)
    yield PostgresStore(pool, clock=clock)
    await pool.close()
