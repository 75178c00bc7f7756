"""An erasure or a restore that died, over files that another program changed meanwhile.

It has no rows by which to tell, so its intent says what was there: what is not as it was stays.
"""

import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.file import FileStore
from commonhold.adapters.file.calls import SystemCalls
from commonhold.adapters.file.layout import is_temporary
from commonhold.contract import Message
from tests.support.file_kills import EndedError
from tests.support.file_trees import read_tree, write_tree
from tests.support.roots import temporary_root

LOCK = ".store.lock"
SECRET = "the text that is erased"
SPOKEN = [Message(role="user", content=SECRET)]
Act: TypeAlias = Callable[[FileStore], Awaitable[object]]


class DyingCalls(SystemCalls):
    """Comes to its end before one of its moves, and does nothing more."""

    def __init__(self) -> None:
        self.moves_left = -1

    def move(self, source: str, target: str) -> None:
        if self.moves_left == 0:
            raise EndedError
        self.moves_left -= 1
        super().move(source, target)

    def remove(self, path: str) -> None:
        if self.moves_left != 0:
            super().remove(path)


async def fill(store: FileStore) -> None:
    for path in ("a", "b"):
        await store.write("u:x", path, SECRET)
    await store.append_turn("c", SPOKEN)
    await store.append_turn("c", SPOKEN)


# An erasure, how many moves it takes, and what another program may do before the next of ours.
ERASURES: Mapping[str, tuple[Act, int]] = {
    "a path": (lambda store: store.redact("u:x", path="a"), 3),
    "a scope": (lambda store: store.redact("u:x"), 5),
    "turns": (lambda store: store.redact_turns("c", turns=[1]), 2),
}
MEANWHILE: Mapping[str, Act] = {
    "write a": lambda store: store.write("u:x", "a", "theirs"),
    "write b": lambda store: store.write("u:x", "b", "theirs"),
    "delete a": lambda store: store.delete("u:x", "a"),
    "rename a": lambda store: store.rename("u:x", "a", "z"),
    "erase b": lambda store: store.redact("u:x", path="b"),
    "append": lambda store: store.append_turn("c", [Message(role="user", content="theirs")]),
    "erase turn 2": lambda store: store.redact_turns("c", turns=[2]),
    "nothing": lambda store: store.scopes(),
}
CASES = [
    (erasure, moves, meanwhile)
    for erasure, (_, total) in ERASURES.items()
    for moves in range(total)
    for meanwhile in MEANWHILE
]


async def die(root: Path, act: Act, *, moves: int) -> None:
    calls = DyingCalls()
    async with FileStore(root, calls=calls) as store:
        calls.moves_left = moves
        with pytest.raises(EndedError):
            await act(store)
    assert (root / LOCK).stat().st_size > 1


async def act_elsewhere(root: Path, act: Act) -> dict[str, bytes | None]:
    """What a program that knows of no intents makes of the root: the files that it changed."""
    other = root.with_name("other")
    shutil.copytree(root, other)
    (other / LOCK).write_bytes(b"\x00")
    before = read_tree(other)
    async with FileStore(other) as store:
        await act(store)
    after = read_tree(other)
    changed = {
        name: after.get(name)
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name) and not is_temporary(Path(name).name)
    }
    for name, data in changed.items():
        if data is None:
            (root / name).unlink()
        else:
            write_tree(root, {name: data})
    return changed


def drafts(root: Path) -> list[str]:
    return [name for name in read_tree(root) if is_temporary(Path(name).name)]


@pytest.fixture
def root() -> Iterator[Path]:
    with temporary_root() as root:
        yield root


@pytest.mark.parametrize(("erasure", "moves", "meanwhile"), CASES)
async def test_an_erasure_that_died_takes_nothing_back_that_was_written_since(
    root: Path, erasure: str, moves: int, meanwhile: str
) -> None:
    act, _ = ERASURES[erasure]
    async with FileStore(root) as store:
        await fill(store)
    await die(root, act, moves=moves)
    theirs = await act_elsewhere(root, MEANWHILE[meanwhile])
    async with FileStore(root) as store:
        with capture_logs() as logs:
            await store.scopes()
        found = read_tree(root)
        assert {name: found.get(name) for name in theirs} == theirs
        assert (found[LOCK], drafts(root)) == (b"\x00", [])
        ours = {"a path": "a", "a scope": None, "turns": (1,)}[erasure]
        acts = {
            *(one.path for one in await store.redactions("u:x")),
            *(one.turns for one in await store.turn_redactions()),
        }
        superseded = "change_superseded" in {log["event"] for log in logs}
        assert (ours in acts) is not superseded
        if meanwhile == "nothing":
            assert ours in acts
        if not superseded:
            assert not await holds_secret(store, erasure)
        # Nobody was told that it was made: whoever asks again has it made over all of it.
        await act(store)
        assert not await holds_secret(store, erasure)


async def holds_secret(store: FileStore, erasure: str) -> bool:
    """Whether what was to be erased is there; a document that was moved away is another one."""
    if erasure == "turns":
        return bool((await store.read_turns("c", limit=1))[0].messages)
    paths = ["a"] if erasure == "a path" else ["a", "b"]
    for path in paths:
        document = await store.read("u:x", path)
        texts = [row.content for row in await store.versions("u:x", path)]
        if SECRET in (*texts, document.content if document else ""):
            return True
    return False


@pytest.mark.parametrize("moves", range(3))
async def test_a_restore_that_died_takes_nothing_from_who_wrote_there_since(
    root: Path, moves: int
) -> None:
    async with FileStore(root.with_name("source")) as store:
        await fill(store)
        archive = await store.archive_scope("u:x")
    await die(root, lambda store: store.restore_scope(archive), moves=moves)
    theirs = await act_elsewhere(root, MEANWHILE["write b"])
    async with FileStore(root) as store:
        document = await store.read("u:x", "b")
        assert document is not None
        assert document.content == "theirs"
        found = read_tree(root)
        assert {name: found.get(name) for name in theirs} == theirs
        assert (await store.read("u:x", "a") is None) is (moves == 0)
        assert (found[LOCK], drafts(root)) == (b"\x00", [])
