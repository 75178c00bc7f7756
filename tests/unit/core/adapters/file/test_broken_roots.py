"""Roots that were cut, edited, linked, filled or taken away: refused by name, nothing lost."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.file import FileStore
from commonhold.contract import (
    CommonholdError,
    ConversationFormatError,
    MemoryFormatError,
    Message,
    PathInvalidError,
    ScopeInvalidError,
    StoreUnavailableError,
)
from tests.support.file_trees import read_tree

DOCUMENT = "u%3Ax/documents/a.md"
HISTORY = "u%3Ax/versions/a.jsonl"
TURNS = "conversations/c/turns.jsonl"
HELLO = [Message(role="user", content="hello")]

Call: TypeAlias = Callable[[FileStore], Awaitable[object]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
async def store(root: Path) -> AsyncIterator[FileStore]:
    """Two documents of two versions each, and two conversations of two turns."""
    async with FileStore(root) as store:
        await fill(store)
        yield store


async def fill(store: FileStore) -> None:
    for text in ("caf\u00e9 one", "caf\u00e9 two"):
        for name in ("a", "b"):
            await store.write("u:x", name, text)
            await store.append_turn(name.replace("a", "c"), HELLO)


async def refusal_of(store: FileStore, call: Call) -> tuple[CommonholdError, dict[str, Any]]:
    """What a call raises, and the event in the log that says where."""
    with capture_logs() as logs, pytest.raises(CommonholdError) as refusal:
        await call(store)
    return refusal.value, next(dict(log) for log in logs if log["event"] == "file_refused")


# What is done to a file, the line that is named, and what the refusal says.
DAMAGES: Mapping[str, tuple[str, Callable[[bytes], bytes], int | None, str]] = {
    "document cut in its header": (DOCUMENT, lambda raw: raw[:30], None, "unterminated"),
    "document emptied": (DOCUMENT, lambda _: b"", 1, "missing envelope fence"),
    "document with a mark": (DOCUMENT, lambda raw: b"\xef\xbb\xbf" + raw, 1, "missing envelope"),
    "document in UTF-16": (DOCUMENT, lambda raw: raw.decode().encode("utf-16"), 1, "missing"),
    "document in Latin-1": (
        DOCUMENT,
        lambda raw: raw.decode().encode("latin-1"),
        None,
        "content is not UTF-8",
    ),
    "document edited": (
        DOCUMENT,
        lambda raw: raw.replace(b"version: 2", b"version: two"),
        None,
        "missing or invalid version",
    ),
    "history cut": (HISTORY, lambda raw: raw[:-9], 2, "malformed sidecar line 2"),
    "history with a blank line": (
        HISTORY,
        lambda raw: raw.replace(b"\n", b"\n\n", 1),
        2,
        "malformed sidecar line 2",
    ),
    "history with a mark": (HISTORY, lambda raw: b"\xef\xbb\xbf" + raw, 1, "malformed"),
    "history in UTF-16": (HISTORY, lambda raw: raw.decode().encode("utf-16"), 1, "malformed"),
    "history edited": (
        HISTORY,
        lambda raw: raw.replace(b'"modified"', b'"changed"'),
        2,
        "sidecar line 2 has invalid fields",
    ),
    "history with a naive stamp": (
        HISTORY,
        lambda raw: raw.replace(b'Z","redacted"', b'","redacted"', 1),
        1,
        "sidecar line 1 has invalid fields",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_file_is_named_and_the_others_are_read(
    store: FileStore, root: Path, damage: str
) -> None:
    file, spoil, line, says = DAMAGES[damage]
    (root / file).write_bytes(spoil((root / file).read_bytes()))
    before = read_tree(root)
    calls: tuple[Call, ...] = (
        (lambda store: store.read("u:x", "a"), lambda store: store.list_documents("u:x"))
        if file == DOCUMENT
        else (lambda store: store.versions("u:x", "a"), lambda store: store.history("u:x"))
    )
    for call in calls:
        error, event = await refusal_of(store, call)
        assert isinstance(error, MemoryFormatError)
        assert (error.scope, error.path) == ("u:x", "a")
        assert says in error.reason
        assert file not in str(error)
        assert (event["file"], event["line"]) == (file, line)
        assert error.__notes__ == [f"in {file}" if line is None else f"in {file}, line {line}"]
    assert read_tree(root) == before
    document = await store.read("u:x", "b")
    assert document is not None
    assert len(await store.versions("u:x", "b")) == 2
    assert (await store.write("u:x", "b", "goes on")).version == 3


async def test_a_history_that_cannot_be_counted_takes_no_row(store: FileStore, root: Path) -> None:
    file = root / HISTORY
    file.write_bytes(file.read_bytes()[:-9])
    before = read_tree(root)
    acts: tuple[Call, ...] = (
        lambda store: store.write("u:x", "a", "x"),
        lambda store: store.delete("u:x", "a"),
        lambda store: store.rename("u:x", "a", "z"),
        lambda store: store.redact("u:x"),
    )
    for act in acts:
        error, _ = await refusal_of(store, act)
        assert isinstance(error, MemoryFormatError)
    assert read_tree(root) == before


async def test_a_lost_newline_is_mended_by_the_next_row(store: FileStore, root: Path) -> None:
    for file in (HISTORY, TURNS):
        (root / file).write_bytes((root / file).read_bytes().removesuffix(b"\n"))
    assert (await store.write("u:x", "a", "three")).version == 3
    assert (await store.append_turn("c", HELLO)).turn == 3
    assert [row.version for row in await store.versions("u:x", "a")] == [3, 2, 1]
    assert [turn.turn for turn in await store.read_turns("c")] == [1, 2, 3]


async def test_lines_with_carriage_returns_are_read(store: FileStore, root: Path) -> None:
    for file in (HISTORY, TURNS):
        (root / file).write_bytes((root / file).read_bytes().replace(b"\n", b"\r\n"))
    assert len(await store.versions("u:x", "a")) == 2
    assert (await store.append_turn("c", HELLO)).turn == 3


@pytest.mark.parametrize("name", ["turns", "projections", "redactions"])
async def test_a_damaged_conversation_is_named_and_the_others_are_read(
    store: FileStore, root: Path, name: str
) -> None:
    (root / f"conversations/c/{name}.jsonl").write_bytes(b'{"neosian_format":1,')
    reads: Mapping[str, tuple[Call, ...]] = {
        "turns": (
            lambda store: store.read_turns("c"),
            lambda store: store.search_turns("hello"),
            lambda store: store.append_turn("c", HELLO),
        ),
        "projections": (lambda store: store.read_projections("c"),),
        "redactions": (lambda store: store.turn_redactions(),),
    }
    for call in reads[name]:
        error, event = await refusal_of(store, call)
        assert isinstance(error, ConversationFormatError)
        assert error.conversation_id == "c"
        assert (event["file"], event["line"]) == (f"conversations/c/{name}.jsonl", 1)
    assert len(await store.read_turns("b")) == 2
    assert len(await store.search_turns("hello", conversations=["b"])) == 2
    assert await store.turn_redactions(conversations=["b"]) == ()


LINKS: Mapping[str, str] = {"inside": "b.md", "outside": "/etc/passwd", "loop": "a.md"}


@pytest.mark.parametrize("target", LINKS)
async def test_a_linked_document_is_not_followed(store: FileStore, root: Path, target: str) -> None:
    (root / DOCUMENT).unlink()
    (root / DOCUMENT).symlink_to(LINKS[target])
    before = read_tree(root / "u%3Ax/versions")
    calls: tuple[Call, ...] = (
        lambda store: store.read("u:x", "a"),
        lambda store: store.write("u:x", "a", "x"),
        lambda store: store.list_documents("u:x"),
        lambda store: store.redact("u:x"),
    )
    for call in calls:
        error, event = await refusal_of(store, call)
        assert isinstance(error, PathInvalidError)
        assert (error.path, error.reason) == ("a", "is a symbolic link")
        assert event["file"] == DOCUMENT
    assert read_tree(root / "u%3Ax/versions") == before
    document = await store.read("u:x", "b")
    assert document is not None
    assert document.content == "caf\u00e9 two"


async def test_a_linked_folder_is_not_followed(
    store: FileStore, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (root / "u%3Ax").rename(outside)
    (root / "u%3Ax").symlink_to(outside)
    (root / "conversations/c").rename(tmp_path / "c")
    (root / "conversations/c").symlink_to(tmp_path / "c")
    before = read_tree(outside)
    error, _ = await refusal_of(store, lambda store: store.write("u:x", "new", "x"))
    assert isinstance(error, ScopeInvalidError)
    assert await store.scopes() == ("u:x",)
    error, _ = await refusal_of(store, lambda store: store.archive_scope("u:x"))
    assert isinstance(error, ScopeInvalidError)
    error, _ = await refusal_of(store, lambda store: store.append_turn("c", HELLO))
    assert isinstance(error, ConversationFormatError)
    assert read_tree(outside) == before
    assert (await store.write("u:y", "a", "another scope")).version == 1


@pytest.mark.parametrize("target", ["u%3Az", "nowhere"])
async def test_a_link_that_leads_nowhere_is_no_empty_unit(
    store: FileStore, root: Path, target: str
) -> None:
    (root / "u%3Az").symlink_to(target)
    assert await store.scopes() == ("u:x", "u:z")
    error, _ = await refusal_of(store, lambda store: store.archive_scope("u:z"))
    assert isinstance(error, ScopeInvalidError)
    (root / "conversations/z").symlink_to(target)
    assert await store.conversations() == ("b", "c", "z")
    error, _ = await refusal_of(store, lambda store: store.archive_conversation("z"))
    assert isinstance(error, ConversationFormatError)


async def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(
    store: FileStore, root: Path
) -> None:
    (root / DOCUMENT).unlink()
    os.mkfifo(root / DOCUMENT)
    async with asyncio.timeout(30):
        error, _ = await refusal_of(store, lambda store: store.read("u:x", "a"))
    assert isinstance(error, PathInvalidError)


def take_away(root: Path) -> None:
    root.rename(root.with_name("away"))


async def test_a_root_that_vanishes_is_empty_and_made_again(store: FileStore, root: Path) -> None:
    take_away(root)
    assert await store.read("u:x", "a") is None
    assert await store.scopes() == ()
    assert read_tree(root) == {}
    assert (await store.write("u:x", "a", "x")).version == 1


@contextmanager
def holder_of(root: Path) -> Iterator[Callable[[], object]]:
    """Another process that holds the root; it lets go when it is told to."""
    command = ["flock", str(root / ".store.lock"), "sh", "-c", "echo held; read -r line"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder.communicate


async def test_a_root_that_another_process_holds_is_unavailable_in_the_end(
    store: FileStore, root: Path
) -> None:
    with holder_of(root) as let_go:
        async with FileStore(root, lock_wait_seconds=0.05) as impatient:
            with pytest.raises(StoreUnavailableError, match="another process holds"):
                await impatient.read("u:x", "a")
            let_go()
            assert await impatient.read("u:x", "a") is not None
