"""What is skipped is said plainly at the end of a run, with what was missing."""

import subprocess
import sys
from pathlib import Path

from tests.support.repository import ROOT

THEIRS = """
import os

import pytest

os.geteuid = lambda: 1000


@pytest.mark.root("mounts a disk")
@pytest.mark.parametrize("number", [1, 2])
def test_a_disk(number):
    raise AssertionError


@pytest.mark.root("makes a device")
def test_a_device():
    raise AssertionError


def test_another():
    pass
"""


def test_who_is_not_root_is_told_what_was_skipped_for_it(tmp_path: Path) -> None:
    file = tmp_path / "test_theirs.py"
    file.write_text(THEIRS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p"]
    done = subprocess.run(
        [*command, "tests.conftest", f"--rootdir={tmp_path}", str(file)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line for line in done.stdout.splitlines() if "skipped for lack of" in line]
    assert told == [
        "2 tests were skipped for lack of root, who alone mounts a disk",
        "1 tests were skipped for lack of root, who alone makes a device",
    ]
    assert "1 passed, 3 skipped" in done.stdout
