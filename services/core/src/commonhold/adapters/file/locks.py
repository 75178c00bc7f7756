"""The lock around every method: one process, and in it one call, at a time in a root.

An advisory lock on the lock file, as every other program that keeps to the layout takes it.
Network file systems are out of scope.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from commonhold.adapters.file.calls import FILE_MODE, FOLDER_MODE, SystemCalls, write_all
from commonhold.adapters.file.changes import Change
from commonhold.adapters.file.journal import REST, Journal
from commonhold.adapters.file.layout import LOCK_NAME
from commonhold.adapters.file.remains import Remains
from commonhold.adapters.file.tree import Tree
from commonhold.contract.errors import StoreUnavailableError

POLL_SECONDS = 0.01
# What a root on a read-only mount, or of another user, says.
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})

_log = structlog.get_logger(__name__)


class Root:
    """A directory, opened anew for each call: whoever removes it and makes it again is fine."""

    def __init__(self, root: Path, *, calls: SystemCalls, wait_seconds: float) -> None:
        self._root = root
        self._calls = calls
        self._polls = max(1, round(wait_seconds / POLL_SECONDS))

    @contextmanager
    def reading(self) -> Iterator[Tree]:
        """The files under the lock. A root that does not exist holds nothing."""
        tree = Tree(str(self._root))
        fd = self._open_to_read()
        if fd is None:
            yield tree
            return
        try:
            self._acquire(fd)
            tree.folds_case = self._folds_case()
            self._recover_if_possible(fd, tree)
            yield tree
        finally:
            os.close(fd)

    @contextmanager
    def changing(self, remains: Remains) -> Iterator[tuple[Tree, Change]]:
        """The files under the lock, and one change of them; the root is made when missing."""
        tree = Tree(str(self._root))
        fd = self._open_to_change()
        try:
            self._acquire(fd)
            tree.folds_case = self._folds_case()
            journal = Journal(fd, tree, self._calls)
            journal.recover()
            with Change(tree, journal, self._calls, remains) as change:
                yield tree, change
        finally:
            os.close(fd)

    @property
    def _lock_file(self) -> str:
        return f"{self._root}/{LOCK_NAME}"

    def _open_to_change(self) -> int:
        try:
            fd = self._open(os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:
            self._make_root()
            fd = self._open(os.O_RDWR | os.O_CREAT)
        if os.fstat(fd).st_size == 0:
            write_all(self._calls, fd, REST, offset=0)
            self._calls.sync(fd)
            self._calls.sync_folder(str(self._root))
        return fd

    def _make_root(self) -> None:
        missing = [folder for folder in (self._root, *self._root.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
            self._calls.sync_folder(str(folder.parent))

    def _open_to_read(self) -> int | None:
        """A descriptor to lock; None when nobody can write here, or there is nothing yet."""
        try:
            return self._open(os.O_RDWR)
        except FileNotFoundError:
            return self._open_first() if self._root.is_dir() else None
        except OSError as error:
            if error.errno not in _READ_ONLY:
                raise
        return self._open(os.O_RDONLY)

    def _open_first(self) -> int | None:
        try:
            return self._open_to_change()
        except OSError as error:
            if error.errno not in _READ_ONLY:
                raise
            return None

    def _open(self, flags: int) -> int:
        fd = os.open(self._lock_file, flags | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "Not a regular file", self._lock_file)
        return fd

    def _acquire(self, fd: int) -> None:
        for _ in range(self._polls):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(POLL_SECONDS)
            else:
                return
        raise StoreUnavailableError(f"another process holds {self._lock_file}")

    def _folds_case(self) -> bool:
        return os.path.lexists(f"{self._root}/{LOCK_NAME.upper()}")

    def _recover_if_possible(self, fd: int, tree: Tree) -> None:
        """Reading goes on where nothing can be written; what was half done stays unseen."""
        try:
            Journal(fd, tree, self._calls).recover()
        except OSError as error:
            _log.error("change_not_recovered", root=str(self._root), error=error.strerror)
