"""The listening side: uvicorn's connections, opened, bounded and ended by this service.

uvicorn's own server would take the signals, and it ends the process by itself. The head of a
request has `head_seconds` from its first byte and a bound of its size; between requests a
connection has `IDLE_SECONDS`. Their number is bounded; at the bound the one that has been open
longest without a request makes room, so that idle connections cannot keep working ones out.

A service that stops answers every request that has reached it. Connections that the kernel
accepted are taken; one without a request has `last_request_seconds` to bring what is on its
way; every answer then ends its connection.
"""

import asyncio
from email.utils import formatdate

import structlog
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from commonhold.ops.accepting import Acceptor
from commonhold.ops.descriptors import connection_bound
from commonhold.ops.settings import Address
from commonhold_gateway.bodies import LEAST_BYTES_PER_SECOND

HEAD_SECONDS = 15.0
IDLE_SECONDS = 75
# Measured after a packet is parsed, so that a head may be longer by one.
HEAD_LIMIT_BYTES = 64 * 1024
ABORT_SECONDS = 0.5
# A client that takes less than the least pace for so long is not reading: it must not hold
# memory or a place.
STALLED_SECONDS = 30.0
# Of a service that stops: a client that has connected sends its request within moments.
LAST_REQUEST_SECONDS = 1.0

logger = structlog.get_logger(__name__)


class Connection(HttpToolsProtocol):
    """One client connection, cut when a head does not arrive or an answer is not taken in time."""

    def __init__(
        self, server: "GatewayServer", *, head_seconds: float, stalled_seconds: float
    ) -> None:
        super().__init__(config=server.config, server_state=server.state, app_state={})
        self._gateway_server = server
        self._head_seconds = head_seconds
        self._stalled_seconds = stalled_seconds
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._stall_timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is running or waiting its turn."""
        return self.cycle is None or (self.cycle.response_complete and not self.pipeline)

    @property
    def awaits_request(self) -> bool:
        """Whether it is idle, with no byte of a request here yet."""
        return self.is_idle and self._head_timer is None

    @property
    def is_streaming(self) -> bool:
        """Whether what it waits for is a stream of a session, which has no end of its own."""
        return not self.is_idle and not self.pipeline and self.cycle.scope["method"] == "GET"

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._gateway_server.opened(self)

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > HEAD_LIMIT_BYTES:
            # The parser would copy all of it anew with every packet.
            self.transport.close()
        if not self.is_idle:
            self._stop_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self._head_seconds, self.transport.close)

    def on_headers_complete(self) -> None:
        self._head_bytes = 0
        super().on_headers_complete()
        if self._gateway_server.is_stopping:
            self.cycle.keep_alive = False
            self._gateway_server.requested()

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_stall_timer()
        super().connection_lost(exc)
        self._gateway_server.lost(self)

    def end_after_request(self) -> None:
        """Close with the answer to the last request that is here, if one is."""
        if not self.is_idle:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._stop_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_stall(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._stop_stall_timer()
        super().resume_writing()

    def _watch_stall(self, unsent: int) -> None:
        self._stall_timer = self.loop.call_later(self._stalled_seconds, self._look_again, unsent)

    def _look_again(self, before: int) -> None:
        """Cut a client that took nothing to speak of; a slow one gets its answer whole."""
        unsent = self.transport.get_write_buffer_size()
        if before - unsent < LEAST_BYTES_PER_SECOND * self._stalled_seconds:
            self.transport.abort()
        else:
            self._watch_stall(unsent)

    def _stop_stall_timer(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class GatewayServer:
    """Serves one application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        head_seconds: float = HEAD_SECONDS,
        stalled_seconds: float = STALLED_SECONDS,
        last_request_seconds: float = LAST_REQUEST_SECONDS,
        most_connections: int | None = None,
    ) -> None:
        self._app = app
        self.is_stopping = False
        self._is_cutting = False
        self.config = uvicorn.Config(
            self._serve,
            http=HttpToolsProtocol,
            ws="none",
            interface="asgi3",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=IDLE_SECONDS,
        )
        self.config.load()
        self.state = ServerState()
        self._head_seconds = head_seconds
        self._stalled_seconds = stalled_seconds
        self._last_request_seconds = last_request_seconds
        self._most = connection_bound() if most_connections is None else most_connections
        # In the order in which they were opened.
        self._open: dict[Connection, None] = {}
        self._acceptor = Acceptor(self._new_connection, on_settled=self._look)
        self._clock: asyncio.TimerHandle | None = None
        self._last_requests: asyncio.TimerHandle | None = None
        self._quiet = asyncio.Event()

    @property
    def address(self) -> Address:
        """Where it listens; the real port when 0 was asked for."""
        return self._acceptor.address

    async def listen(self, address: Address) -> None:
        await self._acceptor.listen(address)
        self._tick()

    def opened(self, connection: Connection) -> None:
        if len(self._open) >= self._most and not self._make_room():
            connection.transport.abort()
        self._open[connection] = None

    def requested(self) -> None:
        """A request has begun; of a service that stops it may be a stream, which ends the wait."""
        self._look()

    def lost(self, connection: Connection) -> None:
        self._open.pop(connection, None)
        self._look()

    def stop_accepting(self) -> None:
        self.is_stopping = True
        self._acceptor.close()
        for connection in self._open:
            connection.end_after_request()
        loop = asyncio.get_running_loop()
        self._last_requests = loop.call_later(self._last_request_seconds, self._close_waiting)

    async def drain(self) -> None:
        """Return once nothing is open but streams, which are then left to `abort`."""
        self._look()
        await self._quiet.wait()

    async def abort(self) -> None:
        """End what still runs: streams as if their clients had left, the rest by force."""
        self._is_cutting = True
        if self._clock is not None:
            self._clock.cancel()
        if self._last_requests is not None:
            self._last_requests.cancel()
        self._acceptor.close()
        await self._acceptor.end()
        for connection in list(self._open):
            connection.transport.abort()
        running = set(self.state.tasks)
        if running:
            _done, running = await asyncio.wait(running, timeout=ABORT_SECONDS)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            # The task ends here in either case; uvicorn would log what `abort` did as a fault
            # of the application, with its traceback.
            if not self._is_cutting:
                raise
            logger.warning("request_cut", method=scope["method"], path=scope["path"])

    def _make_room(self) -> bool:
        for connection in self._open:
            # One that already makes room for another is still here until the loop comes to it.
            if connection.is_idle and not connection.transport.is_closing():
                connection.transport.close()
                return True
        return False

    def _new_connection(self) -> Connection:
        return Connection(
            self, head_seconds=self._head_seconds, stalled_seconds=self._stalled_seconds
        )

    def _close_waiting(self) -> None:
        for connection in list(self._open):
            if connection.awaits_request:
                connection.transport.close()

    def _look(self) -> None:
        is_settled = self._acceptor.is_settled
        if is_settled and all(connection.is_streaming for connection in self._open):
            self._quiet.set()
        else:
            self._quiet.clear()

    def _tick(self) -> None:
        """Renew the `date` that connections send, once a second."""
        self.state.default_headers = [(b"date", formatdate(usegmt=True).encode())]
        self._clock = asyncio.get_running_loop().call_later(1.0, self._tick)
