"""The listening side: uvicorn's connections, opened and ended by this service.

uvicorn's own server would take the signals, and it ends the process by itself.
"""

import asyncio
from collections.abc import Callable
from email.utils import formatdate

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from commonhold.ops.settings import Address

IDLE_SECONDS = 75
BACKLOG = 1024
ABORT_SECONDS = 0.5


class Connection(HttpToolsProtocol):
    """One client connection, which says when it is gone."""

    def __init__(
        self, config: uvicorn.Config, state: ServerState, *, on_lost: Callable[[], None]
    ) -> None:
        super().__init__(config=config, server_state=state, app_state={})
        self._on_lost = on_lost

    @property
    def is_streaming(self) -> bool:
        """Whether what it waits for is a stream of a session, which has no end of its own."""
        return self.cycle is not None and self.cycle.scope["method"] == "GET"

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._on_lost()


class GatewayServer:
    """Serves one application."""

    def __init__(self, app: ASGIApp) -> None:
        self._config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            interface="asgi3",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=IDLE_SECONDS,
        )
        self._config.load()
        self._state = ServerState()
        self._listener: asyncio.Server | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._quiet = asyncio.Event()

    @property
    def address(self) -> Address:
        """Where it listens; the real port when 0 was asked for."""
        if self._listener is None:
            raise RuntimeError("the server does not listen")
        host, port = self._listener.sockets[0].getsockname()[:2]
        return Address(host, port)

    async def listen(self, address: Address) -> None:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            self._connect, address.host, address.port, backlog=BACKLOG
        )
        self._tick()

    def stop_accepting(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for connection in list(self._state.connections):
            connection.shutdown()

    async def drain(self) -> None:
        """Return once nothing is open but streams, which are then left to `abort`."""
        self._look()
        await self._quiet.wait()

    async def abort(self) -> None:
        """End what still runs: streams as if their clients had left, the rest by force."""
        if self._clock is not None:
            self._clock.cancel()
        for connection in list(self._state.connections):
            connection.transport.abort()
        running = set(self._state.tasks)
        if running:
            _done, running = await asyncio.wait(running, timeout=ABORT_SECONDS)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _connect(self) -> Connection:
        return Connection(self._config, self._state, on_lost=self._look)

    def _look(self) -> None:
        if all(
            isinstance(connection, Connection) and connection.is_streaming
            for connection in self._state.connections
        ):
            self._quiet.set()
        else:
            self._quiet.clear()

    def _tick(self) -> None:
        """Renew the `date` that connections send, once a second."""
        self._state.default_headers = [(b"date", formatdate(usegmt=True).encode())]
        self._clock = asyncio.get_running_loop().call_later(1.0, self._tick)
