"""What a store remembers of files: no longer than they stay, and no more than it may hold."""

from pathlib import Path

import pytest

from commonhold.adapters.file.findings import Findings
from commonhold.adapters.file.tree import Tree


class Shelf:
    """Files of letters, and how often each was looked through."""

    def __init__(self, root: Path, *, most: int) -> None:
        self._root = root
        self._findings = Findings[str](most=most, weigh=len)
        self.scans: list[str] = []

    def write(self, file: str, text: str) -> None:
        (self._root / file).write_text(text)

    def get(self, file: str) -> str:
        tree = Tree(str(self._root))

        def scan() -> str:
            self.scans.append(file)
            return (tree.read(file) or b"").decode()

        return self._findings.get(tree, file, scan)

    def put(self, file: str, found: str) -> None:
        self._findings.put(Tree(str(self._root)), file, found)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path, most=6)
    for file, text in {"a": "aa", "b": "bb", "c": "ccc", "long": "l" * 7}.items():
        shelf.write(file, text)
    return shelf


def test_a_file_is_looked_through_once_while_it_stays(shelf: Shelf) -> None:
    assert [shelf.get("a"), shelf.get("a")] == ["aa", "aa"]
    shelf.write("a", "aaa")
    assert shelf.get("a") == "aaa"
    assert shelf.scans == ["a", "a"]


def test_what_was_put_is_found_until_the_file_changes(shelf: Shelf) -> None:
    shelf.put("a", "ours")
    assert shelf.get("a") == "ours"
    shelf.write("a", "theirs")
    assert shelf.get("a") == "theirs"


def test_what_was_asked_for_longest_ago_makes_room_by_its_weight(shelf: Shelf) -> None:
    for file in ("a", "b", "a", "c"):
        shelf.get(file)
    # Seven letters are one too many, and "b" was asked for longest ago.
    assert [shelf.get("a"), shelf.get("c")] == ["aa", "ccc"]
    assert shelf.scans == ["a", "b", "c"]
    shelf.get("b")
    assert shelf.scans == ["a", "b", "c", "b"]


def test_what_weighs_more_than_all_is_found_and_not_kept(shelf: Shelf) -> None:
    assert [shelf.get("long"), shelf.get("long")] == ["l" * 7, "l" * 7]
    assert shelf.scans == ["long", "long"]
    # Nothing of its weight is left behind.
    for file in ("a", "b", "a", "b"):
        shelf.get(file)
    assert shelf.scans[2:] == ["a", "b"]


def test_a_replaced_finding_gives_its_weight_back(shelf: Shelf) -> None:
    for _ in range(4):
        shelf.put("a", "four")
    shelf.get("b")
    shelf.get("a")
    assert shelf.scans == ["b"]


def test_a_file_that_is_not_there_is_never_remembered(shelf: Shelf) -> None:
    assert [shelf.get("none"), shelf.get("none")] == ["", ""]
    assert shelf.scans == ["none", "none"]
