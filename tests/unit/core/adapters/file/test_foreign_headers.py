"""Headers of other programs: what YAML lets a short text stand for, and what an erasure makes."""

import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from commonhold.adapters.file import FileStore
from commonhold.contract import MemoryFormatError
from tests.support.file_trees import write_tree

DOCUMENT = "u%3Ax/documents/a.md"
STAMPS = "created_at: '2026-01-02T03:04:05Z'\nupdated_at: '2026-01-02T03:04:06Z'\n"
OURS = f"neosian_format: 1\nversion: 2\n{STAMPS}"
SECRET = "what is erased"


def multiplied(first: str, others: str, *, levels: int) -> str:
    """Lines of which each stands for hundreds of the one before."""
    lines = [f"k0: &k0 {first}\n"]
    for level in range(1, levels):
        many = ", ".join([f"*k{level - 1}"] * 400)
        lines.append(f"k{level}: &k{level} {others.replace('...', many)}\n")
    return "".join(lines)


# What is above a document, and why no call reads it.
UNREADABLE: Mapping[str, tuple[str, str]] = {
    "aliases": (multiplied("[1]", "[...]", levels=60), "holds too many values"),
    "merges": (multiplied("{a: 1}", "{<<: [...]}", levels=60), "holds too many values"),
    "a merge at the top": (
        f"{multiplied('{a: 1}', '{<<: [...]}', levels=6)}<<: *k5\n",
        "holds too many values",
    ),
    "keys of aliases": (
        f"{multiplied('[1]', '[...]', levels=6)}x: {{? *k5 : 1}}\n",
        "holds too many values",
    ),
    "a cycle of lists": ("x: &x [*x]\n", "is nested too deep"),
    "a cycle of mappings": ("x: &x {y: [*x]}\n", "is nested too deep"),
    "lists in lists": (f"x: {'[' * 900}{']' * 900}\n", "is nested too deep"),
    "a number of digits": (f"x: 0x{'f' * 20_000}\n", "holds a number out of range"),
    "no number": ("x: .nan\n", "holds a number out of range"),
    "bytes": ("x: !!binary aGk=\n", "holds a bytes that is no JSON"),
    "a key of bytes": ("!!binary aGk=: x\n", "holds a bytes that is no JSON"),
    "one key twice": ("1: a\n'1': b\n", "has the key '1' twice"),
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FileStore]:
    async with FileStore(tmp_path / "root") as store:
        yield store


@pytest.mark.parametrize("case", UNREADABLE)
async def test_a_header_that_no_call_reads_is_refused_and_erased(
    store: FileStore, tmp_path: Path, case: str
) -> None:
    extra, reason = UNREADABLE[case]
    header = f"---\n{OURS}actor: op:x\nkept: yes\n{extra}---\n"
    write_tree(tmp_path / "root", {DOCUMENT: f"{header}{SECRET}"})
    before = time.process_time()
    for call in (store.read("u:x", "a"), store.list_documents("u:x"), store.write("u:x", "a", "")):
        with pytest.raises(MemoryFormatError, match=reason):
            await call
    assert await store.redact("u:x", path="a") == 1
    # Written out, the smallest of these would take minutes.
    assert time.process_time() - before < 20
    erased = (tmp_path / "root" / DOCUMENT).read_text()
    assert erased.startswith(f"---\n{OURS}actor: op:x\nredacted: true\nkept: true\n")
    assert SECRET not in erased
    assert len(erased) < 10**6
    assert await store.redact("u:x") == 1


@pytest.mark.parametrize("case", ["aliases", "merges", "a cycle of lists", "lists in lists"])
async def test_what_an_erasure_leaves_of_a_boundless_header_is_read(
    store: FileStore, tmp_path: Path, case: str
) -> None:
    write_tree(tmp_path / "root", {DOCUMENT: f"---\n{OURS}kept: 1\n{UNREADABLE[case][0]}---\nx"})
    await store.redact("u:x", path="a")
    document = await store.read("u:x", "a")
    assert document is not None
    assert (document.content, document.redacted, document.extra["kept"]) == ("", True, 1)
    assert (await store.write("u:x", "a", "goes on")).version == 3


# Above a document by another program, and what an erasure makes of it.
RESPELLED: Mapping[str, tuple[str, str]] = {
    "stamps without quotes": (
        OURS.replace("'2026-01-02T03:04:05Z'", "2026-01-02 05:04:05+02:00").replace("'", ""),
        f"{OURS}redacted: true\n",
    ),
    "no actor": (f"{OURS}actor: null\n", f"{OURS}redacted: true\n"),
    "another order": (
        f"b: '1'\nredacted: no\nactor: 'yes'\n{STAMPS}a: 2026-03-04\n{OURS[:29]}",
        f"{OURS}actor: 'yes'\nredacted: true\nb: '1'\na: 2026-03-04\n",
    ),
    "in one line": (
        f"{{neosian_format: 1, version: 2, {STAMPS.replace(chr(10), ', ', 1)[:-1]}, x: [1]}}\n",
        f"{OURS}redacted: true\nx:\n- 1\n",
    ),
    "a later format": (
        f"neosian_format: 3\nversion: 2\n{STAMPS}actor: null\nnew: {{a: 1}}\n",
        f"neosian_format: 3\nversion: 2\n{STAMPS}redacted: true\nnew:\n  a: 1\n",
    ),
    "no format": (f"version: 2\n{STAMPS}", f"version: 2\n{STAMPS}redacted: true\n"),
    "keys that are no texts": (
        f"{OURS}yes: 1\n2026: x\nnull: 2\n",
        f"{OURS}redacted: true\ntrue: 1\n2026: x\nnull: 2\n",
    ),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("case", RESPELLED)
async def test_an_erasure_spells_a_header_as_a_store_does(
    store: FileStore, tmp_path: Path, case: str, newline: str
) -> None:
    header, erased = RESPELLED[case]
    raw = f"---\n{header}---\n{SECRET}\n".replace("\n", newline)
    write_tree(tmp_path / "root", {DOCUMENT: raw})
    assert await store.redact("u:x", path="a") == 1
    assert (tmp_path / "root" / DOCUMENT).read_text() == f"---\n{erased}---\n"


async def test_keys_that_are_no_texts_are_given_out_as_json_says_them(
    store: FileStore, tmp_path: Path
) -> None:
    keys = "yes: 1\n2026: x\n1.5: y\nnull: {2026-01-02: z, off: w}\n'yes': own\n"
    write_tree(tmp_path / "root", {DOCUMENT: f"---\n{OURS}{keys}---\nx"})
    given = {
        "true": 1,
        "2026": "x",
        "1.5": "y",
        "null": {"2026-01-02": "z", "false": "w"},
        "yes": "own",
    }
    document = await store.read("u:x", "a")
    assert document is not None
    assert document.extra == given
    await store.write("u:x", "a", "two")
    assert "\ntrue: 1\n2026: x\n1.5: y\n" in (tmp_path / "root" / DOCUMENT).read_text()
    async with FileStore(tmp_path / "copy") as copy:
        await copy.restore_scope(await store.archive_scope("u:x"))
        document = await copy.read("u:x", "a")
        assert document is not None
        assert document.extra == given
