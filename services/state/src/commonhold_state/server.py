"""The listening side: aiohttp's low-level server, with a bound on its connections.

At the bound the one that has been open longest without a request makes room, so that idle
connections, and those that were refused and still send, cannot keep working ones out.

A service that stops answers every request that has reached it. Connections that the kernel
accepted are taken; one without a request has `last_request_seconds` to bring what is on its
way; every answer then ends its connection.
"""

import asyncio
from contextlib import suppress

from aiohttp import web

from commonhold.ops.accepting import Acceptor
from commonhold.ops.descriptors import connection_bound
from commonhold.ops.settings import Address
from commonhold_state.connections import Connection
from commonhold_state.gates import Gates

HEAD_SECONDS = 15.0
ABORT_SECONDS = 0.5
# Of a service that stops: a client that has connected sends its request within moments.
LAST_REQUEST_SECONDS = 1.0


class WireServer(web.Server):
    """Serves one handler and keeps count of its connections."""

    def __init__(
        self,
        gates: Gates,
        *,
        head_seconds: float = HEAD_SECONDS,
        last_request_seconds: float = LAST_REQUEST_SECONDS,
        most_connections: int | None = None,
    ) -> None:
        super().__init__(gates)
        self._gates = gates
        self._head_seconds = head_seconds
        self._last_request_seconds = last_request_seconds
        self._most = connection_bound() if most_connections is None else most_connections
        self._open: dict[web.RequestHandler, asyncio.Transport] = {}
        self._acceptor = Acceptor(self, on_settled=self._look)
        self._quiet = asyncio.Event()

    def __call__(self) -> web.RequestHandler:
        return Connection(
            self, head_seconds=self._head_seconds, on_unjudged=self._gates.count_unjudged
        )

    @property
    def address(self) -> Address:
        """Where it listens; the real port when 0 was asked for."""
        return self._acceptor.address

    async def listen(self, address: Address) -> None:
        await self._acceptor.listen(address)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self._open) >= self._most and not self._make_room():
            transport.abort()
        self._open[handler] = transport

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        super().connection_lost(handler, exc)
        self._open.pop(handler, None)
        self._look()

    def stop_accepting(self) -> None:
        self._acceptor.close()

    async def drain(self) -> None:
        """Return once every connection has had its answer and is closed.

        Busy ones are left alone: aiohttp's `close` would drop the rest of a body that is
        still arriving. Their answer says `connection: close`, and ends them.
        """
        silent: set[Connection] = set()
        self._look()
        while not self._quiet.is_set():
            waiting = self._waiting()
            for connection in waiting & silent:
                connection.force_close()
            silent = waiting
            with suppress(TimeoutError):
                await asyncio.wait_for(self._quiet.wait(), self._last_request_seconds)

    async def abort(self) -> None:
        self._acceptor.close()
        await self._acceptor.end()
        await self.shutdown(timeout=ABORT_SECONDS)

    def _waiting(self) -> set[Connection]:
        return {one for one in self._open if isinstance(one, Connection) and one.awaits_request}

    def _look(self) -> None:
        if self._acceptor.is_settled and not self._open:
            self._quiet.set()
        else:
            self._quiet.clear()

    def _make_room(self) -> bool:
        for connection, transport in self._open.items():
            # One that already makes room for another is still here until the loop comes to it.
            if transport.is_closing() or not isinstance(connection, Connection):
                continue
            if connection.has_answered:
                connection.force_close()
                return True
        return False
