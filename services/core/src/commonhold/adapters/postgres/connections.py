"""How a connection is opened, and transactions on one.

The timeouts are startup parameters of a direct connection. A pooler may refuse those;
then they are settings of the serving role (docs/reference/schema.md, "Roles"), and the
pool reads back what is in force.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import asyncpg

from commonhold.migrations.connections import Connection

# Waiting for a lock longer than this is answered 503 (docs/reference/wire.md, section 2).
LOCK_TIMEOUT_SECONDS = 2.0
# A holder that was stopped in the middle of a transaction must not keep its locks.
IDLE_IN_TRANSACTION_SECONDS = 10.0
# The largest number a version or turn column holds; a larger one is never there.
LARGEST_BIGINT = 2**63 - 1


class NothingMatchedError(Exception):
    """Leaves a transaction that matched nothing, so that the rows it claimed are rolled back."""


def session_settings(*, statement_timeout_seconds: float) -> Mapping[str, str]:
    """The startup parameters of a serving connection, in Postgres's own units (ms)."""
    return {
        "application_name": "commonhold",
        "statement_timeout": _milliseconds(statement_timeout_seconds),
        "lock_timeout": _milliseconds(LOCK_TIMEOUT_SECONDS),
        "idle_in_transaction_session_timeout": _milliseconds(IDLE_IN_TRANSACTION_SECONDS),
    }


async def connect(dsn: str, *, settings: Mapping[str, str], timeout_seconds: float) -> Connection:
    """Open a connection whose prepared statements live as long as it does."""
    return await asyncpg.connect(
        dsn,
        timeout=timeout_seconds,
        server_settings=dict(settings),
        max_cached_statement_lifetime=0,
        max_cacheable_statement_size=0,
    )


def refuses_settings(error: Exception) -> bool:
    """Whether a connection failed because a pooler does not pass startup parameters on."""
    return isinstance(error, asyncpg.PostgresError) and "startup parameter" in str(error)


@asynccontextmanager
async def transaction(conn: Connection, *, patient: bool = False) -> AsyncIterator[None]:
    """A READ COMMITTED transaction, or a savepoint inside an open one.

    `patient` lifts the statement timeout: an erasure or a restore must finish.
    """
    nested = conn.is_in_transaction()
    begin = "SAVEPOINT inner_work" if nested else "BEGIN"
    await conn.execute(f"{begin}; SET LOCAL statement_timeout = 0" if patient else begin)
    try:
        yield
    except BaseException:
        # On a dead connection the rollback fails too; the first error is the one to tell.
        if not conn.is_closed():
            await conn.execute(
                "ROLLBACK TO SAVEPOINT inner_work; RELEASE SAVEPOINT inner_work"
                if nested
                else "ROLLBACK"
            )
        raise
    await conn.execute("RELEASE SAVEPOINT inner_work" if nested else "COMMIT")


def _milliseconds(seconds: float) -> str:
    return str(max(1, round(seconds * 1000)))
