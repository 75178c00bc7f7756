"""The parts of `commonhold dev` that need no running service."""

import socket
import tomllib
from pathlib import Path

import pytest

from commonhold.cli.dev import run_services
from commonhold.cli.errors import CommandError
from commonhold.cli.folder_locks import FolderInUseError, FolderLock
from commonhold.cli.local_folder import LocalFolder
from commonhold.cli.local_services import DEFAULT_MOUNTS, service_environment
from commonhold.contract.errors import ConfigurationError
from tests.support.ports import free_port

LISTENS = (
    "COMMONHOLD_STATE_LISTEN",
    "COMMONHOLD_STATE_OPS_LISTEN",
    "COMMONHOLD_GATEWAY_LISTEN",
    "COMMONHOLD_GATEWAY_OPS_LISTEN",
    "COMMONHOLD_MAINTENANCE_OPS_LISTEN",
)
DSN = "postgresql://commonhold:pw@127.0.0.1:1/commonhold"


@pytest.fixture
def folder(tmp_path: Path) -> LocalFolder:
    return LocalFolder(tmp_path / ".commonhold")


def environment(folder: LocalFolder, **given: str) -> dict[str, str]:
    return service_environment(given, folder=folder, dsn=DSN)


def test_the_service_gets_this_database_and_this_token(folder: LocalFolder) -> None:
    made = environment(
        folder,
        NEOSIAN_POSTGRES_DSN="postgresql://other",
        NEOSIAN_POSTGRES_DSN_FILE="/other",
        NEOSIAN_SERVE_TOKEN="other",
        NEOSIAN_SERVE_TOKEN_FILE="/other",
        COMMONHOLD_MIGRATE_DSN="postgresql://other",
    )
    assert "other" not in " ".join(made.values())
    assert made["NEOSIAN_POSTGRES_DSN"] == DSN
    assert made["NEOSIAN_SERVE_TOKEN_FILE"] == str(folder.token_file)


def test_settings_reach_the_service_and_nothing_else_does(folder: LocalFolder) -> None:
    given = {
        "COMMONHOLD_POOL_SIZE": "3",
        "COMMONHOLD_TYPO": "x",
        "NEOSIAN_SERVE_GRANTS": "/grants",
        "PATH": "/bin",
        "AWS_SECRET_ACCESS_KEY": "x",
        "PYTHONPATH": "/elsewhere",
    }
    made = environment(folder, **given)
    assert {name: made[name] for name in list(given)[:4]} == dict(list(given.items())[:4])
    assert "AWS_SECRET_ACCESS_KEY" not in made
    assert "PYTHONPATH" not in made


def test_a_drain_of_the_users_choice_is_kept(folder: LocalFolder) -> None:
    assert environment(folder)["COMMONHOLD_DRAIN_SECONDS"] == "5"
    assert environment(folder, COMMONHOLD_DRAIN_SECONDS="9")["COMMONHOLD_DRAIN_SECONDS"] == "9"


def test_an_agent_sees_its_user_and_its_project_when_nothing_else_is_said(
    folder: LocalFolder,
) -> None:
    assert environment(folder)["COMMONHOLD_GATEWAY_MOUNTS"] == DEFAULT_MOUNTS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COMMONHOLD_GATEWAY_MOUNTS", "scope=user:ana,path=ana"),
        ("COMMONHOLD_GATEWAY_MOUNTS_FILE", "/mounts"),
        ("COMMONHOLD_GATEWAY_CLIENTS", "/clients.toml"),
    ],
)
def test_what_the_user_mounts_is_all_that_is_mounted(
    folder: LocalFolder, name: str, value: str
) -> None:
    made = environment(folder, **{name: value})
    said = {key: made[key] for key in made if key.startswith("COMMONHOLD_GATEWAY_")}
    assert said == {name: value}


def test_the_worker_plans_only_when_nothing_else_is_said(folder: LocalFolder) -> None:
    folder.make()
    assert environment(folder)["COMMONHOLD_GARDENS"] == str(folder.gardens_file)
    said = tomllib.loads(folder.gardens_file.read_text())["gardens"]["local"]
    assert said["dry_run"] is True
    assert "model" not in said


def test_gardens_of_the_users_choice_are_kept(folder: LocalFolder) -> None:
    folder.make()
    folder.gardens_file.write_text("# mine")
    folder.make()
    assert folder.gardens_file.read_text() == "# mine"
    assert environment(folder, COMMONHOLD_GARDENS="/mine")["COMMONHOLD_GARDENS"] == "/mine"


@pytest.mark.parametrize("name", LISTENS)
def test_a_port_in_use_is_named_with_its_setting(folder: LocalFolder, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        listens = {other: f"127.0.0.1:{free_port()}" for other in LISTENS}
        listens[name] = f"127.0.0.1:{port}"
        with pytest.raises(CommandError) as refusal:
            run_services(folder, listens, say=lambda _: None)
    assert f"port {port} on 127.0.0.1 is in use" in str(refusal.value)
    assert name in str(refusal.value)
    assert not folder.postgres.exists()


def test_an_address_that_is_not_ours_is_named_with_its_setting(folder: LocalFolder) -> None:
    listens = {"COMMONHOLD_STATE_LISTEN": "203.0.113.1:6367"}
    with pytest.raises(CommandError, match=r"COMMONHOLD_STATE_LISTEN: cannot listen on 203\.0"):
        run_services(folder, listens, say=lambda _: None)


def test_a_second_run_of_the_folder_is_refused(folder: LocalFolder) -> None:
    folder.make()
    with FolderLock(folder.place), pytest.raises(FolderInUseError, match="stop that one first"):
        run_services(folder, {}, say=lambda _: None)


def test_a_bad_address_is_named_before_anything_is_made(folder: LocalFolder) -> None:
    with pytest.raises(ConfigurationError, match="COMMONHOLD_STATE_LISTEN"):
        run_services(folder, {"COMMONHOLD_STATE_LISTEN": "nowhere"}, say=lambda _: None)
    assert not folder.place.exists()


def test_settings_that_are_made_here_are_named_when_they_are_set(folder: LocalFolder) -> None:
    said: list[str] = []
    given = {"NEOSIAN_SERVE_TOKEN_FILE": "/x", "COMMONHOLD_STATE_LISTEN": "nowhere"}
    with pytest.raises(ConfigurationError):
        run_services(folder, given, say=said.append)
    assert said == ["NEOSIAN_SERVE_TOKEN is set and not used here: this command makes its own"]
