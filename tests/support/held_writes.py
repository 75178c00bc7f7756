"""Writes of a running service that wait in the database until a test lets them go on.

A lock would not do: the service gives up after its `lock_timeout`, and a busy machine needs
longer to gather many calls.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.postgres import execute

_HOLD = (
    "CREATE TABLE public.held AS SELECT 1 AS one",
    """
    CREATE FUNCTION public.wait_until_let_go() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        WHILE EXISTS (SELECT FROM public.held) LOOP
            PERFORM pg_sleep(0.02);
        END LOOP;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER held BEFORE INSERT OR UPDATE ON commonhold.documents
        FOR EACH STATEMENT EXECUTE FUNCTION public.wait_until_let_go()
    """,
)


@asynccontextmanager
async def writes_held_up(dsn: str) -> AsyncIterator[None]:
    """No change of a document that begins in the block ends before the block does."""
    await execute(dsn, *_HOLD)
    try:
        yield
    finally:
        await execute(dsn, "DELETE FROM public.held")
