"""Markdown files of a folder as documents: what to call them and which to leave out."""

import os
import re
import unicodedata
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from commonhold.contract.errors import PathInvalidError
from commonhold.contract.ids import DocumentPath, check_path

MAX_BYTES = 4 * 1024 * 1024

_SUFFIXES = frozenset({".md", ".markdown"})
_NOT_OURS = frozenset({"node_modules", "site-packages", "__pycache__"})
_OUTSIDE_GRAMMAR = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_SEGMENT = 128
_HASH_LENGTH = 8


class MarkdownFile(msgspec.Struct, frozen=True):
    file: Path
    path: DocumentPath


class SkippedFile(msgspec.Struct, frozen=True):
    file: Path
    reason: str


def find_markdown(root: Path) -> tuple[list[MarkdownFile], list[SkippedFile]]:
    """Name every Markdown file below `root`, or `root` itself when it is a file.

    Names keep to docs/reference/grammar.md, section 2: what it does not allow becomes `-`,
    and a name that would be taken or empty then gets a hash of the file's own. The same
    files get the same names each time.
    """
    found: list[MarkdownFile] = []
    skipped: list[SkippedFile] = []
    taken: set[str] = set()
    for file, relative in _markdown_in(root):
        try:
            path = check_path(_free_name(relative, taken))
        except PathInvalidError as error:
            skipped.append(SkippedFile(file, f"its name does not fit: {error.reason}"))
            continue
        taken.add(path)
        found.append(MarkdownFile(file, path))
    return found, skipped


def read_markdown(file: Path) -> str:
    """The text as it is, line ends included; raises ValueError for what cannot be stored."""
    if file.stat().st_size > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES // 1024 // 1024} MiB")
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 (byte {error.start})") from error
    if "\0" in text:
        raise ValueError("contains U+0000")
    return text


def _markdown_in(root: Path) -> Iterator[tuple[Path, Path]]:
    if root.is_file():
        yield root, Path(root.name)
        return
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if name not in _NOT_OURS and name[0] != ".")
        for name in sorted(names):
            file = Path(folder, name)
            if file.suffix.lower() in _SUFFIXES and file.is_file():
                yield file, file.relative_to(root)


def _free_name(relative: Path, taken: set[str]) -> str:
    segments = [_segment(part) for part in relative.with_suffix("").parts]
    name = "/".join(segments)
    if name not in taken:
        return name
    return "/".join([*segments[:-1], _hashed(segments[-1], str(relative))])


def _segment(part: str) -> str:
    decomposed = unicodedata.normalize("NFKD", part)
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    segment = _OUTSIDE_GRAMMAR.sub("-", plain).strip("-")
    if not segment or segment in {".", ".."}:
        return _short_hash(part)
    if len(segment) > _MAX_SEGMENT:
        return _hashed(segment, part)
    return segment


def _hashed(segment: str, original: str) -> str:
    return f"{segment[: _MAX_SEGMENT - _HASH_LENGTH - 1]}-{_short_hash(original)}"


def _short_hash(text: str) -> str:
    return sha256(os.fsencode(text)).hexdigest()[:_HASH_LENGTH]
