"""Stores on the run's Postgres: directly, behind a pooler, and with a single connection."""

from collections.abc import AsyncIterator

import pytest

from commonhold.adapters.postgres import Pool, PostgresStore
from tests.support.pools import open_pool


@pytest.fixture
async def pool(database_dsn: str) -> AsyncIterator[Pool]:
    opened = await open_pool(database_dsn, size=8)
    yield opened
    await opened.close()


@pytest.fixture
def store(pool: Pool) -> PostgresStore:
    return PostgresStore(pool)
