"""The worker's settings and command line, and what stops its start."""

from pathlib import Path

import pytest

from commonhold.contract.errors import ConfigurationError
from commonhold_maintenance.app import read_gardening
from commonhold_maintenance.settings import Options, load_settings

DSN = {"NEOSIAN_POSTGRES_DSN": "postgresql://h/d"}
HOME = '[gardens.home]\nmounts = [{scope = "user:ana", path = "user"}]\n'


def write(folder: Path, text: str) -> dict[str, str]:
    path = folder / "gardens.toml"
    path.write_text(text)
    return {**DSN, "COMMONHOLD_GARDENS": str(path)}


def test_it_works_by_schedule_unless_told_once() -> None:
    environ = {**DSN, "COMMONHOLD_GARDENS": "gardens.toml"}
    assert load_settings([], environ)[0] == Options()
    assert load_settings(["once", "--dry-run"], environ)[0] == Options(once=True, dry_run=True)


def test_the_schema_may_come_as_a_flag() -> None:
    environ = {**DSN, "COMMONHOLD_GARDENS": "g", "COMMONHOLD_SCHEMA": "one"}
    assert load_settings(["--schema", "two"], environ)[1].schema == "two"
    with pytest.raises(ConfigurationError, match="--schema must match"):
        load_settings(["--schema", "Two"], environ)


def test_it_does_not_start_without_gardens() -> None:
    with pytest.raises(ConfigurationError, match="COMMONHOLD_GARDENS must be set"):
        load_settings([], DSN)


def test_a_garden_that_asks_a_model_needs_one(tmp_path: Path) -> None:
    environ = write(tmp_path, f"{HOME}model = true\n")
    _, settings = load_settings([], environ)
    with pytest.raises(ConfigurationError, match="COMMONHOLD_MODEL_URL must be set: garden 'home'"):
        read_gardening(settings, environ)
    environ |= {"COMMONHOLD_MODEL_URL": "http://model/v1", "COMMONHOLD_MODEL_NAME": "m"}
    assert read_gardening(settings, environ).file.gardens[0].asks_model


def test_a_dry_run_of_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    environ = write(tmp_path, HOME)
    _, settings = load_settings([], environ)
    assert not read_gardening(settings, environ).file.gardens[0].garden.dry_run
    assert read_gardening(settings, environ, dry_run=True).file.gardens[0].garden.dry_run
