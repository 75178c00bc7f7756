"""What a change holds open while it is made, and what is left when a sync of it fails."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from commonhold.adapters.file import FileStore
from commonhold.adapters.file.calls import SystemCalls
from commonhold.contract import StoreUnavailableError
from tests.support.file_trees import read_tree

DOCUMENT = "u%3Ax/documents/a.md"


class FailingCalls(SystemCalls):
    """A disk that takes every write, and gives up at one of the syncs that follow."""

    def __init__(self) -> None:
        self.left = 0

    def sync(self, fd: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().sync(fd)


class WatchedCalls(SystemCalls):
    """Writes down what the process holds open below a root when a file is made or replaced."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.made: list[Sequence[str]] = []
        self.replaced: list[Sequence[str]] = []

    def create(self, path: str) -> int:
        self.made.append(held_below(self._root))
        return super().create(path)

    def move(self, source: str, target: str) -> None:
        super().move(source, target)
        self.replaced.append(held_below(self._root))


def held_below(root: Path) -> Sequence[str]:
    """The files below a root that this process holds, as the system spells them."""
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]  # noqa: PTH208 - names alone
    # The listing's own descriptor is gone by now.
    targets = [os.readlink(link) for link in links if os.path.lexists(link)]  # noqa: PTH115 - as above
    return [target for target in targets if target.startswith(f"{root}/")]


@pytest.mark.parametrize("failing", [1, 2, 3])
async def test_a_sync_that_fails_leaves_an_overwrite_not_begun(
    tmp_path: Path, failing: int
) -> None:
    root, calls = tmp_path / "root", FailingCalls()
    async with FileStore(root, calls=calls) as store:
        await store.write("u:x", "a", "one")
        before = read_tree(root)
        calls.left = failing
        with pytest.raises(StoreUnavailableError, match="No space left on device"):
            await store.write("u:x", "a", "two")
        assert read_tree(root) == before
        assert held_below(root) == []
        assert (await store.write("u:x", "a", "three")).version == 2


async def test_the_file_that_is_replaced_is_given_back_behind_the_answer(tmp_path: Path) -> None:
    root = tmp_path / "root"
    calls = WatchedCalls(root)
    async with FileStore(root, calls=calls) as store:
        await store.write("u:x", "a", "one")
        await store.write("u:x", "a", "two")
        await store.delete("u:x", "a")
    assert f"{root}/{DOCUMENT} (deleted)" in calls.replaced[-1]
    assert held_below(root) == []


async def test_a_change_of_many_files_holds_few_of_them(tmp_path: Path) -> None:
    root = tmp_path / "root"
    calls = WatchedCalls(root)
    async with FileStore(root, calls=calls) as store:
        for number in range(40):
            await store.write("u:x", f"a{number}", "one")
        assert await store.redact("u:x") == 40
    assert len(calls.made) > 100
    assert max(map(len, calls.made)) < 20
    assert 16 <= max(map(len, calls.replaced)) < 20
