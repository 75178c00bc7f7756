"""An MCP client in the official SDK: what docs/howto/connect-a-client.md explains.

Run it against a gateway: NEOSIAN_CLIENT_TOKEN=... python3 mcp_client.py http://127.0.0.1:6368/mcp
"""

import asyncio
import os
import sys

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

DOCUMENT = "/user/notes/kettle"


async def memory(client: Client, command: str, **arguments: str) -> str:
    """The text of one command; a failure is text too, for the model to act on."""
    result = await client.call_tool("memory", {"command": command, **arguments})
    return ("failed: " if result.is_error else "") + _first_text(result)


async def tour(client: Client) -> None:
    print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
    print(await memory(client, "create", path=DOCUMENT, content="on\n"))
    print(await memory(client, "str_replace", path=DOCUMENT, old_str="on", new_str="off"))
    print(await memory(client, "str_replace", path=DOCUMENT, old_str="on", new_str="off"))
    print(await memory(client, "view", path=DOCUMENT))
    print(await memory(client, "delete", path=DOCUMENT))


async def main(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http_client,
        Client(streamable_http_client(url, http_client=http_client)) as client,
    ):
        await tour(client)


def _first_text(result: CallToolResult) -> str:
    return next(block.text for block in result.content if isinstance(block, TextContent))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], os.environ["NEOSIAN_CLIENT_TOKEN"]))
