"""Waiting for processes that are not our children."""

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
