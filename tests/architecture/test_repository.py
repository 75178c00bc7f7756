"""Rules of the repository itself that no other tool holds."""

import re
from pathlib import Path

import pytest

from tests.support.repository import MEMBERS, ROOT, read_toml, tracked_files

MOST_BYTES = 1_000_000
MOST_LINES = 400
LONG_FILES = {
    "examples/sqlite_store.py": "a store and its certificate in one file, as one page shows it",
}
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


def _lines(text: str) -> int:
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith(("#", "--")))
