"""The packages, and a store on a real Postgres."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from commonhold.adapters.postgres import PostgresStore
from tests.support.node import installed_packages
from tests.support.pools import open_pool


@pytest.fixture(scope="session")
def packages() -> Path:
    return installed_packages()


@pytest.fixture
async def store(database_dsn: str) -> AsyncIterator[PostgresStore]:
    pool = await open_pool(database_dsn, size=8)
    yield PostgresStore(pool)
    await pool.close()
