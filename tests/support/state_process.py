"""The state service as a process."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.raw_http import Answer, request_bytes
from tests.support.service_process import TOKEN, ServiceProcess, service_process


@asynccontextmanager
async def state_process(
    dsn: str, *, settings: Mapping[str, str] | None = None, arguments: tuple[str, ...] = ()
) -> AsyncIterator[ServiceProcess]:
    async with service_process(
        "commonhold_state",
        dsn,
        variables="COMMONHOLD_STATE",
        settings=settings,
        arguments=arguments,
    ) as running:
        yield running


@asynccontextmanager
async def rooted_process(
    root: Path, *, settings: Mapping[str, str] | None = None, arguments: tuple[str, ...] = ()
) -> AsyncIterator[ServiceProcess]:
    """The service over a directory in place of a database."""
    named = {"COMMONHOLD_ROOT": str(root), **(settings or {})}
    async with state_process("", settings=named, arguments=arguments) as running:
        yield running


async def post(service: ServiceProcess, route: str, body: Mapping[str, Any]) -> Answer:
    """POST to `/v1/<route>` of a running state service."""
    async with await service.connect() as connection:
        return await connection.ask(
            request_bytes(
                "POST",
                f"/v1/{route}",
                headers={"authorization": f"Bearer {TOKEN}"},
                body=json.dumps(body).encode(),
            )
        )
