"""A service that breaks one rule: a proxy in front of a good one that bends what passes."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import aiohttp
from aiohttp import web

from commonhold.wire.answers import BODY_LIMIT_BYTES
from tests.support.wire_service import TOKEN

Bend: TypeAlias = Callable[["Exchange"], None]

# What is of one connection, and not of the answer.
HOP = frozenset({"content-length", "connection", "date", "transfer-encoding"})


@dataclass
class Exchange:
    """What was asked, and what is answered once it was: a bend may change any of it."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    too_long: int = 0
    """How long the body is where that is over the limit: as it was announced, or as it came."""
    status: int = 0
    said: dict[str, str] = field(default_factory=dict)
    answer: bytes = b""

    @property
    def route(self) -> str:
        return self.path.removeprefix("/v1/")

    @property
    def asked(self) -> Any:
        """The body as JSON; an empty object when it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return {}

    @asked.setter
    def asked(self, value: Any) -> None:
        self.body = json.dumps(value).encode()

    @property
    def told(self) -> Any:
        try:
            return json.loads(self.answer)
        except ValueError:
            return {}

    @told.setter
    def told(self, value: Any) -> None:
        self.answer = json.dumps(value).encode()


class Proxy:
    """Passes everything on; `before` and `after` are the rule it breaks."""

    def __init__(self, upstream: str) -> None:
        self.before: Bend | None = None
        self.after: Bend | None = None
        self.url = ""
        self._upstream = upstream
        self._session = aiohttp.ClientSession()

    async def pass_on(self, request: web.Request) -> web.Response:
        asked = {
            name: value
            for name, value in request.headers.items()
            if name.lower() in {"authorization", "idempotency-key"}
        }
        body, too_long = await self._body(request)
        exchange = Exchange(
            request.method, request.path, request.query_string, asked, body, too_long
        )
        if self.before is not None:
            self.before(exchange)
        if not exchange.status:
            await self._forward(exchange)
        if self.after is not None:
            self.after(exchange)
        response = web.Response(
            status=exchange.status, headers=exchange.said, body=exchange.answer or None
        )
        if exchange.too_long:
            # What is left of the body is not waited for; `said` tells the caller, or does not.
            response.force_close()
        return response

    async def close(self) -> None:
        await self._session.close()

    @staticmethod
    async def _body(request: web.Request) -> tuple[bytes, int]:
        if (request.content_length or 0) > BODY_LIMIT_BYTES:
            return b"", request.content_length or 0
        body = bytearray()
        async for piece in request.content.iter_any():
            body += piece
            if len(body) > BODY_LIMIT_BYTES:
                return b"", len(body)
        return bytes(body), 0

    async def _forward(self, exchange: Exchange) -> None:
        target = f"{self._upstream}{exchange.path}"
        if exchange.query:
            target += f"?{exchange.query}"
        answered = asyncio.Event()
        body: io.BytesIO | AsyncIterator[bytes] | None
        if exchange.too_long:
            body = _withheld(answered)
            headers = {**exchange.headers, "content-length": str(exchange.too_long)}
        else:
            body, headers = io.BytesIO(exchange.body) if exchange.body else None, exchange.headers
        async with self._session.request(
            exchange.method, target, data=body, headers=headers
        ) as answer:
            exchange.status, exchange.answer = answer.status, await answer.read()
            exchange.said = {
                name: value for name, value in answer.headers.items() if name.lower() not in HOP
            }
            if answer.headers.get("connection") == "close":
                exchange.said["connection"] = "close"
            answered.set()


async def _withheld(answered: asyncio.Event) -> AsyncIterator[bytes]:
    """A body of which a byte is sent before the answer, and nothing after it."""
    yield b" "
    await answered.wait()


def right_token(exchange: Exchange) -> None:
    exchange.headers["authorization"] = f"Bearer {TOKEN}"


@asynccontextmanager
async def proxy_before(url: str) -> AsyncIterator[Proxy]:
    """A proxy on a free port of loopback."""
    proxy = Proxy(url)
    # The limit is the service's own affair.
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/{path:.*}", proxy.pass_on)
    runner = web.AppRunner(app, access_log=None, lingering_time=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    try:
        await site.start()
        host, port = runner.addresses[0][:2]
        proxy.url = f"http://{host}:{port}"
        yield proxy
    finally:
        await runner.cleanup()
        await proxy.close()
