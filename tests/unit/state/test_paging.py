"""Answers that would grow too large end early, and lose nothing over their pages."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import (
    ConversationProjection,
    ConversationTurn,
    MemoryVersion,
    Message,
    Page,
)
from commonhold_state import paging
from commonhold_state.paging import (
    FIRST_STEP,
    answer_turns,
    fill_page,
    fill_projections,
    fill_turns,
)

ROW = 1000
BUDGET = 10 * ROW


class CountingStore(InMemoryStore):
    """Notes how many rows each call asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    async def versions_of(self, cursor: str | None, limit: int) -> Page[MemoryVersion]:
        self.asked.append(limit)
        return await self.versions_page("u:a", "p", cursor=cursor, limit=limit)

    async def turns_of(self, after: int, limit: int) -> tuple[Sequence[ConversationTurn], bool]:
        self.asked.append(limit)
        return await self.read_turns("c", after=after, limit=limit), False

    async def weighed_turns_of(
        self, after: int, limit: int
    ) -> tuple[Sequence[ConversationTurn], bool]:
        """Like a store that ends a read with the turn that passes a weight, here at once."""
        turns, _ = await self.turns_of(after, limit)
        return turns[:1], len(turns) > 1

    async def projections_of(
        self, after: int, limit: int, _max_bytes: int
    ) -> tuple[Sequence[ConversationProjection], bool]:
        return await self.read_projections("c", after=after, limit=limit), False

    async def weighed_projections_of(
        self, after: int, limit: int, max_bytes: int
    ) -> tuple[Sequence[ConversationProjection], bool]:
        """Ends with the entry that passes the weight; notes the weights it was asked for."""
        self.asked.append(max_bytes)
        found, _ = await self.projections_of(after, limit, max_bytes)
        weight = 0
        for count, entry in enumerate(found, start=1):
            weight += len(entry.text)
            if weight >= max_bytes:
                return found[:count], count < len(found)
        return found, False


def weights(*, count: int) -> list[int]:
    """Rows of very different sizes, with some that alone pass the budget."""
    return [1, 20_000, 1, 1, 9_000, 9_000, 30_000, 30_000, *([400] * count), 1]


async def pages_of_versions(store: CountingStore, *, size: int) -> list[list[Any]]:
    pages, cursor = [], None
    while True:
        raw = await fill_page(
            "versions", store.versions_of, cursor=cursor, size=size, budget=BUDGET
        )
        page = json.loads(raw)
        pages.append(page["versions"])
        rows_bytes = sum(len(json.dumps(row, separators=(",", ":"))) for row in page["versions"])
        assert rows_bytes <= BUDGET or len(page["versions"]) == 1
        cursor = page["next_cursor"]
        if cursor is None:
            return pages


@pytest.mark.parametrize("size", [1, 3, 17, 50, 500])
async def test_listing_pages_end_early_and_lose_nothing(size: int) -> None:
    store = CountingStore()
    for weight in weights(count=60):
        await store.write("u:a", "p", "x" * weight)
    pages = await pages_of_versions(store, size=size)
    numbers = [row["version"] for page in pages for row in page]
    assert numbers == list(range(len(weights(count=60)), 0, -1))
    assert max(len(page) for page in pages) <= size


async def test_a_small_page_is_one_call_of_the_store() -> None:
    store = CountingStore()
    for _ in range(FIRST_STEP + 1):
        await store.write("u:a", "p", "x")
    await fill_page("versions", store.versions_of, cursor=None, size=FIRST_STEP)
    assert store.asked == [FIRST_STEP]


async def test_a_large_page_is_read_in_steps_that_fit() -> None:
    store = CountingStore()
    for _ in range(200):
        await store.write("u:a", "p", "x" * ROW)
    raw = await fill_page("versions", store.versions_of, cursor=None, size=500, budget=50 * 1200)
    assert len(json.loads(raw)["versions"]) < 60
    # Never many more rows than there is room for, however many were asked for.
    assert max(store.asked) <= 64


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("limit", [None, 3, 500])
async def test_turns_end_early_and_lose_nothing(limit: int | None, *, weighed: bool) -> None:
    store = CountingStore()
    read = store.weighed_turns_of if weighed else store.turns_of
    for weight in weights(count=40):
        await store.append_turn("c", [Message(role="user", content="x" * weight)])
    numbers: list[int] = []
    after, wanted = 0, len(weights(count=40)) if limit is None else limit
    while len(numbers) < wanted:
        remaining = None if limit is None else limit - len(numbers)
        raw = await fill_turns(read, after=after, limit=remaining, budget=BUDGET)
        page = json.loads(raw)
        assert len(raw) <= BUDGET + 100 or len(page["turns"]) == 1
        numbers += [turn["turn"] for turn in page["turns"]]
        if page["next_after"] is None:
            break
        assert page["next_after"] == numbers[-1]
        after = page["next_after"]
    assert numbers == list(range(1, min(wanted, len(weights(count=40))) + 1))


def entry(turn: int, weight: int) -> ConversationProjection:
    return ConversationProjection(turn=turn, kind="log", text="x" * weight)


@pytest.mark.parametrize("weighed", [False, True])
async def test_projections_end_early_between_turns(
    monkeypatch: pytest.MonkeyPatch, *, weighed: bool
) -> None:
    monkeypatch.setattr(paging, "PAGE_BYTES", 2_500)
    store = CountingStore()
    read = store.weighed_projections_of if weighed else store.projections_of
    rows = [(1, 3000), (2, 3000), (2, 3000), (3, 9_900), (4, 4000), (4, 4000), (5, 1), (6, 1)]
    await store.append_projections("c", [entry(*row) for row in rows])
    pages, after = [], 0
    while True:
        raw = await fill_projections(read, after=after, limit=None, budget=BUDGET)
        page = json.loads(raw)
        assert len(raw) <= BUDGET + 100 or len(page["entries"]) == 1
        pages.append([row["turn"] for row in page["entries"]])
        if page["next_after"] is None:
            break
        after = page["next_after"]
    assert pages == [[1, 2, 2], [3], [4, 4, 5, 6]]
    assert max(store.asked, default=0) <= BUDGET


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("before", [[], [(1, 10)]])
async def test_a_turn_with_more_projections_than_an_answer_holds_is_refused(
    monkeypatch: pytest.MonkeyPatch, before: list[tuple[int, int]], *, weighed: bool
) -> None:
    monkeypatch.setattr(paging, "PAGE_BYTES", 2_500)
    store = CountingStore()
    read = store.weighed_projections_of if weighed else store.projections_of
    rows = [*before, *([(2, 3000)] * 40), (3, 1)]
    await store.append_projections("c", [entry(*row) for row in rows])
    if before:
        page = json.loads(await fill_projections(read, after=0, limit=None, budget=BUDGET))
        assert ([row["turn"] for row in page["entries"]], page["next_after"]) == ([1], 1)
    told = r"^the entries of turn 2 would pass 10000 bytes; give a lower limit, or go on after 2$"
    for limit in (None, 40, 500):
        with pytest.raises(ValueError, match=told):
            await fill_projections(read, after=1, limit=limit, budget=BUDGET)
    page = json.loads(await fill_projections(read, after=1, limit=3, budget=BUDGET))
    assert (len(page["entries"]), page["next_after"]) == (3, None)
    page = json.loads(await fill_projections(read, after=2, limit=None, budget=BUDGET))
    assert ([row["turn"] for row in page["entries"]], page["next_after"]) == ([3], None)


async def test_a_search_that_answers_too_much_is_refused() -> None:
    store = InMemoryStore()
    for _ in range(3):
        await store.append_turn("c", [Message(role="user", content="x" * 4000)])
    turns = await store.read_turns("c")
    with pytest.raises(ValueError, match="lower the limit"):
        answer_turns(turns, budget=BUDGET)
    assert len(json.loads(answer_turns(turns[:2], budget=BUDGET))["turns"]) == 2
    with pytest.raises(ValueError, match="lower the limit"):
        answer_turns(turns[:1], budget=3000)
