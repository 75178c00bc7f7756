"""Skills as documents: YAML between two lines of dashes, then the body.

docs/reference/memory-tool.md, section 14.
"""

from typing import Any

import msgspec
import yaml

_FENCE = "---"
# What a YAML constructor raises for values that look like something and are not, such as
# the date 2026-13-45, besides its own errors.
_MALFORMED = (
    yaml.YAMLError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
# A parse is slow and holds the event loop; no honest frontmatter comes near this.
MOST_FRONTMATTER_CHARACTERS = 8192


class _Loader(yaml.SafeLoader):
    """Without aliases, by which a short text stands for a value that no process holds."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


class SkillFile(msgspec.Struct, frozen=True):
    description: str
    body: str


class SkillFileError(ValueError):
    """A document at a skill's address that is no skill; the text is for its author."""


def parse_skill(content: str, *, name: str, where: str) -> SkillFile:
    """Read a skill; raises SkillFileError. Keys other than description and name are ignored."""
    fault = f"Invalid or missing frontmatter in skill file: {where}"
    lines = content.strip().split("\n")
    end = _closing_fence(lines)
    fields = None if end is None else _load("\n".join(lines[1:end]))
    if end is None or not isinstance(fields, dict):
        raise SkillFileError(fault)
    if "description" not in fields:
        raise SkillFileError(f"Missing required key 'description' in skill frontmatter: {where}")
    description = fields["description"]
    if not isinstance(description, str):
        raise SkillFileError(f"{fault} \N{EM DASH} description must be a string")
    stated = fields.get("name", name)
    if stated != name:
        raise SkillFileError(
            f"{fault} \N{EM DASH} name {stated!r} does not match the address {name!r}"
        )
    return SkillFile(description=description, body="\n".join(lines[end + 1 :]).strip())


def _closing_fence(lines: list[str]) -> int | None:
    if not _is_fence(lines[0]):
        return None
    return next((at for at, line in enumerate(lines[1:], start=1) if _is_fence(line)), None)


def _is_fence(line: str) -> bool:
    return line.removesuffix("\r") == _FENCE


def _load(text: str) -> Any:
    if len(text) > MOST_FRONTMATTER_CHARACTERS:
        return None
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a safe loader, which refuses more
    except _MALFORMED:
        return None
