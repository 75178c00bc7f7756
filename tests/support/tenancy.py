"""Looks for what one client wrote where another can see it: in answers, and in every row."""

from collections.abc import Mapping, Sequence

import asyncpg
import msgspec


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """A client, the one scope that is its own, and a text that nobody else writes."""

    client: str
    scope: str
    mount: str
    token: str
    marker: str


def foreign_answers(
    answers: Mapping[str, Sequence[str]], tenants: Sequence[Tenant]
) -> list[tuple[str, str]]:
    """(reader, owner) of every marker in an answer to somebody else."""
    return [
        (reader, tenant.client)
        for reader, texts in answers.items()
        for tenant in tenants
        if tenant.client != reader and any(tenant.marker in text for text in texts)
    ]


async def foreign_rows(dsn: str, tenants: Sequence[Tenant]) -> list[tuple[str, str]]:
    """(table, owner) of every row with a marker that its scope's client did not write."""
    connection = await asyncpg.connect(dsn)
    try:
        tables = await connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'commonhold' ORDER BY tablename"
        )
        found = []
        for (table,) in tables:
            rows = await connection.fetch(f'SELECT t::text FROM commonhold."{table}" AS t')
            found += [
                (table, tenant.client)
                for (row,) in rows
                for tenant in tenants
                if tenant.marker in row and not _is_owned(row, tenant)
            ]
        return found
    finally:
        await connection.close()


def _is_owned(row: str, tenant: Tenant) -> bool:
    """Rows begin with their scope, or their conversation's id, and name who wrote them."""
    name = tenant.client.partition(":")[2]
    begins = row.startswith((f"({tenant.scope},", f"({tenant.mount}-{name}-"))
    return begins and f"{tenant.client}/mcp:gateway" in row
