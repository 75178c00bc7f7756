"""What the worker clears away beside its passes."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from commonhold.adapters.postgres import PostgresCache, upkeep
from commonhold_maintenance.app import read_gardening, serve
from commonhold_maintenance.settings import load_settings
from tests.support.maintenance_process import QUICK, plant_copies, until, until_finished
from tests.support.ports import free_port


async def fill(dsn: str) -> None:
    """A value and a series that are over, and one of each that are not."""
    async with await PostgresCache.connect(dsn, size=1) as cache:
        for name, seconds in (("over", 0.001), ("kept", 3600.0)):
            await cache.set(f"value {name}", "x", ttl_seconds=seconds)
            await cache.record_hit(f"series {name}", at=1.0, ttl_seconds=seconds)


async def test_the_cache_is_swept_and_a_sweep_that_fails_stops_no_pass(
    database_dsn: str,
    eye: asyncpg.Connection,
    gardens: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upkeep, "SWEEP_SECONDS", 0.02)
    await fill(database_dsn)
    await plant_copies(eye, 4)
    # While its table is away every sweep fails.
    await eye.execute("ALTER TABLE commonhold.cache_values RENAME TO away")
    environ = {
        **QUICK,
        "NEOSIAN_POSTGRES_DSN": database_dsn,
        "COMMONHOLD_GARDENS": str(gardens),
        "COMMONHOLD_MAINTENANCE_OPS_LISTEN": f"127.0.0.1:{free_port()}",
    }
    _, settings = load_settings([], environ)
    working = asyncio.create_task(serve(settings, read_gardening(settings, environ)))
    try:
        await until_finished(eye)
        await eye.execute("ALTER TABLE commonhold.away RENAME TO cache_values")

        async def is_swept() -> bool:
            left = await eye.fetch(
                "SELECT key FROM commonhold.cache_values"
                " UNION ALL SELECT key FROM commonhold.cache_series ORDER BY key"
            )
            assert not working.done(), working
            return [row["key"] for row in left] == ["series kept", "value kept"]

        await until(is_swept)
    finally:
        working.cancel()
        await asyncio.wait([working])
