"""The folder of a local run: its token, its logs, and where its services listen now."""

import os
import secrets
from pathlib import Path

import msgspec

from commonhold.cli.errors import CommandError

FOLDER_NAME = ".commonhold"
_OWNER_ONLY = 0o700
_EVERYONE_ENTERS = 0o755
_SECRET = 0o600


_GARDENS = """\
# What the maintenance worker of this folder tends. It only plans: take dry_run away, and it
# deletes empty documents and byte-identical copies that nobody changed for min_age_days.
[gardens.local]
mounts = [
  {scope = "user:me", path = "user"},
  {scope = "project:local", path = "project"},
]
interval = "24h"
min_age_days = 7
dry_run = true
"""


class RunningServices(msgspec.Struct, frozen=True, kw_only=True):
    """`run.json`: there while the services run; a kill leaves it behind."""

    pid: int
    url: str
    ops_url: str
    token_file: str
    postgres_dsn: str
    # None in what a release without a gateway left behind.
    mcp_url: str | None = None


class LocalFolder:
    """`.commonhold` of one clone, or of any folder that is none."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.token_file = place / "token"
        self.gardens_file = place / "gardens.toml"
        self.logs = place / "logs"
        self.postgres = place / "postgres"
        self._run_file = place / "run.json"

    def make(self) -> None:
        if not self.place.is_dir():
            self.place.mkdir(parents=True)
            # Enterable for the user that Postgres runs as, whatever the umask; what is
            # secret in it is closed by itself.
            self.place.chmod(_EVERYONE_ENTERS)
            (self.place / ".gitignore").write_text("*\n")
        self.logs.mkdir(mode=_OWNER_ONLY, exist_ok=True)
        if not self.gardens_file.exists():
            self.gardens_file.write_text(_GARDENS, encoding="utf-8")

    def get_or_make_token(self) -> str:
        token = self._token()
        if token is None:
            token = secrets.token_urlsafe(32)
            _write_secret(self.token_file, f"{token}\n".encode())
        return token

    def new_log(self, name: str) -> Path:
        """An empty log; the one of the run before is kept beside it."""
        log = self.logs / f"{name}.log"
        if log.exists():
            log.replace(self.logs / f"{name}.log.1")
        log.touch(mode=_SECRET)
        return log

    def put_running(self, services: RunningServices) -> None:
        _write_secret(self._run_file, msgspec.json.format(msgspec.json.encode(services)) + b"\n")

    def get_running(self) -> RunningServices | None:
        try:
            return msgspec.json.decode(self._run_file.read_bytes(), type=RunningServices)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as error:
            raise CommandError(f"{self._run_file} is not what `commonhold dev` writes") from error

    def forget_running(self) -> None:
        self._run_file.unlink(missing_ok=True)

    def _token(self) -> str | None:
        try:
            return self.token_file.read_text(encoding="utf-8").strip() or None
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise CommandError(
                f"{self.token_file} is no text: remove it, and the next start makes a new one"
            ) from error


def find_local_folder(start: Path) -> LocalFolder:
    """The folder of the clone that `start` is in; outside of any, the one right here."""
    for place in (start, *start.parents):
        if (place / FOLDER_NAME).is_dir() or (place / ".git").exists():
            return LocalFolder(place / FOLDER_NAME)
    return LocalFolder(start / FOLDER_NAME)


def _write_secret(file: Path, content: bytes) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    unfinished = file.with_name(f"{file.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(unfinished, flags, _SECRET), "wb") as output:
        output.write(content)
    unfinished.replace(file)
