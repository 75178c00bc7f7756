"""One change of a root, made ready first and then made whole.

What can fail for want of room comes first: the new files under temporary names, the intent,
the rows. Then names are switched. docs/reference/filestore.md, section 6, has the order.
"""

import errno
import os
import zlib
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

import structlog

from commonhold.adapters.file.calls import SystemCalls, write_all
from commonhold.adapters.file.intents import Growth, Intent, Move
from commonhold.adapters.file.journal import Journal
from commonhold.adapters.file.layout import draft_name, is_temporary
from commonhold.adapters.file.remains import Remains
from commonhold.adapters.file.tree import Place, Tree
from commonhold.contract.text import has_lone_surrogate

_log = structlog.get_logger(__name__)

_PART_BYTES = 256 * 1024
_MOST_DRAFTS = 16


class Change:
    """Collects what to write; `commit` makes it. Left without one, nothing has happened."""

    def __init__(self, tree: Tree, journal: Journal, calls: SystemCalls, remains: Remains) -> None:
        self._tree = tree
        self._journal = journal
        self._calls = calls
        self._remains = remains
        self._rows: list[tuple[str, bytes]] = []
        self._moves: list[Move] = []
        # The new files that are written and not yet synced.
        self._drafts: list[int] = []
        self._removals: list[str] = []
        self._unsynced: dict[str, None] = {}
        # The next number that may be free in a folder, for the name of a temporary file.
        self._numbers: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for fd in self._drafts:
            os.close(fd)
        for move in self._moves:
            self._discard(move.temporary)

    def make_room(self, file: str) -> bool:
        """Whether a file can have the name; folders that hold nothing give theirs up.

        What is gone leaves its folders behind, and they are in no other document's way.
        """
        place = self._tree.look(file)
        if place is Place.BLOCKED:
            return self._make_way(file)
        if place is Place.FOLDER:
            hollow = self._tree.hollow(file)
            for folder in hollow:
                self._calls.remove_folder(self._tree.absolute(folder))
                self._tree.forget(folder)
            # Before the intent: who finishes the change moves a file to this name.
            self._unsynced[_above(file)] = None
            return bool(hollow)
        return True

    def _make_way(self, file: str) -> bool:
        """Whether what stands in place of a folder is a leftover of a dead process, and goes."""
        blocking = next(
            folder for folder in _folders_above(file) if self._tree.look(folder) is Place.FILE
        )
        if not is_temporary(blocking.rpartition("/")[2]):
            return False
        self._calls.remove(self._tree.absolute(blocking))
        self._tree.forget_files()
        return True

    def append(self, file: str, line: bytes) -> None:
        """A line at the end of a file, which is made when it is missing."""
        self._require_no_folder(file)
        self._make_folders(file)
        self._rows.append((file, line))

    def put(self, file: str, data: bytes) -> None:
        """A file with just these bytes, in place of what has the name now."""
        self.put_lines(file, (data,))

    def put_lines(self, file: str, lines: Iterable[bytes]) -> None:
        """As `put`, from parts that need not be held at once."""
        self._require_no_folder(file)
        self._make_folders(file)
        temporary, fd = self._create_beside(file)
        self._moves.append(Move(temporary, file))
        self._drafts.append(fd)
        length = checksum = 0
        for part in _in_parts(lines):
            write_all(self._calls, fd, part, offset=length)
            length += len(part)
            checksum = zlib.crc32(part, checksum)
        self._moves[-1] = Move(temporary, file, length, checksum)
        self._calls.begin_sync(fd)
        if len(self._drafts) >= _MOST_DRAFTS:
            self._sync_drafts()

    def remove(self, file: str) -> None:
        """OSError for a file that the system will not let go: found out while that is early."""
        above = self._tree.absolute(_above(file))
        if not os.access(above, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), above)
        if has_lone_surrogate(file):
            # A leftover in a folder that is named in no UTF-8: no intent has letters for it,
            # and none is needed for what nobody goes by.
            self._discard(file)
            return
        self._removals.append(file)

    def commit(self) -> None:
        """Make the change; OSError when it cannot be made, and then it was not begun.

        Once the rows are written it is not taken back: what then fails is finished by
        whoever takes the lock next.
        """
        self._sync_folders()
        intent = Intent(
            growths=tuple(self._growth(file, line) for file, line in self._rows),
            moves=tuple(self._moves),
            removals=tuple(self._removals),
        )
        if not intent.growths:
            # Whoever finds such an intent finishes it, with the files as they are then.
            self._sync_drafts()
            intent = self._journal.with_what_is_there(intent)
        try:
            self._journal.record(intent)
            if self._drafts:
                # Neither need last before the other, only both before a row: one wait of the
                # disk makes both last, or nearly.
                self._journal.begin_sync()
                self._sync_drafts()
            self._journal.sync()
            for growth, (_, line) in zip(intent.growths, self._rows, strict=True):
                self._grow(growth, line)
        except OSError:
            self._take_back(intent)
            raise
        self._moves.clear()
        for file in (*(move.file for move in intent.moves), *intent.removals):
            self._remains.hold(self._tree.absolute(file))
        self._journal.finish(intent)
        self._journal.clear()

    def _require_no_folder(self, file: str) -> None:
        """A change that was begun has no way back from a folder at one of its names."""
        if self._tree.look(file) is Place.FOLDER:
            absolute = self._tree.absolute(file)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), absolute)

    def _growth(self, file: str, line: bytes) -> Growth:
        before = self._tree.entry(file).size
        return Growth(file, before, len(line), zlib.crc32(line), _inner_sums(line))

    def _grow(self, growth: Growth, line: bytes) -> None:
        fd = self._calls.open_to_grow(self._tree.absolute(growth.file))
        try:
            write_all(self._calls, fd, line, offset=growth.start)
            self._calls.sync(fd)
        finally:
            os.close(fd)
        if growth.before is None:
            self._calls.sync_folder(self._tree.absolute(_above(growth.file)))

    def _sync_drafts(self) -> None:
        while self._drafts:
            self._calls.sync(self._drafts[-1])
            os.close(self._drafts.pop())

    def _take_back(self, intent: Intent) -> None:
        # What is undone goes there; what is not may still need its files.
        self._moves.clear()
        try:
            self._journal.undo(intent)
            self._journal.clear()
        except OSError as error:
            # The intent stands; whoever takes the lock next undoes the rest.
            _log.error("change_not_undone", error=error.strerror, file=error.filename)

    def _make_folders(self, file: str) -> None:
        """The folders above a file, with the names of new ones to be synced."""
        above = _above(file)
        if self._tree.look(above) is Place.FOLDER:
            return
        parent = ""
        for name in above.split("/"):
            folder = f"{parent}/{name}" if parent else name
            if self._tree.look(folder) is not Place.FOLDER:
                self._calls.make_folder(self._tree.absolute(folder))
                self._tree.forget(folder)
                self._unsynced[parent] = None
            parent = folder

    def _sync_folders(self) -> None:
        for folder in self._unsynced:
            self._calls.sync_folder(self._tree.absolute(folder))

    def _create_beside(self, file: str) -> tuple[str, int]:
        """A new file under a temporary name; a leftover of a dead process gives its own up."""
        above = _above(file)
        while True:
            number = self._numbers.get(above, 0)
            self._numbers[above] = number + 1
            name = f"{above}/{draft_name(number)}"
            try:
                return name, self._calls.create(self._tree.absolute(name))
            except FileExistsError:
                if name in self._tree.leftovers(above):
                    self._calls.remove(self._tree.absolute(name))
                    return name, self._calls.create(self._tree.absolute(name))

    def _discard(self, file: str) -> None:
        try:
            self._calls.remove(self._tree.absolute(file))
        except OSError as error:
            _log.warning("leftover", file=file, error=error.strerror)


def _above(file: str) -> str:
    return file.rpartition("/")[0]


def _folders_above(file: str) -> Iterator[str]:
    """Outermost first."""
    names = file.split("/")
    return ("/".join(names[:depth]) for depth in range(1, len(names)))


def _inner_sums(rows: bytes) -> tuple[int, ...]:
    """The sum up to the end of each row but the last."""
    sums: list[int] = []
    start = checksum = 0
    while 0 < (end := rows.find(b"\n", start) + 1) < len(rows):
        checksum = zlib.crc32(rows[start:end], checksum)
        sums.append(checksum)
        start = end
    return tuple(sums)


def _in_parts(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines joined, so that a file of many short ones takes few calls of the system."""
    some: list[bytes] = []
    size = 0
    for line in lines:
        some.append(line)
        size += len(line)
        if size >= _PART_BYTES:
            yield b"".join(some)
            some, size = [], 0
    yield b"".join(some)
