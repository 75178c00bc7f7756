"""A RemoteStore over a running service, as the kits want it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from commonhold.adapters.remote import RemoteOptions, RemoteStore, remote_store
from commonhold.ops.settings import Secret
from commonhold_state.backend import StateStore
from tests.support.wire_service import TOKEN, running

UNREPEATED = RemoteOptions(retries=0)
REPEATED = RemoteOptions(pause_seconds=0.01)
# What a service of this wire says of itself, for those who play one.
HANDSHAKE = {
    "wire_version": 6,
    "neosian_version": "2.0.0",
    "backend": "Scripted",
    "supports_optimistic_concurrency": True,
    "pageable": True,
    "erasable": True,
    "client": "client:default",
}


@asynccontextmanager
async def served(
    backing: StateStore, *, options: RemoteOptions = REPEATED, tokens: str = TOKEN
) -> AsyncIterator[RemoteStore]:
    """The store behind a service that runs until the block ends."""
    async with running(backing, tokens=tokens) as wire:
        url = f"http://{wire.address}"
        async with remote_store(url, Secret(TOKEN), options=options) as store:
            yield store


class RemoteSubject:
    """A kit over the wire: what is planted is planted in the store behind the service.

    The fixture `store` notes that one as `backing`; `plants` has the hooks of its kind.
    """

    backing: Any = None
    plants: Any = None

    def recorded_actor(self, actor: str | None) -> str | None:
        return "client:default" if actor is None else f"client:default/{actor}"

    async def plant_newer_document(self, store: Any, scope: str, path: str) -> None:
        await self.plants.plant_newer_document(self.backing, scope, path)

    async def plant_newer_version(self, store: Any, scope: str, path: str, version: int) -> None:
        await self.plants.plant_newer_version(self.backing, scope, path, version)

    async def plant_extra(
        self, store: Any, scope: str, path: str, extra: Mapping[str, Any]
    ) -> None:
        await self.plants.plant_extra(self.backing, scope, path, extra)

    async def plant_newer_turn(self, store: Any, conversation_id: str, turn: int) -> None:
        await self.plants.plant_newer_turn(self.backing, conversation_id, turn)

    async def plant_malformed_turn(self, store: Any, conversation_id: str, turn: int) -> None:
        await self.plants.plant_malformed_turn(self.backing, conversation_id, turn)

    async def plant_newer_projection(self, store: Any, conversation_id: str, turn: int) -> None:
        await self.plants.plant_newer_projection(self.backing, conversation_id, turn)

    async def plant_malformed_projection(self, store: Any, conversation_id: str, turn: int) -> None:
        await self.plants.plant_malformed_projection(self.backing, conversation_id, turn)
