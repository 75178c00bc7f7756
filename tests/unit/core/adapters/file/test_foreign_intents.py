"""Intents that no change of ours writes, as a root from anybody may hold: nothing is touched."""

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from commonhold.adapters.file import FileStore
from commonhold.adapters.file.calls import SystemCalls
from commonhold.adapters.file.journal import Journal
from commonhold.adapters.file.tree import Tree
from tests.support.file_trees import read_tree, write_tree
from tests.support.roots import temporary_root

LOCK = ".store.lock"
SCOPE, FAR = "u%3Ax", "u%3Ax/documents/far"
DOCUMENT, HISTORY = f"{SCOPE}/documents/a.md", f"{SCOPE}/versions/a.jsonl"
TRAIL, TURNS = f"{SCOPE}/redactions.jsonl", "conversations/c/turns.jsonl"
DRAFT = f"{SCOPE}/documents/.neosian-tmp-0"

# Names outside the root, or that no file of the layout has; `link` leads out of the root.
FOREIGN = (
    "../victim/file",
    "../victim/.neosian-tmp-0",
    "../victim/documents/a.md",
    "../v%3Ax/documents/a.md",
    "../v%3Ax/documents/.neosian-tmp-0",
    f"{SCOPE}/../../v%3Ax/documents/a.md",
    f"{SCOPE}/documents/../../../victim/a.md",
    f"{SCOPE}/documents/../../../victim/.neosian-tmp-0",
    f"{SCOPE}/documents/./.neosian-tmp-1",
    f"{SCOPE}/documents/b c.md",
    f"{SCOPE}/documents/README.txt",
    f"{SCOPE}/documents/a.jsonl",
    f"{SCOPE}/versions/a.md",
    f"{SCOPE}/elsewhere/a.md",
    f"{SCOPE}/elsewhere/.neosian-tmp-0",
    f"{SCOPE}/a.md",
    "u%3ax/documents/a.md",
    "ux/documents/a.md",
    "ux/.neosian-tmp-0",
    "conversations/../../victim/turns.jsonl",
    "conversations/../.neosian-tmp-0",
    "conversations/.neosian-tmp-0",
    "conversations/c/../../../victim/turns.jsonl",
    "conversations/c d/turns.jsonl",
    "conversations/c/notes.jsonl",
    "conversations/c/e/turns.jsonl",
    "notes.txt",
    ".neosian-tmp-0",
    LOCK,
    "",
    ".",
    "..",
    f"{SCOPE}/documents",
    f"{SCOPE}/documents/\0.md",
    f"{SCOPE}/documents/.neosian-tmp-\0",
    f"/{DOCUMENT}",
    f"{DOCUMENT}/",
    f"{SCOPE}//documents/a.md",
)


def growth(file: str, before: object = 0, length: object = 10**6) -> Sequence[object]:
    """Rows of which only a part is there: whoever undoes them cuts the file off."""
    return [[[file, before, length, 0, None]]]


def move(temporary: str, file: str) -> Sequence[object]:
    return [[], [[temporary, file]]]


def removal(file: str) -> Sequence[object]:
    return [[], [], [file]]


FOREIGN_INTENTS: Mapping[str, object] = {
    **{f"growth of {name!r}": growth(name) for name in FOREIGN},
    **{f"draft {name!r}": move(name, DOCUMENT) for name in FOREIGN},
    **{f"move to {name!r}": move(DRAFT, name) for name in FOREIGN},
    **{
        f"move in {folder!r}": move(f"{folder}/.neosian-tmp-0", f"{folder}/{name}")
        for folder in ("../victim", f"{SCOPE}/elsewhere", SCOPE, "conversations", "ux/documents")
        for name in ("a.md", "turns.jsonl", "file")
    },
    "growth of a document": growth(DOCUMENT),
    "growth of a trail": growth(TRAIL),
    "removal of a history": removal(HISTORY),
    "removal of a trail": removal(TRAIL),
    "removal of turns": removal(TURNS),
    "a document in place of another": move(DOCUMENT, f"{SCOPE}/documents/b.md"),
    "a draft of another folder": move(DRAFT, f"{SCOPE}/documents/n/a.md"),
    "a leftover that no change numbers": move(f"{SCOPE}/documents/.neosian-tmp-x", DOCUMENT),
    "one of several": [[], [[DRAFT, DOCUMENT]], [DOCUMENT, "../victim/file"]],
    "no list": {"removals": ["../victim/file"]},
    "too deep": msgspec.Raw(b"[[],[],[]," + b"[" * 200_000 + b"]" * 200_000 + b"]"),
    "no text": msgspec.Raw(b'[[],[],["../victim/\xff"]]'),
    "too little": [[["../victim/file"]]],
}


# Names of the layout, behind something that a store never makes or never has there.
ASTRAY: Mapping[str, object] = {
    "draft behind a link": move(
        f"{SCOPE}/documents/link/.neosian-tmp-0", f"{SCOPE}/documents/link/a.md"
    ),
    "document behind a link": removal(f"{SCOPE}/documents/link/a.md"),
    "leftover behind a link": removal(f"{SCOPE}/documents/link/.neosian-tmp-0"),
    "document of a linked scope": removal("v%3Ax/documents/a.md"),
    "turns behind a link": growth("conversations/linked/turns.jsonl"),
    "drafts of a linked conversation": move(
        "conversations/linked/.neosian-tmp-0", "conversations/linked/turns.jsonl"
    ),
    "a linked document": removal(f"{SCOPE}/documents/linked.md"),
    "in place of a link": move(DRAFT, f"{SCOPE}/documents/linked.md"),
    "in place of a folder": move(DRAFT, f"{SCOPE}/documents/folder.md"),
    "a folder": removal(f"{SCOPE}/documents/folder.md"),
    "longer than a name can be": removal(f"{SCOPE}/documents/.neosian-tmp-{'9' * 300}"),
    "below a file": removal(f"{SCOPE}/documents/README.txt/a.md"),
    "a good one first": [[], [[DRAFT, DOCUMENT]], [f"{SCOPE}/documents/link/a.md"]],
}


@pytest.fixture
def root() -> Iterator[Path]:
    with temporary_root() as root:
        yield plant(root)


def plant(root: Path) -> Path:
    """A root beside folders of somebody else, with a file at every name above that can be one."""
    files = {DOCUMENT, HISTORY, TRAIL, TURNS, DRAFT, f"{SCOPE}/documents/b.md"}
    beside = {"../victim/a.md", "../v%3Ax/documents/b.md"}
    endings = ("documents", "/", ".", LOCK)
    names = {name for name in FOREIGN if name and "\0" not in name and len(name) < 200}
    for folder in (f"{SCOPE}/documents", "conversations/c"):
        (root / folder).mkdir(parents=True)
    plain = (name for name in names if not name.startswith("/") and not name.endswith(endings))
    write_tree(root, {name: f"of {name}" for name in {*plain, *files, *beside}})
    (root / f"{SCOPE}/documents/link").symlink_to("../../../victim")
    (root / f"{SCOPE}/documents/linked.md").symlink_to("../../../victim/file")
    (root / f"{SCOPE}/documents/folder.md").mkdir()
    (root / "conversations/linked").symlink_to("../../victim")
    (root / "v%3Ax").symlink_to("../v%3Ax")
    (root / LOCK).write_bytes(b"\x00")
    return root


def intend(root: Path, intent: object) -> None:
    payload = msgspec.json.encode(intent)
    (root / LOCK).write_bytes(b"\x00%08x %s" % (zlib.crc32(payload), payload))


def recover(root: Path) -> list[str]:
    """What the next hold of the root says in the log of what it found."""
    lock = os.open(root / LOCK, os.O_RDWR)
    try:
        with capture_logs() as logs:
            Journal(lock, Tree(str(root)), SystemCalls()).recover()
    finally:
        os.close(lock)
    return [log["event"] for log in logs]


@pytest.mark.parametrize("intent", FOREIGN_INTENTS)
def test_nothing_of_an_intent_of_somebody_else_is_touched(root: Path, intent: str) -> None:
    before = read_tree(root.parent)
    intend(root, FOREIGN_INTENTS[intent])
    assert recover(root) == ["intent_refused"]
    assert read_tree(root.parent) == before


@pytest.mark.parametrize("intent", ASTRAY)
def test_nothing_of_a_change_whose_names_lead_elsewhere_is_touched(root: Path, intent: str) -> None:
    before = read_tree(root.parent)
    intend(root, ASTRAY[intent])
    assert recover(root) == ["change_given_up"]
    assert read_tree(root.parent) == before


async def test_a_root_with_a_foreign_intent_is_read_and_written(root: Path) -> None:
    victim = root.parent / "victim"
    before = read_tree(victim)
    async with FileStore(root) as store:
        for call in (store.conversations, lambda: store.write("u:z", "a", "one")):
            intend(root, removal("../victim/file"))
            await call()
            assert (root / LOCK).read_bytes() == b"\x00"
    assert read_tree(victim) == before


PIECES = (
    *("..", ".", "", SCOPE, "documents", "versions", "conversations", "c", "link", "victim"),
    *("a.md", "a.jsonl", "turns.jsonl", ".neosian-tmp-0", "file", "elsewhere", "v%3Ax"),
)
NAMES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("/".join)
SIZES = st.sampled_from([-1, 0, 1, 7, 10**6, 2**63])
GENERATED = st.tuples(
    st.lists(st.tuples(NAMES, SIZES | st.none(), SIZES, st.just(0), st.none()), max_size=2),
    st.lists(st.tuples(NAMES, NAMES), max_size=2),
    st.lists(NAMES, max_size=2),
)
OF_THE_LAYOUT = tuple(
    f"root/{part}" for part in (f"{SCOPE}/documents", f"{SCOPE}/versions", "conversations/c/", LOCK)
)


def foreign_files(root: Path) -> Mapping[str, bytes]:
    found = read_tree(root.parent)
    return {name: data for name, data in found.items() if not name.startswith(OF_THE_LAYOUT)}


@settings(max_examples=150, deadline=None)
@given(intent=GENERATED)
def test_no_intent_leads_out_of_the_layout(intent: object) -> None:
    with temporary_root() as root:
        before = foreign_files(plant(root))
        intend(root, intent)
        recover(root)
        assert foreign_files(root) == before
        assert (root / LOCK).read_bytes() == b"\x00"
