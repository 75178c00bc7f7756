"""A store larger than the memory of the process that moves it, out of Postgres and into it.

The verbs run as an operator runs them, each in a process of its own that may not have more
address space than the limit: mappings that it never touches count too.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from time import perf_counter

import asyncpg
import msgspec

from bench import names, texts
from bench.context import Bench
from bench.corpus import Corpus
from bench.findings import Finding, Report, Target
from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.contract import (
    ConversationArchive,
    ConversationTurn,
    MemoryDocument,
    MemoryVersion,
    ScopeArchive,
)

LIMIT_MIB = 512
UNIT_MIB = 1
# What a unit of either kind is made of.
DOCUMENTS, VERSIONS, VERSION_CHARACTERS = 8, 8, 16 * 1024
TURNS, TURN_CHARACTERS = 128, 8 * 1024
_LONGEST_SECONDS = 3_600.0
# More texts than are ever taken.
_ENDLESS = 10**9
_AT = datetime(2026, 1, 1, tzinfo=UTC)

# One digest a database: every column of every row that an archive holds.
_DIGEST = """
SELECT md5(string_agg(md5(r.row), '' ORDER BY r.row)) FROM (
    SELECT md5(d::text) AS row FROM commonhold.documents AS d
    UNION ALL SELECT md5(v::text) FROM commonhold.document_versions AS v
    UNION ALL SELECT md5(t::text) FROM commonhold.turns AS t
) AS r
"""


class _Moved(msgspec.Struct, frozen=True, kw_only=True):
    seconds: float
    peak_mib: float


def large_store(bench: Bench) -> Report:
    """Export and import of a store of many units of 1 MiB, half scopes and half conversations."""
    mib = bench.scale.large_store_mib
    with (
        bench.stand.database("large_source") as source,
        bench.stand.database("large_target") as target,
        TemporaryDirectory() as folder,
    ):
        bench.say(f"loading a store of {mib:,} MiB")
        asyncio.run(_load(source, units=mib // UNIT_MIB))
        out = _run("export", folder, dsn=source)
        bench.say(f"exported in {out.seconds:.0f} s")
        back = _run("import", folder, dsn=target)
        same = asyncio.run(_digest(source)) == asyncio.run(_digest(target))
    findings = [
        *_findings("export", out, mib=mib),
        *_findings("import", back, mib=mib),
        Finding(
            what="large store: rows that came back are those that went",
            value=float(same),
            target=Target(at_least=1),
        ),
    ]
    return Report(case="large store", findings=findings)


def _findings(what: str, moved: _Moved, *, mib: int) -> Iterator[Finding]:
    yield Finding(
        what=f"large store: peak memory of an {what}",
        value=moved.peak_mib,
        unit="MiB",
        target=Target(at_most=LIMIT_MIB),
        notes=f"of a store of {mib:,} MiB under a limit of {LIMIT_MIB} MiB",
    )
    yield Finding(
        what=f"large store: {what}",
        value=mib / moved.seconds,
        unit="MiB/s",
        notes=f"{moved.seconds:.0f} s",
    )


def _run(verb: str, folder: str, *, dsn: str) -> _Moved:
    started = perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "bench.limited", str(LIMIT_MIB), verb, folder, "--json"],
        env={"PATH": os.defpath, "NEOSIAN_POSTGRES_DSN": dsn},
        capture_output=True,
        text=True,
        timeout=_LONGEST_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{verb} ended with status {done.returncode}: {done.stderr[-2_000:]}")
    peak = float(done.stdout.splitlines()[-1])
    return _Moved(seconds=perf_counter() - started, peak_mib=peak)


async def _load(dsn: str, *, units: int) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        # An export never searches, and the index would take most of the loading.
        await connection.execute("DROP INDEX IF EXISTS commonhold.turns_search")
    finally:
        await connection.close()
    said = Corpus(_ENDLESS).texts()
    pool = await Pool.open(dsn, size=1)
    try:
        store = PostgresStore(pool)
        for number in range(units // 2):
            await store.restore_scope(_scope(number, said))
            await store.restore_conversation(_conversation(number, said))
    finally:
        await pool.close()


async def _digest(dsn: str) -> str:
    connection = await asyncpg.connect(dsn)
    try:
        found: str = await connection.fetchval(_DIGEST, timeout=_LONGEST_SECONDS)
        return found
    finally:
        await connection.close()


def _scope(number: int, said: Iterator[str]) -> ScopeArchive:
    scope = names.scope(number)
    rows = tuple(
        MemoryVersion(
            path=names.path(place),
            version=version,
            action="created" if version == 1 else "modified",
            content=_text(said, VERSION_CHARACTERS),
            actor="client:bench",
            created_at=_AT,
        )
        for place in range(DOCUMENTS)
        for version in range(1, VERSIONS + 1)
    )
    documents = tuple(
        MemoryDocument(
            scope=scope,
            path=row.path,
            content=row.content,
            version=row.version,
            created_at=_AT,
            updated_at=_AT,
            actor=row.actor,
        )
        for row in rows
        if row.version == VERSIONS
    )
    return ScopeArchive(scope=scope, documents=documents, versions=rows)


def _conversation(number: int, said: Iterator[str]) -> ConversationArchive:
    name = names.conversation(number)
    turns = tuple(
        ConversationTurn(
            conversation_id=name,
            turn=turn,
            messages=(texts.user_message(_text(said, TURN_CHARACTERS)),),
            created_at=_AT,
            actor="client:bench",
        )
        for turn in range(1, TURNS + 1)
    )
    return ConversationArchive(conversation_id=name, turns=turns, projections=())


def _text(said: Iterator[str], size: int) -> str:
    """So many characters, a byte each."""
    pieces: list[str] = []
    while size > 0:
        piece = next(said)[:size]
        pieces.append(piece)
        size -= len(piece)
    return "".join(pieces)
