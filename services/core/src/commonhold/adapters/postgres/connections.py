"""How a connection is opened, and transactions on one.

The timeouts are startup parameters of a direct connection. A pooler may refuse those;
then they are settings of the serving role (docs/reference/schema.md, "Roles"), and the
pool reads back what is in force.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import asyncpg

from commonhold.adapters.postgres.errors import DRIVER_ERRORS
from commonhold.migrations.connections import Connection

# The largest number a version or turn column holds; a larger one is never there.
LARGEST_BIGINT = 2**63 - 1
# Sorts behind every legal character of a path or an id.
AFTER_ANY = "\U0010ffff"

NO_SETTINGS: Mapping[str, str] = {}
# An erasure and a restore must finish, however long they take.
PATIENT = {"statement_timeout": "0"}
# What is read in several statements, as of one moment.
SNAPSHOT = {**PATIENT, "transaction_isolation": "'repeatable read'", "transaction_read_only": "on"}


class NothingMatchedError(Exception):
    """Leaves a transaction that matched nothing, so that the rows it claimed are rolled back."""


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
async def transaction(
    conn: Connection, *, settings: Mapping[str, str] = NO_SETTINGS
) -> AsyncIterator[None]:
    """A READ COMMITTED transaction, or a savepoint inside an open one.

    `settings` hold until its end; they travel with its beginning, in one round trip. A caller
    that is cancelled leaves it open: the connection must be ended then, as a pool's lease does.
    """
    nested = conn.is_in_transaction()
    begin = "SAVEPOINT inner_work" if nested else "BEGIN"
    changes = [f"SET LOCAL {name} = {value}" for name, value in settings.items()]
    await conn.execute("; ".join([begin, *changes]))
    try:
        yield
    except asyncio.CancelledError:
        # A round trip more could wait for a frozen server, or fail in place of the cancellation.
        raise
    except BaseException:
        if not conn.is_closed():
            await _roll_back(conn, nested=nested)
        raise
    await conn.execute("RELEASE SAVEPOINT inner_work" if nested else "COMMIT")


async def _roll_back(conn: Connection, *, nested: bool) -> None:
    """On a connection that is lost meanwhile it fails, and the first error is the one to tell."""
    # AttributeError: the driver's own, of a connection cut between two steps of a statement.
    with suppress(*DRIVER_ERRORS, AttributeError):
        await conn.execute(
            "ROLLBACK TO SAVEPOINT inner_work; RELEASE SAVEPOINT inner_work"
            if nested
            else "ROLLBACK"
        )
