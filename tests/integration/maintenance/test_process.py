"""The program from outside: starting, working once, refusing to start, its metrics and its end."""

import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from commonhold.migrations import SCHEMA_VERSION, migrate
from tests.support.maintenance_process import (
    EVERY_DAY,
    SCOPE,
    count_deletions,
    maintenance_process,
    plant_copies,
    until_deletions,
    until_event,
    until_finished,
)
from tests.support.postgres import with_address
from tests.support.scripted_model import says, scripted_model

BAD_MOUNT = """
[gardens.broken]
mounts = [{scope = "user:bo", path = "bo"}]
model = true
"""
# Far longer than any test waits.
BUSY = says(b"", status=503, headers={"Retry-After": "86400"})
WriteGardens = Callable[[str], Path]


async def test_it_works_by_schedule_and_says_what_it_does(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, 4)
    # Of a garden that is in no file any more, and whose worker was killed.
    await eye.execute(
        "INSERT INTO commonhold.jobs"
        " (priority, status, entrypoint, dedupe_key, updated, heartbeat)"
        " VALUES (0, 'picked', 'gone', 'gone', $1, $1)",
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    async with maintenance_process(database_dsn, gardens) as worker:
        await worker.until_ops("/readyz", status=200)
        await until_finished(eye)
        metrics = await worker.until_ops(
            "/metrics", status=200, holding='last_success_timestamp_seconds{garden="home"}'
        )
        lines = set(metrics.text.splitlines())
        assert {
            'commonhold_upkeep_actions_total{kind="delete"} 3.0',
            'commonhold_upkeep_skips_total{reason="changed"} 0.0',
            "commonhold_upkeep_pass_duration_seconds_count 1.0",
            "commonhold_job_queue_depth 0.0",
            "commonhold_job_oldest_seconds 0.0",
            'commonhold_upkeep_garden_info{garden="home"} 1.0',
            "commonhold_ready 1.0",
            "commonhold_model_spend_usd_total 0.0",
            f"commonhold_schema_version {float(SCHEMA_VERSION)}",
        } <= lines
        (line,) = worker.events("upkeep_pass")
        assert [write["path"] for write in line["writes"]] == [
            f"/user/copy/0000{number}" for number in (1, 2, 3)
        ]
        assert (line["garden"], line["end"], line["fence"]) == ("home", "done", "conditional")
        worker.signal(signal.SIGTERM)
        assert await worker.exit_status() == 0


async def test_it_works_behind_a_pooler_in_transaction_mode(
    database_dsn: str, pgbouncer_address: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, 4)
    async with maintenance_process(with_address(database_dsn, pgbouncer_address), gardens):
        await until_finished(eye)
    assert await count_deletions(eye) == 3


async def test_the_serving_role_is_all_it_needs(empty_database_dsn: str, gardens: Path) -> None:
    connection = await asyncpg.connect(empty_database_dsn)
    try:
        await connection.execute("CREATE ROLE tending LOGIN PASSWORD 'x'")
        await migrate(empty_database_dsn, grant_to="tending")
        await plant_copies(connection, 4)
        parts = urlsplit(empty_database_dsn)
        dsn = parts._replace(netloc=f"tending:x@{parts.hostname}:{parts.port}").geturl()
        async with maintenance_process(dsn, gardens):
            await until_finished(connection)
        assert await count_deletions(connection) == 3
    finally:
        await connection.execute("DROP OWNED BY tending; DROP ROLE tending")
        await connection.close()


async def test_once_works_off_every_garden_and_ends(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, 4)
    async with maintenance_process(database_dsn, gardens, arguments=("once",)) as worker:
        assert await worker.exit_status() == 0
        assert len(worker.events("upkeep_pass")) == 1
    assert await count_deletions(eye) == 3


async def test_once_begins_no_further_garden_when_it_is_stopped(
    database_dsn: str, eye: asyncpg.Connection, write_gardens: WriteGardens
) -> None:
    await plant_copies(eye, 200)
    path = write_gardens(EVERY_DAY + EVERY_DAY.replace("home", "work"))
    async with maintenance_process(database_dsn, path, arguments=("once",)) as worker:
        await until_deletions(eye, 5)
        worker.signal(signal.SIGTERM)
        assert await worker.exit_status() == 1
        ends = [(line["garden"], line["end"]) for line in worker.events("upkeep_pass")]
    assert ends == [("home", "stopped")]
    assert await count_deletions(eye) < 199


async def test_a_dry_run_writes_nothing_and_says_what_it_would(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, 4)
    arguments = ("once", "--dry-run")
    async with maintenance_process(database_dsn, gardens, arguments=arguments) as worker:
        assert await worker.exit_status() == 0
        (line,) = worker.events("upkeep_pass")
        assert (line["dry_run"], len(line["writes"])) == (True, 3)
    assert await count_deletions(eye) == 0


async def test_once_fails_when_a_pass_was_degraded_and_the_others_had_their_turn(
    database_dsn: str, eye: asyncpg.Connection, write_gardens: WriteGardens
) -> None:
    await plant_copies(eye, 4)
    await plant_copies(eye, 4, scope="user:bo")
    path = write_gardens(BAD_MOUNT + EVERY_DAY)
    async with scripted_model(BUSY) as model:
        chosen = {"COMMONHOLD_MODEL_URL": model.base_url, "COMMONHOLD_MODEL_NAME": "m"}
        async with maintenance_process(
            database_dsn, path, arguments=("once",), settings=chosen
        ) as worker:
            assert await worker.exit_status() == 1
            ends = {line["garden"]: line["degraded"] for line in worker.events("upkeep_pass")}
        # What is in a call may be erased before it would be repeated.
        assert len(model.requests) == 1
    assert ends == {"broken": "Maintenance failed: ProviderTransportError", "home": None}
    assert await count_deletions(eye) == 3
    assert await count_deletions(eye, scope="user:bo") == 3


async def test_once_leaves_a_claimed_garden_to_who_has_it(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, 4)
    await eye.execute(
        "INSERT INTO commonhold.claims VALUES ($1, 1, 'other', now() + interval '1 hour')", SCOPE
    )
    async with maintenance_process(database_dsn, gardens, arguments=("once",)) as worker:
        assert await worker.exit_status() == 0
        assert len(worker.events("already_running")) == 1
    assert await count_deletions(eye) == 0


async def test_gardens_that_share_a_scope_exclude_each_other(
    database_dsn: str, eye: asyncpg.Connection, gardens: Path
) -> None:
    await plant_copies(eye, 4)
    await eye.execute(
        "INSERT INTO commonhold.claims VALUES ($1, 1, 'other', now() + interval '1 hour')", SCOPE
    )
    async with maintenance_process(database_dsn, gardens) as worker:
        await until_event(worker, "already_running")
        assert worker.events("upkeep_pass") == []
        assert await eye.fetchval("SELECT status::text FROM commonhold.jobs") == "queued"
    assert await count_deletions(eye) == 0


@pytest.mark.parametrize(
    ("text", "settings", "said"),
    [
        ("[gardens.home]\nmounts = 3\n", {}, ", line 2: Expected `array`, got `int`"),
        (
            EVERY_DAY + "model = true\n",
            {"COMMONHOLD_MODEL_URL": "http://model/v1"},
            "COMMONHOLD_MODEL_NAME must be set",
        ),
        (EVERY_DAY, {"COMMONHOLD_MAINTENANCE_LEASE_SECONDS": "0"}, "LEASE_SECONDS must be"),
        (EVERY_DAY, {"COMMONHOLD_SCHEMA": "Select"}, "COMMONHOLD_SCHEMA must match [a-z_]"),
    ],
)
async def test_a_mistake_stops_the_start_by_name(
    database_dsn: str,
    write_gardens: WriteGardens,
    text: str,
    settings: dict[str, str],
    said: str,
) -> None:
    path = write_gardens(text)
    async with maintenance_process(database_dsn, path, settings=settings) as worker:
        assert await worker.exit_status() == 2
        assert said in worker.lines[-1]
        assert "Traceback" not in "\n".join(worker.lines)


async def test_it_waits_for_its_schema_and_says_so(empty_database_dsn: str, gardens: Path) -> None:
    async with maintenance_process(empty_database_dsn, gardens) as worker:
        answer = await worker.until_ops("/readyz", status=503, holding="schema")
        assert "migrate" in answer.text
        assert worker.events("worker_failed") == []


async def test_once_on_a_database_without_its_schema_is_a_mistake(
    empty_database_dsn: str, gardens: Path
) -> None:
    async with maintenance_process(empty_database_dsn, gardens, arguments=("once",)) as worker:
        assert await worker.exit_status() == 2
        assert "migrate" in worker.lines[-1]
