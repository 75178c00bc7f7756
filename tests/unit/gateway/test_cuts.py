"""What becomes of requests that are still running when the time to drain is over."""

import asyncio
import logging

import pytest
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from commonhold.ops.settings import Address
from commonhold_gateway.listening import GatewayServer
from tests.support.raw_http import RawConnection, request_bytes


class Deaf:
    """An application that does not notice when its clients leave."""

    def __init__(self, *, expects: int) -> None:
        self._expects = expects
        self.cancelled = 0
        self.are_here = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._expects -= 1
        if self._expects == 0:
            self.are_here.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


async def test_a_request_that_is_cut_is_a_warning_and_no_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = Deaf(expects=2)
    server = GatewayServer(app)
    await server.listen(Address("127.0.0.1", 0))
    clients = [await RawConnection.open(*_place(server)) for _ in range(2)]
    for client in clients:
        await client.send(request_bytes("GET", "/mcp"))
    await app.are_here.wait()
    server.stop_accepting()
    with capture_logs() as events, caplog.at_level(logging.INFO):
        await asyncio.wait_for(server.abort(), 10)
    assert app.cancelled == 2
    cut = {"event": "request_cut", "log_level": "warning", "method": "GET", "path": "/mcp"}
    assert events == [cut, cut]
    assert caplog.records == []
    for client in clients:
        await client.close()


def _place(server: GatewayServer) -> tuple[str, int]:
    return server.address.host, server.address.port
