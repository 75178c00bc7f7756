"""The files of a root as they are, looked at name by name so that nothing leads out of it.

A symbolic link below the root is never followed, whether it points outside or not: two
names of one file would be two histories of one document. What is neither a file nor a
folder (a pipe would never end) is refused too.
"""

import os
import stat
from collections.abc import Iterator
from enum import Enum, auto

from commonhold.adapters.file.layout import is_temporary


class Place(Enum):
    """What a name stands for. At a BLOCKED one, a file has the name of a folder above it."""

    ABSENT = auto()
    FILE = auto()
    FOLDER = auto()
    BLOCKED = auto()


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
        # Looked at once: whoever keeps to the lock takes no folder away but in a change.
        self._folders: set[str] = set()

    @property
    def is_writable(self) -> bool:
        return os.access(self.root, os.W_OK)

    def absolute(self, file: str) -> str:
        return f"{self.root}/{file}" if file else self.root

    def look(self, file: str) -> Place:
        """What stands at a name; StrayEntryError or SpelledOtherwiseError on the way there."""
        here = self.root
        place = Place.FOLDER
        for name in file.split("/"):
            if place is not Place.FOLDER:
                return Place.BLOCKED
            above, here = here, f"{here}/{name}"
            if here in self._folders:
                continue
            try:
                mode = os.lstat(here).st_mode
            except FileNotFoundError:
                return Place.ABSENT
            place = self._place(mode, here)
            if self.folds_case and name not in os.listdir(above):  # noqa: PTH208 - names alone
                raise SpelledOtherwiseError(self._relative(here))
            if place is Place.FOLDER:
                self._folders.add(here)
        return place

    def read(self, file: str) -> bytes | None:
        """The bytes of a file; None when there is none of that name."""
        if self.look(file) is not Place.FILE:
            return None
        try:
            fd = os.open(self.absolute(file), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        with os.fdopen(fd, "rb") as opened:
            return opened.read()

    def lines(self, file: str) -> Iterator[bytes]:
        """The lines of a file without their newlines, one held at a time."""
        if self.look(file) is not Place.FILE:
            return
        fd = os.open(self.absolute(file), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as opened:
            for line in opened:
                yield line.removesuffix(b"\n")

    def whole_lines(self, file: str) -> bytes:
        """The bytes of a file of lines, the last one ended when its newline was lost."""
        raw = self.read(file) or b""
        return raw if not raw or raw.endswith(b"\n") else raw + b"\n"

    def is_torn(self, file: str) -> bool:
        """Whether a file of lines ends without a newline, so that one must come first."""
        if self.look(file) is not Place.FILE:
            return False
        size = os.lstat(self.absolute(file)).st_size
        return size > 0 and self.read_part(file, start=size - 1, end=size) != b"\n"

    def read_part(self, file: str, *, start: int, end: int) -> bytes:
        """Some bytes of a file that was looked at before."""
        fd = os.open(self.absolute(file), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as opened:
            opened.seek(start)
            return opened.read(end - start)

    def files(self, folder: str, *, suffix: str) -> Iterator[str]:
        """The files below a folder whose names end so, relative to it, in no order.

        Whatever else is there is passed over, but for a symbolic link that could hide such
        files: StrayEntryError.
        """
        if self.look(folder) is Place.FOLDER:
            yield from self._files(folder, "", suffix=suffix)

    def folders(self, folder: str) -> tuple[str, ...]:
        """The names of the folders right below a folder, in code point order.

        A link that leads to one is among them, for `look` to refuse.
        """
        if folder and self.look(folder) is not Place.FOLDER:
            return ()
        try:
            with self._entries(folder) as entries:
                return tuple(sorted(entry.name for entry in entries if _leads_to_folder(entry)))
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

    def forget(self, folder: str) -> None:
        """Look at a folder again, since it was taken away."""
        self._folders.discard(self.absolute(folder))

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


def _leads_to_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
