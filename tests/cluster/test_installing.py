"""What the pages show of installing for real and of Secrets, in a namespace that is new."""

import base64
import os
import secrets
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import Demo
from tests.support.cluster.commands import CommandError, Namespace, new_namespace
from tests.support.cluster.releases import DEMO_POSTGRES, Release, admit_to_postgres
from tests.support.helm import helm
from tests.support.markdown import fences
from tests.support.repository import ROOT

PAGE = "docs/howto/install-in-a-cluster.md"
ROTATING = "docs/howto/rotate-tokens.md"
SHOWN_IMAGES = "image: {registry: registry.example.org/agents}\n"
DATABASE = "memory"


@pytest.fixture
def administered(site: Namespace, demos: dict[int, Demo]) -> Release:
    """The release beside whose Postgres there is."""
    assert demos[3].release.namespace == site
    return demos[3].release


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the chart where the page has it, and helm among its programs."""
    (tmp_path / "helm").symlink_to(ROOT / "helm")
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs/helm").symlink_to(helm())
    return tmp_path


@pytest.fixture
def customer(site: Namespace) -> Iterator[Namespace]:
    """A namespace of its own, which that Postgres lets in."""
    with new_namespace("real") as namespace:
        admit_to_postgres(site, guest=namespace)
        yield namespace


def test_the_page_installs_for_real_with_a_role_that_only_serves(
    administered: Release,
    customer: Namespace,
    clone: Path,
    shown_commands: Callable[[str], list[str]],
) -> None:
    making_secrets, installing = shown_commands(PAGE)
    (roles,) = fences((ROOT / PAGE).read_text(), "sql")
    passwords = {"owner": secrets.token_hex(12), "serve": secrets.token_hex(12)}
    for password in passwords.values():
        roles = roles.replace("…", password, 1)
    administered.psql(roles)
    host = f"{DEMO_POSTGRES}.{administered.namespace.name}.svc"
    for role, password in passwords.items():
        dsn = f"postgresql://commonhold_{role}:{password}@{host}:5432/{DATABASE}\n"
        (clone / f"{role}.dsn").write_text(dsn)
    (clone / "tokens.txt").write_text(f"client:ana={secrets.token_hex(12)}\n")
    values = fences((ROOT / PAGE).read_text(), "yaml")[0]
    assert SHOWN_IMAGES in values
    (clone / "values.yaml").write_text(values.replace(SHOWN_IMAGES, "image: {tag: local}\n"))

    _type(making_secrets, folder=clone, namespace=customer)
    said = _type(installing, folder=clone, namespace=customer)
    assert said.count("is redacted") == 1
    sessions = f"SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = '{DATABASE}'"
    assert administered.psql(sessions).split() == ["commonhold_serve"]
    tables = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'commonhold'"
    assert administered.psql(tables, database=DATABASE).split() == ["commonhold_owner"]
    with pytest.raises(CommandError, match="must be owner of table documents"):
        administered.psql(
            "SET ROLE commonhold_serve; DROP TABLE commonhold.documents", database=DATABASE
        )


def test_a_secret_that_is_rotated_keeps_no_copy_of_itself(
    customer: Namespace, clone: Path, shown_commands: Callable[[str], list[str]]
) -> None:
    (rotating,) = shown_commands(ROTATING)
    (clone / "tokens.txt").write_text("client:ana=old")
    made = "kubectl --namespace memory create secret generic memory-tokens"
    _type(f"{made} --from-file=token=tokens.txt", folder=clone, namespace=customer)
    (clone / "tokens.txt").rename(clone / "tokens.previous.txt")
    (clone / "tokens.txt").write_text("client:ana=new")
    _type(rotating, folder=clone, namespace=customer)
    secret = customer.get("secret", "memory-tokens")
    held = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    assert held == {"token": "client:ana=new", "previous": "client:ana=old"}
    assert "annotations" not in secret["metadata"]


def _type(commands: str, *, folder: Path, namespace: Namespace) -> str:
    """Run commands of the page in a folder that is like a clone, for that namespace."""
    here = commands.replace("--namespace memory", f"--namespace {namespace.name}")
    done = subprocess.run(
        ["sh", "-eu", "-c", here],
        cwd=folder,
        env={**os.environ, "PATH": f"{folder / 'programs'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
    return done.stdout
