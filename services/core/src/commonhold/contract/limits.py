"""The numbers that a caller selects rows by, refused alike by every store.

Sentences and order are those of docs/reference/stores.md.
"""

import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

from commonhold.contract.errors import MemoryConflictError

T = TypeVar("T")


def require_memory_limit(limit: int | None) -> None:
    """A listing of the memory seam: none, or 0 and more."""
    if limit is not None and limit < 0:
        raise ValueError("limit must be >= 0")


def require_window(*, after: int, limit: int | None) -> None:
    """`after` and `limit` of a conversation read."""
    if after < 0:
        raise ValueError(f"after must be >= 0, got {after}")
    if limit is not None and limit < 0:
        raise ValueError(f"limit must be >= 0, got {limit}")


def require_positive_limit(limit: int) -> None:
    """A page, a search or a trail."""
    if limit < 1:
        raise ValueError(f"limit must be >= 1, got {limit}")


def require_selectors(*, through: int | None, turns: Sequence[int] | None) -> None:
    """What an erasure of turns covers: one selector, or neither for all."""
    if through is not None and turns is not None:
        raise ValueError("give through= or turns=, not both")
    if through is not None and through < 1:
        raise ValueError(f"through must be >= 1, got {through}")
    if turns and min(turns) < 1:
        raise ValueError(f"turn numbers start at 1, got {min(turns)}")


def require_version(
    scope: str, path: str, *, actual: int | None, expected_version: int | None
) -> None:
    """What a caller expects to be live; `actual` None says that nothing is.

    Raises MemoryConflictError (`document_absent` or `version_mismatch`).
    """
    if expected_version is None or expected_version == actual:
        return
    raise MemoryConflictError(
        scope=scope,
        path=path,
        reason="document_absent" if actual is None else "version_mismatch",
        expected_version=expected_version,
        actual_version=actual,
    )


def take(rows: Iterable[T], *, limit: int | None) -> tuple[T, ...]:
    """The first `limit` rows of a listing of the memory seam, all of them for None."""
    require_memory_limit(limit)
    if limit is None:
        return tuple(rows)
    return tuple(islice(rows, min(limit, sys.maxsize)))
