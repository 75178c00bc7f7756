"""A service that breaks one rule: a proxy in front of a good one that bends what passes."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import aiohttp
from aiohttp import web

from tests.support.wire_service import TOKEN

Bend: TypeAlias = Callable[["Exchange"], None]


@dataclass
class Exchange:
    """What was asked, and what is answered once it was: a bend may change any of it."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
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
        exchange = Exchange(
            request.method, request.path, request.query_string, asked, await request.read()
        )
        if self.before is not None:
            self.before(exchange)
        if not exchange.status:
            await self._forward(exchange)
        if self.after is not None:
            self.after(exchange)
        return web.Response(
            status=exchange.status, headers=exchange.said, body=exchange.answer or None
        )

    async def close(self) -> None:
        await self._session.close()

    async def _forward(self, exchange: Exchange) -> None:
        target = f"{self._upstream}{exchange.path}"
        if exchange.query:
            target += f"?{exchange.query}"
        async with self._session.request(
            exchange.method, target, data=exchange.body or None, headers=exchange.headers
        ) as answer:
            exchange.status, exchange.answer = answer.status, await answer.read()
            exchange.said = {
                name: value
                for name, value in answer.headers.items()
                if name.lower() not in {"content-length", "connection", "date", "transfer-encoding"}
            }


def right_token(exchange: Exchange) -> None:
    exchange.headers["authorization"] = f"Bearer {TOKEN}"


@asynccontextmanager
async def proxy_before(url: str) -> AsyncIterator[Proxy]:
    """A proxy on a free port of loopback."""
    proxy = Proxy(url)
    # The limit is the service's own affair.
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/{path:.*}", proxy.pass_on)
    runner = web.AppRunner(app, access_log=None)
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
