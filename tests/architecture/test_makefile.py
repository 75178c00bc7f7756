"""The front door: what it lists, and what it tells the images."""

import os
import re
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

from tests.support.repository import ROOT, tracked_files

DOCUMENTED = re.compile(
    r"(?:^|`)make ((?:[a-z]+(?:-[a-z]+)*)(?: [a-z]+(?:-[a-z]+)*)*)", re.MULTILINE
)


def test_help_lists_every_target_that_the_documents_name() -> None:
    documents = [(ROOT / path).read_text() for path in tracked_files() if path.suffix == ".md"]
    commands = chain.from_iterable(DOCUMENTED.findall(document) for document in documents)
    named = set(chain.from_iterable(command.split() for command in commands))
    assert named - _listed_targets() == set()


def test_help_lists_the_whole_front_door() -> None:
    expected = (
        "help setup lock run demo test check bench migrate clean "
        "up down logs smoke backup backups restore images"
    )
    assert set(expected.split()) - _listed_targets() == set()


def test_help_is_what_make_does_by_itself() -> None:
    assert _make(ROOT) == _make(ROOT, "help")


def test_smoke_is_told_the_mounts_of_the_gateway_that_runs(tmp_path: Path) -> None:
    mounts = "scope=a:b,path=c;scope=d:e,path=f"
    compose = tmp_path / "compose"
    compose.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f"*'gateway printenv COMMONHOLD_GATEWAY_MOUNTS') echo '{mounts}' ;;\n"
        "*) printf '%s\\n' \"$@\" ;;\n"
        "esac\n"
    )
    compose.chmod(0o755)
    told = _make(ROOT, "smoke", f"COMPOSE={compose}").splitlines()
    assert f"MOUNTS={mounts}" in told
    assert told[-3:] == ["state", "python", "-"]


def test_images_are_told_the_commit_and_whether_the_source_differs_from_it(
    tmp_path: Path,
) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "services" / "state").mkdir(parents=True)
    (tmp_path / "services" / "state" / "pyproject.toml").touch()

    def revision() -> str:
        told = re.search(r"--build-arg REVISION=(\S*) ", _make(tmp_path, "-n", "images"))
        assert told is not None
        return told[1]

    def git(*arguments: str) -> None:
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *author, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "--message", "first")
    git("tag", "v1")
    assert re.fullmatch(r"[0-9a-f]{12}", revision())
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text() + "\n")
    assert re.fullmatch(r"[0-9a-f]{12}-dirty", revision())
    shutil.rmtree(tmp_path / ".git")
    assert revision() in {"", "unknown"}


def test_a_run_that_make_began_sees_what_one_by_hand_sees() -> None:
    begun_by_make = {"MAKELEVEL": "1", "MAKEFLAGS": "w -- VENV=elsewhere"}
    test = f"{Path(__file__)}::{test_make_says_what_it_was_told_to_and_no_more.__name__}"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--quiet", test],
        cwd=ROOT,
        env={**os.environ, **begun_by_make},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def test_make_says_what_it_was_told_to_and_no_more() -> None:
    assert _make(ROOT, "--eval=say: ; @echo $(VENV)", "say").splitlines() == [".venv"]


def _listed_targets() -> set[str]:
    return set(re.findall(r"^  make ([a-z-]+)", _make(ROOT, "help"), re.MULTILINE))


def _make(directory: Path, *arguments: str) -> str:
    command = ["make", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True).stdout
