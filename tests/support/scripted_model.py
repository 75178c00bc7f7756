"""A server of JSON that does what a test says, byte by byte: well, badly, or not at all."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec

Step: TypeAlias = Callable[["Exchange"], Awaitable[None]]


class Request(msgspec.Struct, frozen=True):
    line: str
    headers: Mapping[str, str]
    body: Any


class Exchange:
    """One connection on which a request has arrived."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def wait_for_the_client_to_leave(self) -> None:
        with contextlib.suppress(OSError):
            while await self.reader.read(65536):
                pass


class ScriptedModel:
    """Plays one step a request; the last one is repeated."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.requests: list[Request] = []
        self.asked = asyncio.Event()
        self.abandoned = asyncio.Event()
        self.base_url = ""
        self._tasks: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while True:
                    self.requests.append(await _read_request(reader))
                    self.asked.set()
                    step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
                    await step(Exchange(reader, writer))
        finally:
            self.abandoned.set()
            writer.transport.abort()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    line, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (row.partition(": ") for row in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(line, headers, json.loads(body) if body else None)


@contextlib.asynccontextmanager
async def scripted_model(*steps: Step) -> AsyncIterator[ScriptedModel]:
    model = ScriptedModel(*steps)
    server = await asyncio.start_server(model.accept, "127.0.0.1", 0)
    model.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield model
    finally:
        server.close()
        await model.close()
        await server.wait_closed()


def completion(content: Any = None, *, finish_reason: str = "stop", **more: Any) -> dict[str, Any]:
    """A completion's JSON; `message=` adds fields to the message, the rest stands on top."""
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {"id": "c-1", "object": "chat.completion", "choices": [choice], **more}


def http(
    body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None, **more: Any
) -> bytes:
    """A response as bytes; `length=` lies about the body's."""
    lines = {
        "Content-Type": "application/json",
        "Content-Length": str(more.get("length", len(body))),
        **(headers or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Scripted\r\n{head}\r\n".encode() + body


def says(data: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Step:
    """Answer with JSON, or with the bytes as they are."""
    body = data if isinstance(data, bytes) else json.dumps(data).encode()

    async def step(exchange: Exchange) -> None:
        await exchange.send(http(body, status=status, headers=headers))

    return step


async def hangs(exchange: Exchange) -> None:
    """Say nothing until the client leaves."""
    await exchange.wait_for_the_client_to_leave()


async def hangs_after_the_head(exchange: Exchange) -> None:
    await exchange.send(http(b"{", length=4096))
    await exchange.wait_for_the_client_to_leave()


async def resets(exchange: Exchange) -> None:
    exchange.writer.transport.abort()
    raise ConnectionResetError


async def closes_in_the_middle(exchange: Exchange) -> None:
    """Half a body, then the end of the connection."""
    body = json.dumps(completion('{"text": "x"}')).encode()
    await exchange.send(http(body[: len(body) // 2], length=len(body)))
    exchange.writer.close()
    raise ConnectionResetError


async def talks_another_protocol(exchange: Exchange) -> None:
    await exchange.send(b"220 mail.example.org ESMTP\r\n")
    exchange.writer.close()
    raise ConnectionResetError


async def drips(exchange: Exchange) -> None:
    """A byte now and then, so that no gap is long and the whole never ends."""
    await exchange.send(http(b"", length=10_000_000))
    while True:
        await exchange.send(b" ")
        await asyncio.sleep(0.01)


async def pours(exchange: Exchange) -> None:
    """Megabytes without end."""
    await exchange.send(http(b"", length=10**12))
    while True:
        await exchange.send(b" " * 65536)
