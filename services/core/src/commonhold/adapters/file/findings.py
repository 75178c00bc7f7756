"""What was found in the files looked at last, for as long as each stays as it was.

A file of rows is read whole the first time. So a write costs the same at any length of its
history; and pages of a long file, which come in a row, find it judged by the first of them.
"""

import os
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from commonhold.adapters.file.tree import Place, Tree

MOST_FILES = 4096
# Some fifty megabytes; one file with more than all of them is looked through each time.
MOST_ROWS = 200_000

Found = TypeVar("Found")


class _Known(msgspec.Struct, Generic[Found], frozen=True):
    identity: tuple[int, int, int]
    found: Found
    weight: int


class Findings(Generic[Found]):
    """By file; those asked for longest ago go when all together weigh more than `most`."""

    def __init__(self, *, most: int, weigh: Callable[[Found], int] = lambda _found: 1) -> None:
        self._most = most
        self._weigh = weigh
        self._known: dict[str, _Known[Found]] = {}
        self._held = 0

    def get(self, tree: Tree, file: str, scan: Callable[[], Found]) -> Found:
        """What `scan` finds in the file, or found when the file was last as it is now."""
        known = self._forget(file)
        entry = tree.entry(file)
        if entry.status is None or entry.place is not Place.FILE:
            return scan()
        identity = _identity_of(entry.status)
        if known is None or known.identity != identity:
            found = scan()
            known = _Known(identity, found, self._weigh(found))
        self._keep(file, known)
        return known.found

    def put(self, tree: Tree, file: str, found: Found) -> None:
        """What is in a file now that a change of it was made."""
        self._forget(file)
        identity = _identity_of(os.lstat(tree.absolute(file)))
        self._keep(file, _Known(identity, found, self._weigh(found)))

    def _forget(self, file: str) -> _Known[Found] | None:
        known = self._known.pop(file, None)
        if known is not None:
            self._held -= known.weight
        return known

    def _keep(self, file: str, known: _Known[Found]) -> None:
        self._known[file] = known
        self._held += known.weight
        while self._held > self._most:
            self._forget(next(iter(self._known)))


def _identity_of(status: os.stat_result) -> tuple[int, int, int]:
    """What stays while nobody writes to a file."""
    return status.st_ino, status.st_size, status.st_mtime_ns
