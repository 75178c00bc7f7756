"""The files of a root as they are, looked at name by name so that nothing leads out of it.

A symbolic link below the root is never followed, whether it points outside or not: two
names of one file would be two histories of one document. What is neither a file nor a
folder (a pipe would never end) is refused too.
"""

import os
import stat
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import BinaryIO

import msgspec

from commonhold.adapters.file.layout import is_folder_of_the_layout, is_temporary


class Place(Enum):
    """What a name stands for. At a BLOCKED one, a file has the name of a folder above it."""

    ABSENT = auto()
    FILE = auto()
    FOLDER = auto()
    BLOCKED = auto()


class Entry(msgspec.Struct, frozen=True):
    """What was seen at a name, and what the file system said of it."""

    place: Place
    status: os.stat_result | None = None

    @property
    def size(self) -> int | None:
        return None if self.status is None else self.status.st_size


_ABSENT = Entry(Place.ABSENT)
_BLOCKED = Entry(Place.BLOCKED)
# A listing looks at each of its files once, and none of them again.
_MOST_SEEN = 1024
_PART_BYTES = 64 * 1024
# What is read through rather than halved.
_SHORT_BYTES = 64 * 1024


class StrayEntryError(Exception):
    """An entry that a store never makes stands where one of its own would."""

    def __init__(self, file: str, fault: str) -> None:
        super().__init__(f"{file}: {fault}")
        self.file = file
        self.fault = fault


class SpelledOtherwiseError(Exception):
    """The file system takes two spellings for one name, and already holds the other."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.file = file


class Tree:
    """A root; `folds_case` says that its file system takes `a` and `A` for one name."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.folds_case = False
        # Looked at once: while the lock is held, nobody who keeps to it changes anything.
        self._folders: set[str] = set()
        self._seen: dict[str, Entry] = {}

    @property
    def is_writable(self) -> bool:
        return os.access(self.root, os.W_OK)

    def absolute(self, file: str) -> str:
        return f"{self.root}/{file}" if file else self.root

    def look(self, file: str) -> Place:
        """What stands at a name; StrayEntryError or SpelledOtherwiseError on the way there."""
        return self.entry(file).place

    def look_for_file(self, file: str) -> Place:
        """As `look`, at a name that no folder of a root has: StrayEntryError for one."""
        place = self.look(file)
        if place is Place.FOLDER:
            raise StrayEntryError(file, "is a folder")
        return place

    def look_for_folder(self, folder: str) -> bool:
        """Whether a folder of the layout is there: StrayEntryError for a file in its place."""
        place = self.look(folder)
        if place is Place.FILE:
            raise StrayEntryError(folder, "is no folder")
        return place is Place.FOLDER

    def entry(self, file: str) -> Entry:
        """As `look`, with the state that the file was in when it was first looked at."""
        seen = self._seen.get(file)
        if seen is None:
            seen = self._look(file)
            if len(self._seen) < _MOST_SEEN:
                self._seen[file] = seen
        return seen

    def _look(self, file: str) -> Entry:
        here = self.root
        place, status = Place.FOLDER, None
        for name in file.split("/"):
            if place is not Place.FOLDER:
                return self._blocked_by(here)
            above, here = here, f"{here}/{name}"
            if here in self._folders:
                continue
            try:
                status = os.lstat(here)
            except FileNotFoundError:
                return _ABSENT
            place = self._place(status.st_mode, here)
            if self.folds_case and name not in os.listdir(above):  # noqa: PTH208 - names alone
                raise SpelledOtherwiseError(self._relative(here))
            if place is Place.FOLDER:
                self._folders.add(here)
        return Entry(place, status)

    def _blocked_by(self, absolute: str) -> Entry:
        """A document's file is in the way of names below it; of the layout's folders none is."""
        file = self._relative(absolute)
        if is_folder_of_the_layout(file):
            raise StrayEntryError(file, "is no folder")
        return _BLOCKED

    def read(self, file: str) -> bytes | None:
        """The bytes of a file; None when there is none of that name."""
        if self.look(file) is not Place.FILE:
            return None
        try:
            fd = os.open(self.absolute(file), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            return _read_all(fd)
        finally:
            os.close(fd)

    def lines(self, file: str, *, start: int = 0) -> Iterator[bytes]:
        """The lines of a file without their newlines, one held at a time.

        `start` is where a line begins; those before are not read.
        """
        if self.look(file) is not Place.FILE:
            return
        with self.open(file) as opened:
            opened.seek(start)
            for line in opened:
                yield line.removesuffix(b"\n")

    def line_where(self, file: str, is_there: Callable[[bytes], bool]) -> int:
        """Where a line begins that is not behind the first one of which `is_there` is true.

        It is true of every line behind one of which it is true. As much is read as takes to
        halve the file until what is left is short.
        """
        low, high = 0, self.entry(file).size or 0
        with self.open(file) as opened:
            while high - low > _SHORT_BYTES:
                opened.seek((low + high) // 2)
                begin = opened.tell() + len(opened.readline())
                if begin >= high:
                    # One long line: what is left is as good as found.
                    break
                line = opened.readline()
                if is_there(line.removesuffix(b"\n")):
                    high = begin
                else:
                    low = begin + len(line)
        return low

    def whole_lines(self, file: str) -> bytes:
        """The bytes of a file of lines, the last one ended when its newline was lost."""
        raw = self.read(file) or b""
        return raw if not raw or raw.endswith(b"\n") else raw + b"\n"

    def open(self, file: str) -> BinaryIO:
        """A file that was looked at before, to read parts of."""
        fd = os.open(self.absolute(file), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        return os.fdopen(fd, "rb")

    def read_part(self, file: str, *, start: int, end: int) -> bytes:
        """Some bytes of a file that was looked at before."""
        with self.open(file) as opened:
            opened.seek(start)
            return opened.read(end - start)

    def files(self, folder: str, *, suffix: str) -> Iterator[str]:
        """The files below a folder whose names end so, relative to it, in no order.

        Whatever else is there is passed over, but for a symbolic link that could hide such
        files, and what has such a name and is none: StrayEntryError.
        """
        if self.look_for_folder(folder):
            yield from self._files(folder, "", suffix=suffix)

    def folders(self, folder: str) -> tuple[str, ...]:
        """The names of the folders right below a folder, in code point order.

        A link is among them, wherever it leads, for `look` to refuse.
        """
        if folder and not self.look_for_folder(folder):
            return ()
        try:
            with self._entries(folder) as entries:
                return tuple(
                    sorted(
                        entry.name
                        for entry in entries
                        if entry.is_symlink() or entry.is_dir(follow_symlinks=False)
                    )
                )
        except FileNotFoundError:
            return ()

    def _files(self, folder: str, inside: str, *, suffix: str) -> Iterator[str]:
        with self._entries(f"{folder}/{inside}" if inside else folder) as entries:
            found = list(entries)
        for entry in found:
            name = f"{inside}/{entry.name}" if inside else entry.name
            if entry.is_symlink():
                if name.endswith(suffix) or _leads_to_folder(entry):
                    raise StrayEntryError(f"{folder}/{name}", "is a symbolic link")
            elif entry.is_dir(follow_symlinks=False):
                yield from self._files(folder, name, suffix=suffix)
            elif name.endswith(suffix):
                if not entry.is_file(follow_symlinks=False):
                    raise StrayEntryError(f"{folder}/{name}", "is no regular file")
                yield name

    def hollow(self, folder: str) -> tuple[str, ...]:
        """A folder and those in it, innermost first, when nothing else is there; else nothing."""
        found: tuple[str, ...] = ()
        with self._entries(folder) as entries:
            inside = list(entries)
        for entry in inside:
            is_folder = entry.is_dir(follow_symlinks=False)
            below = self.hollow(f"{folder}/{entry.name}") if is_folder else ()
            if not below:
                return ()
            found += below
        return (*found, folder)

    def forget(self, file: str) -> None:
        """Look at a name again, since it was given or taken away."""
        self._folders.discard(self.absolute(file))
        self._seen.pop(file, None)

    def forget_files(self) -> None:
        """Look at every file again, since a change was made."""
        self._seen.clear()

    def leftovers(self, folder: str) -> tuple[str, ...]:
        """Temporary files right in a folder; under the root's lock nobody uses them."""
        if self.look(folder) is not Place.FOLDER:
            return ()
        with self._entries(folder) as entries:
            return tuple(
                f"{folder}/{entry.name}"
                for entry in entries
                if is_temporary(entry.name) and entry.is_file(follow_symlinks=False)
            )

    def folders_below(self, folder: str) -> Iterator[str]:
        """A folder and every one in it, however deep; none that a link leads to."""
        if self.look(folder) is not Place.FOLDER:
            return
        yield folder
        with self._entries(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        for name in names:
            yield from self.folders_below(f"{folder}/{name}")

    def _entries(self, folder: str) -> "os._ScandirIterator[str]":
        return os.scandir(self.absolute(folder))

    def _place(self, mode: int, absolute: str) -> Place:
        if stat.S_ISREG(mode):
            return Place.FILE
        if stat.S_ISDIR(mode):
            return Place.FOLDER
        fault = "is a symbolic link" if stat.S_ISLNK(mode) else "is no regular file"
        raise StrayEntryError(self._relative(absolute), fault)

    def _relative(self, absolute: str) -> str:
        return absolute.removeprefix(f"{self.root}/")


def _read_all(fd: int) -> bytes:
    """What is behind a descriptor, without the buffer that a file object would make for it."""
    parts = []
    while part := os.read(fd, _PART_BYTES):
        parts.append(part)
    return b"".join(parts)


def _leads_to_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
