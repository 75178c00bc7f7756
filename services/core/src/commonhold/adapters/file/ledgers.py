"""What a new row must follow: the highest number and the newest stamp of a file of rows.

A file of rows is read whole for that the first time and then remembered by what the file
system says of it, so that a write costs the same at any length of its history.
"""

import os
from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from commonhold.adapters.file.tree import Place, Tree

MOST_REMEMBERED = 4096

T = TypeVar("T")


class Ledger(msgspec.Struct, frozen=True):
    """`is_torn` says that the last line has no newline, so that one must come first."""

    last: int = 0
    newest: datetime | None = None
    is_torn: bool = False

    def follow(self, moment: datetime) -> datetime:
        """`moment`, or the newest stamp when that is later."""
        return moment if self.newest is None else max(moment, self.newest)

    def after(self, moment: datetime | None) -> "Ledger":
        """The same, not older than a stamp of something else."""
        if moment is None:
            return self
        return msgspec.structs.replace(self, newest=self.follow(moment))

    def joined(self, line: bytes) -> bytes:
        return b"\n" + line if self.is_torn else line


EMPTY = Ledger()


class _Known(msgspec.Struct, Generic[T], frozen=True):
    identity: tuple[int, int, int]
    found: T


class Scans(Generic[T]):
    """What was found in the files read last, each for as long as its file stays as it was."""

    def __init__(self, scan: Callable[[bytes], T]) -> None:
        self._scan = scan
        self._known: dict[str, _Known[T]] = {}

    def get(self, tree: Tree, file: str) -> T | None:
        """What is in a file; None when there is none."""
        entry = tree.entry(file)
        if entry.status is None or entry.place is not Place.FILE:
            return None
        identity = identity_of(entry.status)
        known = self._known.pop(file, None)
        if known is None or known.identity != identity:
            known = _Known(identity, self._scan(tree.read(file) or b""))
        self._keep(file, known)
        return known.found

    def put(self, tree: Tree, file: str, found: T) -> None:
        """What is in a file now that a change of it was made."""
        self._keep(file, _Known(identity_of(os.lstat(tree.absolute(file))), found))

    def _keep(self, file: str, known: _Known[T]) -> None:
        self._known.pop(file, None)
        self._known[file] = known
        if len(self._known) > MOST_REMEMBERED:
            del self._known[next(iter(self._known))]


def identity_of(status: os.stat_result) -> tuple[int, int, int]:
    """What stays while nobody writes to a file."""
    return status.st_ino, status.st_size, status.st_mtime_ns
