"""The calls of the system that a change makes, written down in their order."""

import os
from collections import defaultdict
from pathlib import Path

from commonhold.adapters.file.calls import SystemCalls
from commonhold.adapters.file.layout import is_temporary


class RecordingCalls(SystemCalls):
    """Makes every call; `names` has them with what they touch, relative to the root."""

    def __init__(self, root: Path) -> None:
        self.names: list[str] = []
        self._root = root
        # The lock file is opened by its lock; every other descriptor is known from its opening.
        self._opened: dict[int, str] = defaultdict(lambda: ".store.lock")

    def create(self, path: str) -> int:
        fd = super().create(path)
        self._opened[fd] = self._short(path)
        return fd

    def open_to_grow(self, path: str) -> int:
        fd = super().open_to_grow(path)
        self._opened[fd] = self._short(path)
        return fd

    def write(self, fd: int, data: bytes, *, offset: int) -> int:
        self._note("write", self._opened[fd])
        return super().write(fd, data, offset=offset)

    def begin_sync(self, fd: int) -> None:
        self._note("begin", self._opened[fd])
        super().begin_sync(fd)

    def sync(self, fd: int) -> None:
        # What follows a sync is another descriptor, which may have the same number.
        self._note("sync", self._opened.pop(fd, ".store.lock"))
        super().sync(fd)

    def sync_folder(self, path: str) -> None:
        self._note("sync folder", self._short(path))
        super().sync_folder(path)

    def truncate(self, fd: int, *, length: int) -> None:
        self._note("cut", self._opened[fd])
        super().truncate(fd, length=length)

    def move(self, source: str, target: str) -> None:
        self._note("move to", self._short(target))
        super().move(source, target)

    def remove(self, path: str) -> None:
        self._note("remove", self._short(path))
        super().remove(path)

    def _note(self, call: str, name: str) -> None:
        self.names.append(f"{call} {name}")

    def _short(self, path: str) -> str:
        if is_temporary(Path(path).name):
            return "temporary"
        return os.path.relpath(path, self._root)
