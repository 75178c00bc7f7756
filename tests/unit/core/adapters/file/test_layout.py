"""The files of a root to the byte: what is written, and roots by hand that are read."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commonhold.adapters.file import FileStore
from commonhold.conformance import ControlledClock
from commonhold.contract import (
    ConversationArchive,
    ConversationProjection,
    ImageBlock,
    MemoryConflictError,
    MemoryDocument,
    Message,
    ScopeArchive,
    TextBlock,
    ToolCall,
)
from tests.support.file_trees import modes, read_tree, write_tree

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
STEP = timedelta(seconds=1, microseconds=500_000)

WRITTEN = {
    ".store.lock": b"\x00",
    "conversations/chat-1/projections.jsonl": (
        b'{"neosian_format":1,"turn":1,"span":1,"kind":"log","text":""}\n'
        b'{"neosian_format":1,"turn":2,"span":1,"kind":"digest","text":"t\\u00e9"}\n'
    ),
    "conversations/chat-1/redactions.jsonl": (
        b'{"neosian_format":1,"created_at":"2026-01-02T03:04:17Z","actor":"op","turns":[1]}\n'
    ),
    "conversations/chat-1/turns.jsonl": (
        b'{"neosian_format":1,"turn":1,"created_at":"2026-01-02T03:04:14Z","messages":[],'
        b'"actor":"w","redacted":true}\n'
        b'{"neosian_format":1,"turn":2,"created_at":"2026-01-02T03:04:15.500000Z","messages":'
        b'[{"role":"user","content":[{"type":"text","text":"t"},{"type":"image","media_type":null,'
        b'"data":null,"url":"u"}],"reasoning":null,"tool_calls":[],"tool_call_id":null},'
        b'{"role":"assistant","content":null,"reasoning":"\\u00e9","tool_calls":[{"id":"1",'
        b'"name":"f","arguments":{"z":1e+22,"a":[-0.0,null]}}],"tool_call_id":null}],"actor":null}\n'
    ),
    "user%3Aada/documents/moved.md": (
        b"---\nneosian_format: 1\nversion: 1\ncreated_at: '2026-01-02T03:04:11Z'\n"
        b"updated_at: '2026-01-02T03:04:11Z'\n---\n---\r\nnot a fence"
    ),
    "user%3Aada/documents/notes/api.md": (
        b"---\nneosian_format: 1\nversion: 2\ncreated_at: '2026-01-02T03:04:05Z'\n"
        b"updated_at: '2026-01-02T03:04:06.500000Z'\nactor: client:default/me\n"
        b"redacted: true\n---\n"
    ),
    "user%3Aada/proj%3Aerp/documents/a.md": (
        b"---\nneosian_format: 1\nversion: 1\ncreated_at: '2026-01-02T03:04:09.500000Z'\n"
        b"updated_at: '2026-01-02T03:04:09.500000Z'\nactor: 'yes'\n---\n"
    ),
    "user%3Aada/proj%3Aerp/versions/a.jsonl": (
        b'{"neosian_format":1,"path":"a","version":1,"action":"created","content":"",'
        b'"actor":"yes","created_at":"2026-01-02T03:04:09.500000Z","redacted":false}\n'
    ),
    "user%3Aada/redactions.jsonl": (
        b'{"ts":"2026-01-02T03:04:12.500000Z","actor":null,"path":"notes/api","count":1}\n'
    ),
    "user%3Aada/versions/moved.jsonl": (
        b'{"neosian_format":1,"path":"moved","version":1,"action":"created",'
        b'"content":"---\\r\\nnot a fence","actor":null,"created_at":"2026-01-02T03:04:11Z",'
        b'"redacted":false}\n'
    ),
    "user%3Aada/versions/notes/api.jsonl": (
        b'{"neosian_format":1,"path":"notes/api","version":1,"action":"created","content":"",'
        b'"actor":"client:default/me","created_at":"2026-01-02T03:04:05Z","redacted":true}\n'
        b'{"neosian_format":1,"path":"notes/api","version":2,"action":"modified","content":"",'
        b'"actor":"client:default/me","created_at":"2026-01-02T03:04:06.500000Z","redacted":true}\n'
    ),
    "user%3Aada/versions/old.jsonl": (
        b'{"neosian_format":1,"path":"old","version":1,"action":"created",'
        b'"content":"---\\r\\nnot a fence","actor":"\xc2\xb7","created_at":"2026-01-02T03:04:08Z",'
        b'"redacted":false}\n'.replace(b"\xc2\xb7", b"\\u00b7")
        + b'{"neosian_format":1,"path":"old","version":2,"action":"deleted",'
        b'"content":"---\\r\\nnot a fence","actor":null,"created_at":"2026-01-02T03:04:11Z",'
        b'"redacted":false}\n'
    ),
}


@pytest.fixture
def clock() -> ControlledClock:
    return ControlledClock(START, step=STEP)


@pytest.fixture
async def store(tmp_path: Path, clock: ControlledClock) -> AsyncIterator[FileStore]:
    async with FileStore(tmp_path / "root", clock=clock) as store:
        yield store


async def test_what_is_written_is_the_layout_to_the_byte(store: FileStore, tmp_path: Path) -> None:
    await store.write("user:ada", "notes/api", "caf\u00e9\n", actor="client:default/me")
    await store.write("user:ada", "notes/api", "x", actor="client:default/me")
    await store.write("user:ada", "old", "---\r\nnot a fence", actor="\u00b7")
    await store.write("user:ada/proj:erp", "a", "", actor="yes")
    await store.rename("user:ada", "old", "moved")
    await store.redact("user:ada", path="notes/api")
    await store.append_turn("chat-1", [Message(role="user", content="gone")], actor="w")
    arguments = {"z": 1e22, "a": [-0.0, None]}
    await store.append_turn(
        "chat-1",
        [
            Message(role="user", content=(TextBlock(text="t"), ImageBlock(url="u"))),
            Message(
                role="assistant",
                reasoning="\u00e9",
                tool_calls=(ToolCall(id="1", name="f", arguments=arguments),),
            ),
        ],
    )
    entries = [
        ConversationProjection(turn=1, kind="log", text="one"),
        ConversationProjection(turn=2, kind="digest", text="t\u00e9"),
    ]
    await store.append_projections("chat-1", entries)
    await store.redact_turns("chat-1", turns=[1], actor="op")
    root = tmp_path / "root"
    assert read_tree(root) == WRITTEN
    assert modes(root) == {("folder", 0o700), ("file", 0o600)}


async def test_a_root_of_another_program_goes_on_here(store: FileStore, tmp_path: Path) -> None:
    write_tree(tmp_path / "root", WRITTEN)
    assert await store.scopes() == ("user:ada", "user:ada/proj:erp")
    assert await store.conversations() == ("chat-1",)
    moved = await store.read("user:ada", "moved")
    assert moved is not None
    assert (moved.content, moved.version) == ("---\r\nnot a fence", 1)
    assert [entry.path for entry in await store.list_documents("user:ada")] == [
        "moved",
        "notes/api",
    ]
    assert (await store.write("user:ada", "old", "new")).version == 3
    assert (await store.append_turn("chat-1", [Message(role="user", content="x")])).turn == 3


async def test_an_archive_of_a_root_is_that_root(store: FileStore, tmp_path: Path) -> None:
    source = FileStore(tmp_path / "source")
    write_tree(tmp_path / "source", WRITTEN)
    for scope in await source.scopes():
        listed = [await source.read(scope, one.path) for one in await source.list_documents(scope)]
        history = await source.history(scope)
        archive = ScopeArchive(
            scope=scope,
            documents=tuple(one for one in listed if one is not None),
            versions=tuple(sorted(history, key=lambda row: (row.path, row.version))),
            redactions=(await source.redactions(scope))[::-1],
        )
        await store.restore_scope(archive)
    archive_of_turns = ConversationArchive(
        conversation_id="chat-1",
        turns=await source.read_turns("chat-1"),
        projections=await source.read_projections("chat-1"),
        redactions=(await source.turn_redactions())[::-1],
    )
    await store.restore_conversation(archive_of_turns)
    await source.close()
    assert read_tree(tmp_path / "root") == WRITTEN


async def test_entries_are_exported_as_they_are_read(store: FileStore, tmp_path: Path) -> None:
    for turn, span, text in ((2, 1, "b"), (2, 2, "late"), (1, 1, "a"), (2, 1, "c")):
        entry = ConversationProjection(turn=turn, span=span, kind="log", text=text)
        await store.append_projections("c", [entry])
    async with FileStore(tmp_path / "copy") as copy:
        await copy.restore_conversation(await store.archive_conversation("c"))
    name = "conversations/c/projections.jsonl"
    came, went = (read_tree(tmp_path / root)[name].splitlines() for root in ("root", "copy"))
    assert went == [came[2], came[0], came[3], came[1]]


BY_HAND = (
    "---\nneosian_format: 1\nversion: 7\ncreated_at: 2026-01-02 05:04:05+02:00\n"
    "updated_at: '2026-01-02T03:04:06Z'\nactor: client:default/me\ndue: 2026-03-04\n"
    "at: 2026-03-04 05:06:07Z\nn: 'yes'\nm: 1e3\nflag: yes\nlist:\n- 1\n- {a: 1.5}\n---\nhello\r\n"
)


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
async def test_a_document_by_hand_is_read(store: FileStore, tmp_path: Path, newline: str) -> None:
    header, content = BY_HAND.removesuffix("hello\r\n"), "hello\r\n"
    text = header.replace("\n", newline) + content
    write_tree(tmp_path / "root", {"u%3Ax/documents/a.md": text})
    assert await store.read("u:x", "a") == MemoryDocument(
        scope="u:x",
        path="a",
        content="hello\r\n",
        version=7,
        created_at=START,
        updated_at=START + timedelta(seconds=1),
        actor="client:default/me",
        extra={
            "due": "2026-03-04",
            "at": "2026-03-04T05:06:07+00:00",
            "n": "yes",
            "m": "1e3",
            "flag": True,
            "list": [1, {"a": 1.5}],
        },
    )
    assert (await store.write("u:x", "a", "next")).version == 8
    kept = (tmp_path / "root/u%3Ax/documents/a.md").read_text()
    assert kept.endswith(
        "---\ndue: 2026-03-04\nat: 2026-03-04 05:06:07+00:00\nn: 'yes'\nm: 1e3\nflag: true\n"
        "list:\n- 1\n- a: 1.5\n---\nnext".removeprefix("---\n")
    )


async def test_foreign_entries_are_ignored(store: FileStore, tmp_path: Path) -> None:
    root = tmp_path / "root"
    write_tree(root, WRITTEN)
    write_tree(
        root,
        {
            "README": "not ours",
            "notes/documents/a.md": "no scope",
            "User%3Aada/documents/a.md": "a bad type",
            "user%3aada/documents/a.md": "another escape",
            "user%3Aada/documents/a b.md": "a bad name",
            "user%3Aada/documents/picture.png": b"\x89",
            "user%3Aada/documents/.neosian-tmp-0": "a leftover",
            "user%3Aada/versions/old.jsonl.bak": "a copy",
            "conversations/a b/turns.jsonl": "a bad id",
            "conversations/empty/notes.txt": "no rows",
        },
    )
    assert await store.scopes() == ("user:ada", "user:ada/proj:erp")
    assert await store.conversations() == ("chat-1",)
    assert len(await store.list_documents("user:ada")) == 2
    assert len(await store.history("user:ada")) == 5


@pytest.mark.parametrize(
    ("first", "second"), [("a", "a.md/b"), ("a.md/b", "a"), ("a", "a.jsonl/b"), ("a.jsonl/b", "a")]
)
async def test_a_path_that_no_directory_holds_is_a_clash(
    store: FileStore, tmp_path: Path, first: str, second: str
) -> None:
    await store.write("u:x", first, "one")
    await store.write("u:x", "c", "moves")
    before = read_tree(tmp_path / "root")
    acts: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: store.write("u:x", second, "two"),
        lambda: store.create_if_absent("u:x", second, "two"),
        lambda: store.rename("u:x", "c", second),
    )
    for act in acts:
        with pytest.raises(MemoryConflictError) as refusal:
            await act()
        assert (refusal.value.reason, refusal.value.path) == ("layout_clash", second)
    assert read_tree(tmp_path / "root") == before
    assert await store.read("u:x", second) is None
    assert await store.redact("u:x", path=second) == 0
    listed = [entry.path for entry in await store.list_documents("u:x")]
    assert listed == sorted([first, "c"])


@pytest.mark.parametrize("gone", ["a.md/b", "a.md/b.md/c"])
async def test_a_document_that_is_gone_is_in_no_others_way(
    store: FileStore, tmp_path: Path, gone: str
) -> None:
    await store.write("u:x", gone, "one")
    await store.delete("u:x", gone)
    assert (await store.write("u:x", "a", "two")).version == 1
    assert [row.action for row in await store.versions("u:x", gone)] == ["deleted", "created"]
    with pytest.raises(MemoryConflictError, match="layout_clash"):
        await store.write("u:x", gone, "again")
    async with FileStore(tmp_path / "copy") as copy:
        await copy.restore_scope(await store.archive_scope("u:x"))
        assert await copy.archive_scope("u:x") == await store.archive_scope("u:x")


async def test_a_folder_with_a_file_of_somebody_else_is_left(
    store: FileStore, tmp_path: Path
) -> None:
    write_tree(tmp_path / "root", {"u%3Ax/documents/a.md/kept/notes.txt": "mine"})
    with pytest.raises(MemoryConflictError, match="layout_clash"):
        await store.write("u:x", "a", "one")
    assert read_tree(tmp_path / "root")["u%3Ax/documents/a.md/kept/notes.txt"] == b"mine"


async def test_a_clash_inside_an_archive_lands_nothing(store: FileStore, tmp_path: Path) -> None:
    document = MemoryDocument(
        scope="u:x", path="a", content="x", version=1, created_at=START, updated_at=START
    )
    clash = MemoryDocument(
        scope="u:x", path="a.md/b", content="x", version=1, created_at=START, updated_at=START
    )
    with pytest.raises(MemoryConflictError) as refusal:
        await store.restore_scope(ScopeArchive(scope="u:x", documents=(document, clash)))
    assert (refusal.value.reason, refusal.value.path) == ("layout_clash", "a.md/b")
    assert read_tree(tmp_path / "root") == {".store.lock": b"\x00"}


async def test_no_row_of_a_history_names_another_path(store: FileStore, tmp_path: Path) -> None:
    for content in ("one", "two", "three"):
        await store.write("u:x", "notes", content)
    history = tmp_path / "root/u%3Ax/versions/notes.jsonl"
    first, second, third = history.read_text().splitlines(keepends=True)
    history.write_text(first + second.replace('"notes"', '"Notes"') + third)
    for call in (
        lambda: store.write("u:x", "notes", "four"),
        lambda: store.history_page("u:x", limit=1),
        lambda: store.archive_scope("u:x"),
    ):
        with pytest.raises(MemoryConflictError, match="case_collision"):
            await call()


async def test_a_history_of_another_spelling_is_a_collision(
    store: FileStore, tmp_path: Path
) -> None:
    await store.write("u:x", "Notes", "one")
    versions = tmp_path / "root/u%3Ax/versions"
    (versions / "Notes.jsonl").rename(versions / "notes.jsonl")
    for call in (
        lambda: store.write("u:x", "notes", "two"),
        lambda: store.versions("u:x", "notes"),
        lambda: store.history("u:x"),
    ):
        with pytest.raises(MemoryConflictError) as refusal:
            await call()
        assert (refusal.value.reason, refusal.value.path) == ("case_collision", "notes")


@pytest.mark.parametrize("name", ["version", "neosian_format", "redacted"])
async def test_extra_that_would_overwrite_the_envelope_is_refused(
    store: FileStore, tmp_path: Path, name: str
) -> None:
    document = MemoryDocument(
        scope="u:x",
        path="a",
        content="x",
        version=1,
        created_at=START,
        updated_at=START,
        extra={name: 9},
    )
    with pytest.raises(ValueError, match=f"reserved key '{name}'"):
        await store.restore_scope(ScopeArchive(scope="u:x", documents=(document,)))
    assert not (tmp_path / "root").exists()
