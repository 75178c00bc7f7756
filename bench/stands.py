"""What a run measures against: a Postgres of its own, the state service, the echo.

The database is the embedded one over loopback, for the service and for pgbench alike, with
durability as it comes: a container's published port would be measured along with it.
"""

import asyncio
import http.client
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from bench.wire import TOKEN
from commonhold.cli import local_postgres
from commonhold.cli.children import Child, StopStep, start_child
from commonhold.cli.ports import free_port
from commonhold.migrations import migrate

HOST = "127.0.0.1"
DATABASE = "bench"
# More room than a laptop's defaults, so that no checkpoint falls into one side of a round
# alone. Nothing here touches durability: fsync and synchronous_commit stay on.
SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "maintenance_work_mem": "512MB",
}

_STOP = (StopStep(signal.SIGTERM, 20.0),)
_READY_SECONDS = 30.0
_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 120.0


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A process that answers on loopback."""

    child: Child
    port: int


class Client:
    """One connection for what is not measured: following cursors, checking answers."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=_ANSWER_SECONDS)

    def call(self, route: str, **body: Any) -> Any:
        """The decoded answer; RuntimeError for anything but a 200."""
        self._connection.request(
            "POST",
            f"/v1/{route}",
            msgspec.json.encode(body),
            {"authorization": f"Bearer {TOKEN}"},
        )
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{route} answered {answer.status}: {content[:200]!r}")
        return msgspec.json.decode(content)

    def close(self) -> None:
        self._connection.close()


class Stand:
    """The database, and the folder where logs go."""

    def __init__(self, dsn: str, logs: Path) -> None:
        self.dsn = dsn
        self.logs = logs

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """The DSN of one more database, with the newest schema and no rows; gone afterwards."""
        dsn = self.dsn.rpartition("/")[0] + f"/{name}"
        asyncio.run(_make_database(self.dsn, dsn))
        try:
            yield dsn
        finally:
            asyncio.run(_drop_database(self.dsn, name))

    @contextmanager
    def service(self) -> Iterator[Server]:
        """A fresh state service with its default settings."""
        port, ops_port = free_port(), free_port()
        child = start_child(
            "the state service",
            [sys.executable, "-P", "-m", "commonhold_state"],
            environment={
                "PATH": os.defpath,
                "PYTHONUNBUFFERED": "1",
                "NEOSIAN_POSTGRES_DSN": self.dsn,
                "NEOSIAN_SERVE_TOKEN": TOKEN,
                "COMMONHOLD_STATE_LISTEN": f"{HOST}:{port}",
                "COMMONHOLD_STATE_OPS_LISTEN": f"{HOST}:{ops_port}",
            },
            log=self.logs / "state.log",
            steps=_STOP,
        )
        try:
            _await(child, ops_port, "/readyz")
            yield Server(child=child, port=port)
        finally:
            _stop(child)

    @contextmanager
    def gateway(self, *, mounts: str) -> Iterator[Server]:
        """A fresh gateway with its default settings, and room for every connection's call."""
        port, ops_port = free_port(), free_port()
        child = start_child(
            "the gateway",
            [sys.executable, "-P", "-m", "commonhold_gateway"],
            environment={
                "PATH": os.defpath,
                "PYTHONUNBUFFERED": "1",
                "NEOSIAN_POSTGRES_DSN": self.dsn,
                "NEOSIAN_SERVE_TOKEN": TOKEN,
                "COMMONHOLD_GATEWAY_MOUNTS": mounts,
                "COMMONHOLD_GATEWAY_LISTEN": f"{HOST}:{port}",
                "COMMONHOLD_GATEWAY_OPS_LISTEN": f"{HOST}:{ops_port}",
            },
            log=self.logs / "gateway.log",
            steps=_STOP,
        )
        try:
            _await(child, ops_port, "/readyz")
            yield Server(child=child, port=port)
        finally:
            _stop(child)

    @contextmanager
    def mcp_echo(self) -> Iterator[Server]:
        port = free_port()
        child = start_child(
            "the echo of the SDK",
            [sys.executable, "-m", "bench.mcp_echo", str(port)],
            environment={"PATH": os.defpath},
            log=self.logs / "mcp-echo.log",
            steps=_STOP,
        )
        try:
            _await(child, port, "/")
            yield Server(child=child, port=port)
        finally:
            _stop(child)

    @contextmanager
    def echo(self, *, content_bytes: int) -> Iterator[Server]:
        port = free_port()
        child = start_child(
            "the echo",
            [sys.executable, "-m", "bench.echo", str(port), str(content_bytes)],
            environment={"PATH": os.defpath},
            log=self.logs / "echo.log",
            steps=_STOP,
        )
        try:
            _await(child, port, "/")
            yield Server(child=child, port=port)
        finally:
            _stop(child)


@contextmanager
def open_stand(folder: Path) -> Iterator[Stand]:
    """Start the database in `folder`, with the newest schema and no rows; gone afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as opened:
        postgres = local_postgres.start(folder / "postgres", settings=SETTINGS)
        opened.callback(postgres.discard)
        dsn = postgres.dsn.rpartition("/")[0] + f"/{DATABASE}"
        asyncio.run(_make_database(postgres.dsn, dsn))
        yield Stand(dsn, folder)


async def _make_database(admin_dsn: str, dsn: str) -> None:
    name = dsn.rpartition("/")[2]
    # A run that was killed leaves its own behind.
    await _drop_database(admin_dsn, name)
    connection = await asyncpg.connect(admin_dsn)
    try:
        await connection.execute(f"CREATE DATABASE {name}")
    finally:
        await connection.close()
    await migrate(dsn)


async def _drop_database(admin_dsn: str, name: str) -> None:
    connection = await asyncpg.connect(admin_dsn)
    try:
        await connection.execute(f"DROP DATABASE IF EXISTS {name}")
    finally:
        await connection.close()


def _await(child: Child, port: int, path: str) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not _answers(port, path):
        if child.exit_status is not None or time.monotonic() > deadline:
            raise RuntimeError("\n".join([f"{child.name} does not start:", *child.last_lines()]))
        time.sleep(_POLL_SECONDS)


def _answers(port: int, path: str) -> bool:
    """Whether a server is there and, if it has an opinion, ready."""
    connection = http.client.HTTPConnection(HOST, port, timeout=_READY_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < http.HTTPStatus.INTERNAL_SERVER_ERROR
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _stop(child: Child) -> None:
    if child.exit_status is None:
        child.stop()
