"""The intent of a change, kept behind the one byte of the lock file while the change runs.

Who takes the lock next finishes or undoes what a dead process left half done, so that a
change of several files happens whole or not at all, and no line stays torn. At rest the
file is the one byte that every other reader of the layout knows (docs/adr/0024).
"""

import errno
import os
import stat
import zlib

import msgspec
import structlog

from commonhold.adapters.file.calls import SystemCalls, write_all
from commonhold.adapters.file.tree import StrayEntryError, Tree

REST = b"\x00"
# What the system says of a folder, a file or a link where a change has something else.
_IN_THE_WAY = frozenset({errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP})

_log = structlog.get_logger(__name__)


class Growth(msgspec.Struct, frozen=True, array_like=True):
    """Bytes at the end of a file: how long it was, None when there was none, and their sum."""

    file: str
    before: int | None
    length: int
    checksum: int

    @property
    def start(self) -> int:
        return self.before or 0


class Move(msgspec.Struct, frozen=True, array_like=True):
    """A finished file under a temporary name, and the name that it takes."""

    temporary: str
    file: str


class Intent(msgspec.Struct, frozen=True, array_like=True):
    """One change, in the order in which it is made."""

    growths: tuple[Growth, ...] = ()
    moves: tuple[Move, ...] = ()
    removals: tuple[str, ...] = ()


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Intent)


class Journal:
    """The intents of one root, through the descriptor of its lock file."""

    def __init__(self, fd: int, tree: Tree, calls: SystemCalls) -> None:
        self._fd = fd
        self._tree = tree
        self._calls = calls

    def record(self, intent: Intent) -> None:
        """Make an intent last; once its rows are there, the change is finished by anybody."""
        payload = _encoder.encode(intent)
        framed = b"%08x %s" % (zlib.crc32(payload), payload)
        write_all(self._calls, self._fd, framed, offset=len(REST))
        self._calls.sync(self._fd)

    def clear(self) -> None:
        """Forget the intent: its change is done, or undone.

        Nothing is synced. An intent that comes back after a power failure is one whose
        change has come to its end, and to finish that again changes nothing.
        """
        self._calls.truncate(self._fd, length=len(REST))

    def recover(self) -> None:
        """Finish or undo what a dead process left; OSError when the root cannot be written."""
        stored = self._stored()
        if not stored:
            return
        intent = _decoded(stored)
        if intent is not None:
            is_whole = all(self._has_grown(growth) for growth in intent.growths)
            _log.warning("change_recovered", is_finished=is_whole, files=_files(intent))
            try:
                if is_whole:
                    self.finish(intent)
                else:
                    self.undo(intent)
            except OSError as error:
                if error.errno not in _IN_THE_WAY:
                    raise
                # Put there since, by nobody of ours: the root is worth more than this change.
                file = error.filename2 or error.filename
                _log.error("change_given_up", error=error.strerror, file=file)
        self.clear()

    def finish(self, intent: Intent) -> None:
        """Everything behind the growths; again, it changes nothing."""
        self._tree.forget_files()
        folders: dict[str, None] = {}
        for move in intent.moves:
            self._move(move)
            folders[_above(move.file)] = None
        for file in intent.removals:
            self._remove(file)
            folders[_above(file)] = None
        for folder in folders:
            self._sync_folder(folder)

    def undo(self, intent: Intent) -> None:
        """As if nothing had happened; only while no move has been made."""
        self._tree.forget_files()
        for growth in intent.growths:
            self._shrink(growth)
        for move in intent.moves:
            self._remove(move.temporary)

    def _stored(self) -> bytes:
        size = os.fstat(self._fd).st_size
        return os.pread(self._fd, size - len(REST), len(REST)) if size > len(REST) else b""

    def _move(self, move: Move) -> None:
        try:
            self._calls.move(self._tree.absolute(move.temporary), self._tree.absolute(move.file))
        except FileNotFoundError:
            # It was moved before the process ended.
            return

    def _sync_folder(self, folder: str) -> None:
        try:
            self._calls.sync_folder(self._tree.absolute(folder))
        except FileNotFoundError:
            # Emptied by the change and tidied away by somebody since.
            return

    def _remove(self, file: str) -> None:
        try:
            self._calls.remove(self._tree.absolute(file))
        except FileNotFoundError:
            return

    def _has_grown(self, growth: Growth) -> bool:
        try:
            held = self._tree.read(growth.file)
        except StrayEntryError:
            return False
        if held is None:
            return False
        grown = held[growth.start : growth.start + growth.length]
        return len(grown) == growth.length and zlib.crc32(grown) == growth.checksum

    def _shrink(self, growth: Growth) -> None:
        """Back to the length before, unless somebody else has written behind it since."""
        absolute = self._tree.absolute(growth.file)
        try:
            status = os.lstat(absolute)
        except FileNotFoundError:
            return
        size = status.st_size
        is_ours = growth.start <= size <= growth.start + growth.length
        if not is_ours or not stat.S_ISREG(status.st_mode):
            _log.error("change_not_undone", file=growth.file, size=size, expected=growth.start)
            return
        if growth.before is None:
            self._remove(growth.file)
            return
        if size == growth.before:
            return
        fd = self._calls.open_to_grow(absolute)
        try:
            self._calls.truncate(fd, length=growth.before)
            self._calls.sync(fd)
        finally:
            os.close(fd)


def _decoded(stored: bytes) -> Intent | None:
    """The intent; None for one whose writing was not finished: nothing followed it."""
    checksum, _, payload = stored.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(payload):
        return None
    try:
        return _decoder.decode(payload)
    except msgspec.MsgspecError:
        return None


def _files(intent: Intent) -> list[str]:
    changed = [growth.file for growth in intent.growths]
    return sorted({*changed, *(move.file for move in intent.moves), *intent.removals})


def _above(file: str) -> str:
    return file.rpartition("/")[0]
