"""A private Postgres: found again, alone in its folder, and never left behind."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from commonhold.cli.errors import CommandError, StoppedError
from commonhold.cli.folder_locks import FolderInUseError
from commonhold.cli.local_postgres import LocalPostgres, start
from commonhold.cli.postgres_binaries import installed_prefix
from tests.support.processes import has_ended, wait_until

ROOT_ONLY = pytest.mark.root("becomes another user")
LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")

# Starts a server as `commonhold dev` does and waits to be killed.
OWNER = """
import pathlib, signal, sys
from commonhold.cli.local_postgres import start
postgres = start(pathlib.Path(sys.argv[1]))
print(postgres.child.pid, flush=True)
signal.pause()
"""


QUICK = {"fsync": "off", "max_connections": "37"}


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every user can enter, unlike pytest's own."""
    root = Path(tempfile.mkdtemp(prefix="commonhold-test-"))
    root.chmod(0o755)
    try:
        yield root / "postgres"
    finally:
        shutil.rmtree(root)


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture
def closed_folder(folder: Path) -> Path:
    folder.parent.chmod(0o700)
    return folder


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """A folder with a cluster that nobody runs."""
    with open_folder() as folder:
        start(folder, settings=QUICK).stop()
        yield folder


@pytest.fixture
def made_folder(cluster: Path, folder: Path) -> Path:
    """A copy of that folder: much quicker than making a cluster."""
    subprocess.run(["cp", "-a", cluster, folder], check=True)
    return folder


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    """A server that tests may only look at."""
    with open_folder() as folder, start(folder, settings=QUICK) as postgres:
        yield postgres


def query(postgres: LocalPostgres, sql: str, *values: Any) -> Any:
    async def ask() -> Any:
        connection = await asyncpg.connect(postgres.dsn)
        try:
            return await connection.fetchval(sql, *values)
        finally:
            await connection.close()

    return asyncio.run(ask())


def store(postgres: LocalPostgres, word: str) -> None:
    query(postgres, "CREATE TABLE IF NOT EXISTS words (word text)")
    query(postgres, "INSERT INTO words VALUES ($1)", word)


def test_data_is_found_again_by_the_next_start(made_folder: Path) -> None:
    with start(made_folder) as postgres:
        store(postgres, "sextant")
        first = postgres.child.pid
    assert has_ended(first)
    with start(made_folder) as postgres:
        assert query(postgres, "SELECT word FROM words") == "sextant"


def test_text_sorts_by_code_point_and_upper_case_is_unicode(server: LocalPostgres) -> None:
    assert query(server, "SELECT upper('é') || current_setting('server_encoding')") == "ÉUTF8"
    assert query(server, "SELECT 'Z' < 'a'")


@pytest.mark.parametrize("extension", ["pg_trgm", "vector"])
def test_extensions_are_there(server: LocalPostgres, extension: str) -> None:
    query(server, f"CREATE EXTENSION {extension}")


def test_it_listens_on_loopback_alone_and_asks_for_the_password(server: LocalPostgres) -> None:
    assert query(server, "SHOW listen_addresses") == "127.0.0.1"
    assert query(server, "SHOW unix_socket_directories") == ""
    wrong = server.dsn.replace(str(urlsplit(server.dsn).password), "guess")
    with pytest.raises(asyncpg.InvalidPasswordError):
        asyncio.run(asyncpg.connect(wrong))


def test_settings_reach_the_server(server: LocalPostgres) -> None:
    assert query(server, "SHOW fsync") == "off"
    assert query(server, "SHOW max_connections") == "37"


def test_what_holds_secrets_is_closed(server: LocalPostgres) -> None:
    assert (server.home / "password").stat().st_mode & 0o777 == 0o600
    assert server.data.stat().st_mode & 0o077 == 0


def test_a_second_owner_is_refused_and_the_first_goes_on(server: LocalPostgres) -> None:
    with pytest.raises(FolderInUseError, match=f"pid {os.getpid()}"):
        start(server.home)
    assert query(server, "SELECT 1") == 1


def test_discarded_data_is_gone(made_folder: Path) -> None:
    postgres = start(made_folder)
    postgres.discard()
    assert has_ended(postgres.child.pid)
    assert not postgres.home.exists()


@LINUX_ONLY
def test_the_server_of_a_killed_owner_stops_in_order(made_folder: Path) -> None:
    with start(made_folder) as postgres:
        store(postgres, "kept")
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(made_folder)], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        server = int(owner.stdout.readline())
        owner.kill()
    wait_until(lambda: has_ended(server), "the server of a killed owner ends", seconds=10)
    log = postgres.home / "postgres.log"
    assert log.read_text().rstrip().endswith("database system is shut down")
    with start(made_folder) as again:
        assert query(again, "SELECT word FROM words") == "kept"


def test_a_killed_server_recovers_although_its_number_is_in_use_again(made_folder: Path) -> None:
    postgres = start(made_folder)
    store(postgres, "kept")
    pid_file = postgres.data / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    os.killpg(postgres.child.pid, signal.SIGKILL)
    wait_until(lambda: postgres.child.exit_status is not None, "the server is dead")
    postgres.stop()
    assert pid_file.exists()
    # A power cut leaves the file too, and later the number can be any program's: this one's.
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    with start(made_folder) as again:
        assert query(again, "SELECT word FROM words") == "kept"
        assert "automatic recovery" in (postgres.home / "postgres.log").read_text()


def test_a_server_that_was_left_behind_is_stopped_first(made_folder: Path) -> None:
    postgres = start(made_folder)
    store(postgres, "kept")
    # As where no kernel takes the server along: its owner gone, the lock free, the server up.
    postgres._lock.close()
    with start(made_folder) as again:
        assert postgres.child.exit_status == 0
        assert query(again, "SELECT word FROM words") == "kept"


def test_a_first_start_that_was_cut_short_is_made_good(folder: Path) -> None:
    unfinished = folder / "data.unfinished-1"
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18\n")
    with start(folder) as postgres:
        assert query(postgres, "SELECT 1") == 1
    assert not unfinished.exists()


def test_a_server_that_cannot_start_shows_its_last_lines(made_folder: Path) -> None:
    with start(made_folder) as postgres:
        data = postgres.data
    (data / "PG_VERSION").write_text("9\n")
    with pytest.raises(CommandError, match="incompatible with server"):
        start(made_folder)
    (data / "PG_VERSION").write_text("18\n")
    start(made_folder).stop()


def test_a_wrong_setting_stops_the_start(made_folder: Path) -> None:
    with pytest.raises(CommandError, match="no_such_parameter"):
        start(made_folder, settings={"no_such_parameter": "1"})


def test_an_interrupted_start_leaves_nothing_running(made_folder: Path) -> None:
    start(made_folder).stop()
    with pytest.raises(StoppedError):
        start(made_folder, interrupted=lambda: True)
    assert not (made_folder / "data" / "postmaster.pid").exists()
    start(made_folder).stop()


@ROOT_ONLY
def test_as_root_the_server_is_an_unprivileged_user_in_the_folder(made_folder: Path) -> None:
    said: list[str] = []
    with start(made_folder, report=said.append) as postgres:
        assert postgres.home == made_folder
        assert Path(f"/proc/{postgres.child.pid}").stat().st_uid != 0
        assert query(postgres, "SELECT 1") == 1
    assert made_folder.parent.stat().st_uid == 0
    assert not [line for line in said if "cannot enter" in line]


@ROOT_ONLY
def test_as_root_a_closed_folder_stays_closed_and_the_place_is_said(closed_folder: Path) -> None:
    said: list[str] = []
    before = closed_folder.parent.stat().st_mode
    postgres = start(closed_folder, report=said.append)
    try:
        assert query(postgres, "SELECT 1") == 1
        assert any(str(postgres.home) in line for line in said)
        assert not postgres.home.is_relative_to(closed_folder.parent)
        assert closed_folder.parent.stat().st_mode == before
        store(postgres, "kept")
        postgres.stop()
        postgres = start(closed_folder)
        assert query(postgres, "SELECT word FROM words") == "kept"
    finally:
        postgres.discard()


@ROOT_ONLY
def test_as_root_binaries_that_nobody_else_reaches_are_copied(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = folder.parent / "hidden"
    hidden.mkdir(mode=0o700)
    package = installed_prefix().parent
    for source in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(source, hidden / source.name)
    monkeypatch.setattr(
        "commonhold.cli.postgres_binaries.installed_prefix",
        lambda: hidden / package.name / "pginstall",
    )
    shelf = folder.parent / "shelf"
    before = hidden.stat().st_mode
    with start(folder, system_folder=shelf) as postgres:
        assert query(postgres, "SELECT 1") == 1
        query(postgres, "CREATE EXTENSION pg_trgm")
        exe = Path(f"/proc/{postgres.child.pid}/exe").readlink()
    assert exe.is_relative_to(shelf)
    assert hidden.stat().st_mode == before
    with start(folder, system_folder=shelf) as postgres:
        assert query(postgres, "SELECT 1") == 1
    assert len(list(shelf.iterdir())) == 1
