"""A TCP proxy whose faults a test commands: freeze, cut, refuse."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

CHUNK = 65536


class TcpProxy:
    """Forwards to one address; `frozen` holds bytes back, `refusing` closes new connections."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.refusing = False
        self.address = ""

    def freeze(self) -> None:
        self._flowing.clear()

    def thaw(self) -> None:
        self._flowing.set()

    def cut(self) -> None:
        """Reset every connection there is."""
        for writer in self._writers:
            writer.transport.abort()

    def say(self, data: bytes) -> None:
        """Send to every client what its server did not say."""
        for client in self._clients:
            client.write(data)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing:
            writer.transport.abort()
            return
        upstream_reader, upstream_writer = await asyncio.open_connection(self._host, self._port)
        self._writers |= {writer, upstream_writer}
        self._clients.add(writer)
        for source, sink in ((reader, upstream_writer), (upstream_reader, writer)):
            task = asyncio.create_task(self._pump(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(CHUNK):
                await self._flowing.wait()
                sink.write(data)
                await sink.drain()
        sink.close()
        self._writers.discard(sink)
        self._clients.discard(sink)

    async def close(self) -> None:
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def proxy_to(dsn: str) -> AsyncIterator[tuple[TcpProxy, str]]:
    """A proxy in front of the DSN's server, and the DSN through it."""
    parts = urlsplit(dsn)
    proxy = TcpProxy(parts.hostname or "127.0.0.1", parts.port or 5432)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    credentials, at, _ = parts.netloc.rpartition("@")
    try:
        yield proxy, parts._replace(netloc=f"{credentials}{at}127.0.0.1:{port}").geturl()
    finally:
        server.close()
        await proxy.close()
        await server.wait_closed()
