"""Pages of what is long in files: what they cost, in bytes that are read."""

import io
import json
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from commonhold.adapters.file import FileStore, listings
from commonhold.contract import (
    ConversationFormatError,
    ConversationProjection,
    MemoryVersion,
    Message,
)
from commonhold.contract.paging import Page

TURNS = 4000
VERSIONS = 2000
BytesRead: TypeAlias = Callable[[], int]


def break_line(file: Path, number: int) -> None:
    rows = file.read_text().splitlines(keepends=True)
    rows[number - 1] = "{\n"
    file.write_text("".join(rows))


def line_behind_the_middle(file: Path) -> int:
    """The first whole line of the second half."""
    raw = file.read_bytes()
    return raw[: len(raw) // 2].count(b"\n") + 2


def size_of(file: Path) -> int:
    return file.stat().st_size


def line_of(turn: int, text: str) -> str:
    row = {
        "neosian_format": 1,
        "turn": turn,
        "created_at": "2026-01-02T03:04:05Z",
        "messages": [{"role": "user", "content": text}],
        "actor": None,
    }
    return f"{json.dumps(row, separators=(',', ':'))}\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Some four megabytes of turns, most of them short, some longer than what is read at once."""
    file = tmp_path / "root/conversations/c/turns.jsonl"
    file.parent.mkdir(parents=True)
    sizes = random.Random(7).choices((10, 900, 20_000), (40, 59, 1), k=TURNS)
    numbered = enumerate(sizes, 1)
    file.write_text("".join(line_of(3 * number, "x" * size) for number, size in numbered))
    return file


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FileStore]:
    async with FileStore(tmp_path / "root") as store:
        yield store


@pytest.fixture
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> BytesRead:
    """What was read of files of lines since the last question."""
    read = 0

    class Counting(io.FileIO):
        def readinto(self, buffer: memoryview, /) -> int | None:  # type: ignore[override]  # typeshed's own Buffer
            nonlocal read
            length = super().readinto(buffer)
            read += length or 0
            return length

    def opened(fd: int, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(Counting(fd))

    def pread(fd: int, length: int, offset: int) -> bytes:
        nonlocal read
        part = whole_pread(fd, length, offset)
        read += len(part)
        return part

    def since() -> int:
        nonlocal read
        told, read = read, 0
        return told

    whole_pread = os.pread
    monkeypatch.setattr(os, "pread", pread)
    monkeypatch.setattr(os, "fdopen", opened)
    return since


async def test_a_page_behind_any_number_reads_about_what_it_answers(
    log: Path, store: FileStore, bytes_read: BytesRead
) -> None:
    whole = size_of(log)
    for after in (3, 1500, 6001, 3 * TURNS - 40, 3 * TURNS):
        bytes_read()
        page = await store.read_turns("c", after=after, limit=10)
        assert [turn.turn for turn in page] == [
            3 * number for number in range(1, TURNS + 1) if 3 * number > after
        ][:10]
        assert bytes_read() < whole / 10


async def test_pages_in_a_row_are_the_whole(log: Path, store: FileStore) -> None:
    whole = await store.read_turns("c")
    assert len(whole) == TURNS
    found: list[object] = []
    after = 0
    while page := await store.read_turns("c", after=after, limit=331):
        found += page
        after = page[-1].turn
    assert found == list(whole)


async def test_a_fault_behind_the_beginning_of_a_page_is_told_by_its_line(
    log: Path, store: FileStore
) -> None:
    break_line(log, 3001)
    with pytest.raises(ConversationFormatError, match="malformed turn-log line 3001") as refusal:
        await store.read_turns("c", after=3 * 2995, limit=10)
    assert refusal.value.__notes__ == ["in conversations/c/turns.jsonl, line 3001"]
    assert len(await store.read_turns("c", after=3 * 3500, limit=10)) == 10


async def test_a_page_judges_the_lines_it_answers_and_none_before_or_behind_them(
    log: Path, store: FileStore
) -> None:
    break_line(log, TURNS)
    with pytest.raises(ConversationFormatError, match=f"malformed turn-log line {TURNS}"):
        await store.read_turns("c", after=3 * (TURNS - 5))
    break_line(log, 1)
    page = await store.read_turns("c", after=3 * 3000, limit=10)
    assert [turn.turn for turn in page] == [3 * number for number in range(3001, 3011)]
    # What counts, searches, changes or archives a conversation looks through all of it.
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: store.read_turns("c"),
        lambda: store.read_turns("c", limit=1),
        lambda: store.last_turn_number("c"),
        lambda: store.append_turn("c", [Message(role="user", content="x")]),
        lambda: store.search_turns("x"),
        lambda: store.redact_turns("c", through=1),
        lambda: store.archive_conversation("c"),
    )
    for call in calls:
        with pytest.raises(ConversationFormatError) as refusal:
            await call()
        assert refusal.value.__notes__ == ["in conversations/c/turns.jsonl, line 1"]


async def test_a_broken_line_that_a_page_is_looked_for_by_is_told(
    log: Path, store: FileStore
) -> None:
    halfway = line_behind_the_middle(log)
    break_line(log, halfway)
    # The file is a little shorter now, and its middle still in front of the broken line.
    for after in (3, 3 * (TURNS - 10)):
        with pytest.raises(ConversationFormatError) as refusal:
            await store.read_turns("c", after=after, limit=TURNS)
        told = refusal.value.__notes__
        assert told == [f"in conversations/c/turns.jsonl, line {halfway}"]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Some two megabytes of versions of one document."""
    file = tmp_path / "root/u%3Ax/versions/a.jsonl"
    file.parent.mkdir(parents=True)
    row = {"neosian_format": 1, "path": "a", "action": "modified", "content": "x" * 900}
    stamps = (f"2026-01-02T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z" for n in range(VERSIONS))
    numbered = enumerate(stamps, 1)
    rows = ({**row, "version": number, "created_at": stamp} for number, stamp in numbered)
    file.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    return file


async def test_only_the_first_page_of_a_history_looks_through_it(
    history: Path, store: FileStore, bytes_read: BytesRead
) -> None:
    pages: Mapping[str, Callable[[str | None], Awaitable[Page[MemoryVersion]]]] = {
        "versions": lambda cursor: store.versions_page("u:x", "a", cursor=cursor, limit=500),
        "history": lambda cursor: store.history_page("u:x", cursor=cursor, limit=500),
    }
    whole = size_of(history)
    for name, fetch in pages.items():
        numbers: list[int] = []
        cursor, first = None, True
        while cursor is not None or first:
            bytes_read()
            page = await fetch(cursor)
            assert first or bytes_read() < whole / 2, name
            numbers += [row.version for row in page.items]
            cursor, first = page.next_cursor, False
        assert numbers == list(range(VERSIONS, 0, -1))
    append_line(history)
    (newest, *_) = (await store.versions_page("u:x", "a", limit=1)).items
    assert newest.version == VERSIONS + 1


async def test_only_the_first_page_of_entries_looks_through_them(
    tmp_path: Path, store: FileStore, bytes_read: BytesRead
) -> None:
    written = [
        ConversationProjection(turn=turn, kind="log", text="x" * 400, span=1)
        for turn in random.Random(7).sample(range(1, TURNS + 1), TURNS)
    ]
    await store.append_projections("c", written)
    whole = size_of(tmp_path / "root/conversations/c/projections.jsonl")
    found: list[ConversationProjection] = []
    while page := await store.read_projections("c", after=len(found), limit=500):
        assert not found or bytes_read() < whole / 4
        found += page
        bytes_read()
    assert [entry.turn for entry in found] == list(range(1, TURNS + 1))
    await store.append_projections("c", [ConversationProjection(turn=1, kind="log", text="new")])
    again = await store.read_projections("c", limit=2)
    assert [entry.text for entry in again] == [found[0].text, "new"]


async def test_a_later_page_orders_no_more_than_it_answers(
    history: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = await store.history_page("u:x", limit=10)
    ordered: list[int] = []
    age = listings._age

    def counted(row: listings._Row) -> tuple[int, str, int]:
        ordered.append(row.version)
        return age(row)

    monkeypatch.setattr(listings, "_age", counted)
    for _ in range(3):
        page = await store.history_page("u:x", cursor=page.next_cursor, limit=10)
    assert [row.version for row in page.items] == list(range(VERSIONS - 30, VERSIONS - 40, -1))
    # What it holds, and halving the history for its beginning.
    assert len(ordered) < 3 * (2 * 10 + VERSIONS.bit_length())


async def test_more_rows_than_are_kept_are_listed_all_the_same(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listings, "MOST_ROWS", VERSIONS - 1)
    async with FileStore(tmp_path / "root") as store:
        for _ in range(2):
            assert len(await store.history("u:x")) == VERSIONS


def append_line(history: Path) -> None:
    last = json.loads(history.read_text().splitlines()[-1])
    with history.open("a") as file:
        file.write(f"{json.dumps({**last, 'version': VERSIONS + 1})}\n")
