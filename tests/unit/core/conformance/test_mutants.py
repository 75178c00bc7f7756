"""Each kit is seen to fail: a store with one planted bug does not pass it."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.mutants import conversations, memory, protocols
from tests.support.mutants.registry import MUTANTS

REGISTERED = (conversations, memory, protocols)
ROOT = Path(__file__).parents[4]
KITS = Path(__file__).with_name("mutant_kits.py").relative_to(ROOT)


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What failed, by class and test, when every mutant met the test that must see it."""
    report = tmp_path_factory.mktemp("mutants") / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header"]
    run = subprocess.run(  # noqa: PLW1510 - failing is what these tests do
        [*command, f"--junitxml={report}", KITS],
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert report.exists(), run.stdout + run.stderr
    found: dict[str, list[str]] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it
        name = case.get("classname", "").rpartition(".Test")[2]
        found.setdefault(name, [])
        found[name] += [failure.get("message", "") for failure in case.findall("failure")]
    return found


def test_there_are_mutants_of_every_module() -> None:
    assert {mutant.store.__module__ for mutant in MUTANTS.values()} == {
        module.__name__ for module in REGISTERED
    }


@pytest.mark.parametrize("name", MUTANTS)
def test_the_kit_sees_the_bug(failures: dict[str, list[str]], name: str) -> None:
    assert failures.get(name), f"{MUTANTS[name].seen_by} of {MUTANTS[name].kit} passed"
