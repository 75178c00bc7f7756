"""What helm says after an install: the next command, with the names of this release in it."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.support.helm import (
    CI_VALUES,
    DEFAULT,
    FULL,
    OVER_STATE,
    STATE_ONLY,
    Chart,
    notes,
    render,
)


def _commands(text: str) -> list[list[str]]:
    lines = (line.strip() for line in text.splitlines() if line.startswith("  "))
    return [shlex.split(line) for line in lines if line.startswith(("kubectl", "helm"))]


@pytest.mark.parametrize("values", CI_VALUES, ids=lambda path: path.stem)
def test_every_command_names_what_the_release_has(values: Path) -> None:
    chart, commands = render(values), _commands(notes(values))
    assert commands
    for command in commands:
        assert command[command.index("--namespace") + 1] == "space"
        named = [word for word in command if re.match(r"(deployment|service)/", word)]
        assert all(_exists(chart, word) for word in named)
        if "--selector" in command:
            wanted = dict(
                pair.split("=") for pair in command[command.index("--selector") + 1].split(",")
            )
            assert any(wanted.items() <= labels.items() for labels in _labels(chart))


def _exists(chart: Chart, word: str) -> bool:
    kind, name = word.split("/")
    return name in chart.kind(kind.capitalize())


def _labels(chart: Chart) -> list[dict[str, str]]:
    makers = [*chart.kind("Deployment").values(), *chart.kind("Job").values()]
    return [maker["spec"]["template"]["metadata"]["labels"] for maker in makers]


def test_the_next_command_is_the_test_where_there_is_one() -> None:
    assert ["helm", "--namespace", "space", "test", "here"] in _commands(notes(DEFAULT))
    assert not any("test" in command for command in _commands(notes(STATE_ONLY)))


def test_a_worker_alone_has_no_test_to_be_told_of(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    given = yaml.safe_load(DEFAULT.read_text())
    alone = {"enabled": True, "gardens": {"toml": "x"}}
    for service in ("state", "gateway"):
        given[service] = {"enabled": False}
    values.write_text(yaml.safe_dump({**given, "maintenance": alone}))
    assert not any("test" in command for command in _commands(notes(values)))
    assert "here-commonhold-test" not in render(values).kind("NetworkPolicy")


def test_a_port_that_no_policy_lists_is_asked_about(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    given = yaml.safe_load(OVER_STATE.read_text())
    given["networkPolicy"]["stateService"]["ports"] = [6367]
    values.write_text(yaml.safe_dump(given))
    asked = [line for line in notes(values).splitlines() if line.startswith("Is port")]
    assert asked == [
        (
            "Is port 443 of gateway.stateService.url one that a Service translates?"
            " networkPolicy.stateService.ports is [6367], and lets nothing else through."
        )
    ]
    assert not any("Is port" in notes(each) for each in CI_VALUES)


def test_they_tell_the_budget_and_how_an_agent_connects() -> None:
    text = notes(DEFAULT)
    assert "Commonhold 0.1.0 is in namespace space." in text
    assert "Database connections: at most 72 of 100: state (2 replicas + 1 surge)" in text
    assert "http://here-commonhold-gateway.space:6368/mcp" in text
    assert "token of Secret commonhold-tokens" in text
    assert "/mcp" not in notes(STATE_ONLY)


def test_no_secret_is_in_them() -> None:
    for values in CI_VALUES:
        assert "postgresql://" not in notes(values)
    assert "memory-app" not in notes(FULL)
