"""A takeover and a mutation under the old claim: one waits for the other, whoever is first."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.conformance import ControlledClock
from commonhold.contract import Claim, ClaimLostError

SCOPE = "user:ana"
LEASE = 30.0
WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@pytest.fixture
def clock() -> ControlledClock:
    return ControlledClock(datetime(2030, 1, 1, tzinfo=UTC))


@pytest.fixture
def store(pool: Pool, clock: ControlledClock) -> PostgresStore:
    return PostgresStore(pool, clock=clock)


@pytest.fixture
async def observer(database_dsn: str) -> AsyncIterator[Any]:
    # Apart from the bystander: a transaction sees one picture of the activity.
    opened = await asyncpg.connect(database_dsn)
    yield opened
    await opened.close()


@pytest.fixture
async def bystander(database_dsn: str) -> AsyncIterator[Any]:
    opened = await asyncpg.connect(database_dsn)
    yield opened
    await opened.close()


async def claimed(store: PostgresStore, holder: str) -> Claim:
    claim = await store.claims.acquire([SCOPE], holder=holder, lease_seconds=LEASE)
    assert claim is not None
    return claim


async def start_waiting(conn: Any, act: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """The task once one call more waits for a lock."""
    before = await conn.fetchval(WAITING)
    task = asyncio.create_task(act)
    async with asyncio.timeout(10):
        while await conn.fetchval(WAITING) == before:
            assert not task.done(), task
    return task


async def test_a_takeover_waits_for_the_mutation_under_the_old_claim(
    store: PostgresStore, clock: ControlledClock, bystander: Any, observer: Any
) -> None:
    await store.write(SCOPE, "p", "one")
    old = await claimed(store, "old")
    clock.set(old.expires_at)
    async with bystander.transaction():
        await bystander.execute("SELECT 1 FROM commonhold.documents WHERE path = 'p' FOR UPDATE")
        mutation = await start_waiting(
            observer, store.guarded(fence=old).write(SCOPE, "p", "under the old claim")
        )
        takeover = await start_waiting(observer, claimed(store, "new"))
        assert not takeover.done()
    assert (await mutation).version == 2
    assert (await takeover).tokens == ((SCOPE, 2),)
    with pytest.raises(ClaimLostError):
        await store.guarded(fence=old).delete(SCOPE, "p")


async def test_a_takeover_under_way_stops_the_mutation_under_the_old_claim(
    store: PostgresStore, bystander: Any, observer: Any
) -> None:
    old = await claimed(store, "old")
    async with bystander.transaction():
        await bystander.execute("UPDATE commonhold.claims SET token = token + 1")
        mutation = await start_waiting(
            observer, store.guarded(fence=old).write(SCOPE, "p", "too late")
        )
    with pytest.raises(ClaimLostError):
        await mutation
    assert await store.history(SCOPE) == ()


async def test_a_standing_claim_makes_nobody_wait(
    store: PostgresStore, bystander: Any, observer: Any
) -> None:
    await store.write(SCOPE, "p", "one")
    claim = await claimed(store, "holder")
    async with bystander.transaction():
        await bystander.execute("SELECT 1 FROM commonhold.documents WHERE path = 'p' FOR UPDATE")
        mutation = await start_waiting(observer, store.guarded(fence=claim).delete(SCOPE, "p"))
        async with asyncio.timeout(1):
            assert await store.claims.acquire([SCOPE], holder="x", lease_seconds=LEASE) is None
    assert await mutation
