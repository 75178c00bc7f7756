"""The state service's settings and flags (docs/reference/settings.md, section 1)."""

import re
from pathlib import Path

import pytest

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.settings import KNOWN_NAMES, Address, settings_of
from commonhold_state.settings import StateSettings, load_settings
from tests.support.repository import ROOT

GOOD = {"NEOSIAN_POSTGRES_DSN": "postgresql://h/db", "NEOSIAN_SERVE_TOKEN": "tok"}


def refusal(arguments: list[str], environ: dict[str, str]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(arguments, environ)
    return caught.value.message


def test_the_defaults_are_those_of_the_reference() -> None:
    settings = load_settings([], GOOD)
    assert (settings.listen, settings.ops_listen) == (
        Address("127.0.0.1", 6367),
        Address("127.0.0.1", 9367),
    )
    assert (settings.schema, settings.pool_size, settings.pool_wait_seconds) == (
        "commonhold",
        24,
        2.0,
    )
    assert (settings.in_flight_limit, settings.in_flight_bytes) == (512, 268435456)
    assert (settings.body_timeout_seconds, settings.drain_seconds) == (30.0, 20.0)
    assert (settings.statement_timeout_seconds, settings.log_level) == (30.0, "info")
    assert (settings.log_format, settings.previous_tokens) == (None, ())


def test_every_name_is_known_to_all_programs_and_told_in_the_reference() -> None:
    page = (ROOT / "docs/reference/settings.md").read_text()
    section = page.split("## 1. State service")[1].split("\n## ")[0]
    told = set(re.findall(r"^\| `([A-Z_]+)`", section, flags=re.MULTILINE))
    names = {setting.name for setting in settings_of(StateSettings).values()}
    assert told == names
    assert {name for name in names if name.startswith("COMMONHOLD_")} <= KNOWN_NAMES


def test_flags_win_over_the_environment() -> None:
    environ = {**GOOD, "COMMONHOLD_STATE_LISTEN": "0.0.0.0:1", "COMMONHOLD_SCHEMA": "one"}
    settings = load_settings(["--host", "::1", "--port", "70", "--schema", "two"], environ)
    assert (settings.listen, settings.schema) == (Address("::1", 70), "two")
    settings = load_settings(["--port", "70"], environ)
    assert (settings.listen, settings.schema) == (Address("0.0.0.0", 70), "one")


@pytest.mark.parametrize("text", ["two words", "x" * 81, "caf\N{LATIN SMALL LETTER E WITH ACUTE}"])
def test_a_revision_that_no_label_can_show_is_refused(text: str) -> None:
    assert load_settings([], {**GOOD, "COMMONHOLD_REVISION": "abc-dirty"}).revision == "abc-dirty"
    told = refusal([], {**GOOD, "COMMONHOLD_REVISION": text})
    assert told == "COMMONHOLD_REVISION must be 1 to 80 visible ASCII characters"


@pytest.mark.parametrize("port", ["0", "65536", "x", "-1", ""])
def test_a_port_out_of_range_is_refused(port: str) -> None:
    assert refusal([f"--port={port}"], GOOD).startswith("--port must be a whole number from 1")


def test_a_bad_schema_is_refused() -> None:
    assert refusal(["--schema", "Bad-Name"], GOOD).startswith("--schema must match")


@pytest.mark.parametrize("name", list(GOOD))
def test_the_database_and_the_token_are_required(name: str) -> None:
    assert refusal([], {**GOOD, name: ""}).startswith(f"{name} must be set")


def test_a_bad_token_table_names_its_variable_and_not_its_text() -> None:
    for name in ("NEOSIAN_SERVE_TOKEN", "COMMONHOLD_SERVE_TOKEN_PREVIOUS"):
        message = refusal([], {**GOOD, name: "client:a=one,client:b=s3cret,client:c=s3cret"})
        assert message == f"{name} entry 3 repeats a token or an actor"


def test_grants_stop_the_start_but_an_empty_variable_does_not() -> None:
    assert load_settings([], {**GOOD, "NEOSIAN_SERVE_GRANTS": ""}).grants is None
    message = refusal([], {**GOOD, "NEOSIAN_SERVE_GRANTS": "/etc/grants.toml"})
    assert message.startswith("NEOSIAN_SERVE_GRANTS must be unset")


def test_nothing_secret_prints(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("client:a=hunter2\n")
    environ = {
        "NEOSIAN_POSTGRES_DSN": "postgresql://u:hunter2@h/db",
        "NEOSIAN_SERVE_TOKEN_FILE": str(path),
        "COMMONHOLD_SERVE_TOKEN_PREVIOUS": "hunter2",
    }
    settings = load_settings([], environ)
    assert settings.tokens[0].token.reveal() == "hunter2"
    assert "hunter2" not in repr(settings)
