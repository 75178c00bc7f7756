"""One owner a folder: a lock that the kernel drops when its holder ends, however it ends."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from commonhold.cli.errors import CommandError


class FolderInUseError(CommandError):
    def __init__(self, *, folder: Path, holder: str) -> None:
        super().__init__(f"{folder} is in use by another process{holder}: stop that one first")
        self.folder = folder


class FolderLock:
    """Held from construction to close; raises FolderInUseError when another process holds it."""

    def __init__(self, folder: Path) -> None:
        # Python's descriptors are closed on exec, so no child keeps the lock alive.
        self._file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._file, 32, 0).decode(errors="replace").strip()
            os.close(self._file)
            raise FolderInUseError(
                folder=folder, holder=f" (pid {holder})" if holder else ""
            ) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
