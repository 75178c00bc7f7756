"""The gateway as the official suite wants it: with the fixed tools that its scenarios call.

The tools are added to the service's own surface, so that every one of their requests passes
the gates, the sessions and the instructions that all requests pass. The suite cannot send a
token, so the door here knows everybody as one client. None of this is shipped.
"""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

import mcp_types as types
from mcp.server.context import HandlerResult
from mcp.shared.exceptions import MCPError

from commonhold.contract import MemoryStore
from commonhold.ops.health import Health
from commonhold.ops.settings import Address
from commonhold_gateway import app
from commonhold_gateway.identities import Identity
from commonhold_gateway.listening import GatewayServer
from commonhold_gateway.surface import Context, Surface
from tests.support.gateway_service import reach_of

SCOPE = "user:suite"
SIMPLE_PROMPT = "This is a simple prompt for testing."

_PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d4944415478da63fccff0bf1e0005010201a0d2f0a60000000049454e44ae426082"
    )
).decode()
_SILENCE = base64.b64encode(
    b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"
    b"\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00"
).decode()
_IMAGE = {"type": "image", "data": _PIXEL, "mimeType": "image/png"}
_COMPLETE = {"resultType": "complete"}

Answer = Callable[[Context], Awaitable[dict[str, Any]]]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _resource(uri: str, text: str, *, kind: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


def _fixed(*content: dict[str, Any], is_error: bool = False) -> Answer:
    async def answer(_context: Context) -> dict[str, Any]:
        return {**_COMPLETE, "content": list(content), "isError": is_error}

    return answer


async def _with_progress(context: Context) -> dict[str, Any]:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
    return {**_COMPLETE, "content": [_text("Progress complete")], "isError": False}


async def _missing_capability(_context: Context) -> dict[str, Any]:
    """A tool that cannot run for a client which does not offer it a model."""
    raise MCPError(
        types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        "Missing required client capability",
        {"requiredCapabilities": {"sampling": {}}},
    )


ANSWERS: dict[str, Answer] = {
    "test_simple_text": _fixed(_text("This is a simple text response for testing.")),
    "test_image_content": _fixed(_IMAGE),
    "test_audio_content": _fixed({"type": "audio", "data": _SILENCE, "mimeType": "audio/wav"}),
    "test_embedded_resource": _fixed(
        _resource("test://embedded-resource", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": _fixed(
        _text("Multiple content types test:"),
        _IMAGE,
        _resource(
            "test://mixed-content-resource",
            '{"test":"data","value":123}',
            kind="application/json",
        ),
    ),
    "test_tool_with_progress": _with_progress,
    "test_missing_capability": _missing_capability,
    "test_error_handling": _fixed(
        _text("This tool intentionally returns an error for testing"), is_error=True
    ),
}


class SuiteSurface(Surface):
    """The shipped surface, its tool list lengthened."""

    async def _list_tools(
        self, context: Context, params: types.PaginatedRequestParams
    ) -> HandlerResult:
        shown = await super()._list_tools(context, params)
        assert isinstance(shown, dict)
        schema = {"type": "object", "properties": {}}
        added = [
            {"name": name, "description": "A fixed answer.", "inputSchema": schema}
            for name in ANSWERS
        ]
        return {**shown, "tools": [*shown["tools"], *added]}

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> HandlerResult:
        if params.name in ANSWERS:
            return await ANSWERS[params.name](context)
        return await super()._call_tool(context, params)


class OpenDoor:
    """Knows everybody as the same client."""

    async def identify(self, _authorization: str | None) -> Identity:
        return Identity(client="client:suite", reach=reach_of(f"scope={SCOPE},path=user"))

    def challenge(self, _authorization: str | None) -> str:
        return "Bearer"


@asynccontextmanager
async def conformance_gateway(store: MemoryStore, *, is_stateful: bool) -> AsyncIterator[str]:
    """Serve on a free port and yield the address of /mcp."""
    await store.write(
        SCOPE,
        "skills/test_simple_prompt",
        f"---\ndescription: A fixed prompt.\n---\n{SIMPLE_PROMPT}\n",
        actor="test:suite",
    )
    health = Health()
    health.become_ready()
    with patch.object(app, "Surface", SuiteSurface):
        gateway = app.assemble(
            store,
            authenticator=OpenDoor(),
            health=health,
            metrics=app.new_metrics(),
            is_stateful=is_stateful,
        )
    async with gateway.surface.run():
        server = GatewayServer(gateway.gates)
        await server.listen(Address("127.0.0.1", 0))
        try:
            yield f"http://{server.address}/mcp"
        finally:
            server.stop_accepting()
            await server.abort()
