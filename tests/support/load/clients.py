"""A lean client of the wire over bare sockets, which records every attempt that it makes.

It shares no code with the project, so that a fault of the one cannot hide in the other.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.support.histories.records import Answered, Attempt, Outcome, Refused, Unknown

LOOPBACK = "127.0.0.1"
REFUSALS = frozenset({400, 403, 413})
HEADERS_END = b"\r\n\r\n"


class Response(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes


class HttpConnection:
    """One kept-alive connection, opened when it is needed."""

    def __init__(self, port: int, *, host: str = LOOPBACK) -> None:
        self._host = host
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(self, head: bytes, body: bytes) -> Response:
        """Send and receive once. After any failure the connection is new the next time."""
        try:
            reader, writer = await self.open()
            writer.write(head + body)
            await writer.drain()
            return await self._receive(reader)
        except BaseException:
            self.close()
            raise

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=1 << 20)
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _receive(self, reader: asyncio.StreamReader) -> Response:
        head = (await reader.readuntil(HEADERS_END)).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head)
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Response(int(head[0].split(" ")[1]), headers, body)


class Client:
    """One client of several replicas: it names its acts, and may insist on an outcome."""

    def __init__(
        self,
        ports: Sequence[int],
        *,
        token: str,
        name: str,
        patience: float = 4,
        host: str = LOOPBACK,
    ) -> None:
        self.attempts: list[Attempt] = []
        self.patience_seconds = patience
        self.token = token
        self._connections = [HttpConnection(port, host=host) for port in ports]
        self._name = name
        self._count = 0
        self._preferred = 0

    def prefer(self, replica: int) -> None:
        self._preferred = replica % len(self._connections)

    def next_name(self) -> str:
        self._count += 1
        return f"{self._name}n{self._count}"

    async def open(self) -> None:
        await self._connections[self._preferred].open()

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    async def call(
        self,
        route: str,
        request: dict[str, Any],
        *,
        name: str | None = None,
        key: str | None = None,
    ) -> Attempt:
        """Make one attempt at the preferred replica."""
        name = name or self.next_name()
        body = {**request, "actor": name}
        began = time.monotonic_ns()
        outcome = await self._send(route, msgspec.json.encode(body), key=key)
        attempt = Attempt(
            name=name,
            route=route,
            request=request,
            began=began,
            ended=time.monotonic_ns(),
            outcome=outcome,
            key=key,
        )
        self.attempts.append(attempt)
        return attempt

    async def insist(
        self, route: str, request: dict[str, Any], *, name: str | None = None, within: float = 30
    ) -> Attempt:
        """Repeat under one idempotency key, at one replica after another, until it is decided.

        Returns the last attempt, unknown when the time is over.
        """
        name = name or self.next_name()
        deadline = time.monotonic() + within
        while True:
            attempt = await self.call(route, request, name=name, key=name)
            if not isinstance(attempt.outcome, Unknown) or time.monotonic() > deadline:
                return attempt
            self.prefer(self._preferred + 1)
            await asyncio.sleep(0.05)

    async def _send(self, route: str, body: bytes, *, key: str | None) -> Outcome:
        connection = self._connections[self._preferred]
        try:
            async with asyncio.timeout(self.patience_seconds):
                response = await connection.request(self._head(route, len(body), key=key), body)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as failure:
            return Unknown(why=type(failure).__name__)
        return read_outcome(response)

    def _head(self, route: str, size: int, *, key: str | None) -> bytes:
        lines = [
            f"POST /v1/{route} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: Bearer {self.token}",
            f"Content-Length: {size}",
        ]
        if key is not None:
            lines.append(f"Idempotency-Key: {key}")
        return "\r\n".join([*lines, "", ""]).encode()


def read_outcome(response: Response) -> Outcome:
    if response.status == 200:
        return Answered(answer=msgspec.json.decode(response.body))
    if response.status in REFUSALS:
        error = msgspec.json.decode(response.body)["error"]
        return Refused(code=error["code"], details=error["details"])
    why = f"status {response.status}"
    if response.status == 503 and "retry-after" not in response.headers:
        why += " without Retry-After"
    return Unknown(why=why)
