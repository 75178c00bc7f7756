"""One hold of the lock: what is seen once is not looked at again, until something changes it."""

import os
import zlib
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from commonhold.adapters.file import FileStore
from commonhold.adapters.file.calls import SystemCalls
from commonhold.adapters.file.intents import Growth, Intent
from commonhold.adapters.file.journal import Journal
from commonhold.adapters.file.tree import Tree

HISTORY = "u%3Ax/versions/a.jsonl"
FOLDER = "u%3Ax/documents"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
async def store(root: Path) -> AsyncIterator[FileStore]:
    async with FileStore(root) as store:
        await store.write("u:x", "a", "one")
        yield store


def die_in_the_middle_of_a_row(root: Path) -> None:
    """Leave what a process leaves that ended between the halves of a line."""
    history = root / HISTORY
    whole = b'{"neosian_format":1,"path":"a"}\n'
    before = history.stat().st_size
    lock = os.open(root / ".store.lock", os.O_RDWR)
    journal = Journal(lock, Tree(str(root)), SystemCalls())
    journal.record(Intent(growths=(Growth(HISTORY, before, len(whole), zlib.crc32(whole)),)))
    os.close(lock)
    history.write_bytes(history.read_bytes() + whole[:10])


async def test_a_row_follows_what_recovery_in_the_same_hold_has_cut_off(
    store: FileStore, root: Path
) -> None:
    die_in_the_middle_of_a_row(root)
    await store.write("u:x", "a", "two")
    history = await store.history("u:x")
    assert [row.content for row in history] == ["two", "one"]
    assert b"\x00" not in (root / HISTORY).read_bytes()


async def test_an_overwrite_looks_at_no_name_twice_before_it_is_made(
    store: FileStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: Counter[str] = Counter()
    lstat = os.lstat

    def counting(path: str) -> os.stat_result:
        looked[os.path.relpath(path, root)] += 1
        return lstat(path)

    monkeypatch.setattr(os, "lstat", counting)
    await store.write("u:x", "a", "two")
    # Once more when it is made, for the next call to know the file by.
    assert looked.pop(HISTORY) == 2
    assert set(looked.values()) == {1}


async def test_names_of_temporary_files_that_others_hold_are_passed_over(
    store: FileStore, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("not ours")
    (root / FOLDER / ".neosian-tmp-0~").symlink_to(outside)
    (root / FOLDER / ".neosian-tmp-1~").mkdir()
    (root / FOLDER / ".neosian-tmp-2~").write_text(
        "a leftover that is longer than the document" * 9
    )
    await store.write("u:x", "a", "two")
    document = await store.read("u:x", "a")
    assert document is not None
    assert document.content == "two"
    assert outside.read_text() == "not ours"
    left = sorted(file.name for file in (root / FOLDER).iterdir())
    assert left == [".neosian-tmp-0~", ".neosian-tmp-1~", "a.md"]
