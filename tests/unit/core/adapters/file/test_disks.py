"""Disks that are full or cannot be written: real ones as root, and what they say to anybody."""

import errno
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Protocol, TypeAlias

import pytest

from commonhold.adapters.file import FileStore
from commonhold.adapters.file.calls import SystemCalls
from commonhold.contract import Message, StoreUnavailableError
from tests.support.file_trees import read_tree
from tests.support.misplaced import HELLO, copy_for_nobody, nobody
from tests.support.roots import temporary_root

MOUNT = pytest.mark.root("mounts a disk")
Call: TypeAlias = Callable[[FileStore], Awaitable[object]]


async def fill(store: FileStore) -> None:
    for text in ("one", "two"):
        for name in ("a", "b"):
            await store.write("u:x", name, text)
            await store.append_turn(name, HELLO)


@contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """A file system of its own, of two megabytes."""
    mount = folder / "disk"
    mount.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mount))
    try:
        yield mount
    finally:
        run("umount", "--lazy", str(mount))


def run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Disk(Protocol):
    """One that fills up, with a root on it."""

    root: Path
    calls: SystemCalls

    def fill(self) -> None: ...

    def free(self) -> None: ...


class MountedDisk:
    def __init__(self, mount: Path) -> None:
        self.root = mount / "root"
        self.calls = SystemCalls()
        self._ballast = mount / "ballast"

    def fill(self) -> None:
        with self._ballast.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass

    def free(self) -> None:
        self._ballast.unlink()


class ToldToBeFull(SystemCalls):
    """Says what a full disk says: of a write in the middle of it, too."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.calls: SystemCalls = self
        self._is_full = False

    def fill(self) -> None:
        self._is_full = True

    def free(self) -> None:
        self._is_full = False

    def write(self, fd: int, data: bytes, *, offset: int) -> int:
        if self._is_full and len(data) > 1:
            super().write(fd, data[: len(data) // 2], offset=offset)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(fd, data, offset=offset)

    def make_folder(self, path: str) -> None:
        if self._is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        super().make_folder(path)


@pytest.fixture(params=[pytest.param("mounted", marks=MOUNT), "told"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    if request.param == "told":
        yield ToldToBeFull(tmp_path / "root")
        return
    with mounted(tmp_path) as mount:
        yield MountedDisk(mount)


async def test_a_full_disk_refuses_writes_and_loses_nothing(disk: Disk) -> None:
    root = disk.root
    async with FileStore(root, calls=disk.calls) as store:
        await fill(store)
        disk.fill()
        before = read_tree(root)
        acts: tuple[Call, ...] = (
            lambda store: store.write("u:x", "a", "x" * 20_000),
            lambda store: store.write("u:x", "new/path", "x"),
            lambda store: store.append_turn("c", [Message(role="user", content="x" * 20_000)]),
            lambda store: store.redact("u:x"),
        )
        for act in acts:
            with pytest.raises(StoreUnavailableError, match="No space left on device"):
                await act(store)
            assert read_tree(root) == before
        assert await store.read("u:x", "a") is not None
        disk.free()
        assert (await store.write("u:x", "a", "x" * 20_000)).version == 3
        assert (await store.append_turn("a", HELLO)).turn == 3


class ReadOnly(Protocol):
    """A root that can be kept from being written, and how the system says so."""

    root: Path
    says: str

    def close(self) -> None: ...

    def open(self) -> None: ...

    def user(self) -> AbstractContextManager[None]: ...


class MountedReadOnly:
    says = "Read-only file system"

    def __init__(self, mount: Path) -> None:
        self.root = mount / "root"
        self._mount = str(mount)

    def close(self) -> None:
        run("mount", "-o", "remount,ro", self._mount)

    def open(self) -> None:
        run("mount", "-o", "remount,rw", self._mount)

    def user(self) -> AbstractContextManager[None]:
        return nullcontext()


class ClosedToItsUser:
    says = "Permission denied"

    def __init__(self, root: Path) -> None:
        self.root = root

    def close(self) -> None:
        for entry in (*self.root.rglob("*"), self.root):
            entry.chmod(0o555 if entry.is_dir() else 0o444)

    def open(self) -> None:
        for entry in (self.root, *self.root.rglob("*")):
            entry.chmod(0o755 if entry.is_dir() else 0o644)

    def user(self) -> AbstractContextManager[None]:
        return nobody()


@pytest.fixture(params=[pytest.param("mounted", marks=MOUNT), "closed"])
async def read_only(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ReadOnly]:
    if request.param == "mounted":
        with mounted(tmp_path) as mount:
            async with FileStore(mount / "root") as store:
                await fill(store)
            yield MountedReadOnly(mount)
        return
    with temporary_root() as filled:
        async with FileStore(filled) as store:
            await fill(store)
        with copy_for_nobody(filled) as root:
            yield ClosedToItsUser(root)


async def test_a_read_only_root_is_read_and_not_written(read_only: ReadOnly) -> None:
    async with FileStore(read_only.root) as store:
        read_only.close()
        with read_only.user():
            assert await store.read("u:x", "a") is not None
            assert len(await store.history("u:x")) == 4
            assert await store.scopes() == ("u:x",)
            assert len(await store.read_turns("a")) == 2
            assert not await store.check()
            acts: tuple[Call, ...] = (
                lambda store: store.write("u:x", "a", "x"),
                lambda store: store.delete("u:x", "a"),
                lambda store: store.redact("u:x"),
                lambda store: store.append_turn("a", HELLO),
            )
            for act in acts:
                with pytest.raises(StoreUnavailableError, match=read_only.says):
                    await act(store)
        read_only.open()
        with read_only.user():
            assert await store.check()
            assert (await store.write("u:x", "a", "x")).version == 3
