"""Rules of the repository itself that no other tool holds."""

import re
import subprocess
from itertools import chain
from pathlib import Path

import pytest

from tests.support.repository import MEMBERS, ROOT, read_toml, tracked_files

MOST_BYTES = 1_000_000
MOST_LINES = 400
LONG_FILES: dict[str, str] = {}
"""Files over the limit, each with its reason."""

CODE = {".py", ".sh", ".sql"}
# Written in parts, since this file is searched too.
HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("proxy", "golang", "org"),
        ("sum", "golang", "org"),
        ("deb", "debian", "org"),
        ("crates", "io"),
    )
]
MACHINE_PATH = re.compile(r"(?<![\w.$}~])/(?:root|home|Users|work|farm)/\w")

DOCUMENTED = re.compile(
    r"(?:^|`)make ((?:[a-z]+(?:-[a-z]+)*)(?: [a-z]+(?:-[a-z]+)*)*)", re.MULTILINE
)


def _texts() -> dict[str, str]:
    return {str(path): (ROOT / path).read_text(errors="replace") for path in tracked_files()}


TEXTS = _texts()


@pytest.mark.parametrize("host", HOSTS)
def test_no_file_names_the_host_of_a_registry(host: str) -> None:
    assert [path for path, text in TEXTS.items() if host in text] == []


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert [path for path, text in TEXTS.items() if MACHINE_PATH.search(text)] == []


def test_no_file_is_large() -> None:
    assert [path for path in tracked_files() if (ROOT / path).stat().st_size > MOST_BYTES] == []


def test_no_lock_names_its_index() -> None:
    assert "uv.lock" not in {path.name for path in tracked_files()}
    assert [
        path for path in TEXTS if path.startswith("requirements/") and "://" in TEXTS[path]
    ] == []


def test_long_files_are_the_excused_ones() -> None:
    long = {
        path
        for path, text in TEXTS.items()
        if Path(path).suffix in CODE and _lines(text) > MOST_LINES
    }
    assert long == set(LONG_FILES)


def test_every_member_and_the_changelog_state_one_version() -> None:
    projects = [read_toml(member / "pyproject.toml")["project"] for member in MEMBERS]
    stated = {project["version"] for project in projects}
    pinned = {
        dependency.partition("==")[2]
        for project in projects
        for dependency in project["dependencies"]
        if re.match(r"commonhold\b", dependency)
    }
    newest = re.search(r"^## \[(\d[^\]]*)\]", TEXTS["CHANGELOG.md"], re.MULTILINE)
    assert newest is not None
    assert stated == pinned == {newest[1]}


def test_help_lists_every_target_that_the_documents_name() -> None:
    documents = "\n".join(text for path, text in TEXTS.items() if path.endswith(".md"))
    named = set(chain.from_iterable(match.split() for match in DOCUMENTED.findall(documents)))
    assert named - _listed_targets() == set()


def test_help_lists_the_whole_front_door() -> None:
    expected = "help setup lock run demo test check bench up down logs images migrate clean"
    assert set(expected.split()) - _listed_targets() == set()


def test_help_is_what_make_does_by_itself() -> None:
    plain = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert plain.stdout == _make_help()


def _listed_targets() -> set[str]:
    return set(re.findall(r"^  make ([a-z-]+)", _make_help(), re.MULTILINE))


def _make_help() -> str:
    return subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def _lines(text: str) -> int:
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith(("#", "--")))
