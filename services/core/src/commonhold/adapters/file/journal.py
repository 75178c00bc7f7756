"""The intent of a change, kept behind the one byte of the lock file while the change runs.

Who takes the lock next finishes or undoes what a dead process left half done, so that a
change of several files happens whole or not at all, and no line stays torn. At rest the
file is the one byte that every other reader of the layout knows (docs/adr/0024).
"""

import errno
import os
import zlib

import msgspec
import structlog

from commonhold.adapters.file.calls import SystemCalls, write_all
from commonhold.adapters.file.intents import (
    ForeignIntentError,
    Growth,
    Intent,
    Move,
    decode_intent,
    encode_intent,
    names_of,
)
from commonhold.adapters.file.layout import TRAIL
from commonhold.adapters.file.tree import Place, SpelledOtherwiseError, StrayEntryError, Tree

REST = b"\x00"
# What the system says of a folder, a file or a link where a change has something else.
_IN_THE_WAY = frozenset(
    {errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG}
)
_PART_BYTES = 256 * 1024

_log = structlog.get_logger(__name__)


class Journal:
    """The intents of one root, through the descriptor of its lock file."""

    def __init__(self, fd: int, tree: Tree, calls: SystemCalls) -> None:
        self._fd = fd
        self._tree = tree
        self._calls = calls

    def record(self, intent: Intent) -> None:
        """Write an intent, which `sync` makes last; behind both come its rows.

        Once those are there, the change is finished by anybody.
        """
        write_all(self._calls, self._fd, encode_intent(intent), offset=len(REST))

    def begin_sync(self) -> None:
        self._calls.begin_sync(self._fd)

    def sync(self) -> None:
        self._calls.sync(self._fd)

    def with_what_is_there(self, intent: Intent) -> Intent:
        """The intent of a change without rows, which could not tell who wrote since."""
        moves = (
            msgspec.structs.replace(move, before=self._sum_at(move.file)) for move in intent.moves
        )
        return msgspec.structs.replace(intent, moves=tuple(moves))

    def clear(self) -> None:
        """Forget the intent: its change is done, or undone.

        Nothing is synced. An intent that comes back after a power failure is one whose
        change has come to its end. What has the name of one of its drafts by then is of a
        later change that was not begun: `recover` knows it by its sum and leaves it.
        """
        self._calls.truncate(self._fd, length=len(REST))

    def recover(self) -> None:
        """Finish or undo what a dead process left; OSError when the root cannot be written.

        Of an intent that is none of ours, or whose names lead elsewhere by now, nothing is
        touched: the root is worth more than the change.
        """
        stored = self._stored()
        if not stored:
            return
        try:
            intent = decode_intent(stored)
            if intent is not None:
                self._require_ways(intent)
                self._settle(intent)
        except ForeignIntentError as foreign:
            _log.error("intent_refused", reason=str(foreign))
        except StrayEntryError as stray:
            _log.error("change_given_up", error=stray.fault, file=stray.file)
        except SpelledOtherwiseError as stray:
            _log.error("change_given_up", error="is spelled otherwise", file=stray.file)
        except OSError as error:
            if error.errno not in _IN_THE_WAY:
                raise
            # Put there since, by nobody of ours.
            file = error.filename2 or error.filename
            _log.error("change_given_up", error=error.strerror, file=file)
        finally:
            # What was looked at here is not as it was.
            self._tree.forget_files()
        self.clear()

    def _require_ways(self, intent: Intent) -> None:
        """StrayEntryError where a name is no longer one by which a change of ours goes."""
        for file in (*names_of(intent), *(move.temporary for move in intent.moves)):
            if self._tree.look_for_file(file) is Place.BLOCKED:
                raise StrayEntryError(file, "is below a file")

    def _settle(self, intent: Intent) -> None:
        if not intent.growths:
            self._settle_without_rows(intent)
            return
        tails = [(growth, self._tail(growth)) for growth in intent.growths]
        is_whole = all(growth.is_whole(tail) for growth, tail in tails)
        is_followed = any(len(tail) > growth.length for growth, tail in tails)
        is_finished = is_whole and not is_followed
        _log.warning("change_recovered", is_finished=is_finished, files=names_of(intent))
        if is_finished:
            moves = tuple(move for move in intent.moves if self._is_of_the_change(move))
            self.finish(msgspec.structs.replace(intent, moves=moves))
        elif is_whole:
            # Whoever wrote behind our rows knows nothing of the intent, and its files are newer.
            _log.error("change_superseded", files=names_of(intent))
            self._drop_drafts(intent)
        else:
            self.undo(intent)

    def _settle_without_rows(self, intent: Intent) -> None:
        """An erasure or a restore: what somebody else has written since stays.

        Of an erasure that is not made in full there is no act, so that it is seen to be asked
        for again.
        """
        pending = [
            move
            for move in intent.moves
            if os.path.lexists(self._tree.absolute(move.temporary)) and self._is_of_the_change(move)
        ]
        overtaken = {move.file for move in pending if not self._is_as_it_was(move)}
        _log.warning("change_recovered", is_finished=not overtaken, files=names_of(intent))
        if not overtaken:
            self.finish(msgspec.structs.replace(intent, moves=tuple(pending)))
            return
        _log.error("change_superseded", files=sorted(overtaken))
        is_begun = any(self._sum_at(move.file) == move.after for move in intent.moves)
        given_up = [
            move
            for move in pending
            if not is_begun or move.file in overtaken or _name(move.file) == TRAIL
        ]
        # The act first: whoever has to go on from here must not find it alone.
        for move in sorted(given_up, key=lambda move: _name(move.file) != TRAIL):
            self._remove(move.temporary)
        if is_begun:
            made = tuple(move for move in pending if move not in given_up)
            self.finish(msgspec.structs.replace(intent, moves=made))

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
        self._drop_drafts(intent)

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

    def _drop_drafts(self, intent: Intent) -> None:
        for move in intent.moves:
            self._remove(move.temporary)

    def _is_of_the_change(self, move: Move) -> bool:
        """Whether the draft is the one that the intent means; also true of one that is moved."""
        if move.checksum is None:
            return True
        if not os.path.lexists(self._tree.absolute(move.temporary)):
            return True
        is_ours = self._sum_at(move.temporary) == move.after
        if not is_ours:
            _log.error("draft_of_another_change", temporary=move.temporary, file=move.file)
        return is_ours

    def _is_as_it_was(self, move: Move) -> bool:
        return move.before is None or self._sum_at(move.file) == move.before

    def _sum_at(self, file: str) -> tuple[int, ...]:
        """The length and the sum of a file; empty where none is."""
        if not self._is_file(file):
            return ()
        length = checksum = 0
        with self._tree.open(file) as opened:
            while part := opened.read(_PART_BYTES):
                length += len(part)
                checksum = zlib.crc32(part, checksum)
        return length, checksum

    def _tail(self, growth: Growth) -> bytes:
        """What stands behind the start, and no more than tells whether somebody wrote on."""
        if not self._is_file(growth.file):
            return b""
        # No more than there is: a reader makes room for all that it is asked for.
        size = self._tree.entry(growth.file).size or 0
        end = min(size, growth.start + growth.length + 1)
        if end <= growth.start:
            return b""
        return self._tree.read_part(growth.file, start=growth.start, end=end)

    def _is_file(self, file: str) -> bool:
        try:
            return self._tree.look(file) is Place.FILE
        except StrayEntryError:
            return False

    def _shrink(self, growth: Growth) -> None:
        """Back to the length before, unless what stands behind it is somebody else's."""
        absolute = self._tree.absolute(growth.file)
        try:
            status = os.lstat(absolute)
        except FileNotFoundError:
            return
        size = status.st_size
        is_ours = (
            growth.start <= size
            and self._is_file(growth.file)
            and growth.is_torn(self._tail(growth))
        )
        if not is_ours:
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


def _name(file: str) -> str:
    return file.rpartition("/")[2]


def _above(file: str) -> str:
    return file.rpartition("/")[0]
