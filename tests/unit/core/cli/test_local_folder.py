"""The folder of a local run: one token, closed files, found from anywhere in the clone."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonhold.cli.errors import CommandError
from commonhold.cli.local_folder import LocalFolder, RunningServices, find_local_folder

RUNNING = RunningServices(
    pid=7,
    url="http://127.0.0.1:6367",
    ops_url="http://127.0.0.1:9367",
    token_file="/x/token",
    postgres_dsn="postgresql://x",
)


@pytest.fixture(params=[0o000, 0o077], ids=["open umask", "closed umask"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LocalFolder]:
    before = os.umask(request.param)
    folder = LocalFolder(tmp_path / ".commonhold")
    folder.make()
    yield folder
    os.umask(before)


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


def test_the_token_is_made_once(folder: LocalFolder) -> None:
    token = folder.get_or_make_token()
    assert len(token) >= 40
    assert folder.get_or_make_token() == token
    assert folder.token_file.read_text() == f"{token}\n"


def test_a_token_is_one_bare_token_of_the_table(folder: LocalFolder) -> None:
    assert "=" not in folder.get_or_make_token()


def test_an_empty_token_file_is_no_token(folder: LocalFolder) -> None:
    folder.token_file.write_text("\n")
    assert len(folder.get_or_make_token()) >= 40


def test_what_is_secret_is_for_its_owner_alone(folder: LocalFolder) -> None:
    folder.get_or_make_token()
    folder.put_running(RUNNING)
    assert mode(folder.token_file) == 0o600
    assert mode(folder.place / "run.json") == 0o600
    assert mode(folder.logs) == 0o700
    assert mode(folder.new_log("state")) == 0o600


def test_the_folder_can_be_entered_by_the_user_of_postgres(folder: LocalFolder) -> None:
    assert mode(folder.place) == 0o755


def test_nothing_of_the_folder_is_committed(folder: LocalFolder) -> None:
    assert (folder.place / ".gitignore").read_text() == "*\n"


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    place = tmp_path / ".commonhold"
    place.mkdir(mode=0o700)
    LocalFolder(place).make()
    assert mode(place) == 0o700


def test_what_runs_is_found_again_until_it_is_forgotten(folder: LocalFolder) -> None:
    assert folder.get_running() is None
    folder.put_running(RUNNING)
    assert folder.get_running() == RUNNING
    folder.forget_running()
    folder.forget_running()
    assert folder.get_running() is None


def test_a_run_file_of_others_is_refused_by_name(folder: LocalFolder) -> None:
    (folder.place / "run.json").write_text("{}")
    with pytest.raises(CommandError, match=r"run\.json"):
        folder.get_running()


def test_the_log_of_the_run_before_is_kept(folder: LocalFolder) -> None:
    folder.new_log("state").write_text("first")
    assert folder.new_log("state").read_text() == ""
    assert (folder.logs / "state.log.1").read_text() == "first"


@pytest.mark.parametrize("marker", [".git", ".commonhold"])
def test_the_folder_of_a_clone_is_found_from_below(tmp_path: Path, marker: str) -> None:
    below = tmp_path / "docs" / "adr"
    below.mkdir(parents=True)
    (tmp_path / marker).mkdir()
    assert find_local_folder(below).place == tmp_path / ".commonhold"


def test_outside_of_a_clone_the_folder_is_right_here(tmp_path: Path) -> None:
    assert find_local_folder(tmp_path).place == tmp_path / ".commonhold"


def test_a_token_file_that_is_no_text_is_told_of_and_left(folder: LocalFolder) -> None:
    folder.token_file.write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match="token is no text: remove it"):
        folder.get_or_make_token()
    assert folder.token_file.read_bytes() == b"\xff\xfe"
