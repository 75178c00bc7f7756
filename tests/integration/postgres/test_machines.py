"""Random runs of steps answered by PostgresStore and by the model in memory."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.conformance import ControlledClock
from tests.support.machines.steps import Party, Step, run_together
from tests.support.machines.strategies import document_runs, turn_runs
from tests.support.pools import open_pool

EMPTY = """
TRUNCATE commonhold.documents, commonhold.document_versions, commonhold.document_redactions,
    commonhold.conversations, commonhold.turns, commonhold.projections,
    commonhold.turn_redactions, commonhold.idempotency
"""

# One database serves all examples of a test: it is emptied before each. A divergence tells
# its steps itself; making them fewer against a database takes minutes.
RUNS = settings(
    max_examples=60,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
async def pool(database_dsn: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_dsn, size=2)
    yield pool
    await pool.close()


async def compare(pool: Pool, steps: list[Step]) -> None:
    async with pool.connection() as conn:
        await conn.execute(EMPTY)
    clock, model_clock = ControlledClock(), ControlledClock()
    await run_together(
        steps,
        subject=Party(PostgresStore(pool, clock=clock), clock),
        model=Party(InMemoryStore(clock=model_clock), model_clock),
    )


@RUNS
@given(steps=document_runs)
async def test_postgres_answers_as_the_model_does_over_documents(
    pool: Pool, steps: list[Step]
) -> None:
    await compare(pool, steps)


@RUNS
@given(steps=turn_runs)
async def test_postgres_answers_as_the_model_does_over_conversations(
    pool: Pool, steps: list[Step]
) -> None:
    await compare(pool, steps)
