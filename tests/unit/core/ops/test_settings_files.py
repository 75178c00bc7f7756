"""Files that settings name: every mistake is told in a line, soon, and with its place."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.settings_files import (
    LIMIT_BYTES,
    SettingsFileError,
    line_of,
    read_settings_file,
)

SECTION = "[entries.e{number}]\nname = 'x'\nvalues = [\n  1,\n  2,\n]\n"


def parse(document: Mapping[str, Any]) -> int:
    """As many as there are, but none that is wrong."""
    for name, entry in document["entries"].items():
        if "wrong" in entry:
            raise SettingsFileError("it is wrong", place=("entries", name, "wrong"))
    return len(document["entries"])


def read(path: Path) -> int:
    return read_settings_file(str(path), variable="THE_FILE", parse=parse)


def refusal(path: Path) -> str:
    with pytest.raises(ConfigurationError) as refused:
        read(path)
    return refused.value.message.removeprefix(f"THE_FILE: {path}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "entries.toml"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe", " cannot be read: not UTF-8"),
        (b"\xef\xbb\xbf[entries]", ": Invalid statement (at line 1, column 1)"),
        (b"x = " + b"[" * 5000 + b"]" * 5000, ": nested too deeply"),
        (b"x = " + b"9" * 5000, ": Exceeds the limit"),
        (b"#" * (LIMIT_BYTES + 1), f" is longer than {LIMIT_BYTES} bytes"),
    ],
    ids=["not text", "a byte order mark", "deep", "a long number", "long"],
)
def test_what_is_no_document_is_told_in_a_line(path: Path, content: bytes, said: str) -> None:
    path.write_bytes(content)
    assert refusal(path).startswith(said)


def test_a_folder_and_a_file_without_end_are_told(tmp_path: Path) -> None:
    assert refusal(tmp_path) == " cannot be read: Is a directory"
    assert refusal(Path("/dev/zero")) == f" is longer than {LIMIT_BYTES} bytes"


def test_a_mistake_in_a_long_file_is_found(path: Path) -> None:
    # Counted, not timed: each try reads all that comes before.
    sections = [SECTION.format(number=number) for number in range(300)]
    sections[200] = sections[200].replace("name = 'x'", "name = 'x'\nwrong = 1")
    path.write_text("".join(sections))
    assert refusal(path) == f", line {6 * 200 + 3}: it is wrong"
    path.write_text("".join(sections).replace("wrong = 1\n", ""))
    assert read(path) == 300


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("entries", "e0"), 1),
        (("entries", "e1"), 7),
        (("entries", "e1", "name"), 8),
        (("entries", "e1", "values"), 9),
        (("entries", "e1", "values", 1), 9),
        (("entries", "e1", "values", 2), 9),
        (("entries", "e1", "other"), 7),
        (("other",), 1),
    ],
)
def test_the_line_is_that_of_the_value_or_nearest_above_it(
    place: tuple[str | int, ...], line: int
) -> None:
    text = "".join(SECTION.format(number=number) for number in range(3))
    assert line_of(text, place) == line
    assert line_of(text.replace("\n", "\r\n"), place) == line


def test_a_separator_within_a_text_is_no_line() -> None:
    text = "x = 'one\N{LINE SEPARATOR}two'\ny = 1\n"
    assert line_of(text, ("y",)) == 2


def test_a_list_over_very_many_lines_is_answered_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    loads, tries = tomllib.loads, []

    def count(text: str) -> dict[str, Any]:
        tries.append(len(text))
        return loads(text)

    monkeypatch.setattr("commonhold.ops.settings_files.tomllib.loads", count)
    text = "x = 1\ny = [\n" + "  1,\n" * 1000 + "]\n"
    assert line_of(text, ("y", 5)) <= 2
    assert len(tries) < 300
