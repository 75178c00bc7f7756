"""A deterministic pass over a hundred thousand documents, in a process of its own."""

import asyncio
import json
import sys

import asyncpg

DOCUMENTS = 100_000
# Every fiftieth is a copy of the first, every seventieth is blank.
PLANT = """
WITH planted AS (
    INSERT INTO commonhold.documents (
        scope, path, content, version, highest_version, is_live, action,
        created_at, updated_at, newest_at
    )
    SELECT
        'user:ana', 'notes/' || lpad(n::text, 6, '0'),
        CASE WHEN n % 70 = 0 THEN repeat(' ', n % 7) WHEN n % 50 = 1 THEN 'copy'
        ELSE repeat('text of ' || n || ' ', 40) END,
        1, 1, true, 'created', $1, $1, $1
    FROM generate_series(1, $2::int) AS n
    RETURNING scope, path, content
)
INSERT INTO commonhold.document_versions (scope, path, version, action, content, created_at)
SELECT scope, path, 1, 'created', content, $1 FROM planted
"""
PASS = """
import asyncio, json, sys, time
from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.contract import SystemClock
from commonhold.usecases.mount_tokens import parse_mounts
from commonhold.usecases.upkeep.passes import Garden, maintain

async def run():
    pool = await Pool.open(sys.argv[1], size=2)
    garden = Garden(mounts=parse_mounts(["scope=user:ana,path=user"]), actor="gardener:night")
    started = time.monotonic()
    report = await maintain(PostgresStore(pool), garden, clock=SystemClock())
    took = time.monotonic() - started
    await pool.close()
    # Not ru_maxrss: that keeps the peak of the process that this one was forked from.
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    print(json.dumps({"seconds": took, "mebibytes": peak / 1024, "writes": len(report.writes),
                      "skipped": len(report.skipped), "whole": report.is_whole}))

asyncio.run(run())
"""
ROWS = "SELECT count(*) FROM commonhold.document_versions"


async def run_pass(dsn: str) -> dict[str, float]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PASS, dsn, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    found: dict[str, float] = json.loads(output)
    return found


async def test_a_pass_over_a_hundred_thousand_documents_is_quick_and_small(
    database_dsn: str,
) -> None:
    conn = await asyncpg.connect(database_dsn)
    await conn.execute(PLANT.replace("$2", str(DOCUMENTS)).replace("$1", "'2026-01-01T00:00Z'"))
    blank = len(range(70, DOCUMENTS + 1, 70))
    copies = len([n for n in range(1, DOCUMENTS + 1, 50) if n % 70]) - 1
    first = await run_pass(database_dsn)
    assert (first["writes"], first["skipped"], first["whole"]) == (blank + copies, 0, True)
    assert first["seconds"] < 60, first
    assert first["mebibytes"] < 200, first
    rows = await conn.fetchval(ROWS)
    assert rows == DOCUMENTS + blank + copies
    second = await run_pass(database_dsn)
    assert (second["writes"], await conn.fetchval(ROWS)) == (0, rows)
    assert second["seconds"] < first["seconds"]
    await conn.close()
    print(f"with deletions {first}; unchanged {second}")
