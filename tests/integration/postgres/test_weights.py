"""Answers are weighed where their rows are, so that no service holds what it will not send."""

from datetime import UTC, datetime
from functools import partial
from secrets import token_hex
from typing import Any

import pytest

from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.adapters.postgres import pages as pages_adapter
from commonhold.adapters.postgres import turns as turns_adapter
from commonhold.contract import (
    ConversationArchive,
    ConversationProjection,
    ConversationRedaction,
    IdempotencyKey,
    MemoryRedaction,
    MemoryVersion,
    StoreUnavailableError,
)
from commonhold.contract.messages import Message
from tests.support.pools import open_pool

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MARKER = "the-marker-of-a-secret"
SLOW_INSERTS = """
CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END $$;
CREATE TRIGGER slow BEFORE INSERT ON commonhold.turns
FOR EACH ROW EXECUTE FUNCTION public.wait()
"""


def message(text: str) -> Message:
    return Message(role="user", content=text)


@pytest.mark.parametrize(
    "turn",
    [
        {"messages": [message("needle " + "x" * 40_000)]},
        {"messages": [message("needle " + token_hex(20_000))]},
        {"messages": [message("needle"), Message(role="user", reasoning="x" * 40_000)]},
        {"messages": [message("needle")], "actor": "x" * 40_000},
    ],
    ids=["compressible", "random", "unsearched", "actor"],
)
async def test_a_search_too_heavy_to_answer_is_refused_where_its_rows_are(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, turn: dict[str, Any]
) -> None:
    monkeypatch.setattr(turns_adapter, "ANSWER_BYTES", 100_000)
    for _ in range(3):
        await store.append_turn("c", **turn)
    for chosen in (None, ["c"]):
        with pytest.raises(ValueError, match="would pass 100000 bytes; lower the limit"):
            await store.search_turns("needle", conversations=chosen)
        found = await store.search_turns("needle", conversations=chosen, limit=2)
        assert [hit.turn for hit in found] == [3, 2]
        assert found == (await store.read_turns("c"))[:0:-1]
    with pytest.raises(ValueError, match="would pass 100000 bytes; lower the limit"):
        await store.search_turns_within("needle", prefixes=["c"])
    assert await store.search_turns_within("needle", prefixes=["c"], limit=2) == found


@pytest.mark.parametrize("actor", ["x" * 40_000, "me"])
async def test_a_trail_too_heavy_to_answer_is_refused_where_its_rows_are(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, actor: str
) -> None:
    monkeypatch.setattr(turns_adapter, "ANSWER_BYTES", 100_000)
    covered = tuple(range(1, 4001 if actor == "me" else 2))
    acts = [
        ConversationRedaction(conversation_id="c", turns=covered, actor=actor, created_at=NOW)
    ] * 3
    await store.restore_conversation(
        ConversationArchive(conversation_id="c", turns=(), projections=(), redactions=tuple(acts))
    )
    for chosen in (None, ["c"]):
        with pytest.raises(ValueError, match="would pass 100000 bytes; lower the limit"):
            await store.turn_redactions(conversations=chosen)
        assert await store.turn_redactions(conversations=chosen, limit=2) == tuple(acts[:2])


async def test_a_read_of_turns_ends_with_the_turn_that_passes_the_weight(
    store: PostgresStore,
) -> None:
    for text in ("a", "x" * 50_000, "x" * 50_000, "b", "c"):
        await store.append_turn("c", (message(text),))
    seen: list[tuple[list[int], bool]] = []
    after = 0
    while after < 5:
        found, is_cut = await store.read_turns_within("c", after=after, limit=10, max_bytes=40_000)
        seen.append(([turn.turn for turn in found], is_cut))
        after = found[-1].turn
    assert seen == [([1, 2], True), ([3], True), ([4, 5], False)]
    whole, is_cut = await store.read_turns_within("c", after=0, limit=3, max_bytes=10**9)
    assert (len(whole), is_cut) == (3, False)
    assert await store.read_turns_within("c", after=5, limit=3, max_bytes=1) == ((), False)


async def test_a_read_of_projections_ends_with_the_entry_that_passes_the_weight(
    store: PostgresStore,
) -> None:
    entries = tuple(
        ConversationProjection(turn=turn, kind="log", text=text)
        for turn, text in ((1, "a"), (2, "x" * 50_000), (2, "y" * 50_000), (3, "b"), (4, "c"))
    )
    await store.append_projections("c", entries)
    read = partial(store.read_projections_within, "c", limit=10)
    assert await read(after=0, max_bytes=40_000) == (entries[:2], True)
    assert await read(after=1, max_bytes=40_000) == (entries[1:2], True)
    assert await read(after=1, max_bytes=90_000) == (entries[1:3], True)
    assert await read(after=1, max_bytes=200_000) == (entries[1:], False)
    assert await read(after=2, max_bytes=40_000) == (entries[3:], False)
    assert await read(after=4, max_bytes=1) == ((), False)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_pages_of_heavy_erasures_end_early_and_lose_nothing(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(pages_adapter, "PAGE_BYTES", 40_000)
    await store.write("user:a", "p", "x")
    for number in range(9):
        await store.redact("user:a", path="p", actor="x" * (30_000 if number % 3 else 1))
    whole = await store.redactions("user:a")
    found: list[MemoryRedaction] = []
    cursor: str | None = None
    while True:
        page = await store.redactions_page("user:a", cursor=cursor, limit=limit)
        assert 1 <= len(page.items) <= min(limit, 4)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    assert (tuple(found), len(found)) == (whole, 9)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_pages_of_heavy_versions_end_early_and_lose_nothing(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(pages_adapter, "PAGE_BYTES", 40_000)
    for number in range(12):
        path = f"p{number % 2}"
        await store.write("user:a", path, "x" * (30_000 if number % 3 else 1))
    for whole, page_of in (
        (await store.versions("user:a", "p0"), partial(store.versions_page, "user:a", "p0")),
        (await store.history("user:a"), partial(store.history_page, "user:a")),
    ):
        found: list[MemoryVersion] = []
        cursor: str | None = None
        while True:
            page = await page_of(cursor=cursor, limit=limit)
            assert 1 <= len(page.items) <= min(limit, 4)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        assert tuple(found) == whole


async def test_an_append_of_a_large_text_has_the_time_that_it_takes(
    database_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_adapter, "LARGE_TEXT", 100)
    pool = await open_pool(database_dsn, size=1, statement_timeout_seconds=0.2)
    store = PostgresStore(pool)
    async with pool.connection() as conn:
        await conn.execute(SLOW_INSERTS)
    keyed = store.guarded(key=IdempotencyKey("client:a", "k"), digest=b"body")
    for one in (store, keyed):
        with pytest.raises(StoreUnavailableError):
            await one.append_turn("c", (message("x" * 99),))
        await one.append_turn("c", (message("x" * 100),))
    with pytest.raises(StoreUnavailableError):
        await store.append_turn("c", (message("x" * 99),))
    assert await store.last_turn_number("c") == 2
    await pool.close()


async def test_the_planner_keeps_no_sample_of_contents(store: PostgresStore, pool: Pool) -> None:
    for number in range(50):
        await store.write("user:a", f"p{number}", MARKER)
        await store.append_turn("c", (message(MARKER),))
        await store.append_projections(
            "c", (ConversationProjection(turn=number + 1, kind="log", text=MARKER),)
        )
    await store.redact_turns("c")
    async with pool.connection() as conn:
        await conn.execute("VACUUM (ANALYZE)")
        sampled = await conn.fetchval(
            "SELECT count(*) FROM pg_stats WHERE schemaname = 'commonhold' AND"
            " (most_common_vals::text LIKE $1 OR histogram_bounds::text LIKE $1)",
            f"%{MARKER}%",
        )
    assert sampled == 0
