"""What a service on files does beside its work: see that the root can be used."""

import asyncio
from pathlib import Path
from typing import Protocol

import structlog

from commonhold.contract.errors import StoreUnavailableError
from commonhold.ops.health import Health

RETRY_SECONDS = 1.0

_log = structlog.get_logger(__name__)


class RootReader(Protocol):
    async def check(self) -> bool:
        """Whether the root can be written; StoreUnavailableError when it cannot be read."""
        ...


class RootWatch:
    """Opens the service once the root can be read; what fails later is each call's to say."""

    def __init__(self, reader: RootReader, *, root: Path, health: Health) -> None:
        self._reader = reader
        self._root = root
        self._health = health

    async def run(self) -> None:
        """Look every second until the root can be used."""
        while True:
            if await self.check():
                return
            await asyncio.sleep(RETRY_SECONDS)

    async def check(self) -> bool:
        """Look once; whether the service can serve."""
        try:
            is_writable = await self._reader.check()
        except StoreUnavailableError as error:
            self._health.become_unready(error.message)
            return False
        if not is_writable:
            _log.warning("root_read_only", root=str(self._root))
        _log.info("ready", root=str(self._root))
        self._health.become_ready()
        return True
