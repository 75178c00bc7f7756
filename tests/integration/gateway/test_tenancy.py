"""Twenty clients at once on two replicas: nobody sees a word of anybody else."""

import asyncio
import contextlib
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from mcp.client import Client

from commonhold.adapters.postgres import PostgresStore
from tests.support.conversations import tell
from tests.support.load.replicas import GATEWAY, Replica, start_replicas
from tests.support.mcp_clients import NEWEST, bearer, mcp_client, texts
from tests.support.pools import open_pool
from tests.support.tenancy import Tenant, foreign_answers, foreign_rows

CLIENTS = 20
CALLS = 50
# Of a client's own conversation: found, recalled, continued, and told of when it begins.
HISTORY_CALLS = 4
TENANTS = [
    Tenant(
        client=f"client:c{number}",
        scope=f"user:c{number}",
        mount="own",
        token=secrets.token_hex(16),
        marker=f"marker-{number}-{secrets.token_hex(8)}-",
    )
    for number in range(CLIENTS)
]


@pytest.fixture
def replicas(database_dsn: str, tmp_path: Path) -> Iterator[Sequence[Replica]]:
    table = tmp_path / "clients.toml"
    table.write_text(
        "\n".join(
            f'[clients."{tenant.client}"]\n'
            f'mounts = [{{ scope = "{tenant.scope}", path = "own" }}]\n'
            f'conversations = ["{_prefix(tenant)}"]'
            for tenant in TENANTS
        )
    )
    tokens = ",".join(f"{tenant.client}={tenant.token}" for tenant in TENANTS)
    settings = {
        "COMMONHOLD_GATEWAY_CLIENTS": str(table),
        "COMMONHOLD_GATEWAY_CALLS_PER_CLIENT": str(CALLS),
        "COMMONHOLD_IN_FLIGHT_LIMIT": "2000",
        "COMMONHOLD_POOL_WAIT_SECONDS": "30",
    }
    with start_replicas(
        database_dsn, token=tokens, logs=tmp_path, settings=settings, service=GATEWAY
    ) as replicas:
        yield replicas


async def test_no_row_and_no_answer_holds_what_another_client_wrote(
    replicas: Sequence[Replica], database_dsn: str
) -> None:
    await _record_conversations(database_dsn)
    found = await asyncio.gather(
        *(_work(tenant, replicas[number % len(replicas)]) for number, tenant in enumerate(TENANTS))
    )
    answers = dict(zip([tenant.client for tenant in TENANTS], found, strict=True))
    assert foreign_answers(answers, TENANTS) == []
    assert await foreign_rows(database_dsn, TENANTS) == []
    for tenant in TENANTS:
        own = [text for text in answers[tenant.client] if tenant.marker in text]
        assert len(own) == CALLS // 2 + HISTORY_CALLS
    # The session's document beside the documents that the calls made.
    assert await _rows_of(database_dsn) == CLIENTS * (CALLS // 2 + 1)


def test_the_checker_finds_a_planted_answer() -> None:
    first, second = TENANTS[:2]
    answers = {first.client: [f"x {first.marker} {second.marker}"], second.client: [second.marker]}
    assert foreign_answers(answers, TENANTS) == [(first.client, second.client)]


@pytest.mark.parametrize(
    ("scope", "actor"),
    [(TENANTS[1].scope, TENANTS[0].client), (TENANTS[0].scope, TENANTS[1].client)],
    ids=["in another's scope", "under another's name"],
)
async def test_the_checker_finds_a_planted_row(database_dsn: str, scope: str, actor: str) -> None:
    pool = await open_pool(database_dsn, size=1)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(pool.close)
        store = PostgresStore(pool)
        await store.write(scope, "p", TENANTS[0].marker, actor=f"{actor}/mcp:gateway")
    leak = TENANTS[0].client
    assert await foreign_rows(database_dsn, TENANTS) == [
        ("document_versions", leak),
        ("documents", leak),
    ]


async def _work(tenant: Tenant, replica: Replica) -> list[str]:
    """All calls of one client at once: it writes and looks, also where it may not."""
    async with mcp_client(replica.mcp_url, headers=bearer(tenant.token), era=NEWEST) as client:
        written = await asyncio.gather(
            *(
                _call(client, "create", f"/own/{n}", content=tenant.marker)
                for n in range(CALLS // 2)
            ),
            *(_call(client, "view", path) for path in ("/", "/own", "/user", "/c1", "/own/../c1")),
        )
        read = await asyncio.gather(
            *(_call(client, "view", f"/own/{n}") for n in range(CALLS // 2)),
            *(_ask(client, tool, **arguments) for tool, arguments in _history_calls(tenant)),
        )
        return [*written, *read, client.instructions or ""]


def _history_calls(tenant: Tenant) -> list[tuple[str, dict[str, Any]]]:
    others = [_conversation(other) for other in TENANTS if other is not tenant][:4]
    return [
        ("search_history", {"query": "marker"}),
        ("recall_turn", {"turn": 1, "conversation": _conversation(tenant)}),
        ("continue_session", {}),
        *(("recall_turn", {"turn": 1, "conversation": other}) for other in others),
        *(("continue_session", {"conversation": other}) for other in others),
        *(("search_history", {"query": "marker", "conversation": other}) for other in others),
    ]


async def _record_conversations(dsn: str) -> None:
    """What the clients' hosts append: a turn each, and a session that lists it."""
    async with contextlib.AsyncExitStack() as stack:
        pool = await open_pool(dsn, size=1)
        stack.push_async_callback(pool.close)
        store = PostgresStore(pool)
        for tenant in TENANTS:
            name, actor = _conversation(tenant), f"{tenant.client}/mcp:gateway"
            await tell(store, name, f"said {tenant.marker}", actor=actor)
            await store.write(tenant.scope, f"sessions/{name}", "- turns: 1\n", actor=actor)


def _prefix(tenant: Tenant) -> str:
    return f"{tenant.mount}-{tenant.client.partition(':')[2]}-"


def _conversation(tenant: Tenant) -> str:
    return f"{_prefix(tenant)}1"


async def _call(client: Client, command: str, path: str, **arguments: str) -> str:
    return await _ask(client, "memory", command=command, path=path, **arguments)


async def _ask(client: Client, tool: str, **arguments: Any) -> str:
    return "\n".join(texts(await client.call_tool(tool, arguments)))


async def _rows_of(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        count: int = await connection.fetchval("SELECT count(*) FROM commonhold.documents")
    finally:
        await connection.close()
    return count
