"""How many version rows a second move between Postgres and files."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from bench import names, texts
from bench.context import Bench
from bench.findings import Finding, Report, Target
from commonhold.adapters.file import FileStore
from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.contract import MemoryDocument, MemoryVersion, ScopeArchive
from commonhold.usecases.transfers.transfers import transfer
from commonhold.usecases.transfers.units import Choice
from commonhold.usecases.transfers.units import Target as Place

EXPORTED, IMPORTED = 910_000, 920_000
DOCUMENTS = 20
CONTENT_BYTES = 200
_RATE = Target(at_least=20_000)
_AT = datetime(2026, 1, 1, tzinfo=UTC)


def rows_moved(bench: Bench) -> Report:
    """Export, and import, of scopes of 20 documents with many versions each."""
    return Report(case="transfers", findings=asyncio.run(_measure(bench)))


async def _measure(bench: Bench) -> list[Finding]:
    pool = await Pool.open(bench.stand.dsn, size=4)
    store = PostgresStore(pool)
    try:
        with TemporaryDirectory() as folder:
            async with FileStore(Path(folder, "out")) as out, FileStore(Path(folder, "in")) as into:
                for number in range(bench.scale.moved_scopes):
                    await store.restore_scope(_archive(bench, EXPORTED + number))
                    await into.restore_scope(_archive(bench, IMPORTED + number))
                return [
                    await _moved(bench, "export", store, out, first=EXPORTED),
                    await _moved(bench, "import", into, store, first=IMPORTED),
                ]
    finally:
        await pool.close()


async def _moved(bench: Bench, what: str, source: Place, target: Place, *, first: int) -> Finding:
    scopes = tuple(names.scope(first + number) for number in range(bench.scale.moved_scopes))
    started = perf_counter()
    report = await transfer(source, target, choice=Choice(scopes=scopes))
    seconds = perf_counter() - started
    if report.failed:
        raise RuntimeError(str(report.failed[0].error))
    rows = sum(unit.versions for unit in report.units)
    return Finding(
        what=f"transfers: {what}",
        value=rows / seconds,
        unit="version rows/s",
        target=_RATE,
        notes=f"{rows:,} rows of {CONTENT_BYTES} bytes in {len(scopes)} scopes",
    )


def _archive(bench: Bench, number: int) -> ScopeArchive:
    scope, content = names.scope(number), texts.content(CONTENT_BYTES)
    paths = [names.path(place) for place in range(DOCUMENTS)]
    return ScopeArchive(
        scope=scope,
        documents=tuple(
            MemoryDocument(
                scope=scope,
                path=path,
                content=content,
                version=bench.scale.moved_versions,
                created_at=_AT,
                updated_at=_AT,
                actor="client:bench",
            )
            for path in paths
        ),
        versions=tuple(
            MemoryVersion(
                path=path,
                version=version,
                action="created" if version == 1 else "modified",
                content=content,
                actor="client:bench",
                created_at=_AT,
            )
            for path in paths
            for version in range(1, bench.scale.moved_versions + 1)
        ),
    )
