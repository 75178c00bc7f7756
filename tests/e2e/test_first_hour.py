"""The page of the first hour in staging, command by command, in a clone of its own.

Its disaster is the drill of the backup: clients write before the dump and after it, and what they
were told before it must be there again.
"""

import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.compose_stacks import name_and_ports, run
from tests.support.processes import wait_until
from tests.support.repository import ROOT, tracked_files
from tests.support.service_checker import Doors, checking

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

PAGE = "docs/howto/first-hour-in-staging.md"
SECONDS = 400
# What the commands of the page need of a clone.
PLACES = {"Makefile", "docker-compose.yml", "deploy", "helm", "requirements", "services"}
PLACES |= {".dockerignore"}
SHOWN = {
    "localhost:8443": "localhost:{EDGE_PORT}",
    "127.0.0.1:9090": "127.0.0.1:{PROMETHEUS_PORT}",
    "127.0.0.1:9093": "127.0.0.1:{ALERTMANAGER_PORT}",
    "commonhold_postgres-data": "{COMPOSE_PROJECT_NAME}_postgres-data",
}


class Site:
    """A clone where somebody types what the page shows, under a name and ports of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # The image that the shared stack runs stays the newest: no other revision is built here.
        revision = run(["make", "-s", "--eval=say: ; @echo $(REVISION)", "say"], {}).strip()
        self.environment = {
            **name_and_ports(),
            "MAKEFLAGS": f"REVISION={revision}",
            "BACKUP_KEEP": "1",
        }
        for path in tracked_files():
            if path.parts[0] in PLACES:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, folder / path)

    def type(self, commands: str) -> str:
        for shown, here in SHOWN.items():
            commands = commands.replace(shown, here.format(**self.environment))
        done = subprocess.run(
            ["sh", "-eu", "-c", commands],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def secret(self, name: str) -> str:
        return (self.folder / "secrets" / name).read_text().strip()

    @property
    def doors(self) -> Doors:
        return Doors(
            state_port=int(self.environment["STATE_PORT"]),
            gateway_port=int(self.environment["GATEWAY_PORT"]),
            token=self.secret("serve_token"),
        )


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path / "clone")
    try:
        yield site
    finally:
        site.type("docker compose --profile '*' down --volumes --timeout 10")


def test_the_page_is_true_and_loses_nothing(
    site: Site, shown_commands: Callable[[str], list[str]]
) -> None:
    start, see, write, widen, look, rotate, dump, lose, get_back, stop, end = shown_commands(PAGE)
    site.type(start)
    assert "COMPOSE_PROFILES=tls,backup\n" in (site.folder / ".env").read_text()
    said = site.type(see)
    assert said.count("is redacted") == 2
    assert {"edge", "backup"} <= set(re.findall(r"-(\w+)-1 ", said))
    assert '"path":"notes/first","content":"The kettle is on.\\n","version":1' in site.type(write)
    site.type(widen)
    _shake_hands(site, "staging.example.org")
    assert set(re.findall(r'"health":"(\w+)"', site.type(look))) == {"up"}

    old = site.secret("serve_token")
    site.type(rotate)
    assert old == site.secret("serve_token_previous") != site.secret("serve_token")

    with checking(site.doors) as before:
        before.wait_for(10)
    assert before.violations() == []
    made, *kept = site.type(dump).split()
    assert kept == [made]
    _refuse_half_of(made, site)
    assert before.violations() == []
    with checking(site.doors) as after:
        after.wait_for(3)
    site.type(lose)
    assert site.type(get_back).count("is redacted") == 2
    assert before.violations() == []
    # The disaster was one: of what came after the dump nothing is there.
    assert "acknowledged_missing" in {found.rule for found in after.violations()}

    site.type(stop)
    assert site.type("docker compose --profile '*' ps --all --quiet") == ""
    volumes = f"docker volume ls --quiet --filter name={site.environment['COMPOSE_PROJECT_NAME']}"
    assert len(site.type(volumes).split()) == 4
    site.type(end)
    assert site.type(volumes) == ""


def test_a_profile_that_there_is_not_is_refused_and_nothing_changed(site: Site) -> None:
    with pytest.raises(AssertionError, match="no profile is called 'tsl'; there are: backup "):
        site.type("deploy/choose-profiles.sh tsl")
    assert not (site.folder / ".env").exists()


def test_the_choice_of_profiles_leaves_the_rest_of_the_file_alone(site: Site) -> None:
    (site.folder / ".env").write_text("STATE_PORT=7000\nCOMPOSE_PROFILES=tls\n")
    site.type("deploy/choose-profiles.sh replicas pgbouncer")
    assert (site.folder / ".env").read_text().splitlines() == [
        "STATE_PORT=7000",
        "COMPOSE_PROFILES=replicas,pgbouncer",
        "SERVE_DSN=pooled_dsn",
        "TARGETS=two",
    ]
    site.type("deploy/choose-profiles.sh")
    assert (site.folder / ".env").read_text() == "STATE_PORT=7000\nCOMPOSE_PROFILES=\n"


def _refuse_half_of(dump: str, site: Site) -> None:
    """A dump that is cut off is no dump: it is refused, and changes nothing."""
    copy = site.folder / dump
    site.type(f"docker compose cp backup:/var/lib/postgresql/data/{dump} .")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    copy.write_bytes(copy.read_bytes()[: copy.stat().st_size * 2 // 3])
    with pytest.raises(AssertionError, match="pg_restore: error"):
        site.type(f"docker compose exec -T backup backup restore - < {dump}")
    # A file of that name would be what the page restores.
    copy.unlink()


def _shake_hands(site: Site, name: str) -> None:
    """Wait until the edge, which has just been restarted, shows a certificate for the name."""
    trusting = ssl.create_default_context(cafile=site.folder / "secrets/ca.pem")
    address = ("127.0.0.1", int(site.environment["EDGE_PORT"]))

    def shaken() -> bool:
        try:
            with socket.create_connection(address, timeout=30) as plain:
                trusting.wrap_socket(plain, server_hostname=name).close()
        except (ConnectionError, ssl.SSLEOFError):
            return False
        return True

    wait_until(shaken, "the edge is back", seconds=60)
