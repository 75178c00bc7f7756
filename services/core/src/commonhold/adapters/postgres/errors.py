"""Driver errors become the contract's at the adapter's border, by SQLSTATE.

docs/reference/wire.md, section 2 (503) has the classes. Whatever else the driver raises
is a defect of ours and stays an error that no edge answers politely.
"""

import asyncpg

from commonhold.contract.errors import StoreUnavailableError

DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
# Connection lost, resources gone (disk, memory, connections), operator intervention.
_UNAVAILABLE_CLASSES = frozenset({"08", "53", "57"})
# Read-only server, serialization failure, deadlock, lock timeout.
_UNAVAILABLE_STATES = frozenset({"25006", "40001", "40P01", "55P03"})
# No such schema, table or column, or no right to it: every statement is prepared by a test,
# so someone took it away, or has not made it yet.
_UNUSABLE_STATES = frozenset({"3F000", "42501", "42703", "42P01"})


class StatementDefectError(RuntimeError):
    """Postgres refused a statement for a reason the store should have prevented."""


def translate(error: Exception) -> Exception:
    """The error to raise in place of a driver's."""
    if isinstance(error, asyncpg.PostgresError):
        state: str = error.sqlstate or ""
        if state[:2] in _UNAVAILABLE_CLASSES or state in _UNAVAILABLE_STATES | _UNUSABLE_STATES:
            return StoreUnavailableError(f"the database answered {state}")
        return StatementDefectError(f"SQLSTATE {state}: {error}")
    if isinstance(error, asyncpg.InternalClientError):
        return StoreUnavailableError("the connection was lost")
    if isinstance(error, asyncpg.InterfaceError) and not isinstance(error, ValueError):
        return StoreUnavailableError("the connection was lost")
    if isinstance(error, OSError | TimeoutError):
        return StoreUnavailableError("the database cannot be reached")
    return StatementDefectError(f"{type(error).__name__}: {error}")


def describe(error: Exception) -> str:
    """What kept a connection from being opened, without what may quote the connection string."""
    told = isinstance(error, asyncpg.PostgresError | OSError) and str(error)
    return told or type(error).__name__
