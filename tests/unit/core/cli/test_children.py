"""Children of the shell: their own session, their end with ours, their logs."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonhold.cli.children import Child, StopStep, SystemUser, run_to_end, start_child, tethered
from tests.support.processes import has_ended, wait_until

ENVIRONMENT = {"PATH": os.defpath}
GENTLY = (StopStep(signal.SIGTERM, 10.0),)
LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
ROOT_ONLY = pytest.mark.root("becomes another user")

# Starts a child as the shell does, says its number, and waits to be killed.
OWNER = """
import pathlib, signal, sys
from commonhold.cli.children import StopStep, SystemUser, start_child
user = SystemUser.named(sys.argv[2]) if len(sys.argv) > 2 else None
child = start_child("sleeper", ["/bin/sleep", "600"], environment={"PATH": "/bin"}, user=user,
                    log=pathlib.Path(sys.argv[1]), steps=[StopStep(signal.SIGTERM, 10.0)])
print(child.pid, flush=True)
signal.pause()
"""


def start(tmp_path: Path, *command: str, steps: tuple[StopStep, ...] = GENTLY) -> Child:
    return start_child(
        "child", command, environment=ENVIRONMENT, log=tmp_path / "child.log", steps=steps
    )


def shell(tmp_path: Path, script: str, *, steps: tuple[StopStep, ...] = GENTLY) -> Child:
    return start(tmp_path, "/bin/sh", "-c", script, steps=steps)


def says(child: Child, text: str) -> bool:
    return text in "\n".join(child.last_lines())


@pytest.fixture
def owner(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    with own(tmp_path) as process:
        yield process
        process.kill()


def own(tmp_path: Path, *user: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "child.log"), *user],
        stdout=subprocess.PIPE,
        text=True,
    )


def child_of(owner: "subprocess.Popen[str]") -> int:
    assert owner.stdout is not None
    return int(owner.stdout.readline())


def test_a_child_leads_a_session_of_its_own(tmp_path: Path) -> None:
    child = start(tmp_path, "/bin/sleep", "600")
    assert os.getsid(child.pid) == child.pid
    assert child.stop() == -signal.SIGTERM


def test_what_a_child_prints_is_in_its_log(tmp_path: Path) -> None:
    child = shell(tmp_path, "for i in 1 2 3; do echo out $i; done; echo err >&2; exit 3")
    wait_until(lambda: child.exit_status is not None, "the child ends")
    assert child.exit_status == 3
    assert child.last_lines(2) == ["out 3", "err"]


def test_a_child_that_ignores_the_first_signal_gets_the_next(tmp_path: Path) -> None:
    steps = (StopStep(signal.SIGTERM, 0.2), StopStep(signal.SIGQUIT, 10.0))
    child = shell(
        tmp_path, "trap '' TERM; trap 'exit 7' QUIT; echo up; while :; do :; done", steps=steps
    )
    wait_until(lambda: says(child, "up"), "the traps are set")
    assert child.stop() == 7


def test_a_child_that_ignores_every_signal_is_killed(tmp_path: Path) -> None:
    steps = (StopStep(signal.SIGTERM, 0.2),)
    child = shell(tmp_path, "trap '' TERM; echo up; while :; do :; done", steps=steps)
    wait_until(lambda: says(child, "up"), "the trap is set")
    assert child.stop() == -signal.SIGKILL


@LINUX_ONLY
def test_a_child_ends_when_its_owner_is_killed(owner: "subprocess.Popen[str]") -> None:
    child = child_of(owner)
    assert not has_ended(child)
    owner.kill()
    wait_until(lambda: has_ended(child), "the child of a killed owner ends", seconds=5)


@LINUX_ONLY
@ROOT_ONLY
def test_a_child_of_another_user_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    with own(tmp_path, "nobody") as owner:
        child = child_of(owner)
        wait_until(lambda: Path(f"/proc/{child}/comm").read_text() == "sleep\n", "the command runs")
        assert Path(f"/proc/{child}").stat().st_uid == SystemUser.named("nobody").uid
        owner.kill()
        wait_until(lambda: has_ended(child), "the child of a killed owner ends", seconds=5)


@LINUX_ONLY
def test_a_child_whose_parent_is_gone_before_it_starts_runs_nothing(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    command = tethered(["/bin/touch", str(ran)], death_signal=signal.SIGTERM, user=None)
    command[command.index(str(os.getpid()))] = str(2**22 + 1)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the parent has already ended" in done.stderr
    assert not ran.exists()


def test_a_short_command_gives_its_status_and_both_outputs() -> None:
    done = run_to_end(
        ["/bin/sh", "-c", "cat; echo err >&2; exit 4"],
        environment=ENVIRONMENT,
        standard_input=b"in\n",
        timeout_seconds=20.0,
    )
    assert (done.returncode, done.stdout) == (4, b"in\nerr\n")


@ROOT_ONLY
def test_another_user_has_none_of_roots_groups() -> None:
    done = run_to_end(
        ["/usr/bin/id", "-G"],
        environment=ENVIRONMENT,
        user=SystemUser.named("nobody"),
        timeout_seconds=20.0,
    )
    assert done.stdout.split() == [str(SystemUser.named("nobody").gid).encode()]
