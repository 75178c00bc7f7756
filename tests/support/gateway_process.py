"""The gateway as a process."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from tests.support.service_process import ServiceProcess, service_process

MOUNTS = "scope=user:ana,path=user;scope=project:erp,path=project"


@asynccontextmanager
async def gateway_process(
    dsn: str, *, settings: Mapping[str, str] | None = None, arguments: tuple[str, ...] = ()
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
