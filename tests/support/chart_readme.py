"""The README of the chart: what stands in values.yaml, as tables. `make chart-readme` writes it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.support.repository import ROOT

CHART = ROOT / "helm/commonhold"
README = CHART / "README.md"
_MARK = "# -- "
_LONGEST_DEFAULT = 60
_BEGIN = "<!-- values: made by `make chart-readme` -->\n"


def described_values() -> Iterator[tuple[str, Any, str]]:
    """Yield the path, default and meaning of every value that has a comment."""
    text = (CHART / "values.yaml").read_text()
    lines = text.splitlines()
    for path, line, value in walk_values(text):
        meaning = _comment_above(lines, line)
        if meaning is not None:
            yield path, value, meaning


def walk_values(text: str) -> Iterator[tuple[str, int, Any]]:
    """Yield the path, line and value of every key, the maps before what is in them."""
    yield from _walk(yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text), "")


def _walk(node: Any, value: Any, prefix: str) -> Iterator[tuple[str, int, Any]]:
    for key, child in node.value:
        path = f"{prefix}{key.value}"
        yield path, key.start_mark.line, value[key.value]
        is_block = child.start_mark.line > key.start_mark.line
        if is_block and isinstance(child, yaml.MappingNode) and re.fullmatch(r"\w+", key.value):
            yield from _walk(child, value[key.value], f"{path}.")


def _comment_above(lines: list[str], line: int) -> str | None:
    found: list[str] = []
    while line > 0 and lines[line - 1].lstrip().startswith("# "):
        line -= 1
        text = lines[line].strip()
        found.insert(0, text.removeprefix(_MARK).removeprefix("# "))
        if text.startswith(_MARK):
            return " ".join(found)
    return None


def render_values() -> str:
    """Render one table a section, in the order of the file; values of no section come first."""
    sections: dict[str, list[str]] = {"general": []}
    for path, value, meaning in described_values():
        section = path.partition(".")[0] if "." in path else "general"
        row = f"| `{path}` | {_default(value)} | {meaning.replace('|', chr(92) + '|')} |\n"
        sections.setdefault(section, []).append(row)
    head = "| Value | Default | Meaning |\n|---|---|---|\n"
    return "".join(f"\n### {name}\n\n{head}{''.join(rows)}" for name, rows in sections.items())


def _default(value: Any) -> str:
    if value in ("", None):
        return "unset"
    text = json.dumps(value) if isinstance(value, dict | list) else str(value).lower()
    if isinstance(value, str):
        text = value
    return f"`{text}`" if len(text) <= _LONGEST_DEFAULT else "see values.yaml"


def renew(text: str) -> str:
    """Return the README with its tables made anew; what stands before them is written by hand."""
    before, mark, _after = text.partition(_BEGIN)
    return f"{before}{mark}{render_values()}"


if __name__ == "__main__":
    README.write_text(renew(README.read_text()))
