"""Rows by their places in files, remembered for as long as their files stay as they were.

Pages of a long file come in a row: the first judges all of it, the others find it judged and
read what they answer.
"""

from collections.abc import Callable, Sized
from typing import Generic, TypeVar

from commonhold.adapters.file.ledgers import identity_of
from commonhold.adapters.file.tree import Place, Tree

# Some fifty megabytes; one file with more than all of them is looked through each time.
MOST_ROWS = 200_000

Found = TypeVar("Found", bound=Sized)


class Marks(Generic[Found]):
    """What was found in the files listed last."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], Found]] = {}
        self._held = 0

    def get(self, tree: Tree, file: str, scan: Callable[[], Found]) -> Found:
        """What `scan` finds in the file, or found when the file was last as it is now."""
        entry = tree.entry(file)
        known = self._known.pop(file, None)
        if known is not None:
            self._held -= len(known[1])
        if entry.status is None or entry.place is not Place.FILE:
            return scan()
        identity = identity_of(entry.status)
        if known is None or known[0] != identity:
            known = (identity, scan())
        self._keep(file, known)
        return known[1]

    def _keep(self, file: str, known: tuple[tuple[int, int, int], Found]) -> None:
        self._known[file] = known
        self._held += len(known[1])
        while self._held > MOST_ROWS:
            _, found = self._known.pop(next(iter(self._known)))
            self._held -= len(found)
