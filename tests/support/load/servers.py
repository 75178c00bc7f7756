"""A Postgres that can be crashed, started again on its port, and frozen."""

import os
import secrets
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import asyncpg
from testcontainers.community.postgres import PostgresContainer

from commonhold.cli import local_postgres
from tests.support.engine import owner_labels
from tests.support.load.stands import run_apart
from tests.support.ports import free_port
from tests.support.postgres import IMAGE
from tests.support.processes import descendants

READY_SECONDS = 30
SETTINGS = {"max_connections": "100"}


class CrashableServer(Protocol):
    """`crash` is a SIGKILL without warning; what was committed is found again by `start`."""

    @property
    def dsn(self) -> str: ...

    def crash(self) -> None: ...

    def start(self) -> None: ...

    def freeze(self) -> None: ...

    def thaw(self) -> None: ...


class ContainedServer:
    def __init__(self, container: PostgresContainer) -> None:
        self.dsn = container.get_connection_url()
        self._container = container.get_wrapped_container()

    def crash(self) -> None:
        self._container.kill("SIGKILL")
        self._container.wait(timeout=READY_SECONDS)

    def start(self) -> None:
        self._container.start()

    def freeze(self) -> None:
        self._container.pause()

    def thaw(self) -> None:
        self._container.unpause()


class EmbeddedServer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._server = self._launch()
        address = urlsplit(self._server.dsn)
        credentials = address.netloc.rpartition("@")[0]
        self.dsn = address._replace(netloc=f"{credentials}@127.0.0.1:{self._port}").geturl()

    def crash(self) -> None:
        self._signal(signal.SIGKILL)
        self._server.stop()

    def start(self) -> None:
        self._server = self._launch()

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        self._server.stop()

    def _launch(self) -> local_postgres.LocalPostgres:
        return local_postgres.start(
            self._folder / "postgres",
            settings={**SETTINGS, "port": str(self._port)},
            system_folder=self._folder / "system",
        )

    def _signal(self, number: signal.Signals) -> None:
        postmaster = self._server.child.pid
        for pid in (postmaster, *descendants(postmaster)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)


@contextmanager
def start_crashable(kind: str) -> Iterator[CrashableServer]:
    """Start one in Docker, or the embedded one where there is no Docker."""
    if kind == "embedded":
        with _embedded() as server:
            yield server
        return
    container = (
        PostgresContainer(
            IMAGE,
            username="postgres",
            password=secrets.token_hex(16),
            dbname="postgres",
            driver=None,
        )
        .with_kwargs(labels=owner_labels())
        .with_command([part for pair in SETTINGS.items() for part in ("-c", "=".join(pair))])
    )
    container.ports["5432/tcp"] = ("127.0.0.1", free_port())  # type: ignore[assignment]  # the engine takes a pair
    with container:
        yield ContainedServer(container)


@contextmanager
def _embedded() -> Iterator[EmbeddedServer]:
    with tempfile.TemporaryDirectory(prefix="commonhold-races-") as name:
        folder = Path(name)
        # The server of a run by root is another user's, who must get to its data.
        folder.chmod(0o755)
        server = EmbeddedServer(folder)
        try:
            yield server
        finally:
            server.close()


def wait_until_served(dsn: str) -> None:
    """Return when the server takes connections and answers."""
    run_apart(_until_served(dsn))


async def _until_served(dsn: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            connection = await asyncpg.connect(dsn, timeout=5)
            await connection.close()
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            if time.monotonic() > deadline:
                raise
        else:
            return
