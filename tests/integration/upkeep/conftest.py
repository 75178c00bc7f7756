"""A store on Postgres, on the clock of the cases."""

from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.conformance import ControlledClock


@pytest.fixture
async def store(database_dsn: str, clock: ControlledClock) -> AsyncIterator[PostgresStore]:
    pool = await Pool.open(database_dsn, size=8)
    yield PostgresStore(pool, clock=clock)
    await pool.close()
