"""What the shared fixtures promise to the tests that build on them."""

import contextlib
import socket
from urllib.parse import urlsplit

import asyncpg
import docker
import docker.errors
import pytest

from tests.support.engine import OWNER_LABEL, remove_orphans
from tests.support.postgres import (
    IMAGE,
    PostgresServer,
    execute,
    start_postgres,
    temporary_database,
    with_address,
)

NO_SUCH_PROCESS = "999999999"


async def _scalar(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


@pytest.mark.parametrize("turn", [1, 2])
async def test_no_test_sees_the_tables_of_another(empty_database_dsn: str, turn: int) -> None:
    await execute(empty_database_dsn, f"CREATE TABLE marks AS SELECT {turn} AS mark")
    assert await _scalar(empty_database_dsn, "SELECT sum(mark) FROM marks") == turn


@pytest.mark.parametrize("turn", [1, 2])
async def test_a_migrated_database_starts_without_rows(database_dsn: str, turn: int) -> None:
    row = f"('chat-{turn}', {turn}, now())"
    await execute(database_dsn, f"INSERT INTO commonhold.conversations VALUES {row}")
    assert await _scalar(database_dsn, "SELECT count(*) FROM commonhold.conversations") == 1


async def test_a_database_goes_with_its_test_though_a_client_is_still_connected(
    postgres_server: PostgresServer,
) -> None:
    async with temporary_database(postgres_server) as dsn:
        client = await asyncpg.connect(dsn)
    client.terminate()
    name = urlsplit(dsn).path[1:]
    query = f"SELECT count(*) FROM pg_database WHERE datname = '{name}'"
    assert await _scalar(postgres_server.dsn, query) == 0


async def test_clients_of_the_pooler_share_one_server_connection_between_transactions(
    empty_database_dsn: str, pgbouncer_address: str
) -> None:
    pooled = with_address(empty_database_dsn, pgbouncer_address)
    first, second = await asyncpg.connect(pooled), await asyncpg.connect(pooled)
    try:
        query = "SELECT pg_backend_pid()"
        assert await first.fetchval(query) == await second.fetchval(query)
    finally:
        await first.close()
        await second.close()


async def test_the_embedded_server_answers_and_is_gone_afterwards() -> None:
    with start_postgres("embedded") as server:
        version = await _scalar(server.dsn, "SHOW server_version")
        address = urlsplit(server.dsn)
        assert str(version).startswith("18.")
    with socket.socket() as client, pytest.raises(ConnectionRefusedError):
        client.connect((address.hostname, address.port))


@pytest.mark.docker
def test_the_containers_of_a_killed_run_are_removed() -> None:
    with contextlib.closing(docker.from_env()) as client:
        orphan = client.containers.create(IMAGE, labels={OWNER_LABEL: NO_SUCH_PROCESS})
        remove_orphans()
        with pytest.raises(docker.errors.NotFound):
            client.containers.get(str(orphan.id))
