"""`commonhold dev` as a person runs it: a process in a folder, and what it prints."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.support.ports import free_port
from tests.support.processes import descendants, has_ended, wait_until

UP = "goes through the rest"
START_SECONDS = 90.0
END_SECONDS = 60.0
# Gives the command a terminal of its own, and what is written to this program as its keys.
_ON_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


class LocalRun:
    """One `commonhold dev`, with ports of its own unless they are given."""

    def __init__(
        self,
        clone: Path,
        *,
        environment: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        self.clone = clone
        self.port = free_port()
        self.mcp_port = free_port()
        self._output = Path(tempfile.mkstemp(prefix="commonhold-run-")[1])
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, "-m", "commonhold.cli", "dev"],
                cwd=clone,
                env={
                    "PATH": os.environ["PATH"],
                    "COMMONHOLD_STATE_LISTEN": f"127.0.0.1:{self.port}",
                    "COMMONHOLD_STATE_OPS_LISTEN": f"127.0.0.1:{free_port()}",
                    "COMMONHOLD_GATEWAY_LISTEN": f"127.0.0.1:{self.mcp_port}",
                    "COMMONHOLD_GATEWAY_OPS_LISTEN": f"127.0.0.1:{free_port()}",
                    "COMMONHOLD_MAINTENANCE_OPS_LISTEN": f"127.0.0.1:{free_port()}",
                    **(environment or {}),
                },
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._output.read_text().replace("\r\n", "\n")

    @property
    def commands(self) -> list[str]:
        """The lines it prints for pasting."""
        return [line for line in self.output.splitlines() if line.startswith("curl ")]

    def wait_until_up(self) -> "LocalRun":
        self.wait_until_says(UP)
        return self

    def wait_until_says(self, text: str) -> None:
        wait_until(
            lambda: text in self.output or self.process.poll() is not None,
            f"it says {text!r}",
            seconds=START_SECONDS,
        )
        assert text in self.output, self.output

    def wait_for_status(self) -> int:
        return self.process.wait(END_SECONDS)

    def processes(self) -> list[int]:
        """The command and all below it, some of which lead sessions of their own."""
        return [self.process.pid, *descendants(self.process.pid)]

    def end(self) -> int:
        """Stop it in order, whatever state it is in; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.wait_for_status()

    def close(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.end()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self._output.unlink()


@contextlib.contextmanager
def local_run(
    clone: Path, *, environment: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
) -> Iterator[LocalRun]:
    run = LocalRun(clone, environment=environment, prefix=prefix)
    try:
        yield run
    finally:
        run.close()


@contextlib.contextmanager
def open_clone() -> Iterator[Path]:
    """A folder that looks like a clone and that every user can enter, unlike pytest's own."""
    clone = Path(tempfile.mkdtemp(prefix="commonhold-clone-"))
    clone.chmod(0o755)
    (clone / ".git").mkdir()
    try:
        yield clone
    finally:
        shutil.rmtree(clone)


def on_a_terminal() -> tuple[str, ...]:
    return (sys.executable, "-c", _ON_A_TERMINAL)


def paste(command: str) -> str:
    """Run a printed line in a shell, as a person does."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=END_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait_until_all_ended(processes: Sequence[int], *, seconds: float = END_SECONDS) -> None:
    wait_until(
        lambda: all(has_ended(process) for process in processes),
        f"all of {list(processes)} have ended",
        seconds=seconds,
    )
