"""`migrate --wait`: for a database that lets us in and, with `--check`, for its migration."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from commonhold.cli import migrate as verb
from commonhold.migrations import (
    SCHEMA_VERSION,
    MigrationError,
    await_database,
    await_schema,
    migrate,
)
from tests.support.tcp_proxy import proxy_to


async def test_it_waits_until_another_process_has_migrated(empty_database_dsn: str) -> None:
    said: list[str] = []
    waiting = asyncio.Event()

    def note(line: str) -> None:
        said.append(line)
        waiting.set()

    waiter = asyncio.create_task(await_schema(empty_database_dsn, wait_seconds=30, report=note))
    await waiting.wait()
    assert not waiter.done()
    await migrate(empty_database_dsn)
    await waiter
    first, *between, last = said
    assert first == (
        "waiting: schema 'commonhold' holds no Commonhold tables: run `commonhold migrate`"
    )
    # A slow migration is seen on its way.
    assert all(line.startswith("waiting: schema 'commonhold' is at version") for line in between)
    assert last == "schema 'commonhold' fits this release"


async def test_an_older_schema_is_an_obstacle_that_is_named(empty_database_dsn: str) -> None:
    await migrate(empty_database_dsn)
    conn = await asyncpg.connect(empty_database_dsn)
    await conn.execute("UPDATE commonhold.schema_state SET version = version - 1")
    await conn.close()
    with pytest.raises(MigrationError, match=f"this release needs {SCHEMA_VERSION}"):
        await await_schema(empty_database_dsn, report=print)


async def test_a_newer_compatible_schema_is_none(empty_database_dsn: str) -> None:
    await migrate(empty_database_dsn)
    conn = await asyncpg.connect(empty_database_dsn)
    await conn.execute("UPDATE commonhold.schema_state SET version = version + 7")
    await conn.close()
    await await_schema(empty_database_dsn, report=print)


async def test_it_needs_only_what_the_serving_role_has(empty_database_dsn: str) -> None:
    role = "check_reader"
    conn = await asyncpg.connect(empty_database_dsn)
    try:
        await conn.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'p'")
        await migrate(empty_database_dsn)
        await conn.execute(f"SET ROLE {role}")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await conn.fetch("SELECT version FROM commonhold.schema_state")
        await conn.execute("RESET ROLE")
        parts = urlsplit(empty_database_dsn)
        dsn = parts._replace(netloc=f"{role}:p@{parts.netloc.rpartition('@')[2]}").geturl()
        with pytest.raises(MigrationError, match="the database refused: permission denied"):
            await await_schema(dsn, report=print)
        await migrate(empty_database_dsn, grant_to=role)
        await await_schema(dsn, report=print)
    finally:
        await conn.execute(f"DROP OWNED BY {role}")
        await conn.execute(f"DROP ROLE {role}")
        await conn.close()


async def test_a_migration_waits_for_a_network_that_lets_it_through_late(
    empty_database_dsn: str,
) -> None:
    async with proxy_to(empty_database_dsn) as (proxy, dsn):
        proxy.refusing = True
        migrating = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "commonhold.cli", "migrate", "--wait", "250"),
            env={**os.environ, "COMMONHOLD_MIGRATE_DSN": dsn},
            stdout=asyncio.subprocess.PIPE,
        )
        assert migrating.stdout is not None
        first = await migrating.stdout.readline()
        proxy.refusing = False
        rest, _ = await migrating.communicate()
    assert first.startswith(b"waiting: the database refused: ")
    assert rest.splitlines()[-1] == b"schema 'commonhold' is at version %d" % SCHEMA_VERSION
    assert migrating.returncode == 0


async def test_a_database_that_stays_away_is_an_error_in_the_end(empty_database_dsn: str) -> None:
    said: list[str] = []
    async with proxy_to(empty_database_dsn) as (proxy, dsn):
        proxy.refusing = True
        with pytest.raises(MigrationError, match=r"the database refused: ."):
            await await_database(dsn, wait_seconds=3, report=said.append)
    assert len(said) == 1


@pytest.mark.parametrize("part", ["username", "path"])
async def test_what_time_does_not_cure_is_not_waited_for(
    empty_database_dsn: str, part: str
) -> None:
    parts = urlsplit(empty_database_dsn)
    wrong = (
        parts._replace(path="/no_such_database")
        if part == "path"
        else parts._replace(netloc=f"nobody:p@{parts.netloc.rpartition('@')[2]}")
    )
    said: list[str] = []
    with pytest.raises(MigrationError, match=r"the database refused: ."):
        await await_database(wrong.geturl(), wait_seconds=1000, report=said.append)
    assert said == []


async def test_a_waiting_container_ends_when_it_is_told_to(empty_database_dsn: str) -> None:
    waiting = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "commonhold.cli", "migrate", "--check", "--wait", "600"),
        env={**os.environ, "NEOSIAN_POSTGRES_DSN": empty_database_dsn},
        stdout=asyncio.subprocess.PIPE,
    )
    assert waiting.stdout is not None
    async with asyncio.timeout(30):
        assert (await waiting.stdout.readline()).startswith(b"waiting: ")
        waiting.terminate()
        # By its own handler: as the first process of a container it has no other.
        assert await waiting.wait() == 128 + signal.SIGTERM


def test_the_verb_changes_nothing_and_says_why(
    empty_database_dsn: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "dsn"
    file.write_text(empty_database_dsn)
    environment = {
        "NEOSIAN_POSTGRES_DSN_FILE": str(file),
        "COMMONHOLD_MIGRATE_DSN": "postgresql://",
    }
    assert verb.main(["--check"], environment) == 1
    assert "holds no Commonhold tables" in capfd.readouterr().err
    assert verb.main([], {"NEOSIAN_POSTGRES_DSN": empty_database_dsn}) == 0
    assert verb.main(["--check"], environment) == 0
