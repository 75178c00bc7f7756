"""The composition root of verbs that work on a store: the one place that opens it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated

import msgspec

from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.cli.errors import CommandError
from commonhold.contract.ids import check_schema_name
from commonhold.migrations import explain, is_compatible
from commonhold.ops.settings import Secret, Setting, database, read_settings, schema_name

_CONNECTIONS = 4


class StoreSettings(msgspec.Struct, frozen=True, kw_only=True):
    dsn: Annotated[Secret, Setting("NEOSIAN_POSTGRES_DSN", database, "the database")]
    schema: Annotated[str, Setting("COMMONHOLD_SCHEMA", schema_name, "Postgres schema")] = (
        "commonhold"
    )


def read_store_settings(
    environment: Mapping[str, str], *, schema: str | None = None
) -> StoreSettings:
    """Where the store is; `schema` wins over the environment. Raises ConfigurationError."""
    settings = read_settings(StoreSettings, environment)
    if schema is None:
        return settings
    return msgspec.structs.replace(settings, schema=check_schema_name(schema))


@asynccontextmanager
async def open_store(settings: StoreSettings) -> AsyncIterator[PostgresStore]:
    """The store, closed at the end; CommandError when this release does not run on it."""
    pool = await Pool.open(settings.dsn.reveal(), size=_CONNECTIONS)
    try:
        store = PostgresStore(pool, schema=settings.schema)
        state = await store.schema_state()
        if not is_compatible(state):
            raise CommandError(explain(state, schema=settings.schema))
        yield store
    finally:
        await pool.close()
