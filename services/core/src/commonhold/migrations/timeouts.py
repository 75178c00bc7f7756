"""How long a serving connection waits, wherever that is set.

On a direct connection these are startup parameters; behind a pooler, which may refuse
those, `commonhold migrate --grant-to` sets them on the serving role
(docs/reference/schema.md, "Roles").
"""

STATEMENT_TIMEOUT_SECONDS = 30.0
# Waiting longer for a lock is answered 503 (docs/reference/wire.md, section 2).
LOCK_TIMEOUT_SECONDS = 2.0
# A holder that was stopped in the middle of a transaction must not keep its locks.
IDLE_IN_TRANSACTION_SECONDS = 10.0


def session_settings(
    *, statement_timeout_seconds: float = STATEMENT_TIMEOUT_SECONDS
) -> dict[str, str]:
    """The three settings by Postgres's names, in milliseconds."""
    seconds = {
        "statement_timeout": statement_timeout_seconds,
        "lock_timeout": LOCK_TIMEOUT_SECONDS,
        "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_SECONDS,
    }
    return {name: milliseconds(value) for name, value in seconds.items()}


def milliseconds(seconds: float) -> str:
    """Never 0, which would mean no timeout at all."""
    return str(max(1, round(seconds * 1000)))
