"""What the next call makes of a dead change, when files have gone on without it."""

import json
import os
import zlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.file import FileStore
from commonhold.adapters.file.calls import SystemCalls
from commonhold.adapters.file.intents import Growth
from commonhold.contract import PathInvalidError
from tests.support.file_kills import EndedError
from tests.support.file_trees import read_tree, write_tree

LOCK = ".store.lock"
DOCUMENTS = "u%3Ax/documents"
LATIN = os.fsdecode(b"caf\xe9")
LONG = "ours, and longer than what they write " * 9


class EndingCalls(SystemCalls):
    """Comes to an end before one kind of call, and leaves behind what a dead process leaves."""

    def __init__(self) -> None:
        self.end_at = ""
        self.has_ended = False

    def reach(self, call: str) -> None:
        if call == self.end_at:
            self.has_ended = True
            raise EndedError

    def open_to_grow(self, path: str) -> int:
        self.reach("grow")
        return super().open_to_grow(path)

    def move(self, source: str, target: str) -> None:
        self.reach("move")
        super().move(source, target)

    def remove(self, path: str) -> None:
        if not self.has_ended:
            self.reach("remove")
            super().remove(path)


class PowerCut(EndingCalls):
    """A disk that loses what was not synced: the lock file has its older intent again."""

    def __init__(self) -> None:
        super().__init__()
        self._older = b""

    def truncate(self, fd: int, *, length: int) -> None:
        self._older = os.pread(fd, os.fstat(fd).st_size, 0)
        super().truncate(fd, length=length)

    def write(self, fd: int, data: bytes, *, offset: int) -> int:
        if self.end_at == "intent" and offset == 1:
            os.pwrite(fd, self._older, 0)
            self.reach("intent")
        return super().write(fd, data, offset=offset)


def write_elsewhere(root: Path, path: str, *, version: int) -> None:
    """A write by a program that keeps to the layout and knows of no intents."""
    row = {
        "neosian_format": 1,
        "path": path,
        "version": version,
        "action": "created" if version == 1 else "modified",
        "content": "theirs",
        "actor": None,
        "created_at": "2030-01-02T03:04:05Z",
        "redacted": False,
    }
    with (root / f"u%3Ax/versions/{path}.jsonl").open("a") as history:
        history.write(json.dumps(row, separators=(",", ":")) + "\n")
    stamp = "'2030-01-02T03:04:05Z'"
    head = f"neosian_format: 1\nversion: {version}\ncreated_at: {stamp}\nupdated_at: {stamp}\n"
    (root / DOCUMENTS / f"{path}.md").write_text(f"---\n{head}---\ntheirs")


Act: TypeAlias = Callable[[FileStore], Awaitable[object]]

# Where our change of a path ends, and the version that the other program writes then.
DEATHS: Mapping[str, tuple[Act, str, str, int]] = {
    "before its row": (lambda store: store.write("u:x", "a", LONG), "grow", "a", 2),
    "before the row of a new file": (lambda store: store.write("u:x", "b", LONG), "grow", "b", 1),
    "before its move": (lambda store: store.write("u:x", "a", LONG), "move", "a", 3),
    "before its unlink": (lambda store: store.delete("u:x", "a"), "remove", "a", 3),
}


@pytest.mark.parametrize("death", DEATHS)
async def test_what_another_program_wrote_behind_a_dead_change_stays(
    tmp_path: Path, death: str
) -> None:
    act, call, path, version = DEATHS[death]
    root, calls = tmp_path / "root", EndingCalls()
    async with FileStore(root, calls=calls) as store:
        await store.write("u:x", "a", "one")
        calls.end_at = call
        with pytest.raises(EndedError):
            await act(store)
    write_elsewhere(root, path, version=version)
    before = read_tree(root)
    async with FileStore(root) as store:
        with capture_logs() as logs:
            document = await store.read("u:x", path)
        rows = await store.versions("u:x", path)
    assert document is not None
    assert (document.version, document.content) == (version, "theirs")
    assert [row.version for row in rows] == [*range(version, 0, -1)]
    assert {"change_superseded", "change_not_undone"} & {log["event"] for log in logs}
    kept = {name: data for name, data in before.items() if ".neosian-tmp-" not in name}
    assert read_tree(root) == {**kept, LOCK: b"\x00"}


async def test_an_intent_that_came_back_moves_no_draft_of_a_later_change(tmp_path: Path) -> None:
    root, calls = tmp_path / "root", PowerCut()
    async with FileStore(root, calls=calls) as store:
        await store.write("u:x", "b", "text of b")
        await store.write("u:x", "a", "one")
        await store.write("u:x", "a", "two")
        calls.end_at = "intent"
        with pytest.raises(EndedError):
            await store.redact("u:x", path="b")
    assert (root / DOCUMENTS / ".neosian-tmp-0~").exists()
    assert (root / LOCK).stat().st_size > 1
    async with FileStore(root) as store:
        documents = [await store.read("u:x", path) for path in ("a", "b")]
    assert [document and document.content for document in documents] == ["two", "text of b"]
    assert (root / LOCK).read_bytes() == b"\x00"


async def test_an_erasure_of_a_scope_leaves_no_draft_in_any_folder_of_it(tmp_path: Path) -> None:
    root, calls = tmp_path / "root", EndingCalls()
    async with FileStore(root, calls=calls) as store:
        await store.write("u:x", "a", "one")
        calls.end_at = "grow"
        with pytest.raises(EndedError):
            await store.write("u:x", "far/away/b", "of a change that was not begun")
    draft = root / DOCUMENTS / "far/away/.neosian-tmp-0~"
    kept = tmp_path / "elsewhere"
    kept.mkdir()
    (kept / ".neosian-tmp-0").write_text("not ours")
    (root / LOCK).write_bytes(b"\x00")
    (root / DOCUMENTS / "far/link").symlink_to(kept)
    async with FileStore(root) as store:
        with pytest.raises(PathInvalidError):
            await store.redact("u:x")
        (root / DOCUMENTS / "far/link").unlink()
        assert draft.exists()
        assert await store.redact("u:x", path="a") == 1
        assert draft.exists()
        assert await store.redact("u:x") == 1
    assert not draft.exists()
    assert (kept / ".neosian-tmp-0").exists()


ERASURES: Mapping[str, Act] = {
    "scope": lambda store: store.redact("u:x"),
    "path": lambda store: store.redact("u:x", path="n/a"),
    "conversation": lambda store: store.redact_turns("c"),
    "turns": lambda store: store.redact_turns("c", through=1),
}


@pytest.mark.parametrize(
    ("folder", "erasure"),
    [
        ("u%3Ax", "scope"),
        (DOCUMENTS, "scope"),
        (f"{DOCUMENTS}/far/away", "scope"),
        # Of another program, in an encoding of its own.
        pytest.param(f"{DOCUMENTS}/{LATIN}", "scope", id="no UTF-8"),
        ("u%3Ax/versions", "scope"),
        (f"{DOCUMENTS}/n", "path"),
        ("u%3Ax/versions/n", "path"),
        ("conversations/c", "conversation"),
        ("conversations/c", "turns"),
    ],
)
async def test_an_erasure_that_finds_nothing_leaves_no_draft_either(
    tmp_path: Path, folder: str, erasure: str
) -> None:
    root = tmp_path / "root"
    write_tree(root, {f"{folder}/.neosian-tmp-7": "of a first write that was not begun"})
    async with FileStore(root) as store:
        assert await ERASURES[erasure](store) == 0
        assert await store.redactions("u:x") == ()
        assert await store.turn_redactions() == ()
    assert read_tree(root) == {LOCK: b"\x00"}


@pytest.mark.parametrize("erasure", ERASURES)
async def test_an_erasure_of_nothing_changes_nothing(tmp_path: Path, erasure: str) -> None:
    async with FileStore(tmp_path) as store:
        assert await ERASURES[erasure](store) == 0
    assert read_tree(tmp_path) == {LOCK: b"\x00"}


async def test_an_intent_of_an_older_release_is_finished(tmp_path: Path) -> None:
    root = tmp_path / "root"
    async with FileStore(root) as store:
        await store.write("u:x", "a", "one")
        document = root / DOCUMENTS / "a.md"
        (root / DOCUMENTS / ".neosian-tmp-0").write_bytes(document.read_bytes() + b" and two")
        payload = f'[[],[["{DOCUMENTS}/.neosian-tmp-0","{DOCUMENTS}/a.md"]],[]]'.encode()
        (root / LOCK).write_bytes(b"\x00%08x %s" % (zlib.crc32(payload), payload))
        found = await store.read("u:x", "a")
    assert found is not None
    assert found.content == "one and two"


ROWS = b'{"a":1}\n{"b":2}\n{"c":3}\n'
FIRST, SECOND = ROWS[:8], ROWS[:16]
BATCH = Growth("f", 0, len(ROWS), zlib.crc32(ROWS), (zlib.crc32(FIRST), zlib.crc32(SECOND)))


@pytest.mark.parametrize("length", range(len(ROWS) + 1))
def test_a_batch_that_was_cut_off_anywhere_is_known(length: int) -> None:
    assert BATCH.is_torn(ROWS[:length])


@pytest.mark.parametrize(
    "tail",
    [
        b'{"z":9}\n',
        FIRST + b'{"z":9}\n',
        ROWS[:10] + b'{"z":9}\n',
        b'{"z":9}\n' * 3,
        b"\n\n\n\n",
        ROWS + b"{",
    ],
)
def test_rows_of_somebody_else_are_no_part_of_a_batch(tail: bytes) -> None:
    assert not BATCH.is_torn(tail)


def test_a_batch_of_which_a_part_never_reached_the_disk_is_known() -> None:
    assert BATCH.is_torn(bytes(8) + ROWS[8:])
