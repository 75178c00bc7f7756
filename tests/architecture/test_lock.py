"""The lock: every file pins by hash, agrees with the others, and covers what members declare."""

import json
import re
from pathlib import Path

import pytest

from tests.support.repository import MEMBERS, ROOT, read_toml, tracked_files

FILES = sorted((ROOT / "requirements").glob("*.txt"))
SERVICES = [member.name for member in MEMBERS if member.name != "core"]
PIN = re.compile(
    r"^([a-z0-9-]+)==(\S+)(?: ;[^\\\n]*)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+",
    re.MULTILINE,
)
REQUIREMENT = re.compile(r"^[a-z0-9]", re.MULTILINE)
NAME = re.compile(r"^[A-Za-z0-9._-]+")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_requirement_is_pinned_by_hash(path: Path) -> None:
    text = path.read_text()
    assert len(REQUIREMENT.findall(text)) == len(PIN.findall(text)) > 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_says_nothing_about_where_packages_come_from(path: Path) -> None:
    assert not re.search(r"://|--(?:extra-)?index-url|--find-links|file:", path.read_text())


def test_what_is_deployed_is_what_was_tested() -> None:
    tested = _pins(ROOT / "requirements/dev.txt")
    deployed = [pin for name in SERVICES for pin in _pins(_file_of(name)).items()]
    assert set(deployed) - tested.items() == set()


@pytest.mark.parametrize("service", SERVICES)
def test_a_services_file_covers_what_the_service_and_the_library_declare(service: str) -> None:
    projects = [read_toml(ROOT / f"services/{name}/pyproject.toml") for name in ("core", service)]
    declared = [name for project in projects for name in project["project"]["dependencies"]]
    names = {match[0] for match in map(NAME.match, declared) if match} - {"commonhold"}
    assert names <= _pins(_file_of(service)).keys()


def test_no_lock_that_names_its_index_is_tracked() -> None:
    assert "uv.lock" not in {path.name for path in tracked_files()}


def test_every_package_of_node_is_pinned_by_hash_and_without_its_host() -> None:
    lock = json.loads((ROOT / "tests/conformance/package-lock.json").read_text())
    packages = [entry for name, entry in lock["packages"].items() if name]
    assert packages
    assert [entry for entry in packages if "integrity" not in entry or "resolved" in entry] == []


def _file_of(service: str) -> Path:
    return ROOT / f"requirements/{service}.txt"


def _pins(path: Path) -> dict[str, str]:
    return dict(PIN.findall(path.read_text()))
