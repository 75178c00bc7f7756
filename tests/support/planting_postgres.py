"""The planting hooks of the kits, as SQL behind a PostgresStore."""

from collections.abc import Mapping
from typing import Any

import msgspec

from commonhold.adapters.postgres import Pool

_UNKNOWN_KIND = """
ALTER TABLE commonhold.projections DROP CONSTRAINT projections_kind_known;
"""


class PlantsInPostgres:
    """A subclass gives the fixture `pool`; the hooks find it on the store."""

    async def plant_newer_document(self, store: Any, scope: str, path: str) -> None:
        await _run(
            store,
            "UPDATE commonhold.documents SET format = 2 WHERE scope = $1 AND path = $2",
            scope,
            path,
        )
        await _run(
            store,
            "UPDATE commonhold.document_versions SET format = 2 WHERE scope = $1 AND path = $2",
            scope,
            path,
        )

    async def plant_newer_version(self, store: Any, scope: str, path: str, version: int) -> None:
        await _run(
            store,
            "UPDATE commonhold.document_versions SET format = 2"
            " WHERE scope = $1 AND path = $2 AND version = $3",
            scope,
            path,
            version,
        )

    async def plant_extra(
        self, store: Any, scope: str, path: str, extra: Mapping[str, Any]
    ) -> None:
        await _run(
            store,
            "UPDATE commonhold.documents SET extra = $3 WHERE scope = $1 AND path = $2",
            scope,
            path,
            msgspec.json.encode(extra).decode(),
        )

    async def plant_newer_turn(self, store: Any, conversation_id: str, turn: int) -> None:
        await _run(
            store,
            "UPDATE commonhold.turns SET format = 2 WHERE conversation_id = $1 AND turn = $2",
            conversation_id,
            turn,
        )

    async def plant_malformed_turn(self, store: Any, conversation_id: str, turn: int) -> None:
        await _run(
            store,
            "UPDATE commonhold.turns SET messages = '{}' WHERE conversation_id = $1 AND turn = $2",
            conversation_id,
            turn,
        )

    async def plant_newer_projection(self, store: Any, conversation_id: str, turn: int) -> None:
        await _run(
            store,
            "UPDATE commonhold.projections SET format = 2 WHERE conversation_id = $1 AND turn = $2",
            conversation_id,
            turn,
        )

    async def plant_malformed_projection(self, store: Any, conversation_id: str, turn: int) -> None:
        await _run(store, _UNKNOWN_KIND)
        await _run(
            store,
            "UPDATE commonhold.projections SET kind = 'poem'"
            " WHERE conversation_id = $1 AND turn = $2",
            conversation_id,
            turn,
        )


async def _run(store: Any, statement: str, *arguments: object) -> None:
    pool: Pool = store._pool
    async with pool.connection() as conn:
        await conn.execute(statement, *arguments)
