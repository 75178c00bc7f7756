"""Child processes that start in their own session and never outlive us.

Ctrl-C on a terminal goes to the foreground group, so a child in its own session is stopped
by its owner, in the owner's order. A killed owner takes its children along (tether.py).
"""

import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from commonhold.cli import tether

LAST_LINES = 15
_LAST_BYTES = 64 * 1024


class SystemUser(msgspec.Struct, frozen=True):
    """Whom a child runs as when we are root and it must not be."""

    name: str
    uid: int
    gid: int

    @classmethod
    def named(cls, name: str) -> "SystemUser":
        entry = pwd.getpwnam(name)
        return cls(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)

    @classmethod
    def numbered(cls, uid: int) -> "SystemUser":
        entry = pwd.getpwuid(uid)
        return cls(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)


class StopStep(msgspec.Struct, frozen=True):
    """A signal, and how long it may take to work before the next step."""

    signal: signal.Signals
    seconds: float


class Child:
    """A running process with its log file."""

    def __init__(
        self,
        name: str,
        process: "subprocess.Popen[bytes]",
        *,
        log: Path,
        steps: Sequence[StopStep],
    ) -> None:
        self.name = name
        self.log = log
        self._process = process
        self._steps = steps

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs; negative for the signal that ended it."""
        return self._process.poll()

    def stop(self) -> int:
        """Ask, then insist; returns the exit status."""
        for step in self._steps:
            self._process.send_signal(step.signal)
            try:
                return self._process.wait(step.seconds)
            except subprocess.TimeoutExpired:
                continue
        self._process.kill()
        return self._process.wait()

    def last_lines(self, count: int = LAST_LINES) -> list[str]:
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - _LAST_BYTES))
            return log.read().decode(errors="replace").splitlines()[-count:]


def start_child(
    name: str,
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    log: Path,
    steps: Sequence[StopStep],
    user: SystemUser | None = None,
    directory: Path | None = None,
) -> Child:
    """Start `command`, its output appended to `log`.

    The first step's signal is also what it gets when we die. Call this from a thread that
    lasts, the main one: Linux counts the thread as the parent.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(
            tethered(command, death_signal=steps[0].signal, user=user),
            env=dict(environment),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Child(name, process, log=log, steps=steps)


def run_to_end(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout_seconds: float,
    user: SystemUser | None = None,
    standard_input: bytes = b"",
) -> "subprocess.CompletedProcess[bytes]":
    """Run a short command as `user`, out of reach of Ctrl-C, its two outputs in one."""
    return subprocess.run(
        tethered(command, death_signal=signal.SIGTERM, user=user),
        env=dict(environment),
        cwd="/",
        input=standard_input,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        timeout=timeout_seconds,
        check=False,
    )


def tethered(
    command: Sequence[str], *, death_signal: signal.Signals, user: SystemUser | None
) -> list[str]:
    identity = ["-", "-"] if user is None else [str(user.uid), str(user.gid)]
    return [
        sys.executable,
        "-I",
        "-S",
        tether.__file__,
        str(os.getpid()),
        str(int(death_signal)),
        *identity,
        *command,
    ]
