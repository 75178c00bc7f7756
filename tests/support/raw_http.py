"""HTTP/1.1 as bytes on a socket, so that what a test reads is what was sent.

Nothing here is shared with the service or with a client library: a mistake in either
cannot hide in its own mirror.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

PATIENCE_SECONDS = 20.0


@dataclass(frozen=True)
class Answer:
    """Status line, header lines in order, and the body as it came."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The one value of a header; an assertion fails when it came twice."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1, f"{name} came {len(values)} times"
        return values[0] if values else None

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


def request_bytes(
    method: str,
    target: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    length: int | None = None,
) -> bytes:
    """A request with the headers given, a `host`, and a `content-length` when it has a body."""
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in {"host": "test", **(headers or {})}.items()]
    if body is not None or length is not None:
        lines.append(f"content-length: {len(body or b'') if length is None else length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8") + (body or b"")


def chunked(body: bytes, *, size: int) -> bytes:
    """The body in chunks, with its end."""
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


class RawConnection:
    """One socket to a service."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, host: str, port: int) -> Self:
        reader, writer = await asyncio.open_connection(host, port, limit=2**24)
        return cls(reader, writer)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def send_end(self) -> None:
        """Close the sending half."""
        self._writer.write_eof()

    async def read_answer(self, *, is_head: bool = False) -> Answer:
        """The next answer; `is_head` when the request was HEAD and no body follows."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            head = (await self._reader.readuntil(b"\r\n\r\n"))[:-4].decode("latin-1")
            status_line, *lines = head.split("\r\n")
            version, status, reason = status_line.split(" ", 2)
            assert version in {"HTTP/1.1", "HTTP/1.0"}, status_line
            headers = tuple(_header(line) for line in lines)
            length = next((int(v) for k, v in headers if k.lower() == "content-length"), 0)
            bodiless = is_head or int(status) < 200
            if not bodiless and ("transfer-encoding", "chunked") in headers:
                body = await self._read_chunks()
            else:
                body = b"" if bodiless else await self._reader.readexactly(length)
        return Answer(int(status), reason, headers, body)

    async def _read_chunks(self) -> bytes:
        body = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)
        return body

    async def read_line(self) -> bytes:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._reader.readuntil(b"\r\n")

    async def read_to_end(self) -> bytes:
        """Whatever still comes until the service closes; b"" when it closed cleanly."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                return await self._reader.read()
            except ConnectionError:
                return b""

    async def ask(self, request: bytes, *, is_head: bool = False) -> Answer:
        await self.send(request)
        return await self.read_answer(is_head=is_head)


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name, value.strip()
