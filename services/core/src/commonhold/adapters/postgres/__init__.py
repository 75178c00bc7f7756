"""The stores on Postgres: the only home of SQL."""

from commonhold.adapters.postgres.cache import PostgresCache
from commonhold.adapters.postgres.pool import Pool
from commonhold.adapters.postgres.store import PostgresStore

__all__ = ["Pool", "PostgresCache", "PostgresStore"]
