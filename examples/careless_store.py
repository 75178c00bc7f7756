"""The SQLite store with one mistake, which its kit finds (docs/howto/write-a-store.md).

From the root of the clone: python -m pytest examples/careless_store.py
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from commonhold.conformance import ControlledClock, MemoryStoreContract
from commonhold.contract import MemoryVersion
from examples.sqlite_store import SqliteStore, Subject, open_store


class CarelessStore(SqliteStore):
    """Answers what came after `since`, where it should answer what came since then."""

    async def history(
        self, scope: str, *, since: datetime | None = None, limit: int | None = None
    ) -> tuple[MemoryVersion, ...]:
        later = None if since is None else since + timedelta(microseconds=1)
        return await super().history(scope, since=later, limit=limit)


class TestDocuments(Subject, MemoryStoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path, clock: ControlledClock) -> Iterator[CarelessStore]:
        with open_store(tmp_path / "store.db", clock=clock) as store:
            yield CarelessStore(store.db, clock=clock)
