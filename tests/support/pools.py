"""Pools on the run's Postgres, for tests of what stands on one."""

import asyncio
from typing import Any

from commonhold.adapters.postgres import Pool

PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.05


async def open_pool(dsn: str, *, size: int, **options: Any) -> Pool:
    """A pool that has been answered: on a busy machine its first question may time out."""
    pool = await Pool.open(dsn, size=size, **options)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not pool.is_up:  # noqa: ASYNC110 - a verdict sets no event
            await asyncio.sleep(POLL_SECONDS)
    return pool
