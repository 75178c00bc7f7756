"""A worker whose store is a state service: alone, without a queue, behind a weaker fence."""

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from tests.support.maintenance_process import (
    SCOPE,
    count_deletions,
    maintenance_process,
    plant_copies,
    until_deletions,
    until_event,
)
from tests.support.ports import free_port
from tests.support.state_process import state_process

UPSTREAM = "up-token"
BY_AGE = """
[retention]
[[retention.rules]]
scope = "user:"
redact_older_than = "30d"
"""


def over(port: int) -> dict[str, str]:
    return {
        "COMMONHOLD_STATE_URL": f"http://127.0.0.1:{port}",
        "NEOSIAN_CLIENT_TOKEN": UPSTREAM,
    }


@asynccontextmanager
async def upstream(dsn: str, *, port: int | None = None) -> AsyncIterator[int]:
    """The port of a state service."""
    settings = {"NEOSIAN_SERVE_TOKEN": f"client:keeper={UPSTREAM}"}
    if port is not None:
        settings["COMMONHOLD_STATE_LISTEN"] = f"127.0.0.1:{port}"
    async with state_process(dsn, settings=settings) as state:
        await state.until_ops("/readyz", status=200)
        yield state.port if port is None else port


async def test_it_works_by_schedule_and_says_that_its_fence_is_weaker(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, 4)
    async with (
        upstream(database_dsn) as port,
        maintenance_process(None, gardens, settings=over(port)) as worker,
    ):
        await until_event(worker, "upkeep_pass")
        (line,) = worker.events("upkeep_pass")
        assert (line["end"], line["fence"], len(line["writes"])) == ("done", "reread", 3)
        assert len(worker.events("weaker_fence")) == 1
        metrics = await worker.until_ops(
            "/metrics", status=200, holding='last_success_timestamp_seconds{garden="home"}'
        )
        assert "commonhold_state_up 1.0" in metrics.text
        assert 'commonhold_upkeep_garden_info{garden="home"} 1.0' in metrics.text
        for absent in ("commonhold_pool", "commonhold_database_up", "commonhold_schema_version"):
            assert absent not in metrics.text
        worker.signal(signal.SIGTERM)
        assert await worker.exit_status() == 0
    actors = await eye.fetch(
        "SELECT DISTINCT actor FROM commonhold.document_versions WHERE action = 'deleted'"
    )
    assert [row["actor"] for row in actors] == ["client:keeper/gardener:home"]
    assert await eye.fetchval("SELECT count(*) FROM commonhold.garden_runs") == 0


async def test_a_pass_that_loses_its_state_service_comes_again(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, 40)
    port = free_port()
    async with maintenance_process(None, gardens, settings=over(port)) as worker:
        await worker.until_ops("/readyz", status=503, holding="cannot be reached")
        assert "commonhold_state_up 0.0" in (await worker.ops("/metrics")).text
        async with upstream(database_dsn, port=port):
            await until_deletions(eye, 3)
        await until_event(worker, "upkeep_pass")
        async with upstream(database_dsn, port=port):
            await until_deletions(eye, 39)
    assert await count_deletions(eye) == 39


async def test_once_works_off_every_garden_and_ends(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, 4)
    async with (
        upstream(database_dsn) as port,
        maintenance_process(None, gardens, settings=over(port), arguments=("once",)) as worker,
    ):
        assert await worker.exit_status() == 0
        assert len(worker.events("upkeep_pass")) == 1
    assert await count_deletions(eye, scope=SCOPE) == 3


async def test_what_a_state_service_cannot_do_stops_the_start(
    write_gardens: Callable[[str], Path],
) -> None:
    path = write_gardens(BY_AGE)
    for arguments in ((), ("once",)):
        async with maintenance_process(None, path, settings=over(1), arguments=arguments) as worker:
            assert await worker.exit_status() == 2
            assert "asks for documents by age" in worker.lines[0]


async def test_two_places_stop_the_start(gardens: Path) -> None:
    dsn = "postgresql://127.0.0.1/x"
    async with maintenance_process(dsn, gardens, settings=over(1)) as worker:
        assert await worker.exit_status() == 2
        (line,) = worker.lines
        assert "NEOSIAN_POSTGRES_DSN and COMMONHOLD_STATE_URL are both set" in line
