"""What a release publishes beside the images: bills of materials, and the chart as one file."""

import json
import os
import re
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.support.helm import CHART, FULL, helm
from tests.support.repository import ROOT, read_toml

PAGE = "docs/howto/release.md"
SERVICES = ("gateway", "maintenance", "state")
VERSION = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)


def test_the_steps_of_the_page_make_what_is_published(
    tmp_path: Path, shown_commands: Callable[[str], list[str]]
) -> None:
    (steps,) = shown_commands(PAGE)
    # The generator would spend a minute on reading again what it wrote.
    environment = {**os.environ, "DIST": str(tmp_path), "SBOM": "--no-validate"}
    subprocess.run(["sh", "-eu", "-c", steps], cwd=ROOT, env=environment, check=True, timeout=240)
    bills = {service: tmp_path / f"commonhold-{service}.cdx.json" for service in SERVICES}
    chart = tmp_path / f"commonhold-{VERSION}.tgz"
    assert {*tmp_path.iterdir()} == {*bills.values(), chart}
    for service, bill in bills.items():
        _assert_lists_what_the_image_installs(bill, service)
    _assert_is_the_chart(chart)


def _assert_lists_what_the_image_installs(path: Path, service: str) -> None:
    bill = json.loads(path.read_text())
    lock = (ROOT / f"requirements/{service}.txt").read_text()
    listed = {each["name"]: each for each in bill["components"]}
    assert {name: each["version"] for name, each in listed.items()} == dict(PIN.findall(lock))
    for each in listed.values():
        (distribution,) = each["externalReferences"]
        assert distribution["hashes"]
        assert all(known["content"] in lock for known in distribution["hashes"])
    project = read_toml(ROOT / f"services/{service}/pyproject.toml")["project"]
    subject = bill["metadata"]["component"]
    assert (subject["name"], subject["version"]) == (project["name"], project["version"])
    # What differs from run to run would make a signature of it worth nothing.
    assert "serialNumber" not in bill
    assert "timestamp" not in bill["metadata"]


def _assert_is_the_chart(path: Path) -> None:
    with tarfile.open(path) as archive:
        names = set(archive.getnames())
    needed = ("README.md", "values.schema.json", "files/smoke.py", "files/rules/commonhold.yml")
    assert {f"commonhold/{name}" for name in needed} <= names
    # The values that our tests use.
    assert [name for name in names if name.startswith("commonhold/ci/")] == []
    assert _rendered(path) == _rendered(CHART)


def _rendered(chart: Path) -> str:
    command = [helm(), "template", "here", str(chart), "--values", str(FULL)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
