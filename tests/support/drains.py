"""A service within this process that is told to stop, and the end of its drain."""

import asyncio
from typing import Protocol

import pytest

from commonhold.ops.health import Health
from commonhold.ops.settings import Address
from tests.support.raw_http import RawConnection

DRAIN_SECONDS = 10.0


class Server(Protocol):
    @property
    def address(self) -> Address: ...

    def stop_accepting(self) -> None: ...

    async def drain(self) -> None: ...


class Running(Protocol):
    @property
    def server(self) -> Server: ...

    @property
    def health(self) -> Health: ...


def stop(service: Running) -> Address:
    """Where it listened."""
    address = service.server.address
    service.health.drain()
    service.server.stop_accepting()
    return address


async def assert_drained(service: Running, address: Address) -> None:
    await asyncio.wait_for(service.server.drain(), DRAIN_SECONDS)
    with pytest.raises(ConnectionRefusedError):
        await RawConnection.open(address.host, address.port)
