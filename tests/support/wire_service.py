"""The service over any store, listening on a real socket inside the test's own loop."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from commonhold.ops.health import Health
from commonhold.ops.metrics import Metrics
from commonhold.ops.settings import Address
from commonhold.ops.tokens import TokenTable, parse_token_table
from commonhold_state.app import Limits, assemble, new_metrics
from commonhold_state.backend import StateStore
from commonhold_state.gates import Gates
from commonhold_state.server import WireServer
from tests.support.raw_http import Answer, RawConnection, request_bytes

TOKEN = "s3cret"
START = datetime(2026, 11, 29, 23, 50, 8, 79957, tzinfo=UTC)


class HandClock:
    """Stands still until a test moves it."""

    def __init__(self, moment: datetime = START) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def set(self, text: str) -> None:
        self.moment = datetime.fromisoformat(text)

    def advance(self, seconds: float = 1.0) -> None:
        self.moment += timedelta(seconds=seconds)


class Wire:
    """A running service and one keep-alive connection to it, opened when it is needed."""

    def __init__(
        self, server: WireServer, *, gates: Gates, health: Health, metrics: Metrics
    ) -> None:
        self.server = server
        self.gates = gates
        self.health = health
        self.metrics = metrics
        self._connection: RawConnection | None = None

    @property
    def address(self) -> Address:
        return self.server.address

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
        """One exchange; the connection is kept for the next when the answer allows it."""
        if self._connection is None:
            self._connection = await self.connect()
        bearer = {} if token is None else {"authorization": f"Bearer {token}"}
        request = request_bytes(method, target, headers={**bearer, **(headers or {})}, body=body)
        answer = await self._connection.ask(request, is_head=method == "HEAD")
        if answer.header("connection") == "close":
            await self.hang_up()
        return answer

    async def post(
        self,
        route: str,
        body: bytes | str | Mapping[str, Any],
        *,
        token: str | None = TOKEN,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """POST to `/v1/<route>`; a mapping is encoded, text and bytes go as they are."""
        return await self.ask(
            "POST", f"/v1/{route}", body=encoded(body), token=token, headers=headers
        )

    async def hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


def encoded(body: bytes | str | Mapping[str, Any]) -> bytes:
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


@asynccontextmanager
async def running(
    store: StateStore,
    *,
    tokens: str = TOKEN,
    previous: str | None = None,
    limits: Limits | None = None,
    head_seconds: float = 15.0,
    last_request_seconds: float = 0.1,
    most_connections: int | None = None,
) -> AsyncIterator[Wire]:
    """Serve the store on a free port of loopback until the block ends."""
    health, metrics = Health(), new_metrics()
    health.become_ready()
    table = TokenTable(
        parse_token_table(tokens), previous=parse_token_table(previous) if previous else ()
    )
    gates = assemble(store, tokens=table, health=health, metrics=metrics, limits=limits or Limits())
    server = WireServer(
        gates,
        head_seconds=head_seconds,
        last_request_seconds=last_request_seconds,
        most_connections=most_connections,
    )
    await server.listen(Address("127.0.0.1", 0))
    wire = Wire(server, gates=gates, health=health, metrics=metrics)
    try:
        yield wire
    finally:
        await wire.hang_up()
        server.stop_accepting()
        await server.abort()
