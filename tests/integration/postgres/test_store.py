"""What only a real Postgres can show: refusals at its door, locks, erasure, skewed clocks."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import asyncpg
import pytest

from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.contract import (
    ConversationArchive,
    ConversationProjection,
    ConversationTurn,
    IdempotencyKey,
    MemoryDocument,
    MemoryVersion,
    ScopeArchive,
    StoreUnavailableError,
    ToolCall,
)
from commonhold.contract.messages import Message
from commonhold.migrations import SCHEMA_VERSION, SchemaState, migrate
from commonhold.migrations.connections import Connection
from tests.support.marker_scan import tables_that_hold
from tests.support.pools import open_pool

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MARKER = "the-marker-of-a-secret"


class ShiftedClock:
    """The machine's time, off by a fixed amount, as on a replica with a bad clock."""

    def __init__(self, shift: timedelta) -> None:
        self._shift = shift

    def now(self) -> datetime:
        return datetime.now(UTC) + self._shift


def message(text: str) -> Message:
    return Message(role="user", content=text)


@asynccontextmanager
async def replica(dsn: str, **settings: Any) -> AsyncIterator[PostgresStore]:
    pool = await open_pool(dsn, size=4)
    try:
        yield PostgresStore(pool, **settings)
    finally:
        await pool.close()


REFUSED_TEXTS = {
    "write content": lambda s, t: s.write("user:a", "a", t),
    "write actor": lambda s, t: s.write("user:a", "a", "x", actor=t),
    "delete actor": lambda s, t: s.delete("user:a", "a", actor=t),
    "rename actor": lambda s, t: s.rename("user:a", "a", "b", actor=t),
    "redact actor": lambda s, t: s.redact("user:a", actor=t),
    "append_turn content": lambda s, t: s.append_turn("c", (message(t),)),
    "append_turn actor": lambda s, t: s.append_turn("c", (message("x"),), actor=t),
    "append_turn extra key": lambda s, t: s.append_turn(
        "c", (Message(role="user", extra={"k": [{t: 1}]}),)
    ),
    "append_turn tool name": lambda s, t: s.append_turn(
        "c", (Message(role="assistant", tool_calls=(ToolCall(id="1", name=t),)),)
    ),
    "append_projections text": lambda s, t: s.append_projections(
        "c", (ConversationProjection(turn=1, kind="log", text=t),)
    ),
    "redact_turns actor": lambda s, t: s.redact_turns("c", actor=t),
    "restore_scope content": lambda s, t: s.restore_scope(
        ScopeArchive(
            scope="user:z",
            versions=(
                MemoryVersion(path="a", version=1, action="created", content=t, created_at=NOW),
            ),
        )
    ),
    "restore_scope extra": lambda s, t: s.restore_scope(
        ScopeArchive(
            scope="user:z",
            documents=(
                MemoryDocument(
                    scope="user:z",
                    path="a",
                    content="",
                    version=1,
                    created_at=NOW,
                    updated_at=NOW,
                    extra={"k": t},
                ),
            ),
        )
    ),
    "restore_conversation message": lambda s, t: s.restore_conversation(
        ConversationArchive(
            conversation_id="z",
            turns=(
                ConversationTurn(
                    conversation_id="z", turn=1, messages=(message(t),), created_at=NOW
                ),
            ),
        )
    ),
}


@pytest.mark.parametrize("text", ["nul \x00 inside", "half \ud800 pair"], ids=["nul", "surrogate"])
@pytest.mark.parametrize("call", REFUSED_TEXTS)
async def test_text_postgres_cannot_hold_is_refused_and_nothing_is_stored(
    store: PostgresStore, database_dsn: str, call: str, text: str
) -> None:
    with pytest.raises(ValueError, match="must not contain"):
        await REFUSED_TEXTS[call](store, text)
    for probe in ("user:a", "user:z", '"c"', "(c,", "(z,"):
        assert await tables_that_hold(database_dsn, probe) == []


async def test_u0000_in_a_prefix_or_a_query_matches_nothing(store: PostgresStore) -> None:
    await store.write("user:a", "a", "x")
    await store.append_turn("c", (message("x"),))
    assert await store.list_documents("user:a", prefix="\x00") == ()
    assert await store.search_turns("x \x00") == ()


@pytest.mark.parametrize("number", [2**31, 2**63 - 1, 2**63, 2**200])
async def test_numbers_no_column_holds_are_compared_as_numbers(
    store: PostgresStore, number: int
) -> None:
    await store.write("user:a", "a", "x")
    await store.append_turn("c", (message("x"),))
    assert len(await store.versions("user:a", "a", limit=number)) == 1
    assert len(await store.history("user:a", limit=number)) == 1
    assert await store.read_turns("c", after=number) == ()
    assert len(await store.read_turns("c", limit=number)) == 1
    assert len(await store.search_turns("x", limit=number)) == 1
    assert await store.redact_turns("c", turns=[number]) == 0
    assert await store.redact_turns("c", through=number) == 1
    with pytest.raises(ValueError, match="'turn' must be at most"):
        await store.append_projections(
            "c", (ConversationProjection(turn=number, kind="log", text="x"),)
        )


async def test_stamps_never_run_backwards_between_replicas_with_skewed_clocks(
    database_dsn: str,
) -> None:
    fast, slow = ShiftedClock(timedelta(hours=1)), ShiftedClock(timedelta(hours=-1))
    async with (
        replica(database_dsn, clock=fast) as ahead,
        replica(database_dsn, clock=slow) as behind,
    ):
        for store in (ahead, behind, ahead, behind):
            await store.append_turn("c", (message("x"),))
            await store.write("user:a", "a", "x")
        await behind.delete("user:a", "a")
        await behind.write("user:a", "a", "again")
        await behind.rename("user:a", "a", "b")
        await behind.redact("user:a", path="b")
        await behind.redact_turns("c")
        await behind.append_turn("c", (message("x"),))
        turns = [turn.created_at for turn in await ahead.read_turns("c")]
        ledger = [row.created_at for row in reversed(await ahead.versions("user:a", "a"))]
        document = await ahead.read("user:a", "b")
        acts = await ahead.redactions("user:a")
        turn_acts = await ahead.turn_redactions()
    assert turns == sorted(turns)
    assert ledger == sorted(ledger)
    assert document is not None
    assert document.created_at >= ledger[-1]
    assert acts[0].created_at >= document.updated_at
    assert turns[-1] >= turn_acts[0].created_at >= turns[-2]


async def test_erased_text_is_in_no_table_answers_under_keys_included(
    store: PostgresStore, database_dsn: str
) -> None:
    key = IdempotencyKey("client:a", "k1")
    guarded = store.guarded(key=key, digest=b"body-1")
    await guarded.write("user:a", "a", MARKER)
    await store.write("user:a", "a", f"{MARKER} again")
    await store.rename("user:a", "a", "b")
    await store.delete("user:a", "b")
    turn_key = IdempotencyKey("client:a", "k2")
    turns = store.guarded(key=turn_key, digest=b"body-2")
    await turns.append_turn("c", (message(MARKER),))
    await store.append_projections("c", (ConversationProjection(turn=1, kind="log", text=MARKER),))
    before = await tables_that_hold(database_dsn, MARKER)
    assert before == ["document_versions", "projections", "turns"]
    assert await store.redact("user:a") == 2
    assert await store.redact_turns("c") == 1
    assert await tables_that_hold(database_dsn, MARKER) == []


async def test_a_refused_redaction_or_rename_leaves_no_claimed_rows(
    store: PostgresStore, database_dsn: str
) -> None:
    assert await store.redact("user:a", path="nothing") == 0
    assert await store.redact_turns("nothing") == 0
    with pytest.raises(Exception, match="not found"):
        await store.rename("user:a", "nothing", "there")
    guarded = store.guarded(key=IdempotencyKey("client:a", "k"), digest=b"x")
    assert await guarded.redact("user:a", path="nothing") == 0
    assert await tables_that_hold(database_dsn, "nothing") == []
    assert await store.scopes() == ()


async def test_one_key_on_two_replicas_at_once_acts_once(database_dsn: str) -> None:
    async with replica(database_dsn) as one, replica(database_dsn) as two:
        for number in range(50):
            key = IdempotencyKey("client:a", f"k{number}")
            answers = await asyncio.gather(
                *(
                    store.guarded(key=key, digest=b"same").append_turn("c", (message("x"),))
                    for store in (one, two, one, two)
                )
            )
            assert {answer.turn for answer in answers} == {number + 1}
            assert len({answer.created_at for answer in answers}) == 1
        assert one.replays + two.replays == 150
        assert await one.last_turn_number("c") == 50


async def test_expired_keys_are_swept_in_batches_around_rows_in_use(database_dsn: str) -> None:
    yesterday = ShiftedClock(timedelta(hours=-25))
    async with replica(database_dsn, clock=yesterday) as old, replica(database_dsn) as new:
        for number in range(5):
            key = IdempotencyKey("client:a", f"k{number}")
            await old.guarded(key=key, digest=b"x").write("user:a", "a", "x")
        conn = await asyncpg.connect(database_dsn)
        try:
            async with conn.transaction():
                await conn.execute(
                    "SELECT 1 FROM commonhold.idempotency WHERE key = 'k3' FOR UPDATE"
                )
                assert await new.sweep_keys() == 4
            assert await new.sweep_keys() == 1
            assert await new.sweep_keys() == 0
        finally:
            await conn.close()


async def test_an_expired_key_that_was_not_swept_is_new_again(database_dsn: str) -> None:
    key = IdempotencyKey("client:a", "k")
    yesterday = ShiftedClock(timedelta(hours=-25))
    async with replica(database_dsn, clock=yesterday) as old, replica(database_dsn) as new:
        await old.guarded(key=key, digest=b"x").write("user:a", "a", "x")
        written = await new.guarded(key=key, digest=b"other").write("user:a", "a", "y")
        assert written.version == 2


async def test_an_expired_key_used_anew_and_an_erasure_never_wait_for_each_other(
    database_dsn: str,
) -> None:
    key = IdempotencyKey("client:a", "k")
    yesterday = ShiftedClock(timedelta(hours=-25))
    holder, observer = await asyncpg.connect(database_dsn), await asyncpg.connect(database_dsn)
    async with replica(database_dsn, clock=yesterday) as old, replica(database_dsn) as new:
        await old.guarded(key=key, digest=b"x").write("user:a", "a", "x")
        async with holder.transaction():
            await holder.execute("SELECT 1 FROM commonhold.documents FOR UPDATE")
            erasure = asyncio.create_task(new.redact("user:a", path="a"))
            await until_waiting(observer, 1)
            write = asyncio.create_task(new.guarded(key=key, digest=b"y").write("user:a", "a", "y"))
            await until_waiting(observer, 2)
        assert await erasure == 1
        assert (await write).version == 2
    await holder.close()
    await observer.close()


async def until_waiting(conn: Connection, number: int) -> None:
    """Return once so many statements of this database wait for a lock."""
    async with asyncio.timeout(10):
        while number > await conn.fetchval(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ):
            pass


async def test_a_lock_held_too_long_is_answered_unavailable(
    store: PostgresStore, database_dsn: str
) -> None:
    await store.write("user:a", "a", "x")
    conn = await asyncpg.connect(database_dsn)
    try:
        async with conn.transaction():
            await conn.execute("SELECT 1 FROM commonhold.documents FOR UPDATE")
            with pytest.raises(StoreUnavailableError, match="55P03"):
                await store.write("user:a", "a", "y")
    finally:
        await conn.close()
    assert (await store.write("user:a", "a", "z")).version == 2


async def test_an_erasure_outlasts_the_statement_timeout(database_dsn: str) -> None:
    pool = await open_pool(database_dsn, size=1, statement_timeout_seconds=0.2)
    store = PostgresStore(pool)
    await store.write("user:a", "a", "x")
    async with pool.connection() as conn:
        await conn.execute(
            "CREATE FUNCTION commonhold.dawdle() RETURNS trigger LANGUAGE plpgsql AS"
            " 'BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END';"
            " CREATE TRIGGER dawdle BEFORE UPDATE ON commonhold.documents"
            " FOR EACH ROW EXECUTE FUNCTION commonhold.dawdle()"
        )
    with pytest.raises(StoreUnavailableError, match="57014"):
        await store.write("user:a", "a", "y")
    assert await store.redact("user:a") == 1
    await pool.close()


async def test_search_answers_the_same_without_its_index(store: PostgresStore, pool: Pool) -> None:
    for number in range(30):
        await store.append_turn("c", (message(f"turn {number} of 100% done_now \\ école"),))
    queries = ("turn 7", "100%", "done_now", "\\", "ÉCOLE", "donexnow", "7 TURN")
    with_index = [await store.search_turns(query) for query in queries]
    async with pool.connection() as conn:
        await conn.execute("DROP INDEX commonhold.turns_search")
    without = [await store.search_turns(query) for query in queries]
    assert with_index == without
    assert [len(found) for found in without] == [3, 30, 30, 30, 30, 0, 3]


async def test_a_schema_of_another_name_serves_the_same(empty_database_dsn: str) -> None:
    await migrate(empty_database_dsn, schema="user")
    async with replica(empty_database_dsn, schema="user") as store:
        await store.write("user:a", "commonhold.a", "commonhold.b")
        found = await store.read("user:a", "commonhold.a")
        assert found is not None
        assert found.content == "commonhold.b"
        assert await store.schema_state() == SchemaState(SCHEMA_VERSION, 1)


async def test_a_database_without_the_schema_has_no_state(empty_database_dsn: str) -> None:
    async with replica(empty_database_dsn) as store:
        assert await store.schema_state() is None


Race = Callable[[PostgresStore, PostgresStore, str], Any]
ERASURE_RACES: dict[str, Race] = {
    "write against path redact": lambda a, b, p: (
        a.write("user:a", p, MARKER),
        b.redact("user:a", path=p),
    ),
    "write against scope redact": lambda a, b, p: (
        a.write("user:a", p, MARKER),
        b.redact("user:a"),
    ),
    "delete against path redact": lambda a, b, p: (
        a.delete("user:a", p),
        b.redact("user:a", path=p),
    ),
    "rename against path redact": lambda a, b, p: (
        a.rename("user:a", p, f"{p}.moved"),
        b.redact("user:a", path=p),
    ),
}


@pytest.mark.parametrize("race", ERASURE_RACES)
async def test_after_a_racing_erasure_a_redacted_row_never_holds_content(
    database_dsn: str, race: str
) -> None:
    """Whichever came first, no row says redacted and holds text, nor precedes the act in clear."""
    async with replica(database_dsn) as one, replica(database_dsn) as two:
        for number in range(60):
            path = f"p{number}"
            await one.write("user:a", path, MARKER)
            await asyncio.gather(*ERASURE_RACES[race](one, two, path), return_exceptions=False)
            ledger = await one.versions("user:a", path)
            clear = [row for row in ledger if row.content]
            assert not [row for row in ledger if row.redacted and row.content]
            # Version 1 was committed before the race began, so the erasure covers it.
            assert 1 not in {row.version for row in clear}
            # What stays in clear was written after the erasure: nothing older may.
            erased = [row.version for row in ledger if row.redacted]
            assert not clear or min(row.version for row in clear) > max(erased)


async def test_a_sweep_before_the_schema_is_there_is_no_defect(empty_database_dsn: str) -> None:
    async with replica(empty_database_dsn) as store:
        with pytest.raises(StoreUnavailableError, match="42P01"):
            await store.sweep_keys()


@pytest.mark.parametrize("letter", ["9", "\N{GRINNING FACE}"])
async def test_keys_of_clients_with_very_long_names_are_remembered_apart(
    store: PostgresStore, letter: str
) -> None:
    value = "k" * 255
    # Past what a page of an index holds however it is compressed, and apart in the last letter.
    noise = "".join(sha256(bytes([n])).hexdigest() for n in range(200))
    for client in (
        f"client:a#{noise}{letter}",
        f"client:a#{noise}{letter}1",
        f"client:{letter * 505}",
    ):
        view = store.guarded(key=IdempotencyKey(client, value), digest=b"body")
        first = await view.append_turn("c", (message("x"),))
        assert await view.append_turn("c", (message("x"),)) == first
    assert await store.last_turn_number("c") == 3
