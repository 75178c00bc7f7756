"""Paths whose folders are named as temporary files begin: in no draft's way, and none in theirs."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import pytest

from commonhold.adapters.file import FileStore
from commonhold.contract import MemoryConflictError, MemoryDocument, ScopeArchive
from commonhold.contract.documents import version_of
from tests.support.file_trees import write_tree

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TREES = ("u%3Ax/documents", "u%3Ax/versions")
# Beside the drafts of `a`, and of each other, as whatever number they get.
PATHS = (
    "a",
    *(f".neosian-tmp-{number}/x" for number in range(4)),
    ".neosian-tmp-0/n/.neosian-tmp-0/x",
)
Act: TypeAlias = Callable[[FileStore], Awaitable[object]]


def documents() -> list[MemoryDocument]:
    return [
        MemoryDocument(
            scope="u:x",
            path=path,
            content=path,
            version=1,
            created_at=MOMENT,
            updated_at=MOMENT,
            actor=None,
        )
        for path in PATHS
    ]


async def restore(store: FileStore) -> None:
    made = documents()
    rows = tuple(version_of(document, action="created") for document in made)
    await store.restore_scope(ScopeArchive(scope="u:x", documents=tuple(made), versions=rows))


async def write(store: FileStore) -> None:
    for path in PATHS:
        await store.write("u:x", path, path)


async def rename(store: FileStore) -> None:
    for path in PATHS:
        await store.write("u:x", "b", path)
        await store.rename("u:x", "b", path)


ACTS: Mapping[str, Act] = {"restore": restore, "write": write, "rename": rename}
# What may be there before: of an older release of ours, or of another program.
LEFTOVERS = ("", ".neosian-tmp-0", ".neosian-tmp-0/n/.neosian-tmp-0", ".neosian-tmp-2~")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FileStore]:
    async with FileStore(tmp_path / "root") as store:
        yield store


@pytest.mark.parametrize("leftover", LEFTOVERS)
@pytest.mark.parametrize("act", ACTS)
async def test_a_folder_named_like_a_draft_holds_documents(
    store: FileStore, tmp_path: Path, act: str, leftover: str
) -> None:
    if leftover:
        write_tree(tmp_path / "root", {f"{tree}/{leftover}": "left" for tree in TREES})
    await ACTS[act](store)
    entries = await store.list_documents("u:x")
    assert [entry.path for entry in entries] == sorted(PATHS)
    for path in PATHS:
        document = await store.read("u:x", path)
        assert document is not None
        assert document.content == path
        assert len(await store.versions("u:x", path)) == 1
    assert await store.redact("u:x") == len(PATHS) + (act == "rename")
    names = {file.name for file in (tmp_path / "root").rglob("*") if file.is_file()}
    assert names == {"a.md", "a.jsonl", "x.md", "x.jsonl", "redactions.jsonl", ".store.lock"} | (
        {"b.jsonl"} if act == "rename" else set()
    )


async def test_a_file_of_somebody_else_gives_its_name_to_no_folder(
    store: FileStore, tmp_path: Path
) -> None:
    theirs = tmp_path / "root/u%3Ax/documents/tmp-0"
    write_tree(tmp_path / "root", {"u%3Ax/documents/tmp-0": "theirs"})
    with pytest.raises(MemoryConflictError, match="layout_clash"):
        await store.write("u:x", "tmp-0/x", "x")
    assert theirs.read_text() == "theirs"
