"""The official SDK's client, as tests connect it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

HANDSHAKE = "legacy"
STATELESS = "2026-07-28"
# Asks the server what it speaks first, and so gets its instructions in the newer era too.
NEWEST = "auto"
ERAS = (HANDSHAKE, STATELESS)
PATIENCE_SECONDS = 60.0


@asynccontextmanager
async def mcp_client(
    url: str, *, headers: Mapping[str, str], era: str = HANDSHAKE
) -> AsyncIterator[Client]:
    """A connected client; its every request carries the headers."""
    async with httpx2.AsyncClient(
        headers=dict(headers), timeout=PATIENCE_SECONDS, trust_env=False
    ) as http_client:
        transport = streamable_http_client(url, http_client=http_client)
        async with Client(transport, mode=era, read_timeout_seconds=PATIENCE_SECONDS) as client:
            yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def texts(result: CallToolResult) -> list[str]:
    """The texts of an answer: the data or the error, then the hint."""
    assert all(isinstance(block, TextContent) for block in result.content)
    return [block.text for block in result.content if isinstance(block, TextContent)]
