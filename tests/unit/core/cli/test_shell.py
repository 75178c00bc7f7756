"""The command line: exit statuses, and what each verb needs installed."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from commonhold.cli import migrate, shell
from commonhold.migrations import render_sql
from tests.support.ports import free_port


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is no clone, and no settings of the machine's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NEOSIAN_CLIENT_TOKEN", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        ["--bad"],
        ["nonsense"],
        ["dev", "--bad"],
        ["demo", "/does/not/exist"],
        ["demo"],
        ["demo", ".", "--url", "http://127.0.0.1:1"],
        ["migrate", "--bad"],
    ],
)
def test_a_wrong_invocation_is_status_two_and_said_on_stderr(
    line: list[str], capfd: pytest.CaptureFixture[str], elsewhere: Path
) -> None:
    try:
        status = shell.main(line)
    except SystemExit as leaving:
        status = int(leaving.code or 0)
    assert status == 2
    written = capfd.readouterr()
    assert written.out == ""
    assert written.err.strip()
    assert list(elsewhere.iterdir()) == []


def test_a_demo_without_a_service_says_how_to_start_one(
    capfd: pytest.CaptureFixture[str], elsewhere: Path
) -> None:
    (elsewhere / "README.md").write_text("x")
    assert shell.main(["demo"]) == 1
    assert "start it with `make run`" in capfd.readouterr().err


def test_a_demo_against_a_closed_port_says_how_to_start_one(
    capfd: pytest.CaptureFixture[str], elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / "README.md").write_text("x")
    monkeypatch.setenv("NEOSIAN_CLIENT_TOKEN", "t")
    url = f"http://127.0.0.1:{free_port()}"
    assert shell.main(["demo", "--url", url]) == 1
    assert f"nothing answers at {url}" in capfd.readouterr().err


def test_migrate_prints_every_step_for_the_schema_named(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert migrate.main(["--print", "--schema", "other"], {}) == 0
    assert capfd.readouterr().out == render_sql(schema="other")


def test_migrate_takes_the_schema_of_the_environment(capfd: pytest.CaptureFixture[str]) -> None:
    assert migrate.main(["--print"], {"COMMONHOLD_SCHEMA": "theirs"}) == 0
    assert capfd.readouterr().out == render_sql(schema="theirs")


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        ([], {}, "NEOSIAN_POSTGRES_DSN"),
        (["--print", "--schema", "No"], {}, "schema name 'No'"),
        ([], {"COMMONHOLD_TYPO": "1"}, "COMMONHOLD_TYPO"),
        (
            ["--check", "--grant-to", "r"],
            {"NEOSIAN_POSTGRES_DSN": "postgresql://"},
            "--check changes nothing",
        ),
        ([], {"NEOSIAN_POSTGRES_DSN_FILE": "/none"}, "NEOSIAN_POSTGRES_DSN_FILE"),
    ],
)
def test_migrate_without_what_it_needs_is_a_usage_error(
    arguments: list[str],
    environment: dict[str, str],
    said: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert migrate.main(arguments, environment) == 2
    written = capfd.readouterr()
    assert said in written.err
    assert written.out == ""


def test_migrate_of_a_database_that_is_away_is_status_one_without_the_secret(
    capfd: pytest.CaptureFixture[str],
) -> None:
    dsn = f"postgresql://u:s3cret@127.0.0.1:{free_port()}/d"
    assert migrate.main([], {"NEOSIAN_POSTGRES_DSN": dsn}) == 1
    error = capfd.readouterr().err
    assert error.startswith("error: ")
    assert "s3cret" not in error


def without_the_extra(*line: str) -> "subprocess.CompletedProcess[str]":
    """Run the program where neither cyclopts nor rich can be imported."""
    program = (
        "import sys; sys.modules['cyclopts'] = sys.modules['rich'] = None; "
        f"sys.argv = ['commonhold', *{line!r}]; "
        "from commonhold.cli.__main__ import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


def test_migrate_needs_nothing_of_the_extra() -> None:
    done = without_the_extra("migrate", "--print")
    assert (done.returncode, done.stdout) == (0, render_sql(schema="commonhold"))


def test_other_verbs_say_which_extra_they_need() -> None:
    done = without_the_extra("dev")
    assert done.returncode == 2
    assert "pip install 'commonhold[cli]'" in done.stderr


def test_an_interrupted_migration_is_status_130_without_a_traceback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with subprocess.Popen(
            [sys.executable, "-m", "commonhold.cli", "migrate"],
            env={"NEOSIAN_POSTGRES_DSN": f"postgresql://u:p@127.0.0.1:{port}/d"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            # It has connected, so its loop runs and waits for an answer.
            connection, _ = silent.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, b"")
