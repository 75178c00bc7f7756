"""The gateway as a process."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.support.gateway_service import MCP_HEADERS, called, reply_of
from tests.support.raw_http import Answer, request_bytes
from tests.support.service_process import TOKEN, ServiceProcess, service_process

MOUNTS = "scope=user:ana,path=user;scope=project:erp,path=project"
HEADERS = {"host": "localhost", "authorization": f"Bearer {TOKEN}", **MCP_HEADERS}


@asynccontextmanager
async def gateway_process(
    dsn: str | None, *, settings: Mapping[str, str] | None = None, arguments: tuple[str, ...] = ()
) -> AsyncIterator[ServiceProcess]:
    """A gateway whose clients have `MOUNTS`, unless the settings say otherwise."""
    async with service_process(
        "commonhold_gateway",
        dsn,
        variables="COMMONHOLD_GATEWAY",
        settings={"COMMONHOLD_GATEWAY_MOUNTS": MOUNTS, **(settings or {})},
        arguments=arguments,
    ) as running:
        yield running


async def until_in_flight(service: ServiceProcess, count: int) -> None:
    line = f'commonhold_in_flight{{service="gateway"}} {count:.1f}'
    await service.until_ops("/metrics", status=200, holding=line)


def call_bytes(
    tool: str, arguments: Mapping[str, Any], *, meta: Mapping[str, Any] | None = None
) -> bytes:
    params = {"name": tool, "arguments": arguments, **({} if meta is None else {"_meta": meta})}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return request_bytes("POST", "/mcp", headers=HEADERS, body=json.dumps(message).encode())


async def ask(service: ServiceProcess, request: bytes) -> Answer:
    async with await service.connect() as connection:
        return await connection.ask(request)


async def call(service: ServiceProcess, tool: str, **arguments: Any) -> str:
    answer = await ask(service, call_bytes(tool, arguments))
    assert answer.status == 200
    return called(reply_of(answer)["result"]).text


async def assert_does_not_start(
    dsn: str, *, settings: Mapping[str, str], arguments: tuple[str, ...] = ()
) -> str:
    """The one line it says before exiting with status 2."""
    async with gateway_process(dsn, settings=settings, arguments=arguments) as service:
        assert await service.exit_status() == 2
        assert len(service.lines) == 1, service.lines
        return service.lines[0]
