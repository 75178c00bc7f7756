"""The calls of the system by which a root changes, one method each.

A test puts a layer of its own in their place, which ends the process at one of them, writes
the half of one, or says what a full disk says.
"""

import os
import sys
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700


class SystemCalls:
    """What the system does; every path is absolute."""

    def create(self, path: str) -> int:
        """A descriptor of a new file; whatever else has its name is an error."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return os.open(path, flags, FILE_MODE)

    def open_to_grow(self, path: str) -> int:
        """A descriptor that writes at an offset; the file is made when it is missing."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path, flags, FILE_MODE)

    def write(self, fd: int, data: bytes, *, offset: int) -> int:
        return os.pwrite(fd, data, offset)

    def begin_sync(self, fd: int) -> None:
        """Have the disk begin what a later `sync` waits for; where the system can, and no more."""
        if sys.platform == "linux":
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def sync(self, fd: int) -> None:
        os.fsync(fd)

    def sync_folder(self, path: str) -> None:
        """Make the names in a folder last: a file is not safe while its name is not."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def truncate(self, fd: int, *, length: int) -> None:
        os.ftruncate(fd, length)

    def move(self, source: str, target: str) -> None:
        os.replace(source, target)  # noqa: PTH105 - a path object costs more than the call

    def remove(self, path: str) -> None:
        os.unlink(path)  # noqa: PTH108 - as above

    def make_folder(self, path: str) -> None:
        Path(path).mkdir(mode=FOLDER_MODE)

    def remove_folder(self, path: str) -> None:
        """Only one that holds nothing; any other is an error."""
        Path(path).rmdir()


def write_all(calls: SystemCalls, fd: int, data: bytes, *, offset: int) -> None:
    """Write the whole of `data`: the system may take a part at a time."""
    done = calls.write(fd, data, offset=offset) if data else 0
    while done < len(data):
        done += calls.write(fd, data[done:], offset=offset + done)
