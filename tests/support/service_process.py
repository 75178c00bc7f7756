"""A service as a process, asked over its own sockets."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.support.ports import free_port
from tests.support.raw_http import Answer, RawConnection, request_bytes

TOKEN = "s3cret"
PATIENCE_SECONDS = 30.0
# Of the service, where how long it waits is not what a test is about: a busy machine needs more
# than the defaults to open a pool's connections, or to gather many requests.
PATIENT = {
    "COMMONHOLD_POOL_WAIT_SECONDS": "60",
    "COMMONHOLD_STATEMENT_TIMEOUT_SECONDS": "120",
    "COMMONHOLD_GATEWAY_CALL_SECONDS": "120",
    "COMMONHOLD_DRAIN_SECONDS": "120",
}
POLL_SECONDS = 0.05


class ServiceProcess:
    """One running service; its stderr is collected line by line."""

    def __init__(self, process: asyncio.subprocess.Process, *, port: int, ops_port: int) -> None:
        self.process = process
        self.port = port
        self.ops_port = ops_port
        self.lines: list[str] = []
        self._reading = asyncio.create_task(self._collect())

    async def connect(self) -> RawConnection:
        return await RawConnection.open("127.0.0.1", self.port)

    async def ops(self, path: str) -> Answer:
        async with await RawConnection.open("127.0.0.1", self.ops_port) as connection:
            return await connection.ask(request_bytes("GET", path))

    async def until_ops(self, path: str, *, status: int, holding: str = "") -> Answer:
        """Ask the operations listener until it answers so."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    answer = await self.ops(path)
                except ConnectionRefusedError:
                    assert self.process.returncode is None, "\n".join(self.lines)
                else:
                    if answer.status == status and holding in answer.text:
                        return answer
                await asyncio.sleep(POLL_SECONDS)

    async def until_refused(self) -> None:
        """Wait until the service takes no new connections."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    connection = await self.connect()
                except ConnectionRefusedError:
                    return
                except ConnectionResetError:
                    continue  # the listener closed with this connection still in its queue
                await connection.close()
                await asyncio.sleep(POLL_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def exit_status(self) -> int:
        async with asyncio.timeout(PATIENCE_SECONDS):
            status = await self.process.wait()
            await self._reading
        return status

    def events(self, name: str) -> list[dict[str, Any]]:
        """The JSON events of that name so far."""
        found = [json.loads(line) for line in self.lines if line.startswith("{")]
        return [event for event in found if event["event"] == name]

    async def stop(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await self._reading

    async def _collect(self) -> None:
        stream = self.process.stderr
        assert stream is not None
        while line := await stream.readline():
            self.lines.append(line.decode().rstrip("\n"))


@asynccontextmanager
async def service_process(
    module: str,
    dsn: str | None,
    *,
    variables: str,
    settings: Mapping[str, str] | None = None,
    arguments: tuple[str, ...] = (),
    serves: bool = True,
) -> AsyncIterator[ServiceProcess]:
    """Start a service on free ports; it is killed when the block ends.

    `variables` begins the names of the two that say where it listens, or of the one when it
    serves nothing beside its operations. Without a DSN the settings say where its store is.
    """
    port, ops_port = free_port(), free_port()
    environment = {
        "PATH": os.environ["PATH"],
        **({} if dsn is None else {"NEOSIAN_POSTGRES_DSN": dsn}),
        "NEOSIAN_SERVE_TOKEN": TOKEN,
        **({f"{variables}_LISTEN": f"127.0.0.1:{port}"} if serves else {}),
        f"{variables}_OPS_LISTEN": f"127.0.0.1:{ops_port}",
        **(settings or {}),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        env=environment,
        stderr=asyncio.subprocess.PIPE,
    )
    running = ServiceProcess(process, port=port, ops_port=ops_port)
    try:
        yield running
    finally:
        await running.stop()
