"""The index of a large scope on Postgres: the text of a listing, from far fewer rows."""

from typing import Any

import pytest

from commonhold.adapters.postgres import PostgresStore
from commonhold.contract import MemoryEntry, Outline
from commonhold.usecases.contexts import DEFAULT_INDEX_BUDGET
from commonhold.usecases.indexes import IndexedMount, render_index
from commonhold.usecases.mount_tokens import parse_mounts
from tests.support.memory_callers import Caller

FILL = """
INSERT INTO commonhold.documents (
    scope, path, content, version, highest_version, is_live, action,
    created_at, updated_at, newest_at
)
SELECT
    'user:ana', 'area-' || p % 40 || '/document-' || p, 'text', 1, 1, true, 'created',
    now(), now() + make_interval(secs => p * 7919 % 1000), now()
FROM generate_series(1, 10000) AS p
"""
MOUNT = "scope=user:ana,path=m"


async def test_the_index_of_ten_thousand_documents_reads_what_it_shows_or_counts(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with store._pool.connection() as conn:
        await conn.execute(FILL)
    entries = await store.list_documents("user:ana")
    outlined: list[Outline] = []
    plain = PostgresStore.outline

    async def watched(self: PostgresStore, scope: str, **options: Any) -> Outline:
        outlined.append(await plain(self, scope, **options))
        return outlined[-1]

    async def refused(self: PostgresStore, scope: str, **_: Any) -> tuple[MemoryEntry, ...]:
        raise AssertionError(f"{scope} was listed")

    monkeypatch.setattr(PostgresStore, "outline", watched)
    monkeypatch.setattr(PostgresStore, "list_documents", refused)
    text = await Caller(store, MOUNT).succeed("view")
    (mount,) = parse_mounts([MOUNT]).mounts
    assert text == render_index([IndexedMount(mount=mount, entries=entries)])
    (outline,) = outlined
    assert len(outline.counts) == 40
    assert len(outline.newest) <= DEFAULT_INDEX_BUDGET / 7 + 1
