"""The pool: order, bounds, and what happens when the database goes away and comes back."""

import asyncio
from collections.abc import Callable
from secrets import token_hex
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.adapters.postgres.errors import StatementDefectError
from commonhold.adapters.postgres.pool import CONNECT_TIMEOUT_SECONDS
from commonhold.contract.errors import StoreUnavailableError
from tests.support.postgres import execute
from tests.support.tcp_proxy import proxy_to

# A 503 must be out within this after the database went silent.
VERDICT_SECONDS = 3.0


async def test_a_released_connection_goes_to_the_longest_waiter(database_dsn: str) -> None:
    pool = await Pool.open(database_dsn, size=1)
    order: list[int] = []

    async def use(number: int) -> None:
        async with pool.connection():
            order.append(number)

    first = await pool.acquire()
    waiters = [asyncio.create_task(use(number)) for number in range(20)]
    await asyncio.sleep(0)
    assert pool.waiting == len(waiters)
    pool.release(first)
    newcomer = asyncio.create_task(use(99))
    await asyncio.gather(*waiters, newcomer)
    assert order == [*range(20), 99]
    await pool.close()


async def test_no_more_connections_are_opened_than_the_pool_has_places(database_dsn: str) -> None:
    pool = await Pool.open(database_dsn, size=3)
    peak = 0

    async def use() -> None:
        nonlocal peak
        async with pool.connection() as conn:
            peak = max(peak, pool.in_use)
            await conn.fetchval("SELECT pg_sleep(0.01)")

    await asyncio.gather(*(use() for _ in range(40)))
    opened = await _sessions(database_dsn)
    assert (peak, pool.in_use, pool.idle) == (3, 0, 3)
    assert opened == pool.size + 1, "three in the pool and the probe's"
    await pool.close()


async def test_a_wait_beyond_the_bound_is_refused_and_measured(database_dsn: str) -> None:
    waits: list[float] = []
    pool = await Pool.open(database_dsn, size=1, wait_seconds=0.1, on_wait=waits.append)
    async with pool.connection():
        with pytest.raises(StoreUnavailableError, match="no connection became free"):
            await pool.acquire()
    assert len(waits) == 1
    assert 0.1 <= waits[0] < 1.0
    async with pool.connection() as conn:
        assert await conn.fetchval("SELECT 1") == 1
    await pool.close()


async def test_a_cancelled_waiter_loses_no_connection(database_dsn: str) -> None:
    pool = await Pool.open(database_dsn, size=1)
    held = await pool.acquire()
    waiter = asyncio.create_task(pool.acquire())
    await asyncio.sleep(0)
    pool.release(held)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    async with asyncio.timeout(1), pool.connection() as conn:
        assert await conn.fetchval("SELECT 1") == 1
    assert pool.in_use == 0
    await pool.close()


async def test_a_caller_cancelled_in_the_middle_gives_its_place_back(database_dsn: str) -> None:
    pool = await Pool.open(database_dsn, size=1)

    async def stuck() -> None:
        async with pool.connection() as conn:
            await conn.fetchval("SELECT pg_sleep(60)")

    task = asyncio.create_task(stuck())
    await _until(lambda: pool.in_use == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with pool.connection() as conn:
        assert await conn.fetchval("SELECT 1") == 1
    await pool.close()


async def test_a_transaction_left_open_never_reaches_the_next_caller(database_dsn: str) -> None:
    pool = await Pool.open(database_dsn, size=1)
    async with pool.connection() as conn:
        await conn.execute("BEGIN")
    async with pool.connection() as conn:
        assert not conn.is_in_transaction()
    await pool.close()


async def test_a_connection_the_server_ended_is_replaced(database_dsn: str) -> None:
    pool = await Pool.open(database_dsn, size=2)
    with pytest.raises(StoreUnavailableError):
        async with pool.connection() as conn:
            await conn.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    async with pool.connection() as conn:
        assert await conn.fetchval("SELECT 1") == 1
    await pool.close()


async def test_a_connection_whose_server_said_goodbye_is_replaced(database_dsn: str) -> None:
    """The goodbye may come well before the end of the connection."""
    fields = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"
    goodbye = b"E" + (len(fields) + 4).to_bytes(4) + fields
    async with proxy_to(database_dsn) as (proxy, dsn):
        pool = await Pool.open(dsn, size=1)
        async with pool.connection() as conn:
            assert not conn.is_closed()
        proxy.say(goodbye)
        # Loopback has delivered it when `say` returns; these turns of the loop read it.
        for _ in range(3):
            await asyncio.sleep(0)
        with pytest.raises(StoreUnavailableError):
            async with pool.connection() as same:
                await same.fetchval("SELECT 1")
        async with pool.connection() as fresh:
            assert await fresh.fetchval("SELECT 1") == 1
        await pool.close()


async def test_an_absent_database_refuses_at_once_and_is_found_when_it_comes(
    database_dsn: str,
) -> None:
    async with proxy_to(database_dsn) as (proxy, dsn):
        proxy.refusing = True
        pool = await Pool.open(dsn, size=2)
        started = monotonic()
        with pytest.raises(StoreUnavailableError, match="away"):
            await pool.acquire()
        assert monotonic() - started < CONNECT_TIMEOUT_SECONDS
        proxy.refusing = False
        await _until_up(pool)
        async with pool.connection() as conn:
            assert await conn.fetchval("SELECT 1") == 1
        await pool.close()


async def test_a_silent_database_answers_all_who_wait_and_work_within_the_bound(
    database_dsn: str,
) -> None:
    async with proxy_to(database_dsn) as (proxy, dsn):
        pool = await Pool.open(dsn, size=2, wait_seconds=30)

        async def work() -> None:
            async with pool.connection() as conn:
                await conn.fetchval("SELECT pg_sleep(60)")

        workers = [asyncio.create_task(work()) for _ in range(6)]
        await _until(lambda: (pool.in_use, pool.waiting) == (2, 4))
        proxy.freeze()
        started = monotonic()
        outcomes = await asyncio.gather(*workers, return_exceptions=True)
        assert monotonic() - started < VERDICT_SECONDS
        assert {type(outcome) for outcome in outcomes} == {StoreUnavailableError}
        assert not pool.is_up
        proxy.thaw()
        await _until_up(pool)
        async with pool.connection() as conn:
            assert await conn.fetchval("SELECT 1") == 1
        await pool.close()


async def test_a_connection_being_opened_to_a_silent_database_is_given_up_within_the_bound(
    database_dsn: str,
) -> None:
    async with proxy_to(database_dsn) as (proxy, dsn):
        pool = await Pool.open(dsn, size=2, wait_seconds=30)
        proxy.freeze()
        started = monotonic()
        with pytest.raises(StoreUnavailableError):
            await pool.acquire()
        assert monotonic() - started < VERDICT_SECONDS
        assert pool.in_use == 0
        await pool.close()


async def test_who_waits_for_a_place_opens_none_behind_the_verdict(database_dsn: str) -> None:
    """Behind two seconds the first give up, and their places go to those who wait."""
    async with proxy_to(database_dsn) as (proxy, dsn):
        pool = await Pool.open(dsn, size=2, wait_seconds=30)
        proxy.freeze()
        started = monotonic()
        outcomes = await asyncio.gather(*(pool.acquire() for _ in range(8)), return_exceptions=True)
        # Two seconds, and two more for whoever began then.
        assert monotonic() - started < 2 * CONNECT_TIMEOUT_SECONDS - 0.3
        assert {type(outcome) for outcome in outcomes} == {StoreUnavailableError}
        assert (pool.in_use, pool.waiting) == (0, 0)
        await pool.close()


async def test_a_password_that_was_changed_is_an_absence_that_says_so(database_dsn: str) -> None:
    role = f"changed_{token_hex(4)}"
    await execute(database_dsn, f"CREATE ROLE {role} LOGIN PASSWORD 'first'")
    try:
        dsn = urlsplit(database_dsn)._replace(
            netloc=f"{role}:first@{urlsplit(database_dsn).netloc.rpartition('@')[2]}"
        )
        pool = await Pool.open(dsn.geturl(), size=1)
        await execute(database_dsn, f"ALTER ROLE {role} PASSWORD 'second'")
        with pytest.raises(StoreUnavailableError, match="password authentication failed"):
            await pool.acquire()
        assert pool.is_up
        late = await Pool.open(dsn.geturl(), size=1)
        with pytest.raises(StoreUnavailableError, match="away: password authentication failed"):
            await late.acquire()
        await late.close()
        await pool.close()
    finally:
        await execute(database_dsn, f"DROP ROLE {role}")


async def test_a_fault_never_quotes_the_connection_string() -> None:
    pool = await Pool.open("postgresql://u:hun/ter2@h/db", size=1)
    with pytest.raises(StoreUnavailableError) as caught:
        await pool.acquire()
    assert "hun" not in caught.value.message
    await pool.close()


async def test_timeouts_come_with_the_connection(database_dsn: str) -> None:
    pool = await Pool.open(database_dsn, size=1, statement_timeout_seconds=7)
    async with pool.connection() as conn:
        names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        found = [await conn.fetchval("SELECT current_setting($1)", name) for name in names]
    assert found == ["7s", "2s", "10s"]
    assert await PostgresStore(pool).missing_timeouts() == ()
    await pool.close()


async def test_a_pooler_that_refuses_startup_parameters_is_served_without(
    pgbouncer_dsn: str,
) -> None:
    pool = await Pool.open(pgbouncer_dsn, size=1)
    async with pool.connection() as conn:
        assert await conn.fetchval("SELECT 1") == 1
    assert await PostgresStore(pool).missing_timeouts() == (
        "idle_in_transaction_session_timeout",
        "lock_timeout",
        "statement_timeout",
    )
    await pool.close()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT pg_cancel_backend(pg_backend_pid())", StoreUnavailableError),
        ("DO $$ BEGIN RAISE EXCEPTION '' USING errcode = '53100'; END $$", StoreUnavailableError),
        ("DO $$ BEGIN RAISE EXCEPTION '' USING errcode = '40P01'; END $$", StoreUnavailableError),
        ("DO $$ BEGIN RAISE EXCEPTION '' USING errcode = '40001'; END $$", StoreUnavailableError),
        ("DO $$ BEGIN RAISE EXCEPTION '' USING errcode = '55P03'; END $$", StoreUnavailableError),
        ("DO $$ BEGIN RAISE EXCEPTION '' USING errcode = '25006'; END $$", StoreUnavailableError),
        ("DO $$ BEGIN RAISE EXCEPTION '' USING errcode = '08006'; END $$", StoreUnavailableError),
        ("DO $$ BEGIN RAISE EXCEPTION '' USING errcode = '23505'; END $$", StatementDefectError),
        ("SELECT 1 / 0", StatementDefectError),
        ("SELECT * FROM no_such_table", StoreUnavailableError),
        ("SELECT * FROM no_such_schema.turns", StoreUnavailableError),
        ("SELECT no_such_column FROM commonhold.turns", StoreUnavailableError),
        ("SET ROLE pg_monitor; SELECT * FROM commonhold.turns", StoreUnavailableError),
    ],
)
async def test_driver_errors_leave_translated(
    database_dsn: str, statement: str, expected: type[Exception]
) -> None:
    pool = await Pool.open(database_dsn, size=1)
    with pytest.raises(expected):
        async with pool.connection() as conn:
            await conn.execute(statement)
    await pool.close()


async def test_arguments_the_driver_cannot_encode_are_a_defect_and_no_value_error(
    database_dsn: str,
) -> None:
    pool = await Pool.open(database_dsn, size=1)
    with pytest.raises(StatementDefectError):
        async with pool.connection() as conn:
            await conn.fetchval("SELECT $1::integer", 2**40)
    await pool.close()


async def _until_up(pool: Pool) -> None:
    await _until(lambda: pool.is_up)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the pool has no events for a test to await
            await asyncio.sleep(0.01)


async def _sessions(dsn: str) -> int:
    conn = await asyncpg.connect(dsn)
    try:
        found: int = await conn.fetchval(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'commonhold'"
        )
        return found
    finally:
        await conn.close()


@pytest.mark.parametrize("step", ["_get_statement", "_do_execute", "_execute"])
async def test_a_statement_that_is_cut_at_any_step_is_a_store_that_is_away(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """What is cut while it waits for nothing: the driver meets its own end when it goes on."""
    take = getattr(asyncpg.Connection, step)

    async def take_and_be_cut(conn: asyncpg.Connection, *args: Any, **kwargs: Any) -> Any:
        taken = await take(conn, *args, **kwargs)
        conn.terminate()
        return taken

    async def use() -> Any:
        async with pool.connection() as conn:
            await conn.fetchval("SELECT 1")
            return await conn.fetchval("SELECT 2")

    monkeypatch.setattr(asyncpg.Connection, step, take_and_be_cut)
    with pytest.raises(StoreUnavailableError, match="lost"):
        await use()
    monkeypatch.undo()
    assert await use() == 2


async def test_a_defect_of_ours_on_a_live_connection_stays_one(pool: Pool) -> None:
    async def use_badly() -> None:
        async with pool.connection():
            raise AttributeError("ours")

    with pytest.raises(AttributeError, match="ours"):
        await use_badly()
