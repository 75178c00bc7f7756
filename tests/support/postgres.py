"""The Postgres of a test run: one server, chosen by what the machine has, and databases on it."""

import asyncio
import contextlib
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import msgspec
from testcontainers.community.postgres import PostgresContainer

from commonhold.cli import local_postgres
from commonhold.migrations.runner import migrate
from tests.support.engine import engine_answers, obtain_image, owner_labels

IMAGE = "postgres:17"
DATA_DIRECTORY = "/var/lib/postgresql/data"
SETTINGS = {"fsync": "off", "max_connections": "300"}
URL_VARIABLE = "TEST_DATABASE_URL"


class PostgresServer(msgspec.Struct, frozen=True, kw_only=True):
    dsn: str
    """The maintenance database, as a role that may create databases."""
    kind: str
    """`external`, `docker` or `embedded`."""


@contextlib.contextmanager
def start_postgres(kind: str) -> Iterator[PostgresServer]:
    """Yield a server of the kind; stop it afterwards unless it is somebody else's."""
    match kind:
        case "external":
            yield PostgresServer(dsn=os.environ[URL_VARIABLE], kind=kind)
        case "docker":
            with _container() as container:
                yield PostgresServer(dsn=container.get_connection_url(), kind=kind)
        case _:
            with _embedded() as dsn:
                yield PostgresServer(dsn=dsn, kind=kind)


def choose_kind() -> str:
    """Choose the server given by the environment, one in Docker, or the embedded one."""
    if os.environ.get(URL_VARIABLE):
        return "external"
    if engine_answers() and obtain_image(IMAGE):
        return "docker"
    return "embedded"


def _container() -> PostgresContainer:
    container = (
        PostgresContainer(
            IMAGE,
            username="postgres",
            password=secrets.token_hex(16),
            dbname="postgres",
            driver=None,
        )
        .with_kwargs(labels=owner_labels())
        .with_tmpfs_mount(DATA_DIRECTORY)
        .with_command([part for setting in SETTINGS.items() for part in ("-c", "=".join(setting))])
    )
    # The engine takes an address beside the port; without one it would listen on every interface.
    container.ports["5432/tcp"] = ("127.0.0.1", None)  # type: ignore[assignment]  # as above
    return container


@contextlib.contextmanager
def _embedded() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="commonhold-tests-") as name:
        folder = Path(name)
        # The server of a run by root is another user's, who must get to its data.
        folder.chmod(0o755)
        with local_postgres.start(
            folder / "postgres", settings=SETTINGS, system_folder=folder / "system"
        ) as server:
            yield server.dsn


@contextlib.asynccontextmanager
async def temporary_database(
    server: PostgresServer, *, template: str = "template1", options: str = ""
) -> AsyncIterator[str]:
    """Yield the DSN of a new database; drop it afterwards whoever is still connected."""
    name = f"commonhold_test_{secrets.token_hex(8)}"
    # Copying files asks for a checkpoint, which is nothing where nothing is synced.
    strategy = "WAL_LOG" if server.kind == "external" else "FILE_COPY"
    await execute(
        server.dsn, f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY {strategy} {options}'
    )
    try:
        yield with_database(server.dsn, name)
    finally:
        await execute(server.dsn, f'DROP DATABASE "{name}" WITH (FORCE)')


async def execute(dsn: str, *statements: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def fetch_value(dsn: str, query: str) -> Any:
    """The first column of the first row."""
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


@contextlib.contextmanager
def create_template(server: PostgresServer) -> Iterator[str]:
    """Yield the name of a migrated database; a copy of it costs a fraction of a migration."""
    name = f"commonhold_template_{secrets.token_hex(8)}"
    _run(execute(server.dsn, f'CREATE DATABASE "{name}"'))
    try:
        _run(migrate(with_database(server.dsn, name)))
        yield name
    finally:
        _run(execute(server.dsn, f'DROP DATABASE "{name}" WITH (FORCE)'))


def _run(coroutine: Coroutine[None, None, object]) -> None:
    """Run to the end on a loop of its own, whatever loop pytest-asyncio has set here."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        executor.submit(asyncio.run, coroutine).result()


def with_database(dsn: str, name: str) -> str:
    return urlsplit(dsn)._replace(path=f"/{name}").geturl()


def with_address(dsn: str, address: str) -> str:
    """Point the DSN at another host:port."""
    credentials, at, _ = urlsplit(dsn).netloc.rpartition("@")
    return urlsplit(dsn)._replace(netloc=f"{credentials}{at}{address}").geturl()


def with_role(dsn: str, role: str, password: str) -> str:
    """Point the DSN's database at another role."""
    place = urlsplit(dsn).netloc.rpartition("@")[2]
    return urlsplit(dsn)._replace(netloc=f"{role}:{password}@{place}").geturl()
