"""The listening side: aiohttp's low-level server, with bounds on what a slow client can hold.

A connection has `head_seconds` for the head of a request once its first byte is here, and
`IDLE_SECONDS` between requests. Their number is bounded; at the bound the one that has
been open longest without a request makes room, so that idle connections, and those that were
refused and still send, cannot keep working ones out.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog
from aiohttp import web

from commonhold.ops.descriptors import connection_bound
from commonhold.ops.settings import Address
from commonhold_state.gates import Gates

HEAD_SECONDS = 15.0
IDLE_SECONDS = 75.0
# After an answer that left part of a body unread: how long to read on before closing.
LINGER_SECONDS = 5.0
READ_BUFFER_BYTES = 64 * 1024
BACKLOG = 1024
# A connection may become idle while the service drains: how often to look.
DRAIN_POLL_SECONDS = 0.1
SERVER_FAULT = 500

logger = structlog.get_logger(__name__)


class Connection(web.RequestHandler):
    """One client connection, cut when a request's head does not arrive in time."""

    __slots__ = ("_head_seconds", "_head_timer", "_on_unjudged")

    def __init__(
        self, server: "WireServer", *, head_seconds: float, on_unjudged: Callable[[int], None]
    ) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=LINGER_SECONDS,
            read_bufsize=READ_BUFFER_BYTES,
            auto_decompress=False,
            access_log=None,  # type: ignore[arg-type]  # aiohttp tests it and logs nothing
        )
        self._head_seconds = head_seconds
        self._head_timer: asyncio.TimerHandle | None = None
        self._on_unjudged = on_unjudged

    @property
    def is_idle(self) -> bool:
        """Whether no request is running or waiting its turn."""
        return self._waiter is not None and not self._messages

    @property
    def has_answered(self) -> bool:
        """Whether nobody waits for an answer here: idle, or reading on what was refused."""
        return not self._request_in_progress and not self._messages

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.is_idle:
            self._stop_timer()
        elif data and self._head_timer is None:
            self._head_timer = self._loop.call_later(self._head_seconds, self.force_close)

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - aiohttp's signature
        # aiohttp calls this after every read of a body and parses an empty buffer each time,
        # a twentieth of a small request, though only a paused connection has more to parse.
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002 - aiohttp's signature
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - aiohttp's signature
    ) -> web.StreamResponse:
        """Answer what never reached the gates, or what they failed to answer.

        What is no HTTP may hold a token: it is neither shown nor logged.
        """
        is_ours = status >= SERVER_FAULT
        self._on_unjudged(status if is_ours else 400)
        if not is_ours:
            answer = web.Response(status=400, text="Bad Request")
        else:
            logger.error("gates_failed", exc_info=exc)
            answer = web.Response(status=500, text="Internal Server Error")
        answer.force_close()
        return answer

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class WireServer(web.Server):
    """Serves one handler and keeps count of its connections."""

    def __init__(
        self,
        gates: Gates,
        *,
        head_seconds: float = HEAD_SECONDS,
        most_connections: int | None = None,
    ) -> None:
        super().__init__(gates)
        self._gates = gates
        self._head_seconds = head_seconds
        self._most = connection_bound() if most_connections is None else most_connections
        self._open: dict[web.RequestHandler, asyncio.Transport] = {}
        self._empty = asyncio.Event()
        self._empty.set()
        self._listener: asyncio.Server | None = None

    def __call__(self) -> web.RequestHandler:
        return Connection(
            self, head_seconds=self._head_seconds, on_unjudged=self._gates.count_unjudged
        )

    @property
    def address(self) -> Address:
        """Where it listens; the real port when 0 was asked for."""
        if self._listener is None:
            raise RuntimeError("the server does not listen")
        host, port = self._listener.sockets[0].getsockname()[:2]
        return Address(host, port)

    async def listen(self, address: Address) -> None:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(self, address.host, address.port, backlog=BACKLOG)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self._open) >= self._most and not self._make_room():
            transport.abort()
        self._open[handler] = transport
        self._empty.clear()

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        super().connection_lost(handler, exc)
        self._open.pop(handler, None)
        if not self._open:
            self._empty.set()

    def stop_accepting(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._close_idle()

    async def drain(self) -> None:
        """Return once every connection has had its answer and is closed.

        Busy ones are left alone: aiohttp's `close` would drop the rest of a body that is
        still arriving. Their answer says `connection: close`, and ends them.
        """
        while self._open:
            self._close_idle()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), DRAIN_POLL_SECONDS)

    async def abort(self) -> None:
        await self.shutdown(timeout=0.5)

    def _close_idle(self) -> None:
        for connection in list(self._open):
            if isinstance(connection, Connection) and connection.is_idle:
                connection.force_close()

    def _make_room(self) -> bool:
        for connection, transport in self._open.items():
            # One that already makes room for another is still here until the loop comes to it.
            if transport.is_closing() or not isinstance(connection, Connection):
                continue
            if connection.has_answered:
                connection.force_close()
                return True
        return False
