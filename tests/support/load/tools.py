"""A lean client of the gateway's memory tool over bare sockets, which records every attempt.

It shares no code with the project, so that a fault of the one cannot hide in the other.
"""

import asyncio
import time
from contextlib import suppress
from typing import Any

import msgspec

from tests.support.histories.records import Answered, Attempt, Outcome, Refused, Unknown
from tests.support.raw_http import Answer, RawConnection, request_bytes

ROUTE = "tool/"
REVISION = "2026-07-28"
# What a call is told whose outcome nobody knows: the database was away, or it took too long.
UNKNOWN = "Tool 'memory' failed: "
_META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "checker", "version": "0"},
}


class ToolClient:
    """One caller of the memory tool; each of its calls is a request of its own."""

    def __init__(self, port: int, *, token: str, name: str, patience: float = 10) -> None:
        self.attempts: list[Attempt] = []
        self._port = port
        self._headers = {
            "host": "127.0.0.1",
            "authorization": f"Bearer {token}",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-protocol-version": REVISION,
            "mcp-method": "tools/call",
            "mcp-name": "memory",
        }
        self._name = name
        self._patience_seconds = patience
        self._count = 0
        self._connection: RawConnection | None = None

    def next_name(self) -> str:
        self._count += 1
        return f"{self._name}n{self._count}"

    async def call(self, arguments: dict[str, Any], *, name: str) -> Attempt:
        """Make one attempt; its name is its idempotency key."""
        began = time.monotonic_ns()
        outcome = await self._send(arguments, key=name)
        attempt = Attempt(
            name=name,
            route=f"{ROUTE}{arguments['command']}",
            request=arguments,
            began=began,
            ended=time.monotonic_ns(),
            outcome=outcome,
            key=name,
        )
        self.attempts.append(attempt)
        return attempt

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError):
                await connection.close()

    async def _send(self, arguments: dict[str, Any], *, key: str) -> Outcome:
        request = request_bytes("POST", "/mcp", headers=self._headers, body=_call(arguments, key))
        try:
            async with asyncio.timeout(self._patience_seconds):
                if self._connection is None:
                    self._connection = await RawConnection.open("127.0.0.1", self._port)
                answer = await self._connection.ask(request)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as failure:
            await self.close()
            return Unknown(why=type(failure).__name__)
        if (answer.header("connection") or "").lower() == "close":
            await self.close()
        return read_outcome(answer)


def read_outcome(answer: Answer) -> Outcome:
    if answer.status != 200:
        return Unknown(why=f"status {answer.status}")
    data = [line[5:] for line in answer.text.splitlines() if line.startswith("data:")]
    reply = msgspec.json.decode(data[-1] if data else answer.body)
    if "error" in reply:
        return Refused(code=str(reply["error"]["code"]), details=reply["error"])
    text = reply["result"]["content"][0]["text"]
    if not reply["result"].get("isError"):
        return Answered(answer={"text": text})
    return Unknown(why=text) if text.startswith(UNKNOWN) else Refused(code=text)


def _call(arguments: dict[str, Any], key: str) -> bytes:
    meta = {**_META, "commonhold/idempotency-key": key}
    params = {"name": "memory", "arguments": arguments, "_meta": meta}
    return msgspec.json.encode(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    )
