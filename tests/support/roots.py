"""Directories for stores of files: in memory where the machine has a place for that.

A sync of a disk takes a millisecond and says nothing that a test could see; what is synced,
and when, is asserted from the calls themselves.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of its own is made inside


@contextmanager
def temporary_root() -> Iterator[Path]:
    """A path at which nothing is yet, in a directory that goes with the test."""
    home = _IN_MEMORY if _IN_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=home, prefix="commonhold-root-") as folder:
        yield Path(folder) / "root"
