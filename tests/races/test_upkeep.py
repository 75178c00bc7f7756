"""A pass with a model beside sixteen writers of the same documents: no newer text is lost."""

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.adapters.postgres import PostgresStore
from commonhold.contract import MemoryDocument, MemoryStore
from tests.races.conftest import Scaled
from tests.support.pools import open_pool
from tests.support.upkeep.races import Race

POSTGRES_ROUNDS_AT_A_TIME = 4


class YieldingStore(InMemoryStore):
    """Between any two calls of one task the others have theirs."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or not inspect.iscoroutinefunction(found):
            return found

        async def call(*arguments: Any, **options: Any) -> Any:
            await asyncio.sleep(0)
            return await found(*arguments, **options)

        return call


class Unconditional(YieldingStore):
    """The planted bug: what is asked for by version happens at any."""

    async def create_if_absent(
        self, scope: str, path: str, content: str, *, actor: str | None = None
    ) -> MemoryDocument:
        return await self.write(scope, path, content, actor=actor)

    async def delete_if(self, scope: str, path: str, **options: Any) -> int:
        return int(await self.delete(scope, path, actor=options["actor"]))

    async def rename_if(self, scope: str, src: str, dst: str, **options: Any) -> MemoryDocument:
        return await self.rename(scope, src, dst, actor=options["actor"])


@pytest.fixture
async def database(database_dsn: str) -> AsyncIterator[PostgresStore]:
    pool = await open_pool(database_dsn, size=20, wait_seconds=30)
    yield PostgresStore(pool)
    await pool.close()


async def run_round(store: MemoryStore, number: int, outcomes: Counter[str]) -> None:
    """One pass whose model is released in the middle of the others' acts."""

    async def give_way() -> None:
        for _ in range(number % 7):
            await asyncio.sleep(0)

    report = await Race(store, number, pause=give_way).run()
    outcomes.update(skip.label for skip in report.skipped)
    outcomes["done"] += len(report.writes)


async def test_passes_in_memory_lose_no_newer_text(scaled: Scaled) -> None:
    rounds, outcomes = scaled(2000), Counter[str]()
    for number in range(rounds):
        await run_round(YieldingStore(), number, outcomes)
    # Both must happen, or the race is none.
    assert outcomes["done"] > rounds / 4, outcomes
    assert outcomes["changed"] > rounds, outcomes


async def test_a_fence_that_is_not_there_is_seen() -> None:
    with pytest.raises(AssertionError):  # noqa: PT012 - whichever round is the first
        for number in range(500):
            await run_round(Unconditional(), number, Counter())


async def test_passes_on_postgres_lose_no_newer_text(
    database: PostgresStore, scaled: Scaled
) -> None:
    rounds, outcomes = scaled(40), Counter[str]()
    for first in range(0, rounds, POSTGRES_ROUNDS_AT_A_TIME):
        async with asyncio.TaskGroup() as group:
            for number in range(first, min(rounds, first + POSTGRES_ROUNDS_AT_A_TIME)):
                group.create_task(run_round(database, number, outcomes))
    assert outcomes["done"] > 0, outcomes
    assert outcomes["changed"] > rounds, outcomes


async def test_a_model_that_thinks_for_ten_seconds_acts_on_nothing_newer(
    database: PostgresStore,
) -> None:
    async def think() -> None:
        await asyncio.sleep(10)

    async with asyncio.TaskGroup() as group:
        races = [
            group.create_task(Race(database, number, pause=think, pace_seconds=0.1).run())
            for number in range(3)
        ]
    assert all(race.result().skipped for race in races)
