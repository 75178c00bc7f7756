"""A database and a connection to look at it with, and files of gardens."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import asyncpg
import pytest

from tests.support.maintenance_process import EVERY_DAY


@pytest.fixture
async def eye(database_dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_dsn)
    yield connection
    await connection.close()


@pytest.fixture
def write_gardens(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "gardens.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def gardens(write_gardens: Callable[[str], Path]) -> Path:
    return write_gardens(EVERY_DAY)
