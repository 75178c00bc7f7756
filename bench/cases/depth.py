"""What must cost the same however much is stored: appends, writes, pages.

The variants of a group run in turn, several times; each is compared with the first.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from statistics import median

from bench import datasets, names, texts, wire
from bench.cases.populations import ensure_large_scope, ensure_turns
from bench.context import Bench
from bench.findings import Finding, Report, Target
from bench.loads import Load
from bench.stands import Client
from bench.summaries import Round, summarise

CONNECTIONS = 4
FLAT = Target(at_most=1.2)
SMALL_SCOPES = 400_000
SMALL_PATHS = 10
# As many different rows are overwritten in the large scope as in the small ones.
ROWS = 1_000
LEDGER_SCOPE = 500_000

Variants = Mapping[str, Sequence[bytes]]


def appends_by_length(bench: Bench) -> Report:
    """The first turn of a conversation, and those behind 1,000 and 100,000 others."""
    turns = ensure_turns(bench)
    sent = [{"role": m.role, "content": str(m.content)} for m in texts.turn_messages()]
    fresh = [wire.append(f"new-{number}", sent) for number in range(200_000)]
    variants = {
        "turn 1": fresh,
        f"turn {bench.scale.short_turns:,}": [wire.append(c, sent) for c in turns.short],
        f"turn {bench.scale.long_turns:,}": [wire.append(c, sent) for c in turns.long],
    }
    return _flat(bench, "append", variants)


def writes_by_scope(bench: Bench) -> Report:
    """Overwrites in scopes of 10 documents, and in one of 100,000."""
    large = ensure_large_scope(bench)
    small = ROWS // SMALL_PATHS
    asyncio.run(
        datasets.load_documents(
            bench.stand.dsn,
            first_scope=names.FIRST_SCOPE + SMALL_SCOPES,
            scopes=small,
            paths=SMALL_PATHS,
            content=texts.content(),
        )
    )
    content = texts.content()
    picked = random.Random(1).sample(range(bench.scale.documents), ROWS)
    variants = {
        f"a scope of {SMALL_PATHS} documents": [
            wire.write(names.scope(SMALL_SCOPES + s), names.path(p), content)
            for s in range(small)
            for p in range(SMALL_PATHS)
        ],
        f"a scope of {bench.scale.documents:,}": [
            wire.write(large, names.path(p), content) for p in picked
        ],
    }
    return _flat(bench, "write", variants)


def listed_pages(bench: Bench) -> Report:
    return _pages(bench, "memory/list_documents", scope=ensure_large_scope(bench))


def history_pages(bench: Bench) -> Report:
    return _pages(bench, "memory/history", scope=ensure_large_scope(bench))


def versions_pages(bench: Bench) -> Report:
    scope, path = names.scope(LEDGER_SCOPE), names.path(0)
    asyncio.run(
        datasets.load_versions(
            bench.stand.dsn,
            scope=scope,
            path=path,
            versions=bench.scale.page_size * bench.scale.pages + 1,
            content="a line",
        )
    )
    return _pages(bench, "memory/versions", scope=scope, path=path)


def _pages(bench: Bench, route: str, **where: str) -> Report:
    size = bench.scale.page_size
    cursor = _cursor_of_page(bench, route, where)
    variants = {
        "page 1": [wire.post(route, {**where, "limit": size})],
        f"page {bench.scale.pages}": [wire.post(route, {**where, "limit": size, "cursor": cursor})],
    }
    return _flat(bench, route.removeprefix("memory/"), variants)


def _cursor_of_page(bench: Bench, route: str, where: Mapping[str, str]) -> str:
    """Follow the pages to the last one; each must be full and none may repeat a row."""
    client = Client(bench.service.port)
    cursor: str | None = None
    seen: set[tuple[str, int]] = set()
    try:
        for _ in range(bench.scale.pages - 1):
            page = client.call(route, **where, limit=bench.scale.page_size, cursor=cursor)
            cursor = page.pop("next_cursor")
            (rows,) = page.values()
            seen.update((row["path"], row["version"]) for row in rows)
    finally:
        client.close()
    expected = bench.scale.page_size * (bench.scale.pages - 1)
    if len(seen) != expected or cursor is None:
        raise RuntimeError(f"{route} gave {len(seen)} rows in its pages instead of {expected}")
    return cursor


def _flat(bench: Bench, case: str, variants: Variants) -> Report:
    rounds = [
        summarise(bench.load_service(_load(bench, sent)), side=name, number=number)
        for number in range(bench.scale.flat_rounds)
        for name, sent in variants.items()
    ]
    first, *others = variants
    findings = [_compare(case, rounds, name, first=first) for name in others]
    return Report(case=case, findings=findings, rounds=rounds)


def _load(bench: Bench, sent: Sequence[bytes]) -> Load:
    return Load(
        port=bench.service.port,
        requests=sent,
        connections=CONNECTIONS,
        seconds=bench.scale.flat_seconds,
        warmup_seconds=0.2,
    )


def _compare(case: str, rounds: Sequence[Round], name: str, *, first: str) -> Finding:
    medians = {(one.side, one.number): one.p50_ms or 0.0 for one in rounds}
    numbers = {one.number for one in rounds}
    return Finding(
        what=f"{case}: {name} / {first}",
        value=median(medians[name, n] / medians[first, n] for n in numbers),
        target=FLAT,
        notes=(
            f"p50 {median(medians[name, n] for n in numbers):.2f} ms"
            f" and {median(medians[first, n] for n in numbers):.2f} ms"
        ),
    )
