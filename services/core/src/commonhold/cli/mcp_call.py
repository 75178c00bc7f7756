"""One tool call over MCP with the standard library, as the shell's tour makes it.

It speaks the revision that needs no session, so that it is one request whatever the gateway's
sessions are; programs of other people have a client of their SDK.
"""

import http.client
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import msgspec

from commonhold.cli.errors import CommandError

REVISION = "2026-07-28"

_TIMEOUT_SECONDS = 60.0
_META = "io.modelcontextprotocol/"
_EVENT_DATA = b"data:"


class _Block(msgspec.Struct, frozen=True):
    text: str = ""


class _Result(msgspec.Struct, frozen=True, rename="camel"):
    content: tuple[_Block, ...] = ()
    is_error: bool = False


class _Error(msgspec.Struct, frozen=True):
    message: str = ""


class _Reply(msgspec.Struct, frozen=True):
    result: _Result | None = None
    error: _Error | None = None


def call_tool(url: str, token: str, *, tool: str, arguments: Mapping[str, Any]) -> str:
    """The first text of the answer; raises CommandError for a call that fails in any way."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port, timeout=_TIMEOUT_SECONDS
    )
    try:
        connection.request("POST", parts.path, _request(tool, arguments), _headers(tool, token))
        response = connection.getresponse()
        status, body = response.status, response.read()
    except (OSError, http.client.HTTPException) as error:
        raise CommandError(f"{url} does not answer: {error}") from error
    finally:
        connection.close()
    if status != HTTPStatus.OK:
        raise CommandError(f"{url} answered tools/call {tool} with status {status}")
    return _first_text(url, tool, body)


def _request(tool: str, arguments: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": tool,
                "arguments": arguments,
                "_meta": {
                    f"{_META}protocolVersion": REVISION,
                    f"{_META}clientInfo": {"name": "commonhold-demo", "version": "0"},
                    f"{_META}clientCapabilities": {},
                },
            },
        }
    )


def _headers(tool: str, token: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }


def _first_text(url: str, tool: str, body: bytes) -> str:
    try:
        reply = msgspec.json.decode(_message(body), type=_Reply)
    except msgspec.MsgspecError as error:
        raise CommandError(f"the answer of {url} is none of MCP: {error}") from error
    if reply.error is not None:
        raise CommandError(f"tools/call {tool} was refused: {reply.error.message}")
    if reply.result is None or not reply.result.content:
        raise CommandError(f"the answer of {url} to tools/call {tool} is empty")
    text = reply.result.content[0].text
    if reply.result.is_error:
        raise CommandError(f"tools/call {tool} failed: {text}")
    return text


def _message(body: bytes) -> bytes:
    """The JSON of an answer, which is plain or the last event of a stream."""
    events = [line for line in body.splitlines() if line.startswith(_EVENT_DATA)]
    return events[-1].removeprefix(_EVENT_DATA) if events else body
