"""The memory commands over a database of their own."""

from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.postgres import PostgresStore
from tests.support.pools import open_pool


@pytest.fixture
async def store(database_dsn: str) -> AsyncIterator[PostgresStore]:
    pool = await open_pool(database_dsn, size=4)
    yield PostgresStore(pool)
    await pool.close()
