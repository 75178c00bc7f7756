"""A scope at a glance: how much there is where, and what was written last.

docs/reference/stores.md, section 18.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from commonhold.contract.documents import MemoryEntry
from commonhold.contract.text import require_encodable

# No directory has an empty name, so it stands for the documents outside of any.
LOOSE = ""


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """`newest` by stamp, the latest first, equal stamps by path; `counts` by first segment.

    Documents outside of any directory are counted under `LOOSE`. A count covers what is
    among the newest too.
    """

    newest: tuple[MemoryEntry, ...]
    counts: Mapping[str, int]


@runtime_checkable
class Outlined(Protocol):
    """Outlines made where the rows are, so that a large scope is not listed to be counted."""

    async def outline(self, scope: str, *, excluding: Sequence[str] = (), newest: int) -> Outline:
        """The live documents at one moment, but those whose path starts with `excluding`.

        At most `newest` of them come as rows; 0 is none, and a negative number a ValueError.
        """
        ...


def directory_of(path: str) -> str:
    directory, slash, _ = path.partition("/")
    return directory if slash else LOOSE


def newest_first(entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    by_path = sorted(entries, key=lambda entry: entry.path)
    # The sort is stable in reverse too: equal stamps stay by path.
    return sorted(by_path, key=lambda entry: entry.updated_at, reverse=True)


def require_outline(excluding: Sequence[str], newest: int) -> None:
    """Raise ValueError for a prefix that is no text to compare, then for a negative number."""
    for prefix in excluding:
        require_encodable(prefix, name="excluding")
    if newest < 0:
        raise ValueError(f"newest must be >= 0, got {newest}")
