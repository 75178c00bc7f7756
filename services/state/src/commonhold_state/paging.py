"""Pages of answers (docs/reference/wire.md, section 9), in bounded memory.

Rows that carry content are read from the store in steps, the first one small, so that a
page of large rows is never held whole beside its encoding; an answer ends early at
64 MiB.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from commonhold.contract import ConversationProjection, ConversationTurn, Page
from commonhold.contract.paging import PAGE_BYTES, PAGE_SIZE
from commonhold.wire.shapes import RowBuffer, encode

ANSWER_BYTES = 64 * 1024 * 1024
FIRST_STEP = 16
STEP_GROWTH = 4

Row = TypeVar("Row", bound=msgspec.Struct)


def empty_page(name: str) -> bytes:
    return encode({name: [], "next_cursor": None})


def answer_rows(name: str, rows: Sequence[msgspec.Struct]) -> bytes:
    """A listing whole, from a store that has no pages."""
    return encode({name: rows, "next_cursor": None})


def page_size(limit: int | None) -> int:
    return PAGE_SIZE if limit is None or limit > PAGE_SIZE else limit


async def fill_page(
    name: str,
    fetch: Callable[[str | None, int], Awaitable[Page[Row]]],
    *,
    cursor: str | None,
    size: int,
    has_content: bool = True,
    budget: int = ANSWER_BYTES,
) -> bytes:
    """A page of a memory listing, of up to `size` rows."""
    rows = RowBuffer(budget=budget)
    step = min(size, FIRST_STEP) if has_content else size
    while True:
        wanted = min(step, size - rows.count)
        cursor, is_cut = await _add_step(rows, fetch, cursor=cursor, wanted=wanted)
        if is_cut or cursor is None or rows.count >= size:
            return rows.answer(name, {"next_cursor": cursor})
        step = _next_step(rows, step, budget)


async def _add_step(
    rows: RowBuffer,
    fetch: Callable[[str | None, int], Awaitable[Page[Row]]],
    *,
    cursor: str | None,
    wanted: int,
) -> tuple[str | None, bool]:
    """The cursor behind the rows that fitted, and whether some did not."""
    is_cut = False
    while True:
        page = await fetch(cursor, wanted)
        count, size = rows.count, rows.size
        if rows.extend(page.items):
            return page.next_cursor, is_cut
        # Only the store can say where the rows that fit end: it is asked for just these.
        is_cut = True
        wanted = rows.count - count
        rows.rollback(count=count, size=size)
        if not wanted:
            return cursor, is_cut


async def fill_turns(
    read: Callable[[int, int], Awaitable[tuple[Sequence[ConversationTurn], bool]]],
    *,
    after: int,
    limit: int | None,
    budget: int = ANSWER_BYTES,
) -> bytes:
    """The answer of read_turns.

    `read` takes `after` and a number of turns; it may give fewer for their weight, and says so.
    """
    size = page_size(limit)
    rows = RowBuffer(budget=budget)
    step = min(size, FIRST_STEP)
    while True:
        wanted = min(step, size - rows.count)
        count = rows.count
        turns, is_cut = await read(after, wanted)
        if not rows.extend(turns):
            kept = turns[: rows.count - count]
            return _turns(rows, next_after=kept[-1].turn if kept else after)
        if turns:
            after = turns[-1].turn
        if len(turns) < wanted and not is_cut:
            return _turns(rows, next_after=None)
        if rows.count >= size:
            return _turns(rows, next_after=None if size == limit else after)
        step = _next_step(rows, step, budget)


def _turns(rows: RowBuffer, *, next_after: int | None) -> bytes:
    return rows.answer("turns", {"next_after": next_after})


async def fill_projections(
    read: Callable[[int, int, int], Awaitable[tuple[Sequence[ConversationProjection], bool]]],
    *,
    after: int,
    limit: int | None,
    budget: int = ANSWER_BYTES,
) -> bytes:
    """The answer of read_projections: whole turns, unless an explicit limit cuts one.

    `read` takes `after`, a number of entries and a weight; it may give fewer for their weight,
    and says so. Raises ValueError when the entries of one turn weigh more than an answer may.
    """
    size = page_size(limit)
    entries: list[ConversationProjection] = []
    weight = 0
    step, room = min(size, FIRST_STEP), PAGE_BYTES
    while True:
        wanted = min(step, size - len(entries))
        batch, is_cut = await read(after, wanted, room)
        is_full = len(entries) + len(batch) >= size
        if not is_cut and (len(batch) < wanted or (is_full and size == limit)):
            return _projections([*entries, *batch], next_after=None, budget=budget)
        boundary = batch[-1].turn
        complete = [entry for entry in batch if entry.turn < boundary]
        entries += complete
        weight += sum(len(entry.text) for entry in complete)
        is_stuck = is_cut and not complete and room >= budget
        if entries and (is_full or weight > budget or is_stuck):
            return _projections(entries, next_after=boundary - 1, budget=budget)
        if is_stuck:
            raise _turn_too_heavy(boundary, budget)
        if complete:
            after, room = boundary - 1, PAGE_BYTES
        elif is_cut:
            # One turn that weighs more than a step.
            room = min(room * STEP_GROWTH, budget)
        elif is_full:
            size = size * 2 if limit is None else min(size * 2, limit)
        step = min(step * STEP_GROWTH, size)


def _projections(
    entries: Sequence[ConversationProjection], *, next_after: int | None, budget: int
) -> bytes:
    rows = RowBuffer(budget=budget)
    if rows.extend(entries):
        return rows.answer("entries", {"next_after": next_after})
    # Where the answer ends early, it ends before a turn.
    first, cut = entries[0].turn, entries[rows.count].turn
    if cut == first:
        raise _turn_too_heavy(first, budget)
    if next_after is None or cut <= next_after:
        next_after = cut - 1
    kept = [entry for entry in entries if entry.turn < cut]
    return encode({"entries": kept, "next_after": next_after})


def _turn_too_heavy(turn: int, budget: int) -> ValueError:
    return ValueError(
        f"the entries of turn {turn} would pass {budget} bytes; give a lower limit,"
        f" or go on after {turn}"
    )


def answer_turns(turns: Sequence[ConversationTurn], *, budget: int = ANSWER_BYTES) -> bytes:
    """The answer of search_turns, which has no pages: ValueError when it is too large."""
    rows = RowBuffer(budget=budget)
    if not rows.extend(turns) or rows.size > budget:
        raise ValueError(f"the answer would pass {budget} bytes; lower the limit")
    tail: dict[str, Any] = {}
    return rows.answer("turns", tail)


def _next_step(rows: RowBuffer, step: int, budget: int) -> int:
    room = (budget - rows.size) // max(rows.largest, 1)
    return max(1, min(step * STEP_GROWTH, room))
