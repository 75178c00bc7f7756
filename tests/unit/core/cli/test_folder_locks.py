"""One owner a folder, whoever asks and however the owner ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commonhold.cli.folder_locks import FolderInUseError, FolderLock
from tests.support.processes import wait_until

HOLDER = """
import pathlib, signal, sys
from commonhold.cli.folder_locks import FolderLock
lock = FolderLock(pathlib.Path(sys.argv[1]))
print("held", flush=True)
signal.pause()
"""


def test_a_second_owner_is_told_who_the_first_is(tmp_path: Path) -> None:
    with FolderLock(tmp_path), pytest.raises(FolderInUseError) as refusal:
        FolderLock(tmp_path)
    assert str(tmp_path) in str(refusal.value)
    assert f"(pid {os.getpid()})" in str(refusal.value)


def test_a_folder_that_was_given_up_can_be_owned_again(tmp_path: Path) -> None:
    with FolderLock(tmp_path):
        pass
    with FolderLock(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_a_killed_owner_owns_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(FolderInUseError):
            FolderLock(tmp_path)
        holder.kill()
    wait_until(lambda: can_be_owned(tmp_path), "the lock of a killed owner is free")


def can_be_owned(folder: Path) -> bool:
    try:
        FolderLock(folder).close()
    except FolderInUseError:
        return False
    return True
