"""A store goes into files, over the wire and back, and nothing of it has changed.

One service on the way keeps what it is given in a Postgres of its own, the last one in files.
"""

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from commonhold.adapters.file import FileStore
from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.contract import ConversationArchive, ScopeArchive
from commonhold.usecases.transfers.transfers import transfer
from tests.support.archive_strategies import conversation_archives, scope_archives
from tests.support.pools import open_pool
from tests.support.postgres import PostgresServer, temporary_database
from tests.support.remote_stores import served

EMPTY = """
TRUNCATE commonhold.documents, commonhold.document_versions, commonhold.document_redactions,
    commonhold.conversations, commonhold.turns, commonhold.projections,
    commonhold.turn_redactions
"""
# Three databases serve all examples, and are emptied before each.
RUNS = settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
async def pools(
    postgres_server: PostgresServer, database_template: str
) -> AsyncIterator[tuple[Pool, ...]]:
    """Where a store comes from, the service's own, and where it ends."""
    async with AsyncExitStack() as opened:
        pools = []
        for _ in range(3):
            dsn = await opened.enter_async_context(
                temporary_database(postgres_server, template=database_template)
            )
            pools.append(await open_pool(dsn, size=2))
            opened.push_async_callback(pools[-1].close)
        yield tuple(pools)


@RUNS
@given(
    scopes=st.lists(scope_archives, max_size=3, unique_by=lambda one: one.scope),
    conversations=st.lists(
        conversation_archives, max_size=2, unique_by=lambda one: one.conversation_id
    ),
)
async def test_from_postgres_into_files_over_the_wire_and_back_nothing_changes(
    pools: tuple[Pool, ...],
    scopes: list[ScopeArchive],
    conversations: list[ConversationArchive],
) -> None:
    first, middle, last = [PostgresStore(pool) for pool in pools]
    for pool in pools:
        async with pool.connection() as conn:
            await conn.execute(EMPTY)
    for scope in scopes:
        await first.restore_scope(scope)
    for conversation in conversations:
        await first.restore_conversation(conversation)
    with tempfile.TemporaryDirectory() as folder:
        gone, returned = Path(folder, "gone"), Path(folder, "returned")
        async with (
            FileStore(gone) as files,
            served(middle) as remote,
            FileStore(returned) as behind,
            served(behind) as again,
        ):
            for source, target in (
                (first, files),
                (files, remote),
                (remote, last),
                (last, again),
            ):
                assert (await transfer(source, target)).failed == ()
        assert _tree(gone) == _tree(returned)
    assert await _whole(last) == await _whole(first)


def _tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


async def _whole(store: PostgresStore) -> list[str]:
    """Text tells what equality forgives: key order, 1 and 1.0, 0.0 and -0.0."""
    scopes = [await store.archive_scope(name) for name in await store.scopes()]
    named: list[Any] = [await store.archive_conversation(n) for n in await store.conversations()]
    return [repr(archive) for archive in (*scopes, *named)]
