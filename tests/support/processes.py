"""Waiting for processes that are not our children."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest

POLL_SECONDS = 0.02


def wait_until(holds: Callable[[], bool], what: str, *, seconds: float = 20.0) -> None:
    """Fail the test, saying what was waited for, when it does not come true in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds:g} s in vain until {what}")
        time.sleep(POLL_SECONDS)


def has_ended(pid: int) -> bool:
    """Whether a process runs no more; one that nobody has reaped yet counts as ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] in "ZX"


def descendants(pid: int) -> list[int]:
    """Every process below this one, nearest first."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                below.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found.extend(below.get(parent, []))
    return found[1:]
