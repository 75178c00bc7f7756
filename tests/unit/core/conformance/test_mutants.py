"""Each test of each kit is seen to fail: a store with a planted bug does not pass it."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from commonhold import conformance
from tests.support.mutants import (
    archives,
    bent,
    calls,
    claims,
    conditions,
    conversations,
    digests,
    expirations,
    fences,
    keys,
    memory,
    outlines,
    protocols,
    wholesale,
)
from tests.support.mutants.registry import MUTANTS

MODULES = (
    archives,
    bent,
    calls,
    claims,
    conditions,
    conversations,
    digests,
    expirations,
    fences,
    keys,
    memory,
    outlines,
    protocols,
    wholesale,
)
ROOT = Path(__file__).parents[4]
RUN = Path(__file__).with_name("mutant_kits.py").relative_to(ROOT)
EXPECTED = [(name, test) for name, mutant in MUTANTS.items() for test in mutant.seen_by]
KITS = [name for name in conformance.__all__ if name.endswith("Contract")]


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, str]]:
    """Mutant, test and text of whatever failed."""
    report = tmp_path_factory.mktemp("mutants") / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header"]
    run = subprocess.run(  # noqa: PLW1510 - failing is what these tests do
        [*command, "--tb=no", f"--junitxml={report}", RUN],
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert report.exists(), run.stdout + run.stderr
    return [
        (
            case.get("classname", "").rpartition(".Test")[2],
            case.get("name", "").partition("[")[0],
            failure.get("message", ""),
        )
        for case in ET.parse(report).iter("testcase")  # noqa: S314 - pytest wrote it
        if (failure := case.find("failure")) is not None
    ]


@pytest.fixture(scope="module")
def failed(failures: list[tuple[str, str, str]]) -> set[tuple[str, str]]:
    return {(mutant, test) for mutant, test, _text in failures}


def test_every_failure_says_where_the_rule_is_written(failures: list[tuple[str, str, str]]) -> None:
    assert failures
    silent = [
        (mutant, test, text) for mutant, test, text in failures if "docs/reference/" not in text
    ]
    assert silent == []


@pytest.mark.parametrize(("name", "test"), EXPECTED)
def test_the_test_fails_over_the_mutant(failed: set[tuple[str, str]], name: str, test: str) -> None:
    assert (name, test) in failed, f"{test} passed over {name}"


@pytest.mark.parametrize("kit", KITS)
def test_every_test_of_a_kit_fails_over_some_mutant(kit: str) -> None:
    contract = getattr(conformance, kit)
    seen: set[str] = set()
    for mutant in MUTANTS.values():
        if issubclass(getattr(conformance, mutant.kit), contract) or issubclass(
            contract, getattr(conformance, mutant.kit)
        ):
            seen.update(mutant.seen_by)
    assert {name for name in dir(contract) if name.startswith("test_")} <= seen


def test_every_mutant_is_seen_and_every_module_has_some() -> None:
    assert [name for name, mutant in MUTANTS.items() if not mutant.seen_by] == []
    modules = {mutant.store.__module__ for mutant in MUTANTS.values()}
    assert modules == {module.__name__ for module in MODULES}
