"""What a change makes last, and when. No kill shows it: the page cache outlives a process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from commonhold.adapters.file import FileStore
from commonhold.contract import ConversationProjection, Message
from tests.support.recorded_calls import RecordingCalls

WRITTEN, SYNCED = ["write temporary", "begin temporary"], ["sync temporary"]
INTENT = ["write .store.lock", "sync .store.lock"]
INTENT_AND_SYNCED = ["write .store.lock", "begin .store.lock", *SYNCED, "sync .store.lock"]
AT_REST = ["cut .store.lock"]
HELLO = [Message(role="user", content="hello")]


def grown(file: str) -> list[str]:
    return [f"write {file}", f"sync {file}"]


@pytest.fixture
def calls(tmp_path: Path) -> RecordingCalls:
    return RecordingCalls(tmp_path / "root")


@pytest.fixture
async def store(tmp_path: Path, calls: RecordingCalls) -> AsyncIterator[FileStore]:
    """With a document `a` and a conversation `c`, both written before the calls are looked at."""
    async with FileStore(tmp_path / "root", calls=calls) as store:
        await store.write("u:x", "a", "one")
        await store.append_turn("c", HELLO)
        await store.append_projections("c", [ConversationProjection(turn=1, kind="log", text="x")])
        calls.names.clear()
        yield store


async def test_an_overwrite_lasts_before_it_is_answered(
    store: FileStore, calls: RecordingCalls
) -> None:
    await store.write("u:x", "a", "two")
    assert calls.names == [
        *WRITTEN,
        *INTENT_AND_SYNCED,
        *grown("u%3Ax/versions/a.jsonl"),
        "move to u%3Ax/documents/a.md",
        "sync folder u%3Ax/documents",
        *AT_REST,
    ]


async def test_the_names_of_new_files_and_folders_last_too(
    store: FileStore, calls: RecordingCalls
) -> None:
    await store.write("u:x", "new/b", "one")
    assert calls.names == [
        *WRITTEN,
        "sync folder u%3Ax/documents",
        "sync folder u%3Ax/versions",
        *INTENT_AND_SYNCED,
        *grown("u%3Ax/versions/new/b.jsonl"),
        "sync folder u%3Ax/versions/new",
        "move to u%3Ax/documents/new/b.md",
        "sync folder u%3Ax/documents/new",
        *AT_REST,
    ]


async def test_a_deletion_is_in_the_history_before_the_document_goes(
    store: FileStore, calls: RecordingCalls
) -> None:
    await store.delete("u:x", "a")
    assert calls.names == [
        *INTENT,
        *grown("u%3Ax/versions/a.jsonl"),
        "remove u%3Ax/documents/a.md",
        "sync folder u%3Ax/documents",
        *AT_REST,
    ]


async def test_a_rename_removes_its_source_last(store: FileStore, calls: RecordingCalls) -> None:
    await store.rename("u:x", "a", "b")
    assert calls.names == [
        *WRITTEN,
        *INTENT_AND_SYNCED,
        *grown("u%3Ax/versions/a.jsonl"),
        *grown("u%3Ax/versions/b.jsonl"),
        "sync folder u%3Ax/versions",
        "move to u%3Ax/documents/b.md",
        "remove u%3Ax/documents/a.md",
        "sync folder u%3Ax/documents",
        *AT_REST,
    ]


async def test_an_erasure_is_in_the_trail_when_all_is_blank(
    store: FileStore, calls: RecordingCalls
) -> None:
    await store.redact("u:x")
    assert calls.names == [
        *WRITTEN * 3,
        *SYNCED * 3,
        *INTENT,
        "move to u%3Ax/versions/a.jsonl",
        "move to u%3Ax/documents/a.md",
        "move to u%3Ax/redactions.jsonl",
        "sync folder u%3Ax/versions",
        "sync folder u%3Ax/documents",
        "sync folder u%3Ax",
        *AT_REST,
    ]


async def test_an_append_syncs_its_intent_and_its_row(
    store: FileStore, calls: RecordingCalls
) -> None:
    await store.append_turn("c", HELLO)
    assert calls.names == [*INTENT, *grown("conversations/c/turns.jsonl"), *AT_REST]


async def test_an_erasure_of_turns_is_in_the_trail_when_all_is_blank(
    store: FileStore, calls: RecordingCalls
) -> None:
    await store.redact_turns("c")
    assert calls.names == [
        *WRITTEN * 3,
        *SYNCED * 3,
        *INTENT,
        "move to conversations/c/turns.jsonl",
        "move to conversations/c/projections.jsonl",
        "move to conversations/c/redactions.jsonl",
        "sync folder conversations/c",
        *AT_REST,
    ]


async def test_reading_writes_nothing(store: FileStore, calls: RecordingCalls) -> None:
    await store.read("u:x", "a")
    await store.history("u:x")
    await store.search_turns("hello")
    assert calls.names == []
