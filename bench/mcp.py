"""Tool calls as bytes, made before the clock runs, in both eras of the protocol."""

from typing import Any

import msgspec

from bench.wire import TOKEN

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"
_META = "io.modelcontextprotocol/"

_encode = msgspec.json.Encoder().encode


def call(tool: str, arguments: dict[str, Any], *, revision: str) -> bytes:
    """A POST of `tools/call` that needs no session."""
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    headers = {"mcp-protocol-version": revision}
    if revision == STATELESS:
        headers |= {"mcp-method": "tools/call", "mcp-name": tool}
        params["_meta"] = {
            f"{_META}protocolVersion": revision,
            f"{_META}clientInfo": {"name": "bench", "version": "0"},
            f"{_META}clientCapabilities": {},
        }
    content = _encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return (
        "POST /mcp HTTP/1.1\r\n"
        # With a port: the SDK allows loopback names only with one.
        "host: 127.0.0.1:6368\r\n"
        f"authorization: Bearer {TOKEN}\r\n"
        "content-type: application/json\r\n"
        "accept: application/json, text/event-stream\r\n"
        f"{head}"
        f"content-length: {len(content)}\r\n\r\n"
    ).encode() + content


def first_text(body: bytes) -> str:
    """The first text of an answer, plain or as the only event of a stream."""
    start, end = body.find(b"{"), body.rfind(b"}")
    answer = msgspec.json.decode(body[start : end + 1])
    if answer["result"].get("isError"):
        raise ValueError(f"the call failed: {answer['result']}")
    text: str = answer["result"]["content"][0]["text"]
    return text
