"""The credentials and certificates of the stack: made once, whose they are, and when anew."""

import re
import stat
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.repository import ROOT

TOKEN = re.compile(r"[0-9a-f]{64}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "secrets"


def test_credentials_are_made_once_and_only_for_their_owner(folder: Path) -> None:
    _run("make-secrets.sh", folder)
    first = _contents(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    random = [first[name] for name in ("serve_token", "postgres_password", "grafana_password")]
    assert all(TOKEN.fullmatch(text) for text in random)
    assert len(set(random)) == len(random)
    _run("make-secrets.sh", folder)
    assert _contents(folder) == first


def test_what_is_there_before_the_first_start_is_kept_and_used(folder: Path) -> None:
    folder.mkdir()
    (folder / "postgres_serve_password").write_text("mine")
    _run("make-secrets.sh", folder)
    made = _contents(folder)
    assert made["serve_dsn"] == "postgresql://commonhold_serve:mine@postgres:5432/commonhold"
    assert made["pooled_dsn"] == "postgresql://commonhold_serve:mine@pgbouncer:6432/commonhold"
    assert made["pgbouncer_users"] == '"commonhold_serve" "mine"'
    # Nothing to accept beside the token, until it is rotated.
    assert made["serve_token_previous"] == ""


@pytest.mark.parametrize(
    "password",
    [
        "p@ss/w:rd#1",
        "50%",
        "a b+c?&=",
        'say "no"',
        "\u00e9\u2713",
        "$(id)`id`$HOME\\",
        "[v6]",
        "-n",
    ],
)
def test_any_password_of_your_own_is_the_one_that_is_used(folder: Path, password: str) -> None:
    folder.mkdir()
    for name in ("postgres_password", "postgres_serve_password"):
        (folder / name).write_text(f"{password}\n")
    _run("make-secrets.sh", folder)
    made = _contents(folder)
    for dsn, user, host in (
        (made["migrate_dsn"], "commonhold", "postgres"),
        (made["serve_dsn"], "commonhold_serve", "postgres"),
        (made["pooled_dsn"], "commonhold_serve", "pgbouncer"),
    ):
        parts = urlsplit(dsn)
        assert (parts.username, parts.hostname, parts.path) == (user, host, "/commonhold")
        assert unquote(str(parts.password)) == password
    doubled = password.replace('"', '""')
    assert made["pgbouncer_users"] == f'"commonhold_serve" "{doubled}"'


def test_a_container_can_read_its_secrets_and_not_the_key_of_the_authority(folder: Path) -> None:
    _run("make-secrets.sh", folder)
    _run("make-certificates.sh", folder)
    private = {"ca.key", "edge.names"}
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert {mode for name, mode in modes.items() if name not in private} == {0o644}
    assert {modes[name] for name in private} == {0o600}


def test_a_certificate_is_kept_until_its_names_change(folder: Path) -> None:
    folder.mkdir()
    _run("make-certificates.sh", folder, "staging.example.org", "10.1.2.3")
    first = _contents(folder)
    assert _names(folder) == {
        ("DNS", "localhost"),
        ("DNS", "edge"),
        ("DNS", "staging.example.org"),
        ("IP Address", "127.0.0.1"),
        ("IP Address", "0:0:0:0:0:0:0:1"),
        ("IP Address", "10.1.2.3"),
    }
    _run("make-certificates.sh", folder)
    assert _contents(folder) == first
    _run("make-certificates.sh", folder, "other.example.org")
    assert ("DNS", "other.example.org") in _names(folder)
    assert _contents(folder)["ca.pem"] == first["ca.pem"]


def test_a_certificate_that_ends_soon_is_made_anew(folder: Path) -> None:
    folder.mkdir()
    _run("make-certificates.sh", folder)
    _openssl(
        folder,
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
        *("-keyout", "/dev/null", "-subj", "/CN=old", "-days", "20", "-out", "edge.pem"),
    )
    _run("make-certificates.sh", folder)
    assert _openssl(folder, "verify", "-CAfile", "ca.pem", "edge.pem") == "edge.pem: OK\n"


def _run(script: str, *arguments: str | Path) -> None:
    command = [ROOT / "deploy" / script, *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def _openssl(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["openssl", *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def _contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def _names(folder: Path) -> set[tuple[str, str]]:
    assert _openssl(folder, "verify", "-CAfile", "ca.pem", "edge.pem") == "edge.pem: OK\n"
    told = _openssl(folder, "x509", "-in", "edge.pem", "-noout", "-ext", "subjectAltName")
    return {(kind, name.strip()) for kind, name in re.findall(r"(DNS|IP Address):([^,\n]+)", told)}
