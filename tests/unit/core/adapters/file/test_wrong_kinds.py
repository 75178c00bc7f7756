"""What no store makes, at every place of a root: refused by name, and in nobody else's way."""

import asyncio
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.file import FileStore
from commonhold.adapters.file.calls import SystemCalls
from commonhold.adapters.file.intents import Growth, Intent, Move
from commonhold.adapters.file.journal import Journal
from commonhold.adapters.file.tree import Tree
from commonhold.contract import (
    ConversationArchive,
    ConversationRedaction,
    ConversationTurn,
    MemoryDocument,
    MemoryRedaction,
    ScopeArchive,
)
from commonhold.contract.documents import version_of
from commonhold.usecases.transfers.transfers import transfer
from commonhold.usecases.transfers.units import Unit
from tests.support.file_trees import read_tree
from tests.support.misplaced import (
    CONVERSATION,
    ENTRY,
    FILES,
    FOLDERS,
    HELLO,
    KINDS,
    LOCK,
    SCOPE,
    Call,
    copy_for_nobody,
    filled_root,
    give_to_nobody,
    nobody,
    planted,
    put_back,
    told_by,
)
from tests.support.roots import temporary_root

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def document(path: str) -> MemoryDocument:
    return MemoryDocument(
        scope="u:x", path=path, content="x", version=1, created_at=NOON, updated_at=NOON, actor=None
    )


MEMORY: Mapping[str, Call] = {
    "write": lambda store: store.write("u:x", "n/a", "x"),
    "delete": lambda store: store.delete("u:x", "n/a"),
    "rename away": lambda store: store.rename("u:x", "n/a", "m/z"),
    "rename here": lambda store: store.rename("u:x", "m/b", "n/new"),
    "create_if_absent": lambda store: store.create_if_absent("u:x", "n/new", "x"),
    "delete_if": lambda store: store.delete_if("u:x", "n/a", expected_version=2),
    "rename_if": lambda store: store.rename_if("u:x", "n/a", "m/z", expected_version=2),
    "redact": lambda store: store.redact("u:x", path="n/a"),
    "redact_if": lambda store: store.redact_if("u:x", "n/a", expected_version=2),
    "redact the scope": lambda store: store.redact("u:x"),
}
TURNS: Mapping[str, Call] = {
    "append_turn": lambda store: store.append_turn("c", HELLO),
    "append_projections": lambda store: store.append_projections("c", [ENTRY]),
    "redact_turns": lambda store: store.redact_turns("c"),
}
RESTORES: Mapping[str, Call] = {
    SCOPE: lambda store: store.restore_scope(
        ScopeArchive(
            scope="u:x",
            documents=(document("n/a"),),
            versions=(version_of(document("n/a"), action="created"),),
            redactions=(MemoryRedaction(path="n/b", actor=None, created_at=NOON, count=1),),
        )
    ),
    CONVERSATION: lambda store: store.restore_conversation(
        ConversationArchive(
            conversation_id="c",
            turns=(ConversationTurn(conversation_id="c", turn=1, messages=HELLO, created_at=NOON),),
            projections=(ENTRY,),
            redactions=(
                ConversationRedaction(conversation_id="c", turns=(9,), actor=None, created_at=NOON),
            ),
        )
    ),
}
PLACES = [
    *((place, kind) for place in FILES for kind in KINDS if kind != "file"),
    *((place, kind) for place in FOLDERS for kind in ("file", "pipe", "link in a loop")),
]
# Files that are kept from everybody, and from being written.
CLOSED = [(place, mode) for place in (*FILES, *FOLDERS) for mode in (0o000, 0o555)]
IS_ROOT = os.geteuid() == 0
# What has no document to change is said to have none.
ABSENT = re.compile("not found|document_absent")


def each(places: Iterable[tuple[str, str]]) -> list[Any]:
    """Places and kinds, one test each."""
    device = (pytest.mark.root("makes a device"),)
    return [pytest.param(*one, marks=device if "device" in one else ()) for one in places]


@pytest.fixture(scope="module")
def filled() -> Iterator[Path]:
    with filled_root() as root:
        yield root


def writes_at(place: str) -> Mapping[str, Call]:
    if place == LOCK:
        return {**MEMORY, **TURNS}
    return MEMORY if SCOPE in place else TURNS


async def assert_others_go_on(root: Path, store: FileStore, place: str) -> None:
    if place != LOCK:
        assert (await store.write("u:y", "a", "x")).version == 1
        shutil.rmtree(root / "u%3Ay")
    if place not in (LOCK, "conversations"):
        assert (await store.append_turn("d", HELLO)).turn == 1
        shutil.rmtree(root / "conversations/d")


@pytest.mark.parametrize(("place", "kind"), each(PLACES))
async def test_a_write_is_refused_by_name_or_made_beside_it(
    filled: Path, place: str, kind: str
) -> None:
    intact = read_tree(filled)
    for name, write in writes_at(place).items():
        with planted(filled, place, kind) as root:
            before = read_tree(root)
            mode = os.lstat(root / place).st_mode
            async with asyncio.timeout(30), FileStore(root) as store:
                told = await told_by(store, write)
                assert os.lstat(root / place).st_mode == mode, name
                if told is not None:
                    assert place in told or ABSENT.search(told), name
                    assert read_tree(root) == before, name
                await assert_others_go_on(root, store, place)
                if told is not None:
                    put_back(root, place)
                    assert read_tree(root) == intact, name
                    await write(store)
            assert (root / LOCK).read_bytes() == b"\x00", name


@pytest.mark.parametrize(("place", "mode"), CLOSED)
async def test_a_write_is_refused_by_the_name_of_what_is_closed_to_it(
    filled: Path, place: str, mode: int
) -> None:
    intact = read_tree(filled)
    for name, write in writes_at(place).items():
        with copy_for_nobody(filled) as root:
            was = (root / place).stat().st_mode
            if IS_ROOT:
                os.chown(root / place, 0, 0)
            (root / place).chmod(mode)
            async with asyncio.timeout(30), FileStore(root) as store:
                with nobody():
                    told = await told_by(store, write)
                    await assert_others_go_on(root, store, place)
                if told is not None:
                    assert place in told, name
                    give_to_nobody(root / place)
                    (root / place).chmod(was)
                    assert read_tree(root) == intact, name
                    with nobody():
                        await write(store)
            assert (root / LOCK).read_bytes() == b"\x00", name


@pytest.mark.parametrize(("place", "kind"), each(one for one in PLACES if one[0] != LOCK))
async def test_a_restore_is_refused_by_name_and_lands_nothing(place: str, kind: str) -> None:
    unit = SCOPE if SCOPE in place else CONVERSATION
    with temporary_root() as root:
        (root / place).parent.mkdir(parents=True)
        KINDS[kind](root / place)
        before = read_tree(root)
        async with asyncio.timeout(30), FileStore(root) as store:
            told = await told_by(store, RESTORES[unit])
            assert told is not None
            assert place in told
            assert read_tree(root) == {**before, LOCK: b"\x00"}
            await assert_others_go_on(root, store, place)


@pytest.mark.parametrize(
    ("place", "kind"), each(one for one in PLACES if one[0] not in (LOCK, "conversations"))
)
async def test_a_transfer_moves_the_units_beside_it(filled: Path, place: str, kind: str) -> None:
    spoiled = Unit("scope", "u:x") if SCOPE in place else Unit("conversation", "c")
    with planted(filled, place, kind) as root, temporary_root() as moved_to:
        async with (
            asyncio.timeout(30),
            FileStore(root) as source,
            FileStore(moved_to) as target,
        ):
            await source.write("u:z", "a", "x")
            await source.append_turn("e", HELLO)
            report = await transfer(source, target)
    moved = {one.unit.name for one in report.units if one.error is None and not one.is_empty}
    assert moved >= {"u:x", "u:z", "c", "e"} - {spoiled.name}
    for failed in report.failed:
        assert failed.unit == spoiled
        assert place in str(failed.error)
    if place in FILES and kind.startswith("link"):
        assert report.failed


DOCUMENT = f"{SCOPE}/documents/n/a.md"
HISTORY = f"{SCOPE}/versions/n/a.jsonl"
FINISHED = f"{SCOPE}/documents/n/.neosian-tmp-0"


def die_before_the_end(root: Path) -> None:
    """Leave what a process leaves that ended between the row of a write and its document."""
    (root / FINISHED).write_text("the new document")
    size = (root / HISTORY).stat().st_size
    row = b'{"neosian_format":1}\n'
    with (root / HISTORY).open("ab") as history:
        history.write(row)
    lock = os.open(root / LOCK, os.O_RDWR)
    Journal(lock, Tree(str(root)), SystemCalls()).record(
        Intent(
            growths=(Growth(HISTORY, size, len(row), zlib.crc32(row)),),
            moves=(Move(FINISHED, DOCUMENT),),
        )
    )
    os.close(lock)


@pytest.mark.parametrize(
    ("place", "kind"),
    each(
        (place, kind)
        for place in (DOCUMENT, HISTORY, f"{SCOPE}/documents/n", f"{SCOPE}/versions")
        for kind in KINDS
        if kind != "file"
    ),
)
async def test_what_was_put_in_the_way_of_a_recovery_keeps_nobody_from_the_root(
    filled: Path, place: str, kind: str
) -> None:
    with temporary_root() as root:
        shutil.copytree(filled, root)
        die_before_the_end(root)
        (root / place).rename(root.with_name("aside"))
        KINDS[kind](root / place)
        async with asyncio.timeout(30), FileStore(root) as store:
            with capture_logs() as logs:
                await assert_others_go_on(root, store, place)
            assert logs[0]["event"] in ("change_recovered", "change_given_up")
            assert (root / LOCK).read_bytes() == b"\x00"
            read = await store.read_turns("c")
            assert [turn.redacted for turn in read] == [False, True]
