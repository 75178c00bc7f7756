"""What an acceptor does when the kernel gives it no connection."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from commonhold.ops import accepting
from commonhold.ops.accepting import Acceptor
from commonhold.ops.settings import Address

FULL = OSError(errno.EMFILE, "Too many open files")


class ScriptedSocket(socket.socket):
    """Fails to accept as often as it has failures left."""

    failures: list[OSError]

    def accept(self) -> tuple[socket.socket, Any]:
        if self.failures:
            raise self.failures.pop(0)
        return super().accept()


class Greeter(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(b"hello")
        transport.close()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def script(*failures: OSError) -> None:
        listen_on = accepting._listen_on

        def scripted(family: int, place: tuple[object, ...]) -> socket.socket:
            real = listen_on(family, place)
            made = ScriptedSocket(real.family, real.type, fileno=real.detach())
            made.setblocking(False)  # noqa: FBT003 - the socket's signature
            made.failures = list(failures)
            return made

        monkeypatch.setattr(accepting, "_listen_on", scripted)

    return script


@asynccontextmanager
async def listening() -> AsyncIterator[Acceptor]:
    acceptor = Acceptor(Greeter, on_settled=lambda: None)
    await acceptor.listen(Address("127.0.0.1", 0))
    try:
        yield acceptor
    finally:
        acceptor.close()
        await acceptor.end()


async def greeting(address: Address) -> bytes:
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


async def test_a_client_that_left_before_it_was_met_costs_the_next_nothing(
    failing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accepting, "RETRY_SECONDS", 3600.0)
    failing(ConnectionAbortedError(), BlockingIOError(), InterruptedError())
    async with listening() as acceptor:
        with capture_logs() as logs:
            assert await greeting(acceptor.address) == b"hello"
    assert logs == []


async def test_without_a_free_descriptor_clients_wait_in_the_queue(
    failing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accepting, "RETRY_SECONDS", 0.01)
    failing(FULL, FULL)
    async with listening() as acceptor:
        with capture_logs() as logs:
            assert await greeting(acceptor.address) == b"hello"
    told = {"event": "accept_failed", "log_level": "warning", "reason": FULL.strerror}
    assert logs == [told, told]


async def test_what_was_closed_in_the_pause_is_not_listened_to_again(
    failing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accepting, "RETRY_SECONDS", 0.01)
    failing(FULL)
    faults: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: faults.append(context))
    async with listening() as acceptor:
        acceptor.close()
        resumed = asyncio.Event()
        loop.call_later(0.02, resumed.set)
        await resumed.wait()
    assert faults == []
