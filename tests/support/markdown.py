"""Markdown as the documentation tests read it: headings, links, tables and fenced blocks."""

import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
REFERENCE = REPOSITORY / "docs/reference"

# A block, which may stand in a list, with the remark right above it.
_FENCE = re.compile(
    r"(?:^ *<!-- (?P<remark>[^\n]*) -->\n)?"
    r"^(?P<margin> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=margin)```$",
    re.MULTILINE | re.DOTALL,
)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CELL = re.compile(r"(?<!\\)\|")


def pages() -> list[Path]:
    """Return every page of the repository."""
    places = (*REPOSITORY.glob("*.md"), *REPOSITORY.glob("services/*/*.md"))
    return sorted(
        (
            *places,
            *REPOSITORY.glob("docs/**/*.md"),
            *REPOSITORY.glob("deploy/**/*.md"),
            *REPOSITORY.glob("helm/**/*.md"),
        )
    )


def reference(name: str) -> str:
    return (REFERENCE / name).read_text()


def fences(text: str, language: str) -> list[str]:
    return [body for found, body, _remark in remarked_fences(text) if found == language]


def remarked_fences(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the language and body of each block, and the remark above it or nothing."""
    for found in _FENCE.finditer(text):
        # Only the margin of a list goes: the rest is the code's own.
        body = re.sub(f"^{found['margin']}", "", found["body"], flags=re.MULTILINE)
        yield found["language"], body, found["remark"] or ""


def headings(text: str) -> list[str]:
    return _HEADING.findall(_FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """Return the fragments that a reader's browser finds on the page."""
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings(text))
    return {word.replace(" ", "-") for word in words}


def links(text: str) -> list[str]:
    return _LINK.findall(_FENCE.sub("", text))


def section(text: str, title: str) -> str:
    """Return what stands under the heading, up to the next one of its level."""
    start = re.search(rf"^(#+) {re.escape(title)}$", text, re.MULTILINE)
    assert start is not None, f"no heading {title!r}"
    rest = text[start.end() :]
    end = re.search(rf"^#{{1,{len(start[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def tables(text: str) -> Iterator[list[list[str]]]:
    """Yield each table as its rows of cells, without the header."""
    rows: list[list[str]] = []
    for line in (*_FENCE.sub("", text).splitlines(), ""):
        if line.startswith("|"):
            rows.append([cell.strip() for cell in _CELL.split(line)[1:-1]])
        elif rows:
            yield rows[2:]
            rows = []


def literals(cell: str) -> list[str]:
    """Return what stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)
