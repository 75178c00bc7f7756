"""Messages of the protocol as bytes, for tests that look below a client."""

import json
from collections.abc import Mapping
from typing import Any

from commonhold_gateway.calls import IDEMPOTENCY_KEY
from tests.support.gateway_service import MCP_HEADERS, TOKEN, hello
from tests.support.mcp_clients import STATELESS
from tests.support.raw_http import RawConnection, request_bytes

SESSION = "mcp-session-id"
_PREFIX = "io.modelcontextprotocol"
_HEADERS = {"host": "localhost", "authorization": f"Bearer {TOKEN}", **MCP_HEADERS}
_META = {
    f"{_PREFIX}/protocolVersion": STATELESS,
    f"{_PREFIX}/clientCapabilities": {},
    f"{_PREFIX}/clientInfo": {"name": "t", "version": "0"},
}


def post(message: Mapping[str, Any], *, headers: Mapping[str, str]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode()
    return request_bytes("POST", "/mcp", headers={**_HEADERS, **headers}, body=body)


def list_tools(*, era: str) -> bytes:
    """Answered without a look at the database."""
    headers, meta = _framing(era, method="tools/list")
    return post({"method": "tools/list", "params": {"_meta": meta}}, headers=headers)


def memory_call(
    arguments: Mapping[str, str | int],
    *,
    era: str,
    key: str | None = None,
    session: Mapping[str, str] | None = None,
    token: str = TOKEN,
) -> bytes:
    """A call of the memory tool; `session` are the headers that `begin_session` returned."""
    headers, meta = _framing(era, method="tools/call", name={"mcp-name": "memory"})
    if key is not None:
        meta[IDEMPOTENCY_KEY] = key
    headers |= {"authorization": f"Bearer {token}", **(session or {})}
    params = {"name": "memory", "arguments": arguments, "_meta": meta}
    return post({"method": "tools/call", "params": params}, headers=headers)


def _framing(
    era: str, *, method: str, name: Mapping[str, str] | None = None
) -> tuple[dict[str, str], dict[str, Any]]:
    """The headers and the `_meta` by which a request of the newer era tells its era."""
    if era != STATELESS:
        return {}, {}
    return {"mcp-protocol-version": era, "mcp-method": method, **(name or {})}, dict(_META)


def initialize() -> bytes:
    return post({"method": "initialize", "params": hello()}, headers={})


async def begin_session(connection: RawConnection) -> dict[str, str]:
    answer = await connection.ask(initialize())
    session = answer.header(SESSION)
    assert session is not None, answer
    return {SESSION: session}


def open_stream(session: Mapping[str, str]) -> bytes:
    """What a client asks for to hear from the server; it has no end of its own."""
    headers = {**_HEADERS, "accept": "text/event-stream", **session}
    return request_bytes("GET", "/mcp", headers=headers)
