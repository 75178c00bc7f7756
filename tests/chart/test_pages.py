"""What the pages on clusters name is what the chart makes: values, Secrets, objects, refusals."""

import re
from pathlib import Path

import pytest
import yaml

from tests.support.helm import CHART, DEFAULT, Chart, RenderError, render
from tests.support.markdown import REPOSITORY, fences, section, tables
from tests.support.shown_commands import SHELLS, blocks_of

HOWTO = REPOSITORY / "docs/howto"
INSTALLING = HOWTO / "install-in-a-cluster.md"
RELEASE = "memory"
DEMO = CHART / "examples/demo-values.yaml"
# What makes the chart say each of the messages, in the order of the page.
REFUSED = [
    "postgres.existingSecret=",
    "tokens.existingSecret=",
    "state.replicas=4,gateway.replicas=4",
    "gateway.mounts=null",
    "state.extraEnv[0].name=COMMONHOLD_ROOT,state.extraEnv[0].value=/data",
    (
        "maintenance.enabled=true,maintenance.gardens.toml=x,maintenance.model.name=small,"
        "maintenance.model.url=http://model/v1"
    ),
    (
        "gateway.stateService.url=http://state:6367,gateway.stateService.existingSecret=s,"
        "networkPolicy.stateService.ports=null"
    ),
    "state.terminationGracePeriodSeconds=25",
]


@pytest.fixture
def chart(tmp_path: Path) -> Chart:
    """The page's own values, installed under the name that it uses."""
    values = tmp_path / "values.yaml"
    values.write_text(fences(INSTALLING.read_text(), "yaml")[0])
    return render(values, release=RELEASE)


def _commands() -> str:
    pages = [block for path in HOWTO.glob("*.md") for block in blocks_of(path)]
    shown = "".join(block.commands for block in pages if block.language in SHELLS)
    return shown.replace("\\\n", " ")


def _secrets(text: str) -> dict[str, set[str]]:
    """The keys of each Secret that the commands make."""
    made = re.findall(r"create secret generic (\S+)(.*)", text)
    return {name: set(re.findall(r"--from-\w+=(\w+)=", rest)) for name, rest in made}


def _asked_secrets(chart: Chart) -> dict[str, set[str]]:
    """The keys of each Secret that the pods mount."""
    asked: dict[str, set[str]] = {}
    for pod in chart.pods().values():
        for secret in (each["secret"] for each in pod["volumes"] if "secret" in each):
            keys = {item["key"] for item in secret["items"]}
            asked.setdefault(secret["secretName"], set()).update(keys)
    return asked


def test_the_secrets_of_the_page_are_those_that_its_values_ask_for(chart: Chart) -> None:
    made, asked = _secrets(_commands()), _asked_secrets(chart)
    assert asked
    assert {name: keys - made.get(name, set()) for name, keys in asked.items()} == {
        name: set() for name in asked
    }


def test_the_secret_of_the_demo_is_what_its_values_ask_for() -> None:
    asked = _asked_secrets(render(DEMO, release=RELEASE))
    assert asked == {"commonhold-demo": _secrets(_commands())["commonhold-demo"]}


def test_what_is_applied_keeps_no_copy_of_itself_in_an_annotation() -> None:
    examples = "".join(path.read_text() for path in CHART.glob("examples/*.yaml"))
    applied = re.findall(r".*\bkubectl (?:.* )?apply .*", _commands() + examples)
    assert applied
    assert [line for line in applied if "--server-side" not in line] == []


def test_every_object_that_a_command_names_is_made(chart: Chart) -> None:
    named = set(re.findall(r"\b(deployment|service)/([\w-]+)", _commands()))
    assert named
    assert [name for kind, name in named if name not in chart.kind(kind.capitalize())] == []


def test_every_label_that_a_command_selects_by_is_on_a_pod(chart: Chart) -> None:
    labels = set()
    for maker in (*chart.kind("Deployment").values(), chart.job()):
        labels |= set(maker["spec"]["template"]["metadata"]["labels"].items())
    selectors = re.findall(r"--selector (\S+)", _commands())
    assert selectors
    wanted = {tuple(pair.split("=")) for each in selectors for pair in each.split(",")}
    assert wanted <= labels


def test_every_value_that_a_command_sets_is_one_of_the_chart() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for path in re.findall(r"--set ([\w.]+)=", _commands()):
        place = values
        for part in path.split("."):
            assert part in place, path
            place = place[part]


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_the_chart_says_what_the_page_says_that_it_says(row: int) -> None:
    listed = section(INSTALLING.read_text(), "What is refused, and why")
    messages = [re.findall(r"`([^`]+)`", cells[0]) for cells in next(tables(listed))]
    flat = [message for cell in messages for message in cell]
    assert len(flat) == len(REFUSED)
    with pytest.raises(RenderError) as refusal:
        render(DEFAULT, REFUSED[row])
    assert flat[row] in str(refusal.value)
