"""A store moves through Postgres unit by unit: the verbs hold one of them, whatever there are.

`make bench ARGS="--only large-store"` moves 2 GiB so, under the same limit.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonhold.adapters.postgres import PostgresStore
from commonhold.conformance.samples import says
from commonhold.contract import (
    ConversationArchive,
    ConversationTurn,
    MemoryVersion,
    ScopeArchive,
)
from tests.support.pools import open_pool
from tests.support.postgres import PostgresServer, temporary_database
from tests.support.repository import ROOT

LIMIT_MIB = 512
UNITS = 40
UNIT_CHARACTERS = 1024 * 1024
# Room for a unit's rows in all their forms, and for nothing like the store.
ROOM_MIB = 14
SECONDS = 240.0
AT = datetime(2026, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


def scope(number: int) -> ScopeArchive:
    row = MemoryVersion(
        path="a",
        version=1,
        action="created",
        content=f"{number:04}" * (UNIT_CHARACTERS // 4),
        actor=None,
        created_at=AT,
    )
    return ScopeArchive(scope=f"user:s{number:02}", versions=(row,))


def conversation(number: int) -> ConversationArchive:
    name = f"c{number:02}"
    turns = tuple(
        ConversationTurn(
            conversation_id=name,
            turn=turn,
            messages=(says(f"{number:04}" * (UNIT_CHARACTERS // 64)),),
            created_at=AT,
        )
        for turn in range(1, 17)
    )
    return ConversationArchive(conversation_id=name, turns=turns, projections=())


@pytest.fixture
async def databases(
    postgres_server: PostgresServer, database_template: str
) -> AsyncIterator[tuple[str, str]]:
    """One that holds a store of 40 MiB, and an empty one."""
    async with (
        temporary_database(postgres_server, template=database_template) as source,
        temporary_database(postgres_server, template=database_template) as target,
    ):
        pool = await open_pool(source, size=1)
        store = PostgresStore(pool)
        for number in range(UNITS // 2):
            await store.restore_scope(scope(number))
            await store.restore_conversation(conversation(number))
        await pool.close()
        yield source, target


async def test_an_export_and_an_import_hold_a_unit_and_not_the_store(
    databases: tuple[str, str], tmp_path: Path
) -> None:
    source, target = databases
    one = await peak_mib("export", tmp_path / "one", "--scope", "user:s00", dsn=source)
    out = await peak_mib("export", tmp_path / "all", dsn=source)
    back = await peak_mib("import", tmp_path / "all", dsn=target)
    assert max(out, back) < one + ROOM_MIB, (one, out, back)
    pool = await open_pool(target, size=1)
    store = PostgresStore(pool)
    assert len(await store.scopes()) == len(await store.conversations()) == UNITS // 2
    assert await store.archive_scope("user:s19") == scope(19)
    assert await store.archive_conversation("c19") == conversation(19)
    await pool.close()


async def peak_mib(verb: str, folder: Path, *options: str, dsn: str) -> float:
    """Run a verb under the limit; what it had in memory at most."""
    line = [str(LIMIT_MIB), verb, str(folder), *options, "--json"]
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "bench.limited", *line],
        cwd=ROOT,
        env={"PATH": os.defpath, "NEOSIAN_POSTGRES_DSN": dsn},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[-1])
