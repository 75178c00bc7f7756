"""File names become document paths; what cannot be stored is said and left out."""

import os
from pathlib import Path

import pytest

from commonhold.cli.markdown_files import MAX_BYTES, find_markdown, read_markdown
from commonhold.contract.ids import check_path


def make(root: Path, *names: str) -> Path:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name, encoding="utf-8")
    return root


def paths(root: Path) -> list[str]:
    found, _ = find_markdown(root)
    return [markdown.path for markdown in found]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a.md", "a"),
        ("A.MD", "A"),
        ("b.markdown", "b"),
        ("notes/2026/v1.2.md", "notes/2026/v1.2"),
        ("two words (draft).md", "two-words-draft"),
        ("Über/Ärger.md", "Uber/Arger"),
        ("---.md", "cb3f91d5"),
        ("計画.md", "5a025aa4"),
        ("a.md/b.md", "a.md/b"),
    ],
)
def test_a_name_becomes_a_legal_path(tmp_path: Path, name: str, path: str) -> None:
    assert paths(make(tmp_path, name)) == [path]


def test_names_that_would_be_one_stay_two(tmp_path: Path) -> None:
    first, second = paths(make(tmp_path, "x/a b.md", "x/a-b.md"))
    assert first == "x/a-b"
    assert second.startswith("x/a-b-")
    assert paths(tmp_path) == [first, second]


def test_a_long_name_is_cut_and_still_its_own(tmp_path: Path) -> None:
    names = ["n" * 200 + end + ".md" for end in "ab"]
    first, second = paths(make(tmp_path, *names))
    assert len(first) == len(second) == 128
    assert first != second


def test_a_path_that_cannot_fit_is_skipped_by_name(tmp_path: Path) -> None:
    deep = "/".join("d" * 17) + ".md"
    found, skipped = find_markdown(make(tmp_path, deep, "a.md"))
    assert [markdown.path for markdown in found] == ["a"]
    assert skipped[0].file == tmp_path / deep
    assert "more than 16 segments" in skipped[0].reason


def test_what_is_no_markdown_of_ours_is_left_out(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.txt", ".git/c.md", ".venv/d.md", "node_modules/e.md", "md")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")
    assert paths(tmp_path) == ["a"]


def test_a_single_file_is_named_for_itself(tmp_path: Path) -> None:
    assert paths(make(tmp_path, "README.md") / "README.md") == ["README"]


def test_a_file_name_that_is_no_unicode_still_gets_a_path(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")
    assert [check_path(path) for path in paths(tmp_path)] == ["caf"]


def test_text_is_read_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes("\ufeffé\r\nend".encode())
    assert read_markdown(file) == "\ufeffé\r\nend"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"ok \xff", r"not UTF-8 \(byte 3\)"),
        (b"a\0b", r"U\+0000"),
        (b"x" * (MAX_BYTES + 1), "larger than 4 MiB"),
    ],
)
def test_text_that_cannot_be_stored_says_why(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        read_markdown(file)


def test_the_largest_text_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"x" * MAX_BYTES)
    assert len(read_markdown(file)) == MAX_BYTES
