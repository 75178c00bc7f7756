"""The gateway's settings, and what they make of its clients (docs/reference/settings.md, 3)."""

from pathlib import Path

import pytest

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.settings import KNOWN_NAMES, Address, settings_of
from commonhold.usecases.mounts import Mount, MountTable
from commonhold_gateway.app import clients_of
from commonhold_gateway.identities import Reach
from commonhold_gateway.settings import GatewaySettings, load_settings

GOOD = {
    "NEOSIAN_POSTGRES_DSN": "postgresql://h/db",
    "NEOSIAN_SERVE_TOKEN": "client:ana=one,client:bob=two,client:held@user:held=three",
}
MOUNTS = "scope=user:all,path=user;scope=kb:one,path=kb,ro"
DEFAULT = MountTable(
    (
        Mount(scope="user:all", mount_path="user"),
        Mount(scope="kb:one", mount_path="kb", read_only=True),
    )
)


def refusal(environ: dict[str, str], *arguments: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(arguments, {**GOOD, **environ})
    return caught.value.message


def test_the_defaults_are_those_of_the_reference() -> None:
    settings = load_settings([], GOOD)
    assert (settings.listen, settings.ops_listen) == (
        Address("127.0.0.1", 6368),
        Address("127.0.0.1", 9368),
    )
    assert (settings.sessions, settings.clients, settings.mounts) == ("stateless", None, None)
    assert settings.allowed_hosts == ("localhost", "127.0.0.1", "[::1]")
    assert settings.body_limit_bytes == 67108864
    assert (settings.call_seconds, settings.calls_per_client) == (30.0, 32)


def test_every_name_is_known_to_all_programs() -> None:
    names = {setting.name for setting in settings_of(GatewaySettings).values()}
    assert {name for name in names if name.startswith("COMMONHOLD_")} <= KNOWN_NAMES


def test_flags_win_over_the_environment() -> None:
    environ = {**GOOD, "COMMONHOLD_GATEWAY_LISTEN": "0.0.0.0:1", "COMMONHOLD_SCHEMA": "one"}
    settings = load_settings(["--host", "::1", "--port", "70", "--schema", "two"], environ)
    assert (settings.listen, settings.schema) == (Address("::1", 70), "two")
    assert refusal({}, "--port=0").startswith("--port must be a whole number from 1")
    assert refusal({}, "--schema", "Bad-Name").startswith("--schema must match")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("SESSIONS", "sticky", "must be one of stateless, stateful"),
        ("MOUNTS", "scope=user:a", "--mount 'scope=user:a' needs both scope= and path="),
        ("MOUNTS", "scope=bad,path=x", "Invalid memory scope 'bad'"),
        ("MOUNTS", f"{MOUNTS};scope=user:b,path=kb", "mount paths must be unique"),
        ("MOUNTS", f"{MOUNTS};", "malformed --mount ''"),
        ("ALLOWED_HOSTS", "https://h", "must be host names"),
        ("ALLOWED_HOSTS", "h,,i", "must be host names"),
        ("ALLOWED_ORIGINS", "app.example", "must be origins"),
        ("ALLOWED_ORIGINS", "https://app.example/path", "must be origins"),
        ("CALL_SECONDS", "0", "must be a number of seconds from 0.01"),
        ("CALLS_PER_CLIENT", "0", "must be a whole number from 1"),
        ("BODY_LIMIT_BYTES", "67108865", "must be a whole number from 1024 to 67108864"),
    ],
)
def test_a_bad_value_names_its_variable(name: str, value: str, told: str) -> None:
    variable = f"COMMONHOLD_GATEWAY_{name}"
    assert refusal({variable: value}).startswith(f"{variable} {told}")


def test_lists_are_split_at_commas() -> None:
    settings = load_settings(
        [],
        {
            **GOOD,
            "COMMONHOLD_GATEWAY_ALLOWED_HOSTS": "mcp.example, h:1",
            "COMMONHOLD_GATEWAY_ALLOWED_ORIGINS": "https://a.example,*",
        },
    )
    assert settings.allowed_hosts == ("mcp.example", "h:1")
    assert settings.allowed_origins == ("https://a.example", "*")


class TestReaches:
    def test_without_file_and_default_nobody_reaches_anything(self) -> None:
        assert clients_of(load_settings([], GOOD)).reaches == {}

    def test_the_default_is_for_free_tokens_and_reaches_every_conversation(self) -> None:
        settings = load_settings([], {**GOOD, "COMMONHOLD_GATEWAY_MOUNTS": MOUNTS})
        default = Reach(mounts=DEFAULT, conversation_prefixes=None)
        assert clients_of(settings).reaches == {"client:ana": default, "client:bob": default}

    def test_an_entry_takes_the_place_of_the_default(self, tmp_path: Path) -> None:
        path = tmp_path / "clients.toml"
        path.write_text(
            '[clients."client:ana"]\nmounts = [{ scope = "user:ana", path = "user" }]\n'
            '[clients."client:held"]\nmounts = [{ scope = "user:held", path = "user" }]\n'
        )
        environ = {
            **GOOD,
            "COMMONHOLD_GATEWAY_MOUNTS": MOUNTS,
            "COMMONHOLD_GATEWAY_CLIENTS": str(path),
        }
        reaches = clients_of(load_settings([], environ)).reaches
        assert reaches["client:ana"].mounts.find("kb") is None
        assert reaches["client:ana"].conversation_prefixes == ()
        assert reaches["client:bob"].mounts == DEFAULT
        assert reaches["client:held"].mounts.mounts[0].scope == "user:held"

    def test_a_client_that_only_the_previous_table_knows_has_its_reach(self) -> None:
        environ = {
            **GOOD,
            "COMMONHOLD_SERVE_TOKEN_PREVIOUS": "client:old=four",
            "COMMONHOLD_GATEWAY_MOUNTS": MOUNTS,
        }
        assert "client:old" in clients_of(load_settings([], environ)).reaches

    def test_a_token_that_is_held_in_either_table_gets_no_default(self) -> None:
        environ = {
            **GOOD,
            "COMMONHOLD_SERVE_TOKEN_PREVIOUS": "client:held=older",
            "COMMONHOLD_GATEWAY_MOUNTS": MOUNTS,
        }
        assert "client:held" not in clients_of(load_settings([], environ)).reaches
