"""Rows that no public method can make, planted in an in-memory store."""

from collections.abc import Mapping
from typing import Any

import msgspec

from commonhold.adapters.in_memory import InMemoryStore

NEWER = 2


class PlantsInMemory:
    """The planting hooks of the kits, for InMemoryStore and its subclasses."""

    async def plant_newer_document(self, store: InMemoryStore, scope: str, path: str) -> None:
        ledger = store._documents.ledgers[scope].paths[path]
        assert ledger.live is not None
        ledger.live = msgspec.structs.replace(ledger.live, format=NEWER)
        for version in ledger.rows:
            await self.plant_newer_version(store, scope, path, version)

    async def plant_newer_version(
        self, store: InMemoryStore, scope: str, path: str, version: int
    ) -> None:
        rows = store._documents.ledgers[scope].paths[path].rows
        rows[version] = msgspec.structs.replace(rows[version], format=NEWER)

    async def plant_extra(
        self, store: InMemoryStore, scope: str, path: str, extra: Mapping[str, Any]
    ) -> None:
        ledger = store._documents.ledgers[scope].paths[path]
        assert ledger.live is not None
        document = msgspec.structs.replace(ledger.live.record, extra=dict(extra))
        ledger.live = msgspec.structs.replace(ledger.live, record=document)

    async def plant_newer_turn(self, store: InMemoryStore, conversation_id: str, turn: int) -> None:
        turns = store._conversations.ledgers[conversation_id].turns
        turns[turn] = msgspec.structs.replace(turns[turn], format=NEWER)

    async def plant_malformed_turn(
        self, store: InMemoryStore, conversation_id: str, turn: int
    ) -> None:
        turns = store._conversations.ledgers[conversation_id].turns
        turns[turn] = msgspec.structs.replace(turns[turn], messages=b'{"role":"user"}')

    async def plant_newer_projection(
        self, store: InMemoryStore, conversation_id: str, turn: int
    ) -> None:
        self._replace_projections(store, conversation_id, turn, format=NEWER)

    async def plant_malformed_projection(
        self, store: InMemoryStore, conversation_id: str, turn: int
    ) -> None:
        self._replace_projections(store, conversation_id, turn, kind="rumour")

    def _replace_projections(
        self, store: InMemoryStore, conversation_id: str, turn: int, **changes: Any
    ) -> None:
        entries = store._conversations.ledgers[conversation_id].projections
        for place, entry in enumerate(entries):
            if entry.turn == turn:
                entries[place] = msgspec.structs.replace(entry, **changes)
