"""Rows that are not what the layout says, wherever a call comes by them: refused by their line."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from commonhold.adapters.file import FileStore
from commonhold.contract import (
    ConversationFormatError,
    ConversationProjection,
    MemoryFormatError,
    Message,
)
from tests.support.file_trees import read_tree, write_tree

Call: TypeAlias = Callable[[FileStore], Awaitable[object]]
STAMP = "2026-01-02T03:04:05Z"
HELLO = [Message(role="user", content="hello")]
TURNS = "conversations/c/turns.jsonl"
PROJECTIONS = "conversations/c/projections.jsonl"


def row(changes: Mapping[str, Any], of: Mapping[str, Any]) -> bytes:
    return json.dumps({**of, **changes}, separators=(",", ":")).encode() + b"\n"


def turn_row(number: int, changes: Mapping[str, Any] | None = None) -> bytes:
    spoken = [{"role": "user", "content": "x" * 300}]
    of = {"neosian_format": 1, "turn": number, "created_at": STAMP, "messages": spoken}
    return row(changes or {}, of)


def projection_row(number: int, changes: Mapping[str, Any] | None = None) -> bytes:
    of = {"neosian_format": 1, "turn": number, "span": 1, "kind": "log", "text": "one"}
    return row(changes or {}, of)


BAD_TURNS: Mapping[str, bytes] = {
    "turn -1": turn_row(-1),
    "turn 0": turn_row(0),
    "turn beyond all": turn_row(2**31),
    "newer": turn_row(2, {"neosian_format": 2}),
    "newer, with turn -1": turn_row(-1, {"neosian_format": 2}),
    "of no format": turn_row(2, {"neosian_format": 0}),
    "no messages": turn_row(2, {"messages": []}),
    "messages of nobody": turn_row(2, {"messages": [{"role": "robot"}]}),
    "a naive stamp": turn_row(2, {"created_at": "2026-01-02T03:04:05"}),
    "an actor that is none": turn_row(2, {"actor": 5}),
    "Latin-1": turn_row(2, {"actor": "caf\u00e9"}).replace(b"\\u00e9", b"\xe9"),
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FileStore]:
    async with FileStore(tmp_path / "root") as store:
        yield store


async def refuses(store: FileStore, call: Call, *, file: str, line: int) -> None:
    with pytest.raises(ConversationFormatError) as refusal:
        await call(store)
    assert refusal.value.__notes__ == [f"in {file}, line {line}"]


TURN_CALLS: Mapping[str, Call] = {
    "read": lambda store: store.read_turns("c"),
    "read behind": lambda store: store.read_turns("c", after=1),
    "read some": lambda store: store.read_turns("c", limit=2),
    "read a page": lambda store: store.read_turns_within("c", after=0, limit=9, max_bytes=9999),
    "count": lambda store: store.last_turn_number("c"),
    "append": lambda store: store.append_turn("c", HELLO),
    "search": lambda store: store.search_turns("x"),
    "archive": lambda store: store.archive_conversation("c"),
}


@pytest.mark.parametrize("call", TURN_CALLS)
@pytest.mark.parametrize("bad", BAD_TURNS)
async def test_no_call_passes_over_a_turn_that_is_none(
    store: FileStore, tmp_path: Path, bad: str, call: str
) -> None:
    root = tmp_path / "root"
    write_tree(root, {TURNS: turn_row(1) + BAD_TURNS[bad] + turn_row(3)})
    await refuses(store, TURN_CALLS[call], file=TURNS, line=2)
    assert (root / TURNS).read_bytes() == turn_row(1) + BAD_TURNS[bad] + turn_row(3)


@pytest.mark.parametrize("bad", [bad for bad in BAD_TURNS if "turn" in bad])
async def test_no_page_is_lost_behind_a_turn_that_is_none(
    store: FileStore, tmp_path: Path, bad: str
) -> None:
    rows = [turn_row(number) for number in range(1, 1001)]
    middle = len(b"".join(rows)) // 2 // len(rows[500]) + 2
    for at in range(middle - 3, middle + 3):
        rows[at] = BAD_TURNS[bad]
    write_tree(tmp_path / "root", {TURNS: b"".join(rows)})
    await refuses(store, lambda store: store.read_turns("c", after=10), file=TURNS, line=middle - 2)


@pytest.mark.parametrize("selected", [{"through": 9}, {"turns": [1]}, {}])
@pytest.mark.parametrize("number", [-1, 0, 2**31])
async def test_no_erasure_tells_of_a_turn_that_is_none(
    store: FileStore, tmp_path: Path, number: int, selected: Mapping[str, Any]
) -> None:
    root = tmp_path / "root"
    write_tree(root, {TURNS: turn_row(1) + turn_row(number)})
    await refuses(store, lambda store: store.redact_turns("c", **selected), file=TURNS, line=2)
    assert read_tree(root) == {TURNS: turn_row(1) + turn_row(number), ".store.lock": b"\x00"}
    assert await store.turn_redactions() == ()


BAD_PROJECTIONS: Mapping[str, bytes] = {
    "turn 0": projection_row(0),
    "newer": projection_row(2, {"neosian_format": 2}),
    "newer, with turn -1": projection_row(-1, {"neosian_format": 2}),
    "a kind that is none": projection_row(2, {"kind": "rumour"}),
    "a span beyond the first turn": projection_row(2, {"span": 3}),
    "Latin-1": projection_row(2).replace(b'"one"', b'"\xe9"'),
}
PROJECTION_CALLS: Mapping[str, Call] = {
    "read": lambda store: store.read_projections("c"),
    "read behind": lambda store: store.read_projections("c", after=9),
    "append": lambda store: store.append_projections(
        "c", [ConversationProjection(turn=3, kind="log", text="x")]
    ),
    "archive": lambda store: store.archive_conversation("c"),
}


@pytest.mark.parametrize("call", PROJECTION_CALLS)
@pytest.mark.parametrize("bad", BAD_PROJECTIONS)
async def test_no_call_passes_over_an_entry_that_is_none(
    store: FileStore, tmp_path: Path, bad: str, call: str
) -> None:
    file = tmp_path / "root" / PROJECTIONS
    raw = projection_row(1) + BAD_PROJECTIONS[bad] + projection_row(3)
    write_tree(tmp_path / "root", {PROJECTIONS: raw})
    await refuses(store, PROJECTION_CALLS[call], file=PROJECTIONS, line=2)
    assert file.read_bytes() == raw


HISTORY = "u%3Ax/versions/a.jsonl"


def version_row(number: int, changes: Mapping[str, Any] | None = None) -> bytes:
    of = {"neosian_format": 1, "path": "a", "version": number, "action": "modified"}
    return row(changes or {}, {**of, "content": "one", "created_at": STAMP})


BAD_VERSIONS: Mapping[str, bytes] = {
    "version 0": version_row(0),
    "version -1": version_row(-1),
    "version beyond all": version_row(2**31),
    "newer": version_row(2, {"neosian_format": 2}),
    "of no format": version_row(2, {"neosian_format": 0}),
    "an unknown action": version_row(2, {"action": "changed"}),
    "no content": version_row(2, {"content": None}),
    "Latin-1": version_row(2).replace(b'"one"', b'"\xe9"'),
    "a naive stamp": version_row(2, {"created_at": "2026-01-02T03:04:05"}),
}
VERSION_CALLS: Mapping[str, Call] = {
    "write": lambda store: store.write("u:x", "a", "two"),
    "delete": lambda store: store.delete("u:x", "a"),
    "rename": lambda store: store.rename("u:x", "a", "b"),
    "rename onto": lambda store: store.rename("u:x", "other", "gone"),
    "create": lambda store: store.create_if_absent("u:x", "gone", "two"),
    "delete if": lambda store: store.delete_if("u:x", "a", expected_version=1),
    "versions": lambda store: store.versions("u:x", "a"),
    "history": lambda store: store.history("u:x"),
    "archive": lambda store: store.archive_scope("u:x"),
}


@pytest.mark.parametrize("call", VERSION_CALLS)
@pytest.mark.parametrize("bad", BAD_VERSIONS)
async def test_no_row_follows_one_that_is_none(
    store: FileStore, tmp_path: Path, bad: str, call: str
) -> None:
    root = tmp_path / "root"
    gone = HISTORY.replace("a.jsonl", "gone.jsonl")
    for path in ("a", "other"):
        await store.write("u:x", path, "one")
    bad_row = BAD_VERSIONS[bad]
    if call in ("rename onto", "create"):
        write_tree(root, {gone: bad_row.replace(b'"a"', b'"gone"')})
    else:
        (root / HISTORY).write_bytes(version_row(1) + bad_row + version_row(3))
    before = read_tree(root)
    for one in (store, FileStore(root)):
        with pytest.raises(MemoryFormatError) as refusal:
            await VERSION_CALLS[call](one)
        (note,) = refusal.value.__notes__
        assert note.endswith(("/a.jsonl, line 2", "/gone.jsonl, line 1"))
        assert read_tree(root) == before
        await one.close()


@pytest.mark.parametrize("bad", ["version 0", "newer", "of no format", "an unknown action"])
async def test_an_erasure_is_stopped_by_no_row_that_is_json(
    store: FileStore, tmp_path: Path, bad: str
) -> None:
    file = tmp_path / "root" / HISTORY
    await store.write("u:x", "a", "one")
    file.write_bytes(version_row(1) + BAD_VERSIONS[bad])
    assert await store.redact("u:x", path="a") == 1
    assert b'"one"' not in file.read_bytes()
    with pytest.raises(MemoryFormatError):
        await store.write("u:x", "a", "two")
