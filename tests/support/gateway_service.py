"""The gateway over any store, listening on a real socket inside the test's own loop."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from commonhold.contract import MemoryStore
from commonhold.contract.clock import Clock
from commonhold.ops.health import Health
from commonhold.ops.metrics import Metrics
from commonhold.ops.settings import Address
from commonhold.ops.tokens import TokenTable, parse_token_table
from commonhold.usecases.mount_tokens import parse_mounts
from commonhold_gateway.app import LOOPBACK, Limits, assemble, new_metrics
from commonhold_gateway.hosts import AllowedNames
from commonhold_gateway.identities import Authenticator, Doors, Reach, TokenDoor
from commonhold_gateway.listening import GatewayServer
from commonhold_gateway.replies import Reply
from tests.support.raw_http import Answer, RawConnection, request_bytes

TOKEN = "s3cret"
DRAIN_SECONDS = 2.0
PATIENCE_SECONDS = 20.0
POLL_SECONDS = 0.01
TOKENS = f"client:ana={TOKEN},client:bob=b0b"
MOUNTS = (
    "scope=user:ana,path=user",
    "scope=project:erp,path=project",
    "scope=tenant:acme/kb:handbook,path=kb,ro",
)
ACCEPT = "application/json, text/event-stream"
MCP_HEADERS = {"accept": ACCEPT, "content-type": "application/json"}


def reach_of(*mounts: str, **more: Any) -> Reach:
    return Reach(mounts=parse_mounts(list(mounts or MOUNTS)), **more)


class RunningGateway:
    """A running gateway, asked in bytes or by a client of the protocol."""

    def __init__(self, server: GatewayServer, *, health: Health, metrics: Metrics) -> None:
        self.server = server
        self.health = health
        self.metrics = metrics

    @property
    def address(self) -> Address:
        return self.server.address

    @property
    def url(self) -> str:
        return f"http://{self.address}/mcp"

    async def connect(self) -> RawConnection:
        return await RawConnection.open(self.address.host, self.address.port)

    async def ask(
        self,
        method: str,
        target: str,
        *,
        body: bytes | None = None,
        token: str | None = TOKEN,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One exchange on a connection of its own."""
        bearer = {} if token is None else {"authorization": f"Bearer {token}"}
        host = {"host": "localhost"}
        request = request_bytes(
            method, target, headers={**host, **bearer, **(headers or {})}, body=body
        )
        async with await self.connect() as connection:
            return await connection.ask(request, is_head=method == "HEAD")

    async def post(
        self, message: Any, *, token: str | None = TOKEN, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """POST a message to /mcp; bytes go as they are."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await self.ask(
            "POST", "/mcp", body=body, token=token, headers={**MCP_HEADERS, **(headers or {})}
        )

    async def until_measured(self, line: str) -> None:
        """Wait until the metrics say so: a request ends a moment after its answer."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if line in self.metrics.render().decode():
                    return
                await asyncio.sleep(POLL_SECONDS)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        token: str = TOKEN,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The reply to one request: with `result`, or with `error`."""
        message = {"jsonrpc": "2.0", "id": 7, "method": method}
        if params is not None:
            message["params"] = params
        answer = await self.post(message, token=token, headers=headers)
        assert answer.status == 200, answer
        reply = reply_of(answer)
        assert reply["id"] == 7
        return reply

    async def call(
        self,
        tool: str,
        *,
        token: str = TOKEN,
        meta: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> "Called":
        """A tool call without a session."""
        params = {"name": tool, "arguments": arguments, "_meta": meta or {}}
        reply = await self.request("tools/call", params, token=token)
        return called(reply["result"])

    async def initialize(self, version: str = "2025-11-25", **more: Any) -> dict[str, Any]:
        result: dict[str, Any] = (await self.request("initialize", hello(version), **more))[
            "result"
        ]
        return result


class Called(NamedTuple):
    """A tool's answer: whether it failed, its text, and its hint."""

    failed: bool
    text: str
    hint: str | None


def called(result: Mapping[str, Any]) -> Called:
    assert result.keys() <= {"content", "isError", "resultType", "_meta"}
    texts = [part["text"] for part in result["content"]]
    assert [part["type"] for part in result["content"]] == ["text"] * len(texts)
    return Called(result["isError"], texts[0], texts[1] if len(texts) > 1 else None)


def hello(version: str = "2025-11-25") -> dict[str, Any]:
    """The parameters of `initialize`."""
    client = {"name": "t", "version": "0"}
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": client}


def reply_of(answer: Answer) -> dict[str, Any]:
    """The one JSON-RPC message of an answer, whether it came as JSON or as an event."""
    text = answer.text
    if (answer.header("content-type") or "").startswith("text/event-stream"):
        (text,) = [
            line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")
        ]
    reply: dict[str, Any] = json.loads(text)
    return reply


@asynccontextmanager
async def running_gateway(
    store: MemoryStore,
    *,
    tokens: str = TOKENS,
    reaches: Mapping[str, Reach] | None = None,
    allowed: AllowedNames = LOOPBACK,
    limits: Limits | None = None,
    is_stateful: bool = False,
    mounts_anything: bool = True,
    clock: Clock | None = None,
    doors: Sequence[Authenticator] = (),
    public: Mapping[str, Reply] | None = None,
    head_seconds: float = 15.0,
    stalled_seconds: float = 30.0,
    last_request_seconds: float = 0.1,
    most_connections: int | None = None,
) -> AsyncIterator[RunningGateway]:
    """Serve the store on a free port of loopback until the block ends.

    Without `reaches` every client of the tokens gets `MOUNTS`. `doors` are asked after the
    one for the tokens.
    """
    health, metrics = Health(), new_metrics()
    health.become_ready()
    table = TokenTable(parse_token_table(tokens))
    everybody = {client.actor: reach_of() for client in table.clients}
    door = TokenDoor(table, reaches=everybody if reaches is None else reaches)
    gateway = assemble(
        store,
        authenticator=Doors((door, *doors)),
        health=health,
        metrics=metrics,
        allowed=allowed,
        limits=limits or Limits(),
        is_stateful=is_stateful,
        mounts_anything=mounts_anything,
        clock=clock,
        public=public,
    )
    async with gateway.surface.run():
        server = GatewayServer(
            gateway.gates,
            head_seconds=head_seconds,
            stalled_seconds=stalled_seconds,
            last_request_seconds=last_request_seconds,
            most_connections=most_connections,
        )
        await server.listen(Address("127.0.0.1", 0))
        try:
            yield RunningGateway(server, health=health, metrics=metrics)
        finally:
            server.stop_accepting()
            with suppress(TimeoutError):
                await asyncio.wait_for(server.drain(), DRAIN_SECONDS)
            await server.abort()
