"""Taking connections from the kernel, up to the last one that it accepted.

The loop's own listener leaves out, when it is closed, what still waits in the kernel's queue
or is between its accept and its transport: those clients, which have sent a request by then,
would see a reset.
"""

import asyncio
import socket
from collections.abc import Callable

import structlog

from commonhold.ops.settings import Address

BACKLOG = 1024
# No descriptor is free: how long to leave new connections in the kernel's queue.
RETRY_SECONDS = 1.0

logger = structlog.get_logger(__name__)


class Acceptor:
    """Listens on an address and gives each connection a protocol.

    `on_settled` is called whenever a connection has got its protocol, or left before.
    """

    def __init__(
        self, protocol: Callable[[], asyncio.Protocol], *, on_settled: Callable[[], None]
    ) -> None:
        self._protocol = protocol
        self._on_settled = on_settled
        self._listening: list[socket.socket] = []
        self._arriving: set[asyncio.Task[object]] = set()

    @property
    def address(self) -> Address:
        """Where it listens; the real port when 0 was asked for."""
        if not self._listening:
            raise RuntimeError("the server does not listen")
        host, port = self._listening[0].getsockname()[:2]
        return Address(host, port)

    @property
    def is_settled(self) -> bool:
        """Whether every connection that was accepted has got its protocol."""
        return not self._arriving

    async def listen(self, address: Address) -> None:
        """Raises OSError when the address cannot be had."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        try:
            for family, place in dict.fromkeys((one[0], one[4]) for one in found):
                self._listening.append(_listen_on(family, place))
        except OSError:
            self.close()
            raise
        for listening in self._listening:
            loop.add_reader(listening, self._accept, listening)

    def close(self) -> None:
        """Take what the kernel has accepted by now, and nothing after it."""
        loop = asyncio.get_running_loop()
        for listening in self._listening:
            loop.remove_reader(listening)
            self._accept(listening)
            listening.close()
        self._listening.clear()

    async def end(self) -> None:
        """Give up on connections that have no protocol yet."""
        for task in self._arriving:
            task.cancel()
        await asyncio.gather(*self._arriving, return_exceptions=True)

    def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(BACKLOG):
            try:
                accepted, _address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(listening, error)
                return
            accepted.setblocking(False)  # noqa: FBT003 - the socket's signature
            task = loop.create_task(self._settle(accepted))
            self._arriving.add(task)
            task.add_done_callback(self._settled)

    async def _settle(self, accepted: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, accepted)
        except OSError:
            # The client left before it was met.
            accepted.close()

    def _settled(self, task: asyncio.Task[object]) -> None:
        self._arriving.discard(task)
        self._on_settled()

    def _pause(self, listening: socket.socket, error: OSError) -> None:
        """The queue stays readable: without a pause the loop would do nothing else."""
        logger.warning("accept_failed", reason=error.strerror)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)
        loop.call_later(RETRY_SECONDS, self._resume, listening)

    def _resume(self, listening: socket.socket) -> None:
        if listening in self._listening:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)


def _listen_on(family: int, place: tuple[object, ...]) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.setblocking(False)  # noqa: FBT003 - the socket's signature
        listening.bind(place)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
